// The shape of B+trees: the sizes and offsets of every inner node agree with the elements below it. Source:
// docs/format/1-storage.md S16.

private typealias Inner = Layout.InnerTree

/// Walks the leaves of a B+tree.
struct TreeCheck {
  private let context: CheckContext

  /// The maximum number of elements in a leaf, and of children of an inner node.
  static let maximumCount = 1000
  /// The maximum depth.
  private static let maximumDepth = 12

  init(_ context: CheckContext) { self.context = context }

  /// The position of a node in its tree.
  private struct Position {
    var depth: Int
    /// True if the subtree contains the first element of the tree.
    var isFirst: Bool
    let ofLinks: Bool

    func child(_ index: Int) -> Position {
      Position(depth: depth + 1, isFirst: isFirst && index == 0, ofLinks: ofLinks)
    }
  }

  /// The size and height of a subtree.
  private struct Extent {
    var count: Int
    var height: Int
    /// The number of elements in its largest leaf.
    var largestLeaf: Int
  }

  /// Checks the tree at `ref` and returns the number of its elements. `leaf` claims and checks one leaf, given its ref
  /// and whether it is the first, and returns the number of its elements. In a tree of links, the first leaf and its
  /// ancestors may have the context flag: it is set on the root, and each of them was the root at some time.
  func check(
    _ ref: Int,
    ofLinks: Bool = false,
    leaf: (Int, Bool) throws(EngineError) -> Int
  ) throws(EngineError) -> Int {
    let root = try context.arena.node(ref)
    if !root.isInner { return try leaf(ref, true) }
    let extent = try inner(root, Position(depth: 0, isFirst: true, ofLinks: ofLinks), leaf)
    if extent.largestLeaf > Self.maximumCount && context.arena.format >= 24 {
      context.report("a leaf of \(extent.largestLeaf) elements in a B+tree", ref: ref)
    }
    return extent.count
  }

  /// Like `check(_:ofLinks:leaf:)`, but passes `leaf` the ref and the position of the leaf's first element.
  func check(
    _ ref: Int,
    firstPosition: Int,
    leaf: (Int, Int) throws(EngineError) -> Int
  ) throws(EngineError) -> Int {
    var position = firstPosition
    return try check(ref) { (leafRef, _) throws(EngineError) in
      let count = try leaf(leafRef, position)
      position += count
      return count
    }
  }

  private func subtree(
    _ ref: Int,
    _ position: Position,
    _ leaf: (Int, Bool) throws(EngineError) -> Int
  ) throws(EngineError) -> Extent {
    let node = try context.arena.node(ref)
    if node.isInner { return try inner(node, position, leaf) }
    let count = try leaf(ref, position.isFirst)
    return Extent(count: count, height: 0, largestLeaf: count)
  }

  private func inner(
    _ node: Node,
    _ position: Position,
    _ leaf: (Int, Bool) throws(EngineError) -> Int
  ) throws(EngineError) -> Extent {
    _ = try context.claim(node.ref)
    let mayHaveContext = position.ofLinks && position.isFirst
    try context.expect(node, .bits, hasRefs: true, inner: true, context: mayHaveContext && node.hasContext)
    let children = node.count - Inner.others
    if children < 1 || position.depth == Self.maximumDepth {
      throw .damaged(
        "an inner node of \(children) children, \(position.depth) levels below the root",
        ref: node.ref
      )
    }
    if children > Self.maximumCount { context.report("\(children) children in an inner node", ref: node.ref) }
    let head = try node.int(Inner.head), total = try node.tagged(node.count - 1)
    let offsets = head & 1 == 0 ? try context.integers(Int(head)) : nil
    if let offsets, offsets.count != children - 1 {
      context.report("\(offsets.count) offsets for \(children) children", ref: node.ref)
    }
    var extent = Extent(count: 0, height: 0, largestLeaf: 0)
    for child in 0..<children {
      let part = try subtree(node.child(child + Inner.firstChild), position.child(child), leaf)
      if part.count == 0 { context.report("child \(child) is empty", ref: node.ref) }
      if child > 0 && part.height != extent.height - 1 {
        context.report("child \(child) is not as high as the others", ref: node.ref)
      }
      extent.count += part.count
      extent.height = max(extent.height, part.height + 1)
      extent.largestLeaf = max(extent.largestLeaf, part.largestLeaf)
      let isLast = child == children - 1
      if let offsets {
        let end = child < offsets.count ? try offsets.unsigned(child) : UInt64(extent.count)
        if end != UInt64(extent.count) && !isLast {
          context.report("child \(child) ends at \(extent.count), not at \(end)", ref: node.ref)
        }
      } else if Int64(part.count) > head >> 1 || !isLast && Int64(part.count) != head >> 1 {
        context.report(
          "child \(child) of a compact node has \(part.count) elements instead of \(head >> 1)",
          ref: node.ref
        )
      }
    }
    if total != Int64(extent.count) {
      context.report("counts \(total) elements, but has \(extent.count)", ref: node.ref)
    }
    return extent
  }
}
