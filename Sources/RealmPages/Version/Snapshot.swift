// One committed, immutable state of a realm.

import CLinux
import Synchronization

/// One version of a realm. Immutable and Sendable. Reads data on demand.
public final class Snapshot: Sendable {
  /// The version number; each commit adds 1.
  public var version: UInt64 { top.version }
  /// The file format, 2 to 24; 0 for a file without content.
  public let fileFormat: Int
  /// The logical size in bytes.
  public var logicalSize: Int { top.logicalSize }
  /// The history type: 0 none, 2 in-Realm, 3 sync client, 4 sync server. Source: docs/format/6-history.md 6.1.
  public var historyType: Int { top.historyType }
  /// True if links to expected objects, not created yet, are visible: in versions of a branch.
  package var showsExpectedObjects: Bool { arena.isBranch }
  /// True if the file is in the form of copies and compactions, with its top ref at the end.
  public let isStreamingForm: Bool

  let arena: Arena
  let top: TopArray
  /// The pin that shows other programs that this version is in use; nil outside a session.
  let pin: VersionPin?
  let path: String
  private let tables = Mutex<[Int: Table]>([:])
  /// The budget for reading the schemas of all tables.
  private let schemaEffort: Mutex<Effort>

  /// Reads the top array that `header` selects. With `swapsGuids`, UUIDs are presented in .NET byte order if the file
  /// stores them as .NET did before 10.10.
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

  /// The version `base` with its tables replaced by `tables`, by slot.
  init(_ base: Snapshot, as tables: [Int: Table]) {
    (path, pin, fileFormat, isStreamingForm) = (base.path, base.pin, base.fileFormat, base.isStreamingForm)
    // The arena of the tables also contains the nodes created by the transaction.
    (arena, top) = (tables.values.first?.arena ?? base.arena, base.top)
    schemaEffort = Mutex(Effort(arena))
    self.tables.withLock { $0 = tables }
    if pin == nil { VersionRegistry.shared.add(path, top.version) }
  }

  /// The version that a transaction on `base` would create: the content of `arena` below `top`.
  init(_ base: Snapshot, _ arena: Arena, _ top: TopArray) {
    (path, pin, fileFormat, isStreamingForm) = (base.path, base.pin, base.fileFormat, base.isStreamingForm)
    (self.arena, self.top) = (arena, top)
    schemaEffort = Mutex(Effort(arena))
    if pin == nil { VersionRegistry.shared.add(path, top.version) }
  }

  deinit { if pin == nil { VersionRegistry.shared.remove(path, top.version) } }

  /// Returns the nodes of names and refs of all table slots, readable and of equal length; nil without content.
  func group() throws(EngineError) -> (names: Node, refs: Node)? {
    if top.ref == 0 { return nil }
    let names = try arena.node(top.namesRef), refs = try arena.integers(top.tablesRef)
    if names.count != refs.count || refs.count > 0xFFFF {
      throw .damaged("\(names.count) names for \(refs.count) tables", ref: top.tablesRef)
    }
    return (names, refs)
  }

  /// Returns the slots in use: slot number and ref of each table.
  func tableSlots() throws(EngineError) -> [(slot: Int, ref: Int)] {
    guard let (_, refs) = try group() else { return [] }
    var slots: [(slot: Int, ref: Int)] = []
    for slot in 0..<refs.count {
      let element = try refs.int(slot)
      if element != 0 && element & 1 == 0 { slots.append((slot, Int(element))) }
    }
    return slots
  }

  /// Returns the keys of all tables in slot order.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func tableKeys() throws(EngineError) -> [TableKey] {
    var keys: [TableKey] = []
    for (slot, _) in try tableSlots() {
      if let table = try table(slot: slot) { keys.append(table.key) }
    }
    return keys
  }

  /// Returns the table with this key; nil if there is none. A damaged table is returned too: see `Table.damage`.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func table(_ key: TableKey) throws(EngineError) -> Table? {
    guard let table = try table(slot: key.slot), table.key == key || table.damage != nil else { return nil }
    return table
  }

  /// Returns the table with this stored name (`class_Person`); nil if there is none.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func table(named name: String) throws(EngineError) -> Table? {
    guard let (names, _) = try group() else { return nil }
    var alike: Int?
    for slot in 0..<names.count {
      guard let stored = try StringLeaf.short(names, slot)?.string, stored == name else { continue }
      if ExactName(stored) == ExactName(name) { return try table(slot: slot) }
      alike = alike ?? slot
    }
    // Users type either form of an accented letter.
    return try alike.flatMap { slot throws(EngineError) in try table(slot: slot) }
  }

  /// The name of the table in which a local copy of a synced realm identifies its server. Source:
  /// docs/format/7-sync.md 7.10.
  package static let mirrorTable = "sync_mirror"

  /// True for a local copy of a synced realm, which only a sync client may write. False if this cannot be read.
  var isMirror: Bool {
    // Reading the tables reports a damaged group.
    (try? table(named: Self.mirrorTable)) != nil
  }

  /// Returns the table in a slot of the group; nil if the slot is free or beyond the end. Read once per snapshot.
  /// Damage makes only the affected table unreadable.
  func table(slot: Int) throws(EngineError) -> Table? {
    if let table = tables.withLock({ $0[slot] }) { return table }
    guard let (names, refs) = try group(), slot < refs.count else { return nil }
    let element = try refs.int(slot)
    if element == 0 || element & 1 != 0 { return nil }
    let name = try StringLeaf.short(names, slot)?.string ?? ""
    var table: Table
    do {
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
    // Another thread may have read the table in the meantime: keep the first.
    return tables.withLock { tables in
      if let first = tables[slot] { return first }
      tables[slot] = table
      return table
    }
  }

  /// Returns the previous version, to which the header of the file still leads. The commit of this version left its
  /// content intact, but the next one may overwrite it: read it only while no writer can commit. Nil if there is none,
  /// as in a file that was just created, compacted or converted. Source: docs/format/3-commit.md 3.7.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func previous() throws(EngineError) -> Snapshot? {
    var newest: Snapshot?
    for header in try Header.bothSlots(of: arena.space)
    where header.topRef != top.ref && Realm.readableFormats.contains(header.format) {
      let former = try Snapshot(arena.space, header, path: path, pin: pin, swapsGuids: arena.swapsGuids)
      // After a grouped commit, both slots may lead to older versions, of which only the newer one is intact.
      if former.version < version, former.version > newest?.version ?? 0 { newest = former }
    }
    return newest
  }

  /// The number of reads between two checks. This many reads make at most a few megabytes of the file resident.
  package static let readsBetweenTrims: UInt = 64

  /// Keeps the resident part of the mapped file below some 24 MiB; for loops that read much of it.
  ///
  /// Readers of single objects call this only every `readsBetweenTrims` reads.
  package func limitResidentPages() { arena.space.limitResidentPages() }

  /// Returns the schema version that the SDK stores in table `metadata`; nil if not versioned. Source:
  /// docs/format/2-model.md M11.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
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

  /// Returns the number of free bytes below the logical size, according to the free list. Cost: O(free entries).
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func freeBytes() throws(EngineError) -> Int {
    if top.freeRefs[1] == 0 { return 0 }
    let sizes = try arena.integers(top.freeRefs[1])
    var sum = 0
    for i in 0..<sizes.count { sum &+= Int(truncatingIfNeeded: try sizes.int(i)) }
    return sum
  }

  /// Returns, for each of these older versions, the number of bytes that later commits released and that cannot be
  /// reused while the version is in use. Cost: one pass over the free list.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
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

  /// Returns the total size in bytes of all nodes below a table, determined by a walk. Cost: O(size of the table).
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func storedBytes(of key: TableKey) throws(EngineError) -> Int {
    try storedBytes(of: key, sweep: Effort(arena))
  }

  /// Like `storedBytes(of:)`, for a walk through many tables that shares the budget `effort`.
  package func storedBytes(of key: TableKey, sweep effort: Effort) throws(EngineError) -> Int {
    guard let table = try table(key) else { return 0 }
    if let damage = table.damage { throw damage }
    var walker = TreeWalker(arena)
    return try walker.bytes(below: table.ref, effort)
  }
}

extension Effort {
  /// A budget for the file of a snapshot.
  package convenience init(_ snapshot: Snapshot) { self.init(snapshot.arena) }
}

extension Snapshot {
  /// Returns a string that identifies this version among all versions of this and other files: its number, and the
  /// locations of its top array and tables. A version restored from a backup and then changed can have the same number,
  /// but not the same locations.
  ///
  /// Cost: O(tables).
  package func identity() throws(EngineError) -> String {
    var hash = clinux_fnv_start()
    func add(_ value: Int) {
      for shift in stride(from: 0, to: 64, by: 8) {
        hash = clinux_fnv_step(hash, UInt64(truncatingIfNeeded: value >> shift & 0xFF))
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
