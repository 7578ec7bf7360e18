// The B+tree of lists, sets, dictionary parts, backlinks and index entries: position to leaf. Source:
// docs/format/1-storage.md S16.

private typealias Inner = Layout.InnerTree

/// A B+tree seen from its root. Knows positions, not values: what a leaf holds is for its reader to say.
struct BPlusTree {
  /// A leaf and the positions of its elements in the whole tree.
  struct Place {
    let leaf: Int
    let start: Int
    let end: Int
  }

  let root: Node
  /// The number of elements below an inner root; nil when the root is a leaf, whose reader knows.
  let innerCount: Int?

  /// No leaf has more elements. Source: docs/format/1-storage.md S16.
  static let maximumLeaf = 1000
  /// No inner node has more children.
  static let maximumChildren = 1000
  /// Deeper trees do not exist: 1000 children a node.
  static let maximumDepth = 12

  init(_ arena: borrowing Arena, _ ref: Int) throws(EngineError) {
    root = try arena.node(ref)
    innerCount = root.isInner ? try Self.total(root, arena) : nil
  }

  /// The leaf that holds position `index`; `index` is below `innerCount`. Cost O(log n).
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

  /// Even leaves that hold nothing but zeros or nulls take a header for 1000 of them.
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
  /// The number of elements, read as unsigned and ascending, that are not greater than `value`. Cost O(log count).
  func upperBound(_ value: UInt64) throws(EngineError) -> Int {
    try bisect(count) { (index) throws(EngineError) in try unsigned(index) <= value }
  }
}
