// The B+tree of lists, sets, dictionary parts, backlinks and index entries: finds the leaf of a position. Source:
// docs/format/1-storage.md S16.

private typealias Inner = Layout.InnerTree

/// A B+tree, given by its root. Deals with positions only: the caller interprets the leaves.
struct BPlusTree {
  /// A leaf and the positions of its elements in the whole tree.
  struct Place {
    let leaf: Int
    let start: Int
    let end: Int
  }

  let root: Node
  /// The number of elements below an inner root; nil if the root is a leaf.
  let innerCount: Int?

  /// The maximum number of elements in a leaf. Source: docs/format/1-storage.md S16.
  static let maximumLeaf = 1000
  /// The maximum number of children of an inner node.
  static let maximumChildren = 1000
  /// The maximum depth, more than enough with 1000 children per node.
  static let maximumDepth = 12

  init(_ arena: borrowing Arena, _ ref: Int) throws(EngineError) {
    root = try arena.node(ref)
    innerCount = root.isInner ? try Self.total(root, arena) : nil
  }

  /// Returns the leaf that holds position `index`, which must be below `innerCount`. Cost: O(log n).
  func place(of index: Int, _ arena: Arena) throws(EngineError) -> Place {
    var node = root, start = 0, end = innerCount ?? Int.max
    for _ in 0..<Self.maximumDepth {
      guard node.isInner else { return Place(leaf: node.ref, start: start, end: end) }
      let children = node.count - Inner.others, head = try node.int(Inner.head)
      let local = index - start
      var child: Int, childStart: Int, childEnd = end
      if head & 1 != 0 {
        let perChild = Int(head >> 1)
        if perChild <= 0 { throw .damaged("a compact inner node of \(perChild) elements a child", ref: node.ref) }
        child = local / perChild
        childStart = child * perChild
        if child < children - 1 { childEnd = start + childStart + perChild }
      } else {
        let offsets = try arena.integers(Int(head))
        if offsets.count != children - 1 {
          throw .damaged("\(offsets.count) offsets for \(children) children", ref: node.ref)
        }
        child = try offsets.upperBound(UInt64(local))
        childStart = child == 0 ? 0 : Int(truncatingIfNeeded: try offsets.unsigned(child - 1))
        if child < children - 1 { childEnd = start &+ Int(truncatingIfNeeded: try offsets.unsigned(child)) }
      }
      start = start &+ childStart
      if child >= children || start > index || childEnd <= index || childEnd > end {
        throw .damaged("position \(index) is in no child", ref: node.ref)
      }
      end = childEnd
      let ref = try node.child(child + Inner.firstChild)
      node = try arena.node(ref)
    }
    throw .damaged("the tree is deeper than \(Self.maximumDepth) levels", ref: root.ref)
  }

  /// Returns the number of elements below an inner node. Throws if the file has no room for them: even leaves of width
  /// 0 need a node per 1000 elements.
  private static func total(_ node: Node, _ arena: Arena) throws(EngineError) -> Int {
    if node.count < 3 || !node.hasRefs { throw .damaged("an inner node without children", ref: node.ref) }
    let total = try node.tagged(node.count - 1)
    if total <= 0 || total / 1000 > Int64(arena.maximumNodes) {
      throw .damaged("an inner node that counts \(total) elements", ref: node.ref)
    }
    return Int(total)
  }
}

extension Node {
  /// Returns the number of elements that are not greater than `value`; the elements must be unsigned and ascending.
  /// Cost: O(log count).
  func upperBound(_ value: UInt64) throws(EngineError) -> Int {
    try bisect(count) { (index) throws(EngineError) in try unsigned(index) <= value }
  }
}
