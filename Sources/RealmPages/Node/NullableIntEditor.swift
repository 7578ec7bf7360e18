// Edits leaves of nullable integers. The sentinel for null is the largest value of the leaf's width, which no actual
// value may reach; at 64 bits it is any value that does not occur. Source: docs/format/1-storage.md S6.

extension NodeEditor {
  /// Creates a leaf of `count` nulls.
  func makeNullableInts(nulls count: Int = 0) -> Int { slab.makeInts(repeating: 0, count: count + 1) }

  /// Inserts before element `index` of a dirty leaf.
  func insertNullableInt(_ ref: Int, _ index: Int, _ value: Int64?) {
    makeRoom(ref, for: value)
    slab.insertInt(ref, index + 1, value ?? slab.int(ref, 0))
  }

  /// Replaces element `index` of a dirty leaf.
  func setNullableInt(_ ref: Int, _ index: Int, _ value: Int64?) {
    makeRoom(ref, for: value)
    slab.setInt(ref, index + 1, value ?? slab.int(ref, 0))
  }

  /// Chooses width and sentinel so that `value` differs from null.
  func makeRoom(_ ref: Int, for value: Int64?) {
    var node = slab.node(ref)
    if node.width < 64, slab.int(ref, 0) != PackedBits.largest(node.width) {
      // Another writer chose this sentinel. realm-core compares with the largest value of the width, so the sentinel
      // must be changed to that value.
      let largest = PackedBits.largest(node.width)
      let isTaken = (1..<node.count).contains { slab.int(ref, $0) == largest }
      moveSentinel(ref, to: isTaken ? wider(than: node.width) : node.width)
      node = slab.node(ref)
    }
    guard let value else { return }
    if node.width == 64 {
      if value == slab.int(ref, 0) { replaceSentinel(ref, avoiding: value) }
      return
    }
    var width = max(node.width, PackedBits.width(value))
    while width < 64 && value >= PackedBits.largest(width) { width = wider(than: width) }
    if width > node.width {
      moveSentinel(ref, to: width)
      if width == 64 && value == slab.int(ref, 0) { replaceSentinel(ref, avoiding: value) }
    }
  }

  private func wider(than width: UInt8) -> UInt8 { width == 0 ? 1 : width * 2 }

  private func moveSentinel(_ ref: Int, to width: UInt8) {
    let old = slab.int(ref, 0)
    let new = width == 64 ? Int64.max : PackedBits.largest(width)
    slab.widen(ref, to: width)
    replace(ref, old, by: new)
  }

  private func replaceSentinel(_ ref: Int, avoiding value: Int64) {
    let old = slab.int(ref, 0), count = slab.node(ref).count
    var candidate = Int64.max
    while candidate == value || candidate == old || (1..<count).contains(where: { slab.int(ref, $0) == candidate }) {
      candidate -= 1
    }
    replace(ref, old, by: candidate)
  }

  private func replace(_ ref: Int, _ old: Int64, by new: Int64) {
    if old == new { return }
    for i in 0..<slab.node(ref).count where slab.int(ref, i) == old { slab.setInt(ref, i, new) }
  }
}
