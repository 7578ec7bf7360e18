// A path through a cluster tree, from left to right, that opens a node only on request.
// Source: docs/format/2-model.md M6.

/// A position before a subtree of a cluster tree, which can be opened or skipped.
struct ClusterPath {
  /// A cluster or an inner node, with keys in `start ..< end`.
  struct Subtree {
    let ref: Int
    /// 0 for a cluster.
    let level: Int
    let start: UInt64
    let end: UInt64
  }

  private struct Frame {
    let node: Node
    let inner: InnerClusterNode
    let subtree: Subtree
    var child = -1
  }

  /// The next subtree; nil at the end.
  private(set) var next: Subtree?
  private let arena: Arena
  private var frames: [Frame] = []
  /// The number of opened nodes; stops a cycle in a damaged tree.
  private var opened = 0

  /// The keys of live objects are below this.
  private static let keyEnd = UInt64(1) << 63

  /// Starts before the whole tree.
  init(_ tree: ClusterTree) throws(EngineError) {
    arena = tree.arena
    let root = try arena.refs(tree.rootRef, slots: 1)
    let level = root.isInner ? try InnerClusterNode(arena, root, depth: nil).level : 0
    next = Subtree(ref: tree.rootRef, level: level, start: 0, end: Self.keyEnd)
  }

  /// Skips the next subtree.
  mutating func pass() throws(EngineError) { next = try sibling() }

  /// Opens the next subtree: returns a cluster; for an inner node returns nil, and its first child comes next.
  mutating func open() throws(EngineError) -> Cluster? {
    guard let subtree = next else { return nil }
    opened += 1
    if opened > arena.maximumNodes { throw .damaged("more clusters than the file has room for", ref: subtree.ref) }
    let node = try arena.refs(subtree.ref, slots: 1)
    if node.isInner != (subtree.level > 0) {
      throw .damaged("a cluster node that is not of level \(subtree.level)", ref: subtree.ref)
    }
    if node.isInner {
      let inner = try InnerClusterNode(arena, node, depth: subtree.level)
      frames.append(Frame(node: node, inner: inner, subtree: subtree))
      next = try sibling()
      return nil
    }
    next = try sibling()
    arena.space.noteRead(subtree.ref, node.byteSize)
    return try Cluster(arena, node, offset: subtree.start)
  }

  private mutating func sibling() throws(EngineError) -> Subtree? {
    while let last = frames.indices.last {
      frames[last].child += 1
      let frame = frames[last], child = frame.child, count = frame.inner.childCount
      guard child < count else {
        frames.removeLast()
        continue
      }
      let start = frame.subtree.start &+ (try frame.inner.start(child))
      let end = child + 1 < count ? frame.subtree.start &+ (try frame.inner.start(child + 1)) : frame.subtree.end
      if start < frame.subtree.start || start >= end || end > frame.subtree.end {
        throw .damaged("object keys out of order", ref: frame.node.ref)
      }
      return Subtree(ref: try frame.node.child(child + 3), level: frame.inner.level - 1, start: start, end: end)
    }
    return nil
  }
}
