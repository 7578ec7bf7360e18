// Appends many values to a leaf. The result is the leaf that inserting them one by one would create, but its width and
// form are chosen once for all values. Sources: docs/format/1-storage.md S5 to S9, S11.

import Glibc

extension NodeEditor {
  /// Appends the values of some rows of `column` to the leaf in `slot`, which has `count` elements.
  func append(_ column: NewColumn, _ rows: Range<Int>, to slot: Slot, count: Int) throws(EngineError) {
    switch column.element.type {
    case .int where column.element.isNullable:
      try appendNullableInts(column.numbers[rows], column.isNull[rows], to: dirty(slot), count: count)
    case .int, .bool, .link: try appendInts(column.numbers[rows], to: dirty(slot), count: count)
    case .date:
      let root = try dirty(slot)
      try appendNullableInts(column.numbers[rows], column.isNull[rows], to: slab.child(root, 0, arena), count: count)
      try appendInts(column.nanoseconds[rows], to: slab.child(root, 1, arena), count: count)
    case .double: try appendBits(column.numbers[rows], to: slot, count: count, as: UInt64.self)
    case .float: try appendBits(column.numbers[rows], to: slot, count: count, as: UInt32.self)
    case .string: try appendStrings(column, rows, to: slot, count: count)
    case .data: try appendBinaries(column, rows, to: slot, count: count)
    case .decimal128, .objectID, .uuid, .mixed:
      for (i, row) in rows.enumerated() {
        try column.withView(row) { (value) throws(EngineError) in
          try insert(slot, count + i, value, column.element, inTree: false)
        }
      }
    }
  }

  /// Throws if a leaf's length differs from its cluster's.
  private func check(_ ref: Int, _ found: Int, _ count: Int) throws(EngineError) {
    if found != count { throw .damaged("a leaf of \(found) elements in a cluster of \(count) objects", ref: ref) }
  }

  // MARK: numbers

  private func appendInts(_ numbers: ArraySlice<Int64>, to ref: Int, count: Int) throws(EngineError) {
    try check(ref, slab.node(ref).count, count)
    slab.appendInts(ref, numbers)
  }

  private func appendNullableInts(
    _ numbers: ArraySlice<Int64>,
    _ isNull: ArraySlice<Bool>,
    to ref: Int,
    count: Int
  ) throws(EngineError) {
    try check(ref, slab.node(ref).count - 1, count)
    // The largest and the smallest value determine the number that represents null.
    var largest: Int64?, smallest: Int64?
    for row in numbers.indices where !isNull[row] {
      largest = max(largest ?? numbers[row], numbers[row])
      smallest = min(smallest ?? numbers[row], numbers[row])
    }
    makeRoom(ref, for: largest)
    makeRoom(ref, for: smallest)
    if slab.node(ref).width == 64 {
      // Any of the numbers may equal the one that represents null.
      for row in numbers.indices {
        insertNullableInt(ref, count + row - numbers.startIndex, isNull[row] ? nil : numbers[row])
      }
    } else {
      var stored = numbers
      let null = slab.int(ref, 0)
      for row in numbers.indices where isNull[row] { stored[row] = null }
      slab.appendInts(ref, stored)
    }
  }

  private func appendBits<Bits: FixedWidthInteger & BitwiseCopyable>(
    _ numbers: ArraySlice<Int64>,
    to slot: Slot,
    count: Int,
    as: Bits.Type
  ) throws(EngineError) {
    let width = Bits.bitWidth / 8, ref = try elements(slot, width: UInt8(width))
    try check(ref, slab.node(ref).count, count)
    var target = try unsafe openElements(ref, numbers.count)
    for number in numbers {
      unsafe target.storeBytes(of: Bits(truncatingIfNeeded: number).littleEndian, as: Bits.self)
      unsafe target += width
    }
  }

  // MARK: strings and binaries

  /// Returns the size in bytes of the longest value; nil if all are null.
  private func longest(_ column: NewColumn, _ rows: Range<Int>) -> Int? {
    var longest: Int?
    for row in rows where !column.isNull[row] { longest = max(longest ?? 0, column.range(row).count) }
    return longest
  }

  private func appendStrings(_ column: NewColumn, _ rows: Range<Int>, to slot: Slot, count: Int) throws(EngineError) {
    let longest = longest(column, rows)
    let ref = try stringLeaf(slot, room: longest ?? 0), node = slab.node(ref)
    if !node.hasRefs {
      try check(ref, node.count, count)
      let needed = Self.shortWidth(longest)
      if needed > node.width { widenShort(ref, to: needed) }
      let width = Int(slab.node(ref).width)
      var target = try unsafe openElements(ref, rows.count)
      for row in rows {
        try column.withView(row) { (value) throws(EngineError) in unsafe writeShort(target, width, Self.bytes(value)) }
        unsafe target += width
      }
    } else if node.hasContext {
      try appendBlobs(column, rows, to: ref, count: count)
    } else {
      try appendSmall(column, rows, to: ref, count: count)
    }
  }

  private func appendBinaries(_ column: NewColumn, _ rows: Range<Int>, to slot: Slot, count: Int) throws(EngineError) {
    let ref = try binaryLeaf(slot, room: longest(column, rows) ?? 0)
    if slab.node(ref).hasContext {
      try appendBlobs(column, rows, to: ref, count: count)
    } else {
      try appendSmall(column, rows, to: ref, count: count)
    }
  }

  private func appendBlobs(_ column: NewColumn, _ rows: Range<Int>, to ref: Int, count: Int) throws(EngineError) {
    var refs: [Int64] = []
    for row in rows {
      try column.withView(row) { (value) throws(EngineError) in
        unsafe refs.append(Int64(Self.bytes(value).map { unsafe makeBlob($0, zeros: column.zeros) } ?? 0))
      }
    }
    try appendInts(refs[...], to: ref, count: count)
  }

  private func appendSmall(_ column: NewColumn, _ rows: Range<Int>, to root: Int, count: Int) throws(EngineError) {
    let ends = try slab.child(root, 0, arena), blob = try slab.child(root, 1, arena)
    let nulls = try slab.child(root, 2, arena)
    try check(blob, slab.node(ends).count, count)
    let start = count == 0 ? 0 : Int(slab.int(ends, count - 1))
    if start != slab.node(blob).count {
      throw .damaged("values that end at \(start) of \(slab.node(blob).count) bytes", ref: blob)
    }
    let first = column.start(rows.lowerBound), added = first..<column.start(rows.upperBound)
    slab.reserve(blob, payload: start + added.count)
    let target = unsafe slab.memory(blob) + Node.headerSize + start
    column.bytes.withView { _ = unsafe memcpy(target, $0.base + first, added.count) }
    slab.setCount(blob, start + added.count)
    try appendInts(column.ends[rows].map { $0 + Int64(start - first) }[...], to: ends, count: count)
    try appendInts(column.isNull[rows].map { $0 ? 1 : 0 }[...], to: nulls, count: count)
  }
}
