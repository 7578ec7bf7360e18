// The objects of a table in two versions that share nodes: walks both cluster trees in step, and skips equal subtrees.
// The trees may have different shapes, because clusters are split and merged and trees grow by a level.

/// Iterates over the objects in clusters that the versions do not share.
final class ClusterPairs: ObjectPairs {
  /// One of the two versions: its path through the tree, and the open cluster.
  private struct Side {
    let table: Table
    var path: ClusterPath
    var cluster: Cluster?
    var row = 0
    /// The key of the current row; nil if no cluster is open.
    var key: UInt64?
    /// The leaves in the open cluster by property, loaded on demand.
    var leaves: [ColumnLeaf?] = []
    /// The last key; later keys must be greater.
    private var last: UInt64?
    /// The lowest key to return.
    private let start: UInt64

    init(_ table: Table, after key: ObjKey) throws(EngineError) {
      self.table = table
      path = try ClusterPath(table.objects)
      start = UInt64(bitPattern: max(-1, key.value) &+ 1)
      try skipEarlier()
    }

    private mutating func skipEarlier() throws(EngineError) {
      while let subtree = path.next, subtree.end <= start { try path.pass() }
    }

    /// Opens the next subtree.
    mutating func open() throws(EngineError) {
      cluster = try path.open()
      try skipEarlier()
      guard let cluster else { return }
      row = try cluster.lowerBound(start)
      try settle()
    }

    /// Moves to the next row; after the last one no cluster is open.
    mutating func step() throws(EngineError) {
      row += 1
      try settle()
    }

    /// Moves to a later row, or after the last one.
    mutating func jump(to row: Int) throws(EngineError) {
      if let cluster, row > self.row { last = try cluster.key(row - 1) }
      self.row = row
      try settle()
    }

    private mutating func settle() throws(EngineError) {
      guard let cluster, row < cluster.count else {
        (cluster, key) = (nil, nil)
        return
      }
      let found = try cluster.key(row)
      if found > UInt64(Int64.max) || last.map({ found <= $0 }) ?? false {
        throw .damaged("object keys out of order", ref: cluster.slots.ref)
      }
      (key, last) = (found, found)
    }
  }

  private let pairing: TablePairing
  private var old: Side
  private var new: Side
  private var present: ObjectPair.Presence?
  /// The comparison of the two open clusters; nil before it is made.
  private var meeting: CommonObjects?

  /// The objects that both clusters contain.
  private struct CommonObjects {
    /// True if the clusters contain the same objects.
    let isAligned: Bool
    /// The properties in which objects may differ.
    var properties: [Int] = []
    /// The rows of the older cluster with objects that may differ.
    var rows = RowSet()
  }

  /// Starts after `key`.
  init(_ pairing: TablePairing, after key: ObjKey) throws(EngineError) {
    self.pairing = pairing
    old = try Side(pairing.old, after: key)
    new = try Side(pairing.new, after: key)
  }

  func next() throws(EngineError) -> ObjectPair? {
    if let present {
      if present != .new { try old.step() }
      if present != .old { try new.step() }
    }
    present = nil
    while true {
      switch (old.key, new.key) {
      case (let key?, let other?):
        if key == other, try skipEqualRows() { continue }
        return key == other ? move(to: key, .both) : key < other ? move(to: key, .old) : move(to: other, .new)
      case (let key?, nil):
        // The next subtree may contain objects of the newer version up to this key.
        guard let subtree = new.path.next, subtree.start <= key else { return move(to: key, .old) }
        try openNew()
      case (nil, let key?):
        guard let subtree = old.path.next, subtree.start <= key else { return move(to: key, .new) }
        try openOld()
      case (nil, nil):
        guard try openNextSubtree() else { return nil }
      }
    }
  }

  /// Skips a subtree that both trees share; otherwise opens the one that comes first or has the higher level. False at
  /// the end.
  private func openNextSubtree() throws(EngineError) -> Bool {
    switch (old.path.next, new.path.next) {
    case (nil, nil): return false
    case (_?, nil): try openOld()
    case (nil, _?): try openNew()
    case (let subtree?, let other?):
      if subtree.ref == other.ref && subtree.start == other.start && pairing.isShareable {
        try old.path.pass()
        try new.path.pass()
      } else if subtree.end <= other.start {
        try openOld()
      } else if other.end <= subtree.start {
        try openNew()
      } else if subtree.level != other.level {
        if subtree.level > other.level { try openOld() } else { try openNew() }
      } else {
        // The subtree that starts later may also be in the other tree, below the one that starts earlier.
        if subtree.start <= other.start { try openOld() }
        if other.start <= subtree.start { try openNew() }
      }
    }
    return true
  }

  private func openOld() throws(EngineError) {
    try old.open()
    forget(&old)
  }

  private func openNew() throws(EngineError) {
    try new.open()
    forget(&new)
  }

  private func forget(_ side: inout Side) {
    meeting = nil
    side.leaves = Array(repeating: nil, count: pairing.properties.count)
  }

  private func move(to key: UInt64, _ presence: ObjectPair.Presence) -> ObjectPair {
    present = presence
    return ObjectPair(key: ObjKey(Int64(bitPattern: key)), presence: presence)
  }

  /// Skips the current objects, and following ones, if they do not differ; false if they may. Clusters can also differ
  /// in data that is not compared, such as backlinks.
  private func skipEqualRows() throws(EngineError) -> Bool {
    guard let cluster = old.cluster, let meeting = try met() else { return false }
    if meeting.isAligned {
      let row = meeting.rows.first(from: old.row, below: cluster.count) ?? cluster.count
      if row == old.row { return false }
      try old.jump(to: row)
      try new.jump(to: row)
    } else {
      if meeting.rows.first(from: old.row, below: old.row + 1) != nil { return false }
      try old.step()
      try new.step()
    }
    return true
  }

  /// Compares the open clusters, and keeps the result.
  private func met() throws(EngineError) -> CommonObjects? {
    if let meeting { return meeting }
    guard let before = old.cluster, let after = new.cluster else { return nil }
    let common = try RowPair.common(before, after)
    let isAligned = common.count == before.count && common.count == after.count
    var meeting = CommonObjects(isAligned: isAligned)
    for index in pairing.properties.indices {
      // In a shared leaf, a different row has a different value.
      if isAligned, try haveSameLeaf(index, before, after) { continue }
      meeting.properties.append(index)
      if pairing.properties[index].isShareable, let leaf = try oldLeaf(index) {
        try leaf.addDifferences(to: &meeting.rows, from: newLeaf(index), common, old.table.arena, new.table.arena)
      } else {
        meeting.rows.insertAll()
      }
    }
    self.meeting = meeting
    return meeting
  }

  private func haveSameLeaf(_ index: Int, _ before: Cluster, _ after: Cluster) throws(EngineError) -> Bool {
    let property = pairing.properties[index]
    guard property.isShareable, let oldIndex = property.old else { return false }
    return try before.slots.childIfPresent(pairing.old.columns[oldIndex].key.leafPosition + 1)
      == after.slots.childIfPresent(pairing.new.columns[index].key.leafPosition + 1)
  }

  // MARK: values

  func suspects() throws(EngineError) -> [Int] { try met()?.properties ?? [] }

  func mayDiffer(_ property: Int) throws(EngineError) -> Bool {
    guard pairing.properties[property].isShareable,
      case .collections(let roots, _, _, _)? = try oldLeaf(property),
      case .collections(let others, _, _, _) = try newLeaf(property)
    else { return true }
    return try roots.int(old.row) != others.int(new.row)
  }

  func oldValue(_ property: Int) throws(EngineError) -> ValueView {
    try oldLeaf(property)?.value(old.row, old.table.arena) ?? .null
  }

  func newValue(_ property: Int) throws(EngineError) -> ValueView {
    try newLeaf(property).value(new.row, new.table.arena)
  }

  private func oldLeaf(_ property: Int) throws(EngineError) -> ColumnLeaf? {
    guard let index = pairing.properties[property].old else { return nil }
    return try Self.leaf(property, column: index, &old)
  }

  private func newLeaf(_ property: Int) throws(EngineError) -> ColumnLeaf {
    try Self.leaf(property, column: property, &new)
  }

  private static func leaf(_ property: Int, column index: Int, _ side: inout Side) throws(EngineError) -> ColumnLeaf {
    if let leaf = side.leaves[property] { return leaf }
    guard let cluster = side.cluster else { throw .damaged("no object") }
    let column = side.table.columns[index]
    let leaf = try column.leaf(side.table.arena, cluster.leafRef(column.key.leafPosition))
    if leaf.count != cluster.count {
      throw .damaged("a leaf of \(leaf.count) values in a cluster of \(cluster.count)", ref: cluster.slots.ref)
    }
    side.leaves[property] = leaf
    return leaf
  }
}
