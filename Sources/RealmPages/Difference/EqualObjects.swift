// Finds the objects that are equal in two tables without shared nodes: walks both trees in step, and compares the
// columns of clusters leaf by leaf, so that most objects need no separate comparison. Objects that are not found equal
// here may still be equal: the caller compares them.

/// Finds the ranges of keys whose objects have the same values in two tables. Keys must be passed in ascending order.
///
/// Links are equal if they refer to objects with the same key and primary key, of classes with the same name, because
/// that is how they are displayed. Not thread-safe: use it from one thread at a time.
package final class EqualObjects {
  /// A property of both tables, by its positions in their columns.
  package typealias Pair = (old: Int, new: Int)

  /// The pairs whose values are not compared here: collections, embedded objects, and properties of different types.
  package let others: [Pair]

  private struct Property {
    let old: Column
    let new: Column
    /// The equal targets of links; nil for other types.
    let targets: LinkTargets?

    /// True if leaves with the same bits have the same values.
    var isPlain: Bool { targets == nil && old.type != .mixed && old.enumRef == 0 && new.enumRef == 0 }
  }

  private let properties: [Property]
  private var old: Side
  private var new: Side
  /// Stretches of the current clusters that were not returned yet, the next one last.
  private var pending: [Stretch] = []
  private var stretch: Stretch?
  private var isAtEnd = false

  /// Consecutive rows in both tables, with the same keys and values.
  struct Stretch {
    let first: UInt64
    var last: UInt64
    var count: Int
  }

  /// Compares the objects of two tables in these properties. No objects count as equal in formats before 10, or after
  /// damage.
  package init(_ old: Table, of before: Snapshot, _ new: Table, of after: Snapshot, _ pairs: [Pair]) {
    var properties: [Property] = [], others: [Pair] = []
    for pair in pairs {
      if let property = Self.property(old.columns[pair.old], before, new.columns[pair.new], after) {
        properties.append(property)
      } else {
        others.append(pair)
      }
    }
    (self.properties, self.others) = (properties, others)
    (self.old, self.new) = (Side(old), Side(new))
    isAtEnd = old.legacyRows != nil || new.legacyRows != nil || old.damage != nil || new.damage != nil
  }

  private init(keysOf old: Table, _ new: Table, primaryKey: Pair?) {
    properties = primaryKey.map { [Property(old: old.columns[$0.old], new: new.columns[$0.new], targets: nil)] } ?? []
    others = []
    (self.old, self.new) = (Side(old), Side(new))
    isAtEnd = old.legacyRows != nil || new.legacyRows != nil || old.damage != nil || new.damage != nil
  }

  private static func property(
    _ old: Column,
    _ before: Snapshot,
    _ new: Column,
    _ after: Snapshot
  ) -> Property? {
    if old.type != new.type || old.collection != nil || new.collection != nil { return nil }
    guard old.type == .link else { return Property(old: old, new: new, targets: nil) }
    guard let key = old.targetTable, let otherKey = new.targetTable,
      let target = try? before.table(key),  // the error is reported when the link is read
      let other = try? after.table(otherKey),  // likewise
      target.name.isExactly(other.name), target.kind != .embedded, other.kind != .embedded,
      target.primaryKey?.type == other.primaryKey?.type
    else { return nil }
    let primaryKey = target.primaryKeyIndex.flatMap { old in other.primaryKeyIndex.map { (old, $0) } }
    let equal = EqualObjects(keysOf: target, other, primaryKey: primaryKey)
    return Property(old: old, new: new, targets: LinkTargets(target, equal))
  }

  /// The last key of the range of equal objects that contains this key; nil if the object is not in one.
  ///
  /// Cost: less than reading both tables, for all calls together.
  package func end(of key: ObjKey) -> ObjKey? {
    guard key.value >= 0 else { return nil }
    let wanted = UInt64(key.value)
    while stretch.map({ $0.last < wanted }) ?? true {
      stretch = next()
      if stretch == nil { return nil }
    }
    guard let stretch, stretch.first <= wanted else { return nil }
    return ObjKey(Int64(bitPattern: stretch.last))
  }

  /// The next stretch in ascending order; nil at the end.
  fileprivate func next() -> Stretch? {
    do {
      while !isAtEnd, pending.isEmpty { try compareClusters() }
    } catch {
      // The caller compares the rest one by one, and finds the damage.
      isAtEnd = true
    }
    return pending.popLast()
  }

  // MARK: clusters

  /// One of the tables, and the open cluster.
  private struct Side {
    let table: Table
    private var path: ClusterPath?
    private let effort: Effort
    private(set) var cluster: Cluster?
    private(set) var first: UInt64 = 0
    private(set) var last: UInt64 = 0
    private var hasBegun = false

    init(_ table: Table) {
      self.table = table
      effort = Effort(table.arena)
    }

    /// Opens the next nonempty cluster, unless one is open; false at the end.
    mutating func open() throws(EngineError) -> Bool {
      if cluster != nil { return true }
      if path == nil { path = try ClusterPath(table.objects) }
      while path?.next != nil {
        guard let found = try path?.open(), found.count > 0 else { continue }
        try effort.spend((2 + table.columns.count) * Node.headerSize, at: found.slots.ref)
        let low = try found.key(0), high = try found.key(found.count - 1)
        if low > high || high > UInt64(Int64.max) || hasBegun && low <= last {
          throw .damaged("object keys out of order", ref: found.slots.ref)
        }
        (cluster, first, last, hasBegun) = (found, low, high, true)
        return true
      }
      return false
    }

    mutating func close() { cluster = nil }

    func leaf(_ column: Column) throws(EngineError) -> ColumnLeaf? {
      guard let cluster else { return nil }
      let leaf = try column.leaf(table.arena, cluster.leafRef(column.key.leafPosition))
      return leaf.count == cluster.count ? leaf : nil
    }
  }

  /// Compares the current clusters and closes the one that ends first, or both.
  private func compareClusters() throws(EngineError) {
    guard try old.open(), try new.open(), let before = old.cluster, let after = new.cluster else {
      isAtEnd = true
      return
    }
    if old.first <= new.last, new.first <= old.last { try compare(before, after) }
    let (oldLast, newLast) = (old.last, new.last)
    if oldLast <= newLast { old.close() }
    if newLast <= oldLast { new.close() }
  }

  private func compare(_ before: Cluster, _ after: Cluster) throws(EngineError) {
    let common = try RowPair.common(before, after)
    let isAligned = common.count == before.count && common.count == after.count
    var differing = RowSet()
    for property in properties {
      if isAligned, property.isPlain,
        try old.table.arena.isIdentical(
          before.leafRef(property.old.key.leafPosition),
          to: after.leafRef(property.new.key.leafPosition),
          in: new.table.arena
        )
      {
        continue
      }
      guard let leaf = try old.leaf(property.old), let other = try new.leaf(property.new) else {
        return
      }
      try leaf.addDifferences(to: &differing, from: other, common, old.table.arena, new.table.arena)
      if property.old.type == .link || property.old.type == .mixed {
        for row in common where differing.first(from: row.old, below: row.old + 1) == nil {
          guard case .link(_, let key) = try leaf.value(row.old, old.table.arena) else { continue }
          if try property.targets?.contains(key) != true { differing.insert(row.old) }
        }
      }
    }
    try addStretches(common, differing, before)
  }

  private func addStretches(_ common: [RowPair], _ differing: RowSet, _ before: Cluster) throws(EngineError) {
    var stretches: [Stretch] = [], former: RowPair?, last: UInt64?
    for row in common {
      let key = try before.key(row.old)
      if let last, key <= last { throw .damaged("object keys out of order", ref: before.slots.ref) }
      last = key
      if differing.first(from: row.old, below: row.old + 1) != nil {
        former = nil
      } else {
        if let former, former.old + 1 == row.old, former.new + 1 == row.new {
          stretches[stretches.count - 1].last = key
          stretches[stretches.count - 1].count += 1
        } else {
          stretches.append(Stretch(first: key, last: key, count: 1))
        }
        former = row
      }
    }
    pending = stretches.reversed()
  }
}

/// The objects to which links are equal: those with the same key and primary key in two tables.
private final class LinkTargets {
  private var stretches: [EqualObjects.Stretch] = []
  private let cursor: ObjectCursor
  private var lastFound = 0

  /// The maximum number of stretches; links to later objects are compared one by one.
  private static let maximumCount = 1 << 16

  init(_ table: Table, _ equal: EqualObjects) {
    cursor = ObjectCursor(table)
    while stretches.count < Self.maximumCount, let stretch = equal.next() {
      if let last = stretches.last, last.last + 1 == stretch.first {
        stretches[stretches.count - 1].last = stretch.last
        stretches[stretches.count - 1].count += stretch.count
      } else {
        stretches.append(stretch)
      }
    }
  }

  func contains(_ key: ObjKey) throws(EngineError) -> Bool {
    guard key.value >= 0, !stretches.isEmpty else { return false }
    let wanted = UInt64(key.value)
    if !(stretches[lastFound].first...stretches[lastFound].last).contains(wanted) {
      let place = bisect(stretches.count) { stretches[$0].last < wanted }
      guard place < stretches.count, stretches[place].first <= wanted else { return false }
      lastFound = place
    }
    let stretch = stretches[lastFound]
    if stretch.last - stretch.first == UInt64(stretch.count - 1) { return true }
    return try cursor.seek(key)
  }
}

extension Arena {
  /// True if a node and its subtree have the same bits as another one; also false if that would require reading too
  /// many nodes.
  fileprivate func isIdentical(
    _ ref: Int,
    to otherRef: Int,
    in other: Arena,
    depth: Int = 2
  ) throws(EngineError) -> Bool {
    let node = try node(ref), twin = try other.node(otherRef)
    if !node.hasRefs {
      if node.byteSize >= 4096 {
        space.noteRead(ref, node.byteSize)
        other.space.noteRead(otherRef, twin.byteSize)
      }
      return node.isIdentical(to: twin)
    }
    guard depth > 0, node.scheme == .bits, node.hasSameKind(as: twin), node.count <= Cluster.maximumCount else {
      return false
    }
    for index in 0..<node.count {
      let child = try node.int(index), otherChild = try twin.int(index)
      if child & 1 != 0 || child == 0 || otherChild & 1 != 0 || otherChild == 0 {
        if child != otherChild { return false }
      } else if try !isIdentical(Int(child), to: Int(otherChild), in: other, depth: depth - 1) {
        return false
      }
    }
    return true
  }
}
