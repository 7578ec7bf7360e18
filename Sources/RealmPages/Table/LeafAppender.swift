// Many values at the end of a leaf. The leaf that comes out is the one that inserting them one by one makes: its width
// and its form are chosen for all values at once. Sources: format/1-storage.md S5 to S9, S11.

import Glibc

extension NodeEditor {
  /// Adds the values of `column`, which are `element`s, to the leaf in `slot`, which has `count` elements.
  func append(_ column: NewColumn, to slot: Slot, count: Int, _ element: ElementType) throws(FormatError) {
    switch element.type {
    case .int where element.isNullable:
      try appendNullableInts(column, to: dirty(slot), count: count, Self.int)
    case .int: try appendInts(column, to: dirty(slot), count: count) { Self.int($0) ?? 0 }
    case .bool: try appendInts(column, to: dirty(slot), count: count, Self.bool)
    case .link: try appendInts(column, to: dirty(slot), count: count) { Self.link($0, inTree: false) }
    case .date:
      let root = try dirty(slot)
      try appendNullableInts(column, to: slab.child(root, 0, arena), count: count) { Self.date($0)?.seconds }
      try appendInts(column, to: slab.child(root, 1, arena), count: count) {
        Int64(Self.date($0)?.nanoseconds ?? 0)
      }
    case .double: try appendBits(column, to: slot, count: count, Self.double)
    case .float: try appendBits(column, to: slot, count: count, Self.float)
    case .string: try appendStrings(column, to: slot, count: count)
    case .data: try appendBinaries(column, to: slot, count: count)
    case .decimal128, .objectID, .uuid, .mixed:
      var index = count
      try column.forEach { (value) throws(FormatError) in
        try insert(slot, index, value, element, inTree: false)
        index += 1
      }
    }
  }

  /// Refuses a leaf that is not as long as its cluster.
  private func check(_ ref: Int, _ found: Int, _ count: Int) throws(FormatError) {
    if found != count { throw FormatError("a leaf of \(found) elements in a cluster of \(count) objects", ref: ref) }
  }

  // MARK: numbers

  private func appendInts(
    _ column: NewColumn,
    to ref: Int,
    count: Int,
    _ number: (ValueView) -> Int64
  ) throws(FormatError) {
    try check(ref, slab.node(ref).count, count)
    var numbers: [Int64] = []
    numbers.reserveCapacity(column.count)
    try column.forEach { (value) throws(FormatError) in numbers.append(number(value)) }
    slab.appendInts(ref, numbers)
  }

  private func appendNullableInts(
    _ column: NewColumn,
    to ref: Int,
    count: Int,
    _ number: (ValueView) -> Int64?
  ) throws(FormatError) {
    try check(ref, slab.node(ref).count - 1, count)
    // The largest and the smallest decide what null looks like.
    var largest: Int64?, smallest: Int64?
    try column.forEach { (value) throws(FormatError) in
      guard let number = number(value) else { return }
      largest = max(largest ?? number, number)
      smallest = min(smallest ?? number, number)
    }
    makeRoom(ref, for: largest)
    makeRoom(ref, for: smallest)
    if slab.node(ref).width < 64 {
      let null = slab.int(ref, 0)
      return try appendInts(column, to: ref, count: count + 1) { number($0) ?? null }
    }
    var index = count
    try column.forEach { (value) throws(FormatError) in
      insertNullableInt(ref, index, number(value))
      index += 1
    }
  }

  private func appendBits<Bits: FixedWidthInteger & BitwiseCopyable>(
    _ column: NewColumn,
    to slot: Slot,
    count: Int,
    _ bits: (ValueView) -> Bits
  ) throws(FormatError) {
    let width = Bits.bitWidth / 8, ref = try elements(slot, width: UInt8(width))
    try check(ref, slab.node(ref).count, count)
    var target = try openElements(ref, column.count)
    try column.forEach { (value) throws(FormatError) in
      target.storeBytes(of: bits(value), as: Bits.self)
      target += width
    }
  }

  // MARK: strings and binaries

  private func appendStrings(_ column: NewColumn, to slot: Slot, count: Int) throws(FormatError) {
    var longest: Int?, total = 0
    try column.forEach { (value) throws(FormatError) in
      guard let size = Self.bytes(value)?.count else { return }
      longest = max(longest ?? 0, size)
      total += size
    }
    let ref = try stringLeaf(slot, room: longest ?? 0), node = slab.node(ref)
    if !node.hasRefs {
      try check(ref, node.count, count)
      let needed = Self.shortWidth(longest)
      if needed > node.width { widenShort(ref, to: needed) }
      let width = Int(slab.node(ref).width)
      var target = try openElements(ref, column.count)
      try column.forEach { (value) throws(FormatError) in
        writeShort(target, width, Self.bytes(value))
        target += width
      }
    } else if node.hasContext {
      try appendBlobs(column, to: ref, count: count, zeros: 1)
    } else {
      try appendSmall(column, to: ref, count: count, total + column.count, zeros: 1)
    }
  }

  private func appendBinaries(_ column: NewColumn, to slot: Slot, count: Int) throws(FormatError) {
    var longest = 0, total = 0
    try column.forEach { (value) throws(FormatError) in
      let size = Self.bytes(value)?.count ?? 0
      longest = max(longest, size)
      total += size
    }
    let ref = try binaryLeaf(slot, room: longest)
    if slab.node(ref).hasContext {
      try appendBlobs(column, to: ref, count: count, zeros: 0)
    } else {
      try appendSmall(column, to: ref, count: count, total, zeros: 0)
    }
  }

  private func appendBlobs(_ column: NewColumn, to ref: Int, count: Int, zeros: Int) throws(FormatError) {
    try appendInts(column, to: ref, count: count) { value in
      Int64(Self.bytes(value).map { makeBlob($0, zeros: zeros) } ?? 0)
    }
  }

  /// `total` is the number of bytes, those after each value included.
  private func appendSmall(
    _ column: NewColumn,
    to root: Int,
    count: Int,
    _ total: Int,
    zeros: Int
  ) throws(FormatError) {
    let ends = try slab.child(root, 0, arena), blob = try slab.child(root, 1, arena)
    let nulls = try slab.child(root, 2, arena)
    try check(blob, slab.node(ends).count, count)
    let start = count == 0 ? 0 : Int(slab.int(ends, count - 1))
    if start != slab.node(blob).count {
      throw FormatError("values that end at \(start) of \(slab.node(blob).count) bytes", ref: blob)
    }
    slab.reserve(blob, payload: start + total)
    let base = slab.memory(blob) + Node.headerSize
    var end = start
    try appendInts(column, to: ends, count: count) { value in
      if let bytes = Self.bytes(value), let from = bytes.baseAddress, !bytes.isEmpty {
        memcpy(base + end, from, bytes.count)
        end += bytes.count
      }
      memset(base + end, 0, zeros)
      end += zeros
      return Int64(end)
    }
    slab.setCount(blob, end)
    try appendInts(column, to: nulls, count: count) { Self.bytes($0) == nil ? 1 : 0 }
  }
}
