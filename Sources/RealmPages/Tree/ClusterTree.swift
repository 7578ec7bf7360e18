// The tree that maps object keys to clusters of up to 256 objects. Source: docs/format/2-model.md M6.

private typealias Inner = Layout.InnerCluster
private typealias Leaf = Layout.Cluster

/// A leaf of the tree: the columns of up to 256 objects.
struct Cluster {
  /// Slot 0: count or keys; slot p + 1: the leaf of the column at position p.
  let slots: Node
  /// The base of the keys stored in the leaf.
  let offset: UInt64
  /// The keys of a general leaf; nil for a compact one, whose keys count up from 0.
  let keys: Node?
  let count: Int

  /// The maximum number of objects in a leaf, and of children of an inner node, as in realm-core.
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

  /// Returns the key of the object in `row`, as an unsigned number.
  @inline(__always)
  func key(_ row: Int) throws(EngineError) -> UInt64 {
    try offset &+ (keys?.unsigned(row) ?? UInt64(row))
  }

  /// Returns the first row whose key is not less than `key`; `count` if there is none.
  func lowerBound(_ key: UInt64) throws(EngineError) -> Int {
    guard keys != nil else { return key < offset ? 0 : Int(min(key - offset, UInt64(count))) }
    return try bisect(count) { (row) throws(EngineError) in try self.key(row) < key }
  }

  /// Returns the ref of the leaf of the column at `position`.
  @inline(__always)
  func leafRef(_ position: Int) throws(EngineError) -> Int {
    let ref = try slots.childIfPresent(position + Leaf.firstColumn)
    if ref == 0 { throw .damaged("has no leaf for column position \(position)", ref: slots.ref) }
    return ref
  }
}

/// A tree of objects by ascending key. Keys are compared as unsigned 64-bit numbers.
struct ClusterTree {
  let arena: Arena
  let rootRef: Int

  /// The maximum depth: 256 to the power of 8 covers all keys.
  static let maximumDepth = 8
  /// The maximum number of nodes visited by a search. In an intact file, a search visits at most two clusters, because
  /// clusters below an inner node are not empty.
  private static let maximumVisits = 1000

  /// Returns the number of objects, according to the root. Cost: O(1).
  func count() throws(EngineError) -> Int {
    let root = try arena.refs(rootRef, slots: 1)
    if !root.isInner { return try Cluster(arena, root, offset: 0).count }
    let count = try root.tagged(Inner.count)
    if count < 0 { throw .damaged("an inner node that counts \(count) objects", ref: rootRef) }
    return Int(count)
  }

  /// Returns the largest key; nil if there are no objects. Cost: O(log n).
  func lastKey() throws(EngineError) -> UInt64? {
    let cluster = try cluster { (inner, _) in inner.childCount - 1 }
    return cluster.count == 0 ? nil : try cluster.key(cluster.count - 1)
  }

  /// Returns the cluster and row of the first object whose key is not less than `key`; nil if there is none. Cost:
  /// O(log n).
  func first(notBelow key: UInt64) throws(EngineError) -> (cluster: Cluster, row: Int)? {
    var search = Search()
    return try first(notBelow: key, &search)
  }

  /// Like `first(notBelow:)`, but counts the visited clusters in `search`.
  func first(notBelow key: UInt64, _ search: inout Search) throws(EngineError) -> (cluster: Cluster, row: Int)? {
    search.visits = 0
    return try first(in: rootRef, offset: 0, notBelow: key, depth: nil, &search)
  }

  /// Returns the cluster and row of the object at `position` in key order; nil beyond the last one. Cost: O(log n),
  /// reading the siblings of each node on the path for their counts.
  func place(at position: Int) throws(EngineError) -> (cluster: Cluster, row: Int)? {
    var ref = rootRef, offset: UInt64 = 0, depth: Int?, rest = position
    while true {
      let node = try arena.refs(ref, slots: 1)
      guard node.isInner else {
        arena.space.noteRead(ref, node.byteSize)
        if let depth, depth != 0 { throw .damaged("a cluster \(depth) levels too high", ref: ref) }
        let cluster = try Cluster(arena, node, offset: offset)
        return rest < cluster.count ? (cluster, rest) : nil
      }
      let inner = try InnerClusterNode(arena, node, depth: depth)
      var next: (child: Int, ref: Int)?
      for child in 0..<inner.childCount {
        let childRef = try node.child(child + 3)
        let count = try ClusterTree(arena: arena, rootRef: childRef).count()
        if rest < count {
          next = (child, childRef)
          break
        }
        rest -= count
      }
      guard let next else { return nil }
      offset &+= try inner.start(next.child)
      depth = inner.level - 1
      ref = next.ref
    }
  }

  /// The progress of one search or a sequence of searches.
  struct Search {
    /// Called for each child that cannot be read; the search continues with the next child. If nil, the error ends the
    /// search.
    var onDamage: ((EngineError) -> Void)?
    /// The number of visited clusters and unreadable children.
    var clusters = 0
    /// The number of nodes visited by the current search.
    fileprivate var visits = 0
  }

  /// Returns the cluster and row of the object with this key; nil if there is none. Cost: O(log n).
  func place(of key: UInt64) throws(EngineError) -> (cluster: Cluster, row: Int)? {
    let cluster = try cluster { (inner, offset) throws(EngineError) in
      key < offset ? 0 : try inner.child(for: key &- offset)
    }
    let row = try cluster.lowerBound(key)
    guard row < cluster.count, try cluster.key(row) == key else { return nil }
    return (cluster, row)
  }

  /// Returns the cluster at the end of a path from the root. `choose` selects a child of each inner node, given the key
  /// at which the node begins.
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
    // Keys wrap modulo 2^64. If the key precedes this subtree, start with the first child.
    var child = key < offset ? 0 : try inner.child(for: key &- offset)
    while child < inner.childCount {
      do {
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

/// A checked inner node of the tree. Its keys are relative to the start of its subtree.
struct InnerClusterNode {
  let level: Int
  let childCount: Int
  /// The start keys of the children; nil if they are spaced as for full children.
  private let offsets: Node?

  /// Checks a node. `depth` is its expected level above the clusters, if known.
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

  /// Returns the child whose key range contains `key`.
  func child(for key: UInt64) throws(EngineError) -> Int {
    if let offsets { return max(0, try offsets.upperBound(key) - 1) }
    return Int(min(key >> (8 * UInt64(level)), UInt64(childCount - 1)))
  }

  /// Returns the key at which a child begins.
  func start(_ child: Int) throws(EngineError) -> UInt64 {
    try offsets?.unsigned(child) ?? UInt64(child) << (8 * UInt64(level))
  }
}
