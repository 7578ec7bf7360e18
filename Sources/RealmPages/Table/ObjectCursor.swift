// Reads objects in key order or at random.

/// A reader positioned at one object of a table, or at none.
///
/// It caches the current cluster and its open leaves, so stepping to and re-reading neighbours is cheap. Not for use by
/// several threads at once. Returned views live as long as the snapshot.
public final class ObjectCursor {
  // Run-time exclusivity checks are off: one thread uses a cursor, no method passes a property `inout`, and the checks
  // would take a third of the time of printing a class.
  /// The table whose objects are read.
  public let table: Table
  /// The current object; `.none` before the first and after the last.
  @safe @exclusivity(unchecked) public private(set) var key = ObjKey.none

  @safe @exclusivity(unchecked) private var cluster: Cluster?
  @safe @exclusivity(unchecked) private var row = 0
  @safe @exclusivity(unchecked) private var isInTombstones = false
  /// By position in `table.columns`: the open leaf in the current cluster, if any.
  @safe @exclusivity(unchecked) private var leaves: [OpenLeaf?]
  /// By position in `table.columns`: open leaves of the kinds that have a fast path.
  @safe @exclusivity(unchecked) private var fastLeaves: [FastLeaf]
  /// The number of rows of the current cluster if it holds live objects, else 0.
  @safe @exclusivity(unchecked) private var rowCount = 0
  /// The key of row 0 if the current cluster holds live objects with consecutive keys, else nil.
  @safe @exclusivity(unchecked) private var firstKey: Int64?
  @safe @exclusivity(unchecked) private var search = ClusterTree.Search()
  /// The budget for clusters read by a walk with `next`. Supplied by the caller if a walk covers several tables.
  @safe @exclusivity(unchecked) private var effort: Effort?
  @safe @exclusivity(unchecked) private var chargesOthers = false
  /// By position in `table.columns`: the readers of a table of formats 2 to 9.
  private var legacyReaders: [LegacyReader?] = []

  /// A cursor before the first object.
  public convenience init(_ table: Table) { self.init(table, sweep: nil) }

  /// A cursor for a single walk through this table, and possibly through others, within the budget `effort`.
  package init(_ table: Table, sweep effort: Effort?) {
    self.table = table
    self.effort = effort
    chargesOthers = effort != nil
    leaves = Array(repeating: nil, count: table.columns.count)
    fastLeaves = Array(repeating: .none, count: table.columns.count)
  }

  /// Moves to the object with this key. Returns false, with no current object, if it does not exist. Also finds
  /// tombstones. Cost: O(log n), or O(1) if the object is in the current cluster.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func seek(_ key: ObjKey) throws(EngineError) -> Bool {
    if key <= self.key { beginWalk() }
    if let rows = table.legacyRows { return move(to: key.value, of: rows) }
    let wanted = UInt64(bitPattern: key.value)
    if let cluster, isInTombstones == (key.value < 0), cluster.count > 0 {
      if try cluster.key(0) <= wanted, try wanted <= cluster.key(cluster.count - 1) {
        row = try cluster.lowerBound(wanted)
        return try settle(on: wanted, in: cluster)
      }
    }
    if let damage = table.damage { throw damage }
    guard let tree = key.value < 0 ? table.tombstones : table.objects,
      let (cluster, row) = try located({ () throws(EngineError) in try tree.first(notBelow: wanted) })
    else {
      leave()
      return false
    }
    enter(cluster, row, tombstones: key.value < 0)
    return try settle(on: wanted, in: cluster)
  }

  /// Moves to the live object at `position` in key order. Returns false, with no current object, beyond the last one.
  /// Cost: O(log n).
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func seek(position: Int) throws(EngineError) -> Bool {
    beginWalk()
    guard position >= 0 else {
      leave()
      return false
    }
    if let rows = table.legacyRows { return move(to: Int64(position), of: rows) }
    if let damage = table.damage { throw damage }
    guard let (cluster, row) = try located({ () throws(EngineError) in try table.objects.place(at: position) }) else {
      leave()
      return false
    }
    let found = Int64(bitPattern: try cluster.key(row))
    if found < 0 { throw .damaged("object keys out of order", ref: cluster.slots.ref, place: "table \(table.name)") }
    enter(cluster, row, tombstones: false)
    key = ObjKey(found)
    return true
  }

  /// Moves to the first live object whose key is greater than `key`. Returns false if there is none. Cost: O(log n).
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func seek(after key: ObjKey) throws(EngineError) -> Bool {
    if key < self.key { beginWalk() }
    return try advance(after: key)
  }

  /// Like `seek(after:)`, but skips unreadable parts and passes each error to `onDamage`. Each call that returns true
  /// moves to a greater key, and a walk ends after at most as many clusters as the file can hold.
  package func seek(after key: ObjKey, onDamage: @escaping (EngineError) -> Void) -> Bool {
    search.onDamage = onDamage
    defer { search.onDamage = nil }
    do { return try advance(after: key) } catch {
      onDamage(error)
      leave()
      return false
    }
  }

  /// Renews the budget for a new walk, unless it belongs to a walk through several tables.
  @inline(__always)
  private func beginWalk() { if !chargesOthers { effort?.renew() } }

  private func advance(after key: ObjKey) throws(EngineError) -> Bool {
    guard key.value < Int64.max else {
      leave()
      return false
    }
    if let rows = table.legacyRows { return try step(to: key.value + 1, of: rows) }
    let wanted = UInt64(max(0, key.value + 1))
    if let damage = table.damage { throw damage }
    let effort = effort ?? Effort(table.arena)
    self.effort = effort
    let found = try located { () throws(EngineError) in
      search.clusters = 0
      let found = try table.objects.first(notBelow: wanted, &search)
      // The minimum size of a cluster: its own node, and one for each property.
      try effort.spend(search.clusters * (16 + 8 * table.columns.count), at: table.objects.rootRef)
      return found
    }
    guard let (cluster, row) = found else {
      leave()
      return false
    }
    let next = Int64(bitPattern: try cluster.key(row))
    if next <= key.value || next < 0 {
      throw .damaged("object keys out of order", ref: cluster.slots.ref, place: "table \(table.name)")
    }
    enter(cluster, row, tombstones: false)
    self.key = ObjKey(next)
    return true
  }

  /// Moves to the next live object in key order. Returns false at the end. Cost: O(1) within a cluster.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func next() throws(EngineError) -> Bool {
    if key != .none, row + 1 < rowCount {
      row += 1
      if firstKey != nil, key.value < Int64.max {
        key = ObjKey(key.value + 1)
        return true
      }
      guard let cluster else { return false }
      try settle(in: cluster)
      return true
    }
    if let rows = table.legacyRows { return try step(to: key.value + 1, of: rows) }
    if key == .none { beginWalk() }
    return try advance(after: key)
  }

  /// Moves to the next live object and returns its key; nil at the end.
  package func nextKey() throws(EngineError) -> Int64? { try next() ? key.value : nil }

  /// Moves to the next live object whose property at `index` of `table.columns` passes the test. Returns false at the
  /// end. Skipping an object costs one step in a leaf.
  package func next(where index: Int, _ test: ColumnTest) throws(EngineError) -> Bool {
    while true {
      if key != .none, row + 1 < rowCount, let cluster {
        let found = try located { () throws(EngineError) in
          try test.first(row + 1..<rowCount, of: leaf(index, cluster), table.arena)
        }
        row = found ?? rowCount - 1
        try settle(in: cluster)
        if found != nil { return true }
      }
      // The first object of the next cluster or, in old formats, the next object.
      guard try next() else { return false }
      if test.passes(try value(index)) { return true }
    }
  }

  /// Returns the row of a key in the current cluster, if it can be computed without a search; else nil.
  @inline(__always)
  private func fastRow(of key: ObjKey) -> Int? {
    guard let firstKey, key.value >= 0 else { return nil }
    let row = key.value &- firstKey
    return row >= 0 && row < Int64(rowCount) ? Int(row) : nil
  }

  /// Returns the integer at `index` of `table.columns` of an object in the current cluster, without moving the cursor.
  /// Nil if there is no fast path; `seek` and `value` then find it or throw.
  package func integer(_ index: Int, of key: ObjKey) -> Int64? {
    guard let row = fastRow(of: key), case .ints(let node) = fastLeaves[index], row < node.count else { return nil }
    return unsafe PackedBits.signed(node.payload, node.width, row)
  }

  /// Like `integer(_:of:)`, but for a double that is not null.
  package func double(_ index: Int, of key: ObjKey) -> Double? {
    guard let row = fastRow(of: key), case .doubles(let leaf) = fastLeaves[index], row < leaf.count else {
      return nil
    }
    // `value` reports the error.
    return try? leaf.double(row)
  }

  /// Like `integer(_:of:)`, but for a short string that is not null.
  package func text(_ index: Int, of key: ObjKey) -> ByteView? {
    guard let row = fastRow(of: key), case .shortStrings(let node) = fastLeaves[index], row < node.count else {
      return nil
    }
    // `value` reports the error.
    return try? StringLeaf.short(node, row)
  }

  /// Moves past the next cluster of live objects and appends the keys of its objects whose property at `index` of
  /// `table.columns` passes the test. Returns false at the end.
  package func nextCluster(
    where index: Int,
    _ test: ColumnTest,
    into keys: inout [ObjKey]
  ) throws(EngineError) -> Bool {
    guard try next() else { return false }
    guard rowCount > 0, let cluster else {
      if test.passes(try value(index)) { keys.append(key) }
      return true
    }
    let rows = row..<rowCount
    try located { () throws(EngineError) in
      let leaf = try leaf(index, cluster)
      guard let firstKey else {
        return try test.forEach(rows, of: leaf, table.arena) { (row) throws(EngineError) in
          keys.append(ObjKey(Int64(bitPattern: try cluster.key(row))))
        }
      }
      try test.forEach(rows, of: leaf, table.arena) { keys.append(ObjKey(firstKey &+ Int64($0))) }
    }
    try moveToEnd(of: cluster)
    return true
  }

  /// Moves to the last row of the current cluster.
  private func moveToEnd(of cluster: Cluster) throws(EngineError) {
    if row + 1 >= rowCount { return }
    row = rowCount - 1
    try settle(in: cluster)
  }

  /// Counts the live objects after the current one whose property at `index` of `table.columns` passes the test. Moves
  /// to the end.
  package func count(where index: Int, _ test: ColumnTest) throws(EngineError) -> Int {
    var count = 0
    while try next() {
      guard rowCount > 0, let cluster else {
        if test.passes(try value(index)) { count += 1 }
        continue
      }
      count += try located { () throws(EngineError) in
        try test.count(row..<rowCount, of: leaf(index, cluster), table.arena)
      }
      try moveToEnd(of: cluster)
    }
    return count
  }

  /// Returns the value of the property at `index` of `table.columns`.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func value(_ index: Int) throws(EngineError) -> ValueView {
    do throws(EngineError) {
      if key == .none { throw .damaged("no object") }
      switch fastLeaves[index] {
      case .ints(let node): return .int(try node.int(row))
      case .doubles(let leaf): return try leaf.double(row).map { .double($0) } ?? .null
      case .shortStrings(let node): return try StringLeaf.short(node, row).map { .string($0) } ?? .null
      case .bools(let node): return try ColumnLeaf.bool(node, row)
      case .links(let node, let target): return try ColumnLeaf.link(node, 1, target, row)
      case .dates(let leaf): return try leaf.value(row).map { .date($0) } ?? .null
      case .none: break
      }
      if let rows = table.legacyRows { return try legacyValue(index, rows) }
      guard let cluster else { throw .damaged("no object") }
      if let open = leaves[index] { return try open.leaf.value(row, table.arena) }
      return try leaf(index, cluster).value(row, table.arena)
    } catch {
      var place = error
      place.place = "\(table.name) object \(key), property \"\(table.columns[index].name)\""
      throw place
    }
  }

  /// Returns the root of a property's collection, 0 if empty; nil if the property does not hold a collection, and in
  /// old formats.
  func collectionRoot(_ index: Int) throws(EngineError) -> Int? {
    guard let cluster, key != .none, case .collections(let roots, _, _, _) = try leaf(index, cluster) else {
      return nil
    }
    return try roots.child(row)
  }

  /// Returns the leaf of a property in the current cluster.
  private func leaf(_ index: Int, _ cluster: Cluster) throws(EngineError) -> ColumnLeaf {
    switch fastLeaves[index] {
    case .ints(let node): return .ints(node)
    case .doubles(let leaf): return .doubles(leaf)
    case .bools(let node): return .bools(node)
    case .links(let node, let target): return .links(node, bias: 1, target)
    case .dates(let leaf): return .dates(leaf)
    case .shortStrings, .none: if let open = leaves[index] { return open.leaf }
    }
    let column = table.columns[index]
    let leaf = try column.leaf(table.arena, cluster.leafRef(column.key.leafPosition))
    if leaf.count != cluster.count {
      throw .damaged("a leaf of \(leaf.count) values in a cluster of \(cluster.count)", ref: cluster.slots.ref)
    }
    switch leaf {
    case .ints(let node): fastLeaves[index] = .ints(node)
    case .doubles(let leaf): fastLeaves[index] = .doubles(leaf)
    case .bools(let node): fastLeaves[index] = .bools(node)
    case .links(let node, bias: 1, let target): fastLeaves[index] = .links(node, target)
    case .dates(let leaf): fastLeaves[index] = .dates(leaf)
    default:
      if case .strings(let strings) = leaf, let node = strings.short { fastLeaves[index] = .shortStrings(node) }
      leaves[index] = OpenLeaf(leaf)
    }
    return leaf
  }

  /// Returns the objects that link to this one through a property of their class, in stored order; an object that links
  /// twice appears twice. Empty if there is no such property. Not for formats 2 to 9. Cost: O(links).
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func origins(from table: TableKey, _ column: ColKey) throws(EngineError) -> [ObjKey] {
    guard let cluster, key != .none, !isInTombstones,
      let backlink = self.table.backlinks.first(where: { $0.originTable == table && $0.originColumn == column })
    else { return [] }
    let element = try self.table.arena.integers(cluster.slots.child(backlink.key.leafPosition + 1)).int(row)
    if element == 0 { return [] }
    if element & 1 != 0 { return [ObjKey(tagged: element)] }
    let type = ElementType(.int, isNullable: false)
    let reader = try ElementReader(self.table.arena, Int(element), type)
    // The nodes of a damaged tree can count more links than the file has room for.
    try Effort(self.table.arena).enter(leaf: reader.count, type, at: Int(element))
    var keys: [ObjKey] = []
    for i in 0..<reader.count {
      if case .int(let key) = try reader.value(at: i) { keys.append(ObjKey(key)) }
    }
    return keys
  }

  private func step(to row: Int64, of rows: LegacyRows) throws(EngineError) -> Bool {
    // Rows have no clusters: this only ends a walk that exceeded its budget elsewhere.
    try effort?.spend(0)
    return move(to: max(0, row), of: rows)
  }

  private func move(to row: Int64, of rows: LegacyRows) -> Bool {
    key = row >= 0 && row < rows.count ? ObjKey(row) : .none
    return key != .none
  }

  private func legacyValue(_ index: Int, _ rows: LegacyRows) throws(EngineError) -> ValueView {
    if legacyReaders.isEmpty { legacyReaders = Array(repeating: nil, count: rows.columns.count) }
    if let reader = legacyReaders[index] { return try reader.value(Int(key.value)) }
    let reader = try LegacyReader(table.arena, rows.columns[index], rootsRef: rows.rootsRef)
    legacyReaders[index] = reader
    return try reader.value(Int(key.value))
  }

  /// Sets `key` to that of the current row, which must be greater than the previous key.
  @inline(__always)
  private func settle(in cluster: Cluster) throws(EngineError) {
    let found = Int64(bitPattern: try cluster.key(row))
    if found <= key.value {
      throw .damaged("object keys out of order", ref: cluster.slots.ref, place: "table \(table.name)")
    }
    key = ObjKey(found)
  }

  private func settle(on wanted: UInt64, in cluster: Cluster) throws(EngineError) -> Bool {
    guard row < cluster.count, try cluster.key(row) == wanted else {
      key = .none
      return false
    }
    key = ObjKey(Int64(bitPattern: wanted))
    return true
  }

  private func enter(_ cluster: Cluster, _ row: Int, tombstones: Bool) {
    if self.cluster?.slots.ref != cluster.slots.ref {
      for i in leaves.indices { leaves[i] = nil }
      for i in fastLeaves.indices { fastLeaves[i] = .none }
    }
    rowCount = tombstones ? 0 : cluster.count
    firstKey = cluster.keys == nil && !tombstones ? Int64(bitPattern: cluster.offset) : nil
    self.cluster = cluster
    self.row = row
    isInTombstones = tombstones
  }

  private func leave() {
    cluster = nil
    rowCount = 0
    key = .none
  }

  private func located<T>(_ body: () throws(EngineError) -> T) throws(EngineError) -> T {
    do { return try body() } catch {
      var located = error
      located.place = "table \(table.name)"
      throw located
    }
  }
}

/// An open leaf with a fast path for reading values.
private enum FastLeaf {
  case none
  case ints(Node)
  case doubles(FloatingLeaf)
  case shortStrings(Node)
  case bools(Node)
  case links(Node, TableKey)
  case dates(TimestampLeaf)
}

/// A boxed leaf, so that looking it up does not copy it.
private final class OpenLeaf {
  let leaf: ColumnLeaf

  init(_ leaf: ColumnLeaf) { self.leaf = leaf }
}
