// One committed state of a realm, immutable.

import Synchronization

/// One version of a realm. Immutable and Sendable; nothing is read but what is asked for.
public final class Snapshot: Sendable {
  /// The version number; each commit adds 1.
  public var version: UInt64 { top.version }
  /// The file format, 10 to 24; 0 for a file without content.
  public let fileFormat: Int
  /// The logical size in bytes.
  public var logicalSize: Int { top.logicalSize }
  /// 0 none, 2 in-Realm, 3 sync client, 4 sync server. Source: docs/format/6-history.md 6.1.
  public var historyType: Int { top.historyType }
  /// Whether links to objects that are still to be made show: in the versions of a branch.
  package var showsExpectedObjects: Bool { arena.isBranch }
  /// Whether the file is in the form that copies and compactions have, with its top ref at the end.
  public let isStreamingForm: Bool

  let arena: Arena
  let top: TopArray
  /// What tells other programs that this version is being read; nil outside a session.
  let pin: VersionPin?
  let path: String
  private let tables = Mutex<[Int: Table]>([:])
  /// What pays for the schemas of all tables.
  private let schemaEffort: Mutex<Effort>

  /// Reads the top array that `header` selects. With `swapsGuids`, UUIDs show with the order of bytes that .NET has, if
  /// they are stored as it did before 10.10.
  init(
    _ space: PageSpace,
    _ header: Header,
    path: String = "",
    pin: VersionPin? = nil,
    swapsGuids: Bool = false
  ) throws(EngineError) {
    self.path = path
    self.pin = pin
    fileFormat = header.format
    isStreamingForm = header.isStreaming
    let whole = Arena(space, limit: space.size, format: header.format)
    top = header.topRef == 0 ? .empty : try TopArray(whole, header.topRef)
    let isConverted = swapsGuids ? try Self.hasGuidMark(whole, top) : true
    arena = Arena(space, limit: top.logicalSize, format: header.format, swapsGuids: !isConverted)
    schemaEffort = Mutex(Effort(arena))
    if pin == nil { VersionRegistry.shared.add(path, top.version) }
  }

  /// The version `base` with `tables`, by slot, in the place of its own.
  init(_ base: Snapshot, as tables: [Int: Table]) {
    (path, pin, fileFormat, isStreamingForm) = (base.path, base.pin, base.fileFormat, base.isStreamingForm)
    // Theirs has the nodes that a transaction made, too.
    (arena, top) = (tables.values.first?.arena ?? base.arena, base.top)
    schemaEffort = Mutex(Effort(arena))
    self.tables.withLock { $0 = tables }
    if pin == nil { VersionRegistry.shared.add(path, top.version) }
  }

  /// The version that a transaction on `base` would make: what `arena` has below `top`.
  init(_ base: Snapshot, _ arena: Arena, _ top: TopArray) {
    (path, pin, fileFormat, isStreamingForm) = (base.path, base.pin, base.fileFormat, base.isStreamingForm)
    (self.arena, self.top) = (arena, top)
    schemaEffort = Mutex(Effort(arena))
    if pin == nil { VersionRegistry.shared.add(path, top.version) }
  }

  deinit { if pin == nil { VersionRegistry.shared.remove(path, top.version) } }

  /// The names and refs of all table slots, as many of both, each of which can be read; nil without content.
  func group() throws(EngineError) -> (names: Node, refs: Node)? {
    if top.ref == 0 { return nil }
    let names = try arena.node(top.namesRef), refs = try arena.integers(top.tablesRef)
    if names.count != refs.count || refs.count > 0xFFFF {
      throw .damaged("\(names.count) names for \(refs.count) tables", ref: top.tablesRef)
    }
    return (names, refs)
  }

  /// The slots in use: the position and the ref of each table.
  func tableSlots() throws(EngineError) -> [(slot: Int, ref: Int)] {
    guard let (_, refs) = try group() else { return [] }
    var slots: [(slot: Int, ref: Int)] = []
    for slot in 0..<refs.count {
      let element = try refs.int(slot)
      if element != 0 && element & 1 == 0 { slots.append((slot, Int(element))) }
    }
    return slots
  }

  /// The keys of all tables in slot order.
  public func tableKeys() throws(EngineError) -> [TableKey] {
    var keys: [TableKey] = []
    for (slot, _) in try tableSlots() {
      if let table = try table(slot: slot) { keys.append(table.key) }
    }
    return keys
  }

  /// The table with this key; nil if there is none. One that is damaged is there too: see `Table.damage`.
  public func table(_ key: TableKey) throws(EngineError) -> Table? {
    guard let table = try table(slot: key.slot), table.key == key || table.damage != nil else { return nil }
    return table
  }

  /// The table with this stored name (`class_Person`); nil if there is none.
  public func table(named name: String) throws(EngineError) -> Table? {
    guard let (names, _) = try group() else { return nil }
    var alike: Int?
    for slot in 0..<names.count {
      guard let stored = try StringLeaf.short(names, slot)?.string, stored == name else { continue }
      if ExactName(stored) == ExactName(name) { return try table(slot: slot) }
      alike = alike ?? slot
    }
    // People type either form of a letter with an accent.
    return try alike.flatMap { slot throws(EngineError) in try table(slot: slot) }
  }

  /// The name of the table by which a local copy of a synced realm knows its server. Source: docs/format/7-sync.md
  /// 7.10.
  package static let mirrorTable = "sync_mirror"

  /// Whether it is a local copy of a synced realm, which only a sync client may write. Damage counts as no.
  var isMirror: Bool {
    // A damaged group is reported to those who read it.
    (try? table(named: Self.mirrorTable)) != nil
  }

  /// The table in a slot of the group; nil if the slot is free or beyond the end. Read once a snapshot. Damage costs
  /// the table that it is in, not its neighbours.
  func table(slot: Int) throws(EngineError) -> Table? {
    if let table = tables.withLock({ $0[slot] }) { return table }
    guard let (names, refs) = try group(), slot < refs.count else { return nil }
    let element = try refs.int(slot)
    if element == 0 || element & 1 != 0 { return nil }
    let name = try StringLeaf.short(names, slot)?.string ?? ""
    var table: Table
    do throws(EngineError) {
      if fileFormat >= 10 {
        table = try Table(arena, name: name, slot: slot, ref: Int(element))
      } else {
        let pkTable = Table.className(ofTable: name) != nil ? try self.table(named: "pk") : nil
        table = try Table(arena, legacyName: name, slot: slot, ref: Int(element), pkTable: pkTable)
      }
      try schemaEffort.withLock { (effort) throws(EngineError) in
        try effort.enter(tableOf: table.columns.count, at: Int(element))
      }
    } catch {
      table = Table(arena, name: name, slot: slot, ref: Int(element), damage: error)
    }
    // Another thread may have read it meanwhile: one of the two stays.
    return tables.withLock { tables in
      if let first = tables[slot] { return first }
      tables[slot] = table
      return table
    }
  }

  /// The version before this one, to which the header of the file still leads. Commits leave alone what it consists of,
  /// but not the next one: read it while no writer can commit. Nil where there is none, as in a file that was just
  /// made, compacted or converted. Source: docs/format/3-commit.md 3.7.
  public func previous() throws(EngineError) -> Snapshot? {
    var newest: Snapshot?
    for header in try Header.bothSlots(of: arena.space)
    where header.topRef != top.ref && Realm.readableFormats.contains(header.format) {
      let former = try Snapshot(arena.space, header, path: path, pin: pin, swapsGuids: arena.swapsGuids)
      // After a grouped commit both slots may show older versions, of which only the newer one is left alone.
      if former.version < version, former.version > newest?.version ?? 0 { newest = former }
    }
    return newest
  }

  /// So many reads make no more of the file resident than a few megabytes.
  package static let readsBetweenLooks: UInt = 64

  /// Keeps what is mapped of the file below some 24 MiB of memory; for loops that read much of it.
  ///
  /// Reads of single objects are looked at only now and then, see `readsBetweenLooks`.
  package func limitResidentPages() { arena.space.limitResidentPages() }

  /// The schema version that the SDK stores in table `metadata`; nil if not versioned.
  /// Source: docs/format/2-model.md M11.
  public func schemaVersion() throws(EngineError) -> UInt64? {
    guard let table = try table(named: "metadata") else { return nil }
    if let damage = table.damage { throw damage }
    guard
      let index = table.columns.firstIndex(where: { $0.name == "version" && $0.type == .int && $0.collection == nil })
    else { return nil }
    let cursor = ObjectCursor(table)
    guard try cursor.next(), case .int(let version) = try cursor.value(index), version != -1 else { return nil }
    return UInt64(bitPattern: version)
  }

  /// The number of free bytes below the logical size, by the free list. O(free entries).
  public func freeBytes() throws(EngineError) -> Int {
    if top.freeRefs[1] == 0 { return 0 }
    let sizes = try arena.integers(top.freeRefs[1])
    var sum = 0
    for i in 0..<sizes.count { sum &+= Int(truncatingIfNeeded: try sizes.int(i)) }
    return sum
  }

  /// For each of these older versions, the bytes that commits have released since, which cannot be used again while it
  /// is in use. Cost: one pass over the free list.
  public func bytesReleased(since versions: [UInt64]) throws(EngineError) -> [Int] {
    var sums = Array(repeating: 0, count: versions.count)
    if versions.isEmpty || top.freeRefs[1] == 0 || top.freeRefs[2] == 0 { return sums }
    let sizes = try arena.integers(top.freeRefs[1]), released = try arena.integers(top.freeRefs[2])
    for i in 0..<min(sizes.count, released.count) {
      let size = Int(truncatingIfNeeded: try sizes.int(i))
      let release = UInt64(truncatingIfNeeded: try released.int(i))
      for (index, version) in versions.enumerated() where release > version { sums[index] &+= size }
    }
    return sums
  }

  /// The bytes of all nodes below a table, found by walking it. O(size of the table).
  public func storedBytes(of key: TableKey) throws(EngineError) -> Int {
    try storedBytes(of: key, sweep: Effort(arena))
  }

  /// The same, for a walk through many tables that pays for all of them with `effort`.
  package func storedBytes(of key: TableKey, sweep effort: Effort) throws(EngineError) -> Int {
    guard let table = try table(key) else { return 0 }
    if let damage = table.damage { throw damage }
    var walker = TreeWalker(arena)
    return try walker.bytes(below: table.ref, effort)
  }
}

extension Effort {
  /// Work for the file of a snapshot.
  package convenience init(_ snapshot: Snapshot) { self.init(snapshot.arena) }
}

extension Snapshot {
  /// What tells this version from any other of this or another file: its number, and where its top array and its tables
  /// are. A version that was restored from a backup and went on differently has the same number, but other places.
  ///
  /// Cost: O(tables).
  package func identity() throws(EngineError) -> String {
    var hash: UInt64 = 0xCBF2_9CE4_8422_2325
    func add(_ value: Int) {
      for shift in stride(from: 0, to: 64, by: 8) {
        hash = (hash ^ UInt64(truncatingIfNeeded: value >> shift & 0xFF)) &* 0x100_0000_01B3
      }
    }
    for value in [top.ref, top.logicalSize, top.namesRef, top.tablesRef, top.historyRef] { add(value) }
    for (slot, ref) in try tableSlots() {
      add(slot)
      add(ref)
    }
    return "\(version)-\(hexadecimal(hash, digits: 16))"
  }
}
