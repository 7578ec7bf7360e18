// The tree from object keys to clusters of up to 256 objects. Source: docs/format/2-model.md M6.

private typealias Inner = Layout.InnerCluster
private typealias Leaf = Layout.Cluster

/// A leaf of the tree: the columns of up to 256 objects.
struct Cluster {
  /// Slot 0: count or keys; slot p + 1: the leaf of the column at position p.
  let slots: Node
  /// Added to the keys stored in the leaf.
  let offset: UInt64
  /// The keys of a general leaf; nil for a compact one, whose keys count from 0.
  let keys: Node?
  let count: Int

  /// realm-core puts at most this many objects into a leaf, and as many children into an inner node.
  static let maximumCount = 256

  init(_ arena: borrowing Arena, _ node: Node, offset: UInt64) throws(EngineError) {
    slots = node
    self.offset = offset
    let head = try node.int(Leaf.head)
    if head & 1 != 0 {
      keys = nil
      count = Int(truncatingIfNeeded: head >> 1)
    } else {
      let keys = try arena.integers(Int(head))
      self.keys = keys
      count = keys.count
    }
    if count < 0 || count > Self.maximumCount {
      throw .damaged("\(count) objects in one cluster", ref: node.ref)
    }
  }

  /// The key of the object in `row`, as an unsigned number.
  @inline(__always)
  func key(_ row: Int) throws(EngineError) -> UInt64 {
    try offset &+ (keys?.unsigned(row) ?? UInt64(row))
  }

  /// The first row whose key is not below `key`; `count` if there is none.
  func lowerBound(_ key: UInt64) throws(EngineError) -> Int {
    guard keys != nil else { return key < offset ? 0 : Int(min(key - offset, UInt64(count))) }
    return try bisect(count) { (row) throws(EngineError) in try self.key(row) < key }
  }

  /// The ref of the leaf of the column at `position`.
  @inline(__always)
  func leafRef(_ position: Int) throws(EngineError) -> Int {
    let ref = try slots.childIfPresent(position + Leaf.firstColumn)
    if ref == 0 { throw .damaged("has no leaf for column position \(position)", ref: slots.ref) }
    return ref
  }
}

/// Objects by ascending key; keys are compared as unsigned 64-bit numbers.
struct ClusterTree {
  let arena: Arena
  let rootRef: Int

  /// 256 to the power of 8 is all keys there are.
  fileprivate static let maximumDepth = 8
  /// Clusters that a search looks into. Two will do in a sound file, where none below an inner node is empty.
  private static let maximumVisits = 1000

  /// The number of objects as the root has it. O(1).
  func count() throws(EngineError) -> Int {
    let root = try arena.refs(rootRef, slots: 1)
    if !root.isInner { return try Cluster(arena, root, offset: 0).count }
    let count = try root.tagged(Inner.count)
    if count < 0 { throw .damaged("an inner node that counts \(count) objects", ref: rootRef) }
    return Int(count)
  }

  /// The largest key, nil if there is none. O(log n).
  func lastKey() throws(EngineError) -> UInt64? {
    let cluster = try cluster { (inner, _) in inner.childCount - 1 }
    return cluster.count == 0 ? nil : try cluster.key(cluster.count - 1)
  }

  /// The cluster and row of the first object whose key is not below `key`; nil if there is none. O(log n).
  ///
  func first(notBelow key: UInt64) throws(EngineError) -> (cluster: Cluster, row: Int)? {
    var search = Search()
    return try first(notBelow: key, &search)
  }

  /// The same, counting the clusters that are looked into.
  func first(notBelow key: UInt64, _ search: inout Search) throws(EngineError) -> (cluster: Cluster, row: Int)? {
    search.visits = 0
    return try first(in: rootRef, offset: 0, notBelow: key, depth: nil, &search)
  }

  /// What a search, or several after each other, has looked into.
  struct Search {
    /// Called for a child that cannot be read: the search goes on with the next one. Nil ends the search there.
    var onDamage: ((EngineError) -> Void)?
    /// Clusters, and children that could not be read.
    var clusters = 0
    /// Nodes of the present search.
    fileprivate var visits = 0
  }

  /// The cluster and row of the object with this key; nil if there is none. O(log n).
  func place(of key: UInt64) throws(EngineError) -> (cluster: Cluster, row: Int)? {
    let cluster = try cluster { (inner, offset) throws(EngineError) in
      key < offset ? 0 : try inner.child(for: key &- offset)
    }
    let row = try cluster.lowerBound(key)
    guard row < cluster.count, try cluster.key(row) == key else { return nil }
    return (cluster, row)
  }

  /// The cluster that one way down leads to: `choose` takes a child of each inner node, which begins at the key given.
  @inline(__always)
  private func cluster(
    _ choose: (InnerClusterNode, UInt64) throws(EngineError) -> Int
  ) throws(EngineError) -> Cluster {
    var ref = rootRef, offset: UInt64 = 0, depth: Int?
    while true {
      let node = try arena.refs(ref, slots: 1)
      guard node.isInner else {
        arena.space.noteRead(ref, node.byteSize)
        if let depth, depth != 0 { throw .damaged("a cluster \(depth) levels too high", ref: ref) }
        return try Cluster(arena, node, offset: offset)
      }
      let inner = try InnerClusterNode(arena, node, depth: depth)
      let child = try choose(inner, offset)
      offset &+= try inner.start(child)
      depth = inner.level - 1
      ref = try node.child(child + 3)
    }
  }

  private func first(
    in ref: Int,
    offset: UInt64,
    notBelow key: UInt64,
    depth: Int?,
    _ search: inout Search
  ) throws(EngineError) -> (cluster: Cluster, row: Int)? {
    search.visits += 1
    if search.visits > Self.maximumVisits { throw .damaged("too many empty clusters", ref: ref) }
    let node = try arena.refs(ref, slots: 1)
    guard node.isInner else {
      search.clusters += 1
      arena.space.noteRead(ref, node.byteSize)
      if let depth, depth != 0 { throw .damaged("a cluster \(depth) levels too high", ref: ref) }
      let cluster = try Cluster(arena, node, offset: offset)
      let row = try cluster.lowerBound(key)
      return row < cluster.count ? (cluster, row) : nil
    }
    let inner = try InnerClusterNode(arena, node, depth: depth)
    // Keys wrap modulo 2^64; a key before this subtree starts with its first child.
    var child = key < offset ? 0 : try inner.child(for: key &- offset)
    while child < inner.childCount {
      do throws(EngineError) {
        let start = offset &+ (try inner.start(child)), childRef = try node.child(child + 3)
        if let found = try first(in: childRef, offset: start, notBelow: key, depth: inner.level - 1, &search) {
          return found
        }
      } catch {
        guard let onDamage = search.onDamage, search.visits <= Self.maximumVisits else { throw error }
        search.clusters += 1
        onDamage(error)
      }
      child += 1
    }
    return nil
  }
}

/// An inner node of the tree that has been checked. What it says of keys counts from where its subtree begins.
struct InnerClusterNode {
  let level: Int
  let childCount: Int
  /// Where the children begin; nil if each begins where the one before would be full.
  private let offsets: Node?

  /// Checks a node that is `depth` levels above the clusters, as far as that is known.
  init(_ arena: borrowing Arena, _ node: Node, depth: Int?) throws(EngineError) {
    level = Int(truncatingIfNeeded: try node.tagged(Inner.level))
    childCount = node.count - Inner.firstChild
    if childCount < 1 || childCount > Cluster.maximumCount || level < 1 || level > ClusterTree.maximumDepth
      || level != depth ?? level
    {
      throw .damaged("an inner cluster node of level \(level) with \(childCount) children", ref: node.ref)
    }
    let starts = try node.child(Inner.starts)
    offsets = starts == 0 ? nil : try arena.integers(starts)
    if let offsets, offsets.count != childCount {
      throw .damaged("\(offsets.count) key offsets for \(childCount) children", ref: node.ref)
    }
  }

  /// The child that an object with this key is below.
  func child(for key: UInt64) throws(EngineError) -> Int {
    if let offsets { return max(0, try offsets.upperBound(key) - 1) }
    return Int(min(key >> (8 * UInt64(level)), UInt64(childCount - 1)))
  }

  /// Where a child begins.
  func start(_ child: Int) throws(EngineError) -> UInt64 {
    try offsets?.unsigned(child) ?? UInt64(child) << (8 * UInt64(level))
  }
}
