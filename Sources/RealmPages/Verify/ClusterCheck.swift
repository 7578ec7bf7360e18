// The shape of cluster trees: depths, counts, key order, at most 256 objects per cluster. Source:
// docs/format/2-model.md M6.

/// Walks the clusters of a cluster tree in key order.
struct ClusterCheck {
  private let context: CheckContext

  /// The maximum depth: 256 to the power of 8 covers all keys.
  private static let maximumDepth = 8
  /// More children than any writer creates, but few enough to copy.
  private static let maximumChildren = 1 << 16

  init(_ context: CheckContext) { self.context = context }

  /// Checks the tree at `ref` and calls `leaf` for each cluster. The cluster's own nodes are claimed, but not the
  /// leaves of its columns. Returns the number of objects. `leaf` may drop pages once it has finished its cluster, if
  /// the caller holds no views of nodes.
  func check(_ ref: Int, leaf: (Cluster) throws(EngineError) -> Void) throws(EngineError) -> Int {
    var last: Int64?
    return try subtree(ref, offset: 0, depth: nil, last: &last, leaf)
  }

  private func subtree(
    _ ref: Int,
    offset: UInt64,
    depth: Int?,
    last: inout Int64?,
    _ leaf: (Cluster) throws(EngineError) -> Void
  ) throws(EngineError) -> Int {
    let node = try context.claim(ref)
    try context.expect(node, .bits, hasRefs: true, inner: node.isInner)
    if node.isInner { return try inner(node, offset: offset, depth: depth, last: &last, leaf) }
    if let depth, depth != 0 { throw .damaged("a cluster \(depth) levels too high", ref: ref) }
    if node.count == 0 { throw .damaged("a cluster without slots", ref: ref) }
    let head = try node.int(Layout.Cluster.head)
    if head & 1 == 0 { _ = try context.integers(Int(head)) }
    let cluster = try Cluster(context.arena, node, offset: offset)
    if cluster.count == 0 && depth != nil { context.report("an empty cluster below an inner node", ref: ref) }
    for row in 0..<cluster.count {
      let key = Int64(bitPattern: try cluster.key(row))
      if let last, key <= last { context.report("object key \(key) comes after \(last)", ref: ref) }
      last = key
    }
    do { try leaf(cluster) } catch {
      // The rest of the tree can still be checked.
      context.report(error.problem, ref: error.ref ?? ref)
    }
    return cluster.count
  }

  private func inner(
    _ node: Node,
    offset: UInt64,
    depth: Int?,
    last: inout Int64?,
    _ leaf: (Cluster) throws(EngineError) -> Void
  ) throws(EngineError) -> Int {
    let children = node.count - Layout.InnerCluster.firstChild
    if children < 1 || children > Self.maximumChildren {
      throw .damaged("an inner cluster node of \(node.count) slots", ref: node.ref)
    }
    let level = try node.tagged(Layout.InnerCluster.level), total = try node.tagged(Layout.InnerCluster.count)
    if level < 1 || level > Int64(Self.maximumDepth) || depth.map({ Int64($0) != level }) ?? false {
      throw .damaged("an inner cluster node of level \(level) where \(depth ?? 1) belongs", ref: node.ref)
    }
    if children > Cluster.maximumCount {
      context.report("\(children) children in an inner cluster node", ref: node.ref)
    }
    let offsetsRef = try node.child(Layout.InnerCluster.starts)
    let offsets = offsetsRef == 0 ? nil : try context.integers(offsetsRef)
    if let offsets, offsets.count != children {
      throw .damaged("\(offsets.count) key offsets for \(children) children", ref: node.ref)
    }
    // Copied: `leaf` may drop the pages.
    var starts: [UInt64] = [], refs: [Int] = []
    for child in 0..<children {
      starts.append(try offsets?.unsigned(child) ?? UInt64(child) << (8 * UInt64(level)))
      refs.append(try node.child(child + 3))
    }
    var count = 0
    for (child, start) in starts.enumerated() {
      if offsetsRef != 0, child > 0, starts[child - 1] >= start {
        context.report("the key offsets are not ascending", ref: node.ref)
      }
      // A search descends to the last child whose offset is not greater than the key.
      if child > 0, let last, UInt64(bitPattern: last) >= offset &+ start {
        context.report("child \(child - 1) has the key \(last), which belongs to the next child", ref: node.ref)
      }
      do {
        count += try subtree(refs[child], offset: offset &+ start, depth: Int(level) - 1, last: &last, leaf)
      } catch {
        context.report(error.problem, ref: error.ref)
      }
    }
    if Int64(count) != total { context.report("counts \(total) objects, but has \(count)", ref: node.ref) }
    return count
  }
}
