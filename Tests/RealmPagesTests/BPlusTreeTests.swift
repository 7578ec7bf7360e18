// Positions in B+trees of every form.

import Testing

@testable import RealmPages

@Suite("B+trees")
struct BPlusTreeTests {
  /// Adds a leaf of the integers `range`.
  private func leaf(_ bytes: inout NodeBytes, _ range: Range<Int>) -> Int { bytes.add(range.map(Int64.init)) }

  /// Checks that position i of the tree holds i.
  private func check(_ bytes: NodeBytes, _ ref: Int, count: Int) throws {
    let reader = try ElementReader(bytes.arena(), ref, ElementType(.int, isNullable: false))
    #expect(reader.count == count)
    for index in Array(0..<count) + (0..<count).reversed() {
      #expect(try text(reader.value(at: index)) == "\(index)")
    }
    expectDamaged { try reader.value(at: count) }
    expectDamaged { try reader.value(at: -1) }
  }

  @Test("a root that is a leaf")
  func leafRoot() throws {
    var bytes = NodeBytes()
    let root = leaf(&bytes, 0..<7)
    try check(bytes, root, count: 7)
  }

  @Test("a compact inner node: equal element counts in all children but the last")
  func compact() throws {
    var bytes = NodeBytes()
    let leaves = [0..<10, 10..<20, 20..<23].map { leaf(&bytes, $0) }
    let root = bytes.addInner([.number(10)] + leaves.map { .ref($0) } + [.number(23)])
    try check(bytes, root, count: 23)
  }

  @Test("a list that grows beyond the size of the file within a transaction")
  func withinTransaction() throws {
    let bytes = [UInt8](repeating: 0, count: 64), slab = Slab(space: nil, limit: bytes.count)
    let arena = bytes.withUnsafeBytes { Arena(MemoryPages($0), limit: $0.count, format: 24, slab: slab) }
    let root = Slot(parent: slab.makeInts(.hasRefs, repeating: 0, count: 1), index: 0)
    let editor = NodeEditor(arena: arena, slab: slab), element = ElementType(.int, isNullable: false)
    let tree = BPlusTreeEditor(editor, root, element)
    try tree.create()
    for i in 0..<20_000 { try tree.insert(i, .int(Int64(i))) }
    let reader = try ElementReader(arena, editor.ref(root), element)
    #expect(reader.count == 20_000)
    #expect(try text(reader.value(at: 19_999)) == "19999")
  }

  @Test("an inner node with too many children is split, in the middle and at the end", arguments: [3, 500, 998])
  func splitInner(crowded: Int) throws {
    let bytes = [UInt8](repeating: 0, count: 64), slab = Slab(space: nil, limit: bytes.count)
    let arena = bytes.withUnsafeBytes { Arena(MemoryPages($0), limit: $0.count, format: 24, slab: slab) }
    let root = Slot(parent: slab.makeInts(.hasRefs, repeating: 0, count: 1), index: 0)
    let editor = NodeEditor(arena: arena, slab: slab), element = ElementType(.int, isNullable: false)
    // As many leaves as there can be, each of two elements.
    var model = (0..<Int64(2 * BPlusTreeEditor.maximumCount)).map { $0 }
    var children: [Int64] = [2 << 1 | 1]
    for leaf in 0..<BPlusTreeEditor.maximumCount {
      let holder = Slot(parent: slab.makeInts(.hasRefs, [Int64(editor.makeLeaf(element, inTree: true))]), index: 0)
      for i in 0..<2 { try editor.insert(holder, i, .int(model[2 * leaf + i]), element, inTree: true) }
      children.append(Int64(try editor.ref(holder)))
    }
    editor.set(root, slab.makeInts([.inner, .hasRefs], children + [Int64(model.count) << 1 | 1]))
    let tree = BPlusTreeEditor(editor, root, element)
    for i in 0..<1200 {
      let index = 2 * crowded + i % 3
      try tree.insert(index, .int(Int64(-i)))
      model.insert(Int64(-i), at: index)
    }
    func check() throws {
      #expect(try tree.count() == model.count)
      var found: [Int64] = []
      for index in 0..<model.count { if case .int(let value) = try tree.value(at: index) { found.append(value) } }
      #expect(found == model)
      // Each inner node has the number of its elements.
      let node = slab.node(try editor.ref(root)), children = (1..<node.count - 1).map { Int(slab.int(node.ref, $0)) }
      let counts = try children.map { try BPlusTree(arena, $0).innerCount ?? 0 }
      #expect(children.count == 2 && counts.reduce(0, +) == model.count)
    }
    try check()
    // Elements go to the right place in both halves, and at the end.
    for index in [model.count, model.count - 1, 1000, 1, model.count / 2] {
      try tree.insert(index, .int(7))
      model.insert(7, at: index)
    }
    for index in [0, model.count - 2, model.count / 2] {
      try tree.remove(index)
      model.remove(at: index)
    }
    try check()
  }

  @Test("a general inner node: an offset for each child but the first")
  func general() throws {
    var bytes = NodeBytes()
    let leaves = [0..<3, 3..<4, 4..<9].map { leaf(&bytes, $0) }, offsets = bytes.add([3, 4])
    let root = bytes.addInner([.ref(offsets)] + leaves.map { .ref($0) } + [.number(9)])
    try check(bytes, root, count: 9)
  }

  @Test("inner nodes below inner nodes, compact and general mixed")
  func twoLevels() throws {
    var bytes = NodeBytes()
    let leaves = (0..<6).map { i in leaf(&bytes, 4 * i..<4 * i + 4) }
    let offsets = bytes.add([4])
    let children = [
      bytes.addInner([.number(4), .ref(leaves[0]), .ref(leaves[1]), .number(8)]),
      bytes.addInner([.ref(offsets), .ref(leaves[2]), .ref(leaves[3]), .number(8)]),
      bytes.addInner([.number(4), .ref(leaves[4]), .ref(leaves[5]), .number(8)]),
    ]
    let compact = bytes.addInner([.number(8)] + children.map { .ref($0) } + [.number(24)])
    try check(bytes, compact, count: 24)
    let ends = bytes.add([8, 16])
    let general = bytes.addInner([.ref(ends)] + children.map { .ref($0) } + [.number(24)])
    try check(bytes, general, count: 24)
  }

  @Test("offsets are unsigned: 200 elements in a child need no sign bit")
  func unsignedOffsets() throws {
    var bytes = NodeBytes()
    let leaves = [leaf(&bytes, 0..<200), leaf(&bytes, 200..<210)], offsets = bytes.add("04 00 00 01 c8")
    let root = bytes.addInner([.ref(offsets), .ref(leaves[0]), .ref(leaves[1]), .number(210)])
    try check(bytes, root, count: 210)
  }

  @Test("inconsistent sizes are errors and never return a wrong element")
  func wrongSizes() throws {
    let element = ElementType(.int, isNullable: false)
    for (perChild, total): (Int64, Int64) in [
      (9, 23), (11, 23), (10, 24), (10, 22), (0, 23), (-1, 23), (.max >> 1, 23),
    ] {
      var bytes = NodeBytes()
      let leaves = [0..<10, 10..<20, 20..<23].map { leaf(&bytes, $0) }
      let root = bytes.addInner([.number(perChild)] + leaves.map { .ref($0) } + [.number(total)])
      let arena = bytes.arena()
      var failures = 0
      for index in 0..<Int(total) {
        do {
          #expect(try text(ElementReader(arena, root, element).value(at: index)) == "\(index)")
        } catch { failures += 1 }
      }
      #expect(failures > 0)
    }
  }

  @Test("a total that exceeds the size of the file is refused at once")
  func hugeTotal() throws {
    var bytes = NodeBytes()
    let only = leaf(&bytes, 0..<10)
    for total: Int64 in [0, -1, 1 << 50, .max >> 1, .min >> 1] {
      let root = bytes.addInner([.number(10), .ref(only), .number(total)])
      expectDamaged {
        try ElementReader(bytes.arena(), root, ElementType(.int, isNullable: false))
      }
    }
  }

  @Test("a cycle in a tree ends with an error")
  func cycle() throws {
    var bytes = NodeBytes()
    let ref = bytes.bytes.count
    let root = bytes.addInner([.number(10), .ref(ref), .number(10)])
    expectDamaged { try ElementReader(bytes.arena(), root, ElementType(.int, isNullable: false)) }
  }
}
