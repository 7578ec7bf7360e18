// Edits B+trees: lists, sets, dictionary parts, backlinks, index entries, history. Changed inner nodes are converted to
// the general form. Source: docs/format/1-storage.md S16.

private typealias Inner = Layout.InnerTree

/// Edits the B+tree that a slot refers to.
struct BPlusTreeEditor {
  let editor: NodeEditor
  let root: Slot
  let element: ElementType

  /// The maximum number of elements in a leaf, and of children of an inner node.
  static let maximumCount = 1000

  private var slab: Slab { editor.slab }
  private var arena: Arena { editor.arena }

  init(_ editor: NodeEditor, _ root: Slot, _ element: ElementType) {
    self.editor = editor
    self.root = root
    self.element = element
  }

  /// Creates the tree if the slot is empty.
  func create() throws(EngineError) {
    if try editor.ref(root) == 0 { editor.set(root, editor.makeLeaf(element, inTree: true)) }
  }

  /// Returns the number of elements.
  func count() throws(EngineError) -> Int {
    let ref = try editor.ref(root)
    if ref == 0 { return 0 }
    if let count = try BPlusTree(arena, ref).innerCount { return count }
    return try ColumnLeaf(arena, ref, element, inTree: true).count
  }

  /// Returns the element at `index`.
  func value(at index: Int) throws(EngineError) -> ValueView {
    try ElementReader(arena, editor.ref(root), element).value(at: index)
  }

  /// Inserts before element `index`.
  func insert(_ index: Int, _ value: ValueView) throws(EngineError) {
    try create()
    if let split = try insert(root, index, value) { try makeRoot(of: split) }
    try noteUnresolved(value)
  }

  /// Appends integers to an existing tree of integers. The result is the same as appending them one by one.
  func append(_ numbers: ArraySlice<Int64>) throws(EngineError) {
    var rest = numbers
    while !rest.isEmpty {
      var ref = try editor.dirty(root), inner: [Int] = []
      while slab.node(ref).isInner {
        inner.append(ref)
        ref = try editor.dirty(Slot(parent: ref, index: slab.node(ref).count - Inner.others - 1 + Inner.firstChild))
      }
      let added = rest.prefix(max(0, Self.maximumCount - slab.node(ref).count))
      if added.isEmpty {
        try insert(count(), .int(rest[rest.startIndex]))
        rest = rest.dropFirst()
        continue
      }
      slab.appendInts(ref, added)
      for ref in inner {
        _ = try offsets(ref)
        setTotal(ref, total(ref) + added.count)
      }
      rest = rest.dropFirst(added.count)
    }
  }

  private func makeRoot(of split: Split) throws(EngineError) {
    // The root was split: put a new root above both parts.
    let left = try editor.ref(root)
    let offsets = slab.makeUnsigned([UInt64(split.leftCount)])
    let total = split.leftCount + split.rightCount
    let isMarked = try isMarked()
    editor.set(
      root,
      slab.makeInts([.inner, .hasRefs], [Int64(offsets), Int64(left), Int64(split.right), Int64(total) << 1 | 1])
    )
    try mark(isMarked)
  }

  /// Returns true if the root of a tree of links is flagged as containing unresolved links. Without the flag, the
  /// engine would expose them.
  private func isMarked() throws(EngineError) -> Bool {
    if element.type != .link { return false }
    return try arena.node(editor.ref(root)).hasContext
  }

  /// Sets or clears the flag for unresolved links in the root of a tree of links.
  private func mark(_ isMarked: Bool) throws(EngineError) {
    let wasMarked = try self.isMarked()
    if element.type != .link || wasMarked == isMarked { return }
    let ref = try editor.dirty(root), node = slab.node(ref)
    let flags = isMarked ? node.nodeFlags.union(.context) : node.nodeFlags.subtracting(.context)
    slab.setHeader(ref, flags, node.scheme, width: node.width, count: node.count)
  }

  /// Sets the flag in the root if `value` is an unresolved link.
  private func noteUnresolved(_ value: ValueView) throws(EngineError) {
    if case .link(_, let key) = value, key.isUnresolved { try mark(true) }
  }

  /// Replaces the element at `index`.
  func set(_ index: Int, _ value: ValueView) throws(EngineError) {
    let (slot, local) = try leaf(of: index)
    try editor.set(slot, local, value, element, inTree: true)
    try noteUnresolved(value)
  }

  /// Removes the element at `index`. Removing the last element leaves an empty leaf.
  func remove(_ index: Int) throws(EngineError) {
    _ = try remove(root, index)
    // Replace a root that has a single child with the child.
    while true {
      let ref = try editor.ref(root), node = try arena.node(ref)
      guard node.isInner, node.count == Inner.others + 1 else { return }
      let child = try node.child(Inner.firstChild), isMarked = try isMarked()
      let head = try node.int(Inner.head)
      if head & 1 == 0 && head != 0 { try slab.dropTree(Int(head), arena) }
      editor.set(root, child)
      try mark(isMarked)
      try slab.drop(ref, arena)
    }
  }

  /// Returns the dirty leaf that holds `index`, and the position in it, for editing an element in place.
  func leaf(of index: Int) throws(EngineError) -> (slot: Slot, index: Int) {
    var slot = root, local = index
    while true {
      let ref = try editor.dirty(slot)
      if !slab.node(ref).isInner { return (slot, local) }
      let (child, start) = try position(ref, local)
      local -= start
      slot = Slot(parent: ref, index: child + Inner.firstChild)
    }
  }

  /// Returns the keys of all collections nested in a tree of Mixed values, except that of one element; nil if the tree
  /// is a single leaf. Cost: O(n).
  func nestedKeys(except place: (leaf: Int, index: Int)) throws(EngineError) -> Set<Int64>? {
    if try !arena.node(editor.ref(root)).isInner { return nil }
    var keys: Set<Int64> = []
    var pending = [(ref: try editor.ref(root), depth: 0)]
    while let (ref, depth) = pending.popLast() {
      let node = try arena.node(ref)
      if node.isInner {
        if depth == BPlusTree.maximumDepth { throw .damaged("the tree is too deep", ref: ref) }
        for child in 1..<max(1, node.count - 1) { pending.append((try node.child(child), depth + 1)) }
      } else {
        try MixedEditor.collectKeys(arena, ref, except: ref == place.leaf ? place.index : nil, into: &keys)
      }
    }
    return keys
  }

  // MARK: inner nodes

  /// Returns the child of a dirty inner node that contains `index`, and the position of the child's first element.
  private func position(_ ref: Int, _ index: Int) throws(EngineError) -> (child: Int, start: Int) {
    let node = slab.node(ref), children = node.count - Inner.others, head = try node.int(Inner.head)
    if head & 1 != 0 {
      let perChild = max(1, Int(head >> 1)), child = min(index / perChild, children - 1)
      return (child, child * perChild)
    }
    let offsets = try arena.integers(Int(head))
    let child = min(try offsets.upperBound(UInt64(index)), children - 1)
    return (child, child == 0 ? 0 : Int(truncatingIfNeeded: try offsets.unsigned(child - 1)))
  }

  /// Returns the offsets node of a dirty inner node. Converts the node to the general form.
  private func offsets(_ ref: Int) throws(EngineError) -> Int {
    let head = slab.int(ref, Inner.head)
    if head & 1 == 0 { return try slab.child(ref, Inner.head, arena) }
    let children = slab.node(ref).count - Inner.others
    let made = slab.makeUnsigned((1..<max(1, children)).map { UInt64($0) * UInt64(head >> 1) })
    slab.setChild(ref, Inner.head, made)
    return made
  }

  private func total(_ ref: Int) -> Int { Int(slab.int(ref, slab.node(ref).count - 1) >> 1) }

  private func setTotal(_ ref: Int, _ total: Int) { slab.setTagged(ref, slab.node(ref).count - 1, Int64(total)) }

  private struct Split {
    let right: Int
    let leftCount: Int
    let rightCount: Int
  }

  private func insert(_ slot: Slot, _ index: Int, _ value: ValueView) throws(EngineError) -> Split? {
    let ref = try editor.dirty(slot)
    if !slab.node(ref).isInner { return try insertIntoLeaf(slot, ref, index, value) }
    // An element inserted at the end of a child is added to that child, not to the start of the next.
    let total = total(ref)
    let (child, start) = try position(ref, index == total ? max(0, index - 1) : index)
    let offsets = try offsets(ref)
    let split = try insert(Slot(parent: ref, index: child + Inner.firstChild), index - start, value)
    slab.addUnsigned(offsets, from: child, 1)
    setTotal(ref, total + 1)
    guard let split else { return nil }
    slab.insertInt(ref, child + 2, Int64(split.right))
    slab.insertUnsigned(offsets, child, UInt64(start + split.leftCount))
    let children = slab.node(ref).count - Inner.others
    if children <= Self.maximumCount { return nil }
    return try splitInner(ref, at: child + 2 == children ? children - 1 : children / 2)
  }

  private func insertIntoLeaf(
    _ slot: Slot,
    _ ref: Int,
    _ index: Int,
    _ value: ValueView
  ) throws(EngineError) -> Split? {
    let count = try ColumnLeaf(arena, ref, element, inTree: true).count
    if count < Self.maximumCount {
      try editor.insert(slot, index, value, element, inTree: true)
      return nil
    }
    let holder = slab.makeInts(.hasRefs, [Int64(editor.makeLeaf(element, inTree: true))])
    let right = Slot(parent: holder, index: 0)
    var leftCount = count
    if index == count {
      try editor.insert(right, 0, value, element, inTree: true)
    } else {
      let middle = count / 2
      try editor.move(slot, from: middle, to: right, element, inTree: true)
      if index <= middle {
        try editor.insert(slot, index, value, element, inTree: true)
        leftCount = middle + 1
      } else {
        try editor.insert(right, index - middle, value, element, inTree: true)
        leftCount = middle
      }
    }
    let made = try editor.ref(right)
    try slab.drop(holder, arena)
    return Split(right: made, leftCount: leftCount, rightCount: count + 1 - leftCount)
  }

  /// Moves the children from `middle` on of an inner node to a new node.
  private func splitInner(_ ref: Int, at middle: Int) throws(EngineError) -> Split {
    let offsets = try offsets(ref), children = slab.node(ref).count - Inner.others, all = total(ref)
    let leftCount = Int(truncatingIfNeeded: try slab.node(offsets).unsigned(middle - 1))
    var moved: [Int64] = [0]
    for i in middle..<children { moved.append(slab.int(ref, i + Inner.firstChild)) }
    moved.append(Int64(all - leftCount) << 1 | 1)
    var rightOffsets: [UInt64] = []
    for i in middle..<children - 1 { rightOffsets.append(try slab.node(offsets).unsigned(i) - UInt64(leftCount)) }
    moved[0] = Int64(slab.makeUnsigned(rightOffsets))
    let right = slab.makeInts([.inner, .hasRefs], moved)
    slab.truncateInts(ref, middle + Inner.firstChild)
    slab.insertInt(ref, middle + 1, Int64(leftCount) << 1 | 1)
    slab.truncateInts(offsets, middle - 1)
    return Split(right: right, leftCount: leftCount, rightCount: all - leftCount)
  }

  /// Removes an element below `slot`. Returns true if the subtree is empty afterwards.
  private func remove(_ slot: Slot, _ index: Int) throws(EngineError) -> Bool {
    let ref = try editor.dirty(slot)
    if !slab.node(ref).isInner {
      try editor.remove(slot, index, element)
      return try ColumnLeaf(arena, editor.ref(slot), element, inTree: true).count == 0
    }
    let (child, _) = try position(ref, index)
    let start = try position(ref, index).start
    let offsets = try offsets(ref)
    let isEmpty = try remove(Slot(parent: ref, index: child + Inner.firstChild), index - start)
    slab.addUnsigned(offsets, from: child, -1)
    setTotal(ref, total(ref) - 1)
    if isEmpty && slab.node(ref).count > 3 {
      try editor.clear(Slot(parent: ref, index: child + Inner.firstChild))
      slab.removeInt(ref, child + Inner.firstChild)
      let offsetCount = slab.node(offsets).count
      slab.removeInt(offsets, min(child, offsetCount - 1))
      return false
    }
    if !isEmpty { try mergeIfSmall(ref, child) }
    return isEmpty
  }

  /// Merges a small leaf with its right or left neighbour.
  private func mergeIfSmall(_ ref: Int, _ child: Int) throws(EngineError) {
    let offsets = try offsets(ref), children = slab.node(ref).count - Inner.others
    func size(_ i: Int) throws(EngineError) -> Int {
      let start = i == 0 ? 0 : Int(truncatingIfNeeded: try slab.node(offsets).unsigned(i - 1))
      let end = i == children - 1 ? total(ref) : Int(truncatingIfNeeded: try slab.node(offsets).unsigned(i))
      return end - start
    }
    guard children > 1, try size(child) < Self.maximumCount / 4 else { return }
    guard try !arena.node(slab.node(ref).child(child + Inner.firstChild)).isInner else { return }
    let left = child + 1 < children ? child : child - 1
    guard try size(left) + size(left + 1) <= Self.maximumCount * 3 / 4 else { return }
    let from = Slot(parent: ref, index: left + 1 + Inner.firstChild)
    let to = Slot(parent: ref, index: left + Inner.firstChild)
    _ = try editor.dirty(from)
    _ = try editor.dirty(to)
    try editor.move(from, from: 0, to: to, element, inTree: true)
    try editor.clear(from)
    slab.removeInt(ref, left + 1 + Inner.firstChild)
    slab.removeInt(offsets, left)
  }
}
