// Edits leaves of decimals, ObjectIds and UUIDs. Source: docs/format/1-storage.md S12, S13.

import Glibc

extension Decimal128 {
  /// The 16-byte representation of null.
  static let storedNull = Decimal128(low: 0xaa, high: 0x7c00_0000_0000_0000)
  /// +0 with exponent 0: the value of a leaf of width 0 with the context flag.
  static let zero = Decimal128(low: 0, high: 0x3040 << 48)

  /// The smallest width (4, 8 or 16 bytes) that can hold the number with its exponent and coefficient.
  var neededWidth: UInt8 {
    if high & 0x6000_0000_0000_0000 == 0x6000_0000_0000_0000 { return 16 }
    let exponent = Int(high >> 49 & 0x3FFF) - 6176, topBits = high & 0x1_FFFF_FFFF_FFFF
    if topBits != 0 { return 16 }
    if low < 1 << 23 && exponent > -91 && exponent < 91 { return 4 }
    if low < 1 << 53 && exponent > -370 && exponent < 370 { return 8 }
    return 16
  }

  /// Stores the number in `width` bytes, which must suffice.
  fileprivate func store(_ target: UnsafeMutableRawPointer, width: UInt8) {
    let sign = high >> 63, exponent = Int(high >> 49 & 0x3FFF) - 6176
    switch width {
    case 4:
      let bits = UInt32(sign) << 31 | UInt32(exponent + 101) << 23 | UInt32(low)
      unsafe target.storeBytes(of: bits.littleEndian, as: UInt32.self)
    case 8:
      unsafe target.storeBytes(of: (sign << 63 | UInt64(exponent + 398) << 53 | low).littleEndian, as: UInt64.self)
    default:
      unsafe target.storeBytes(of: low.littleEndian, as: UInt64.self)
      unsafe target.storeBytes(of: high.littleEndian, toByteOffset: 8, as: UInt64.self)
    }
  }

  fileprivate static func storeNull(_ target: UnsafeMutableRawPointer, width: UInt8) {
    switch width {
    case 4: unsafe target.storeBytes(of: UInt32(0x7c00_00aa).littleEndian, as: UInt32.self)
    case 8: unsafe target.storeBytes(of: UInt64(0x7c00_0000_0000_00aa).littleEndian, as: UInt64.self)
    default: unsafe storedNull.store(target, width: 16)
    }
  }
}

extension NodeEditor {
  /// Creates an empty leaf of decimals.
  func makeDecimals() -> Int { slab.make([], .multiply, width: 0, count: 0, payload: 16) }

  /// Inserts a decimal (nil: null) before element `index` of a dirty leaf.
  func insertDecimal(_ ref: Int, _ index: Int, _ value: Decimal128?) throws(EngineError) {
    try makeRoom(ref, for: value)
    unsafe write(value, openElement(ref, index), slab.node(ref).width)
  }

  /// Replaces element `index` of a dirty leaf.
  func setDecimal(_ ref: Int, _ index: Int, _ value: Decimal128?) throws(EngineError) {
    try makeRoom(ref, for: value)
    unsafe write(value, element(ref, index), slab.node(ref).width)
  }

  private func write(_ value: Decimal128?, _ target: UnsafeMutableRawPointer, _ width: UInt8) {
    if width == 0 { return }
    if let value { unsafe value.store(target, width: width) } else { unsafe Decimal128.storeNull(target, width: width) }
  }

  private func makeRoom(_ ref: Int, for value: Decimal128?) throws(EngineError) {
    let node = slab.node(ref)
    if node.scheme != .multiply || ![0, 4, 8, 16].contains(node.width) {
      throw .damaged("decimals of \(node.width) bytes", ref: ref)
    }
    if node.width == 0 {
      if node.count == 0 {
        // Empty: the first value determines the meaning of width 0.
        slab.setHeader(ref, value == .zero ? .context : [], .multiply, width: 0, count: 0)
        if value == nil || value == .zero { return }
      } else if node.hasContext ? value == .zero : value == nil {
        return
      }
    }
    let needed = max(4, value?.neededWidth ?? 4)
    if needed <= node.width { return }
    let old = try DecimalLeaf(arena, ref)
    var values: [Decimal128?] = []
    for i in 0..<old.count { values.append(try old.value(i)) }
    slab.reserve(ref, payload: (values.count + 1) * Int(needed))
    slab.setHeader(ref, [], .multiply, width: needed, count: values.count)
    for (i, value) in values.enumerated() { unsafe write(value, element(ref, i), needed) }
  }

  // MARK: ObjectIds and UUIDs

  /// Creates an empty leaf of ObjectIds or UUIDs.
  func makeFixedBytes() -> Int { slab.make([], .multiply, width: 1, count: 0, payload: 64) }

  private func fixedCount(_ size: Int, _ width: Int) -> Int {
    let block = 8 * width + 1
    return size / block * 8 + (size % block == 0 ? 0 : (size % block - 1) / width)
  }

  /// True if the node's count is in bytes. An empty leaf may have width 0: realm-core creates and clears leaves this
  /// way.
  private func isFixed(_ ref: Int) -> Bool {
    let node = slab.node(ref)
    return node.scheme == .multiply && (node.width == 1 || node.count == 0)
  }

  private func fixedSize(_ count: Int, _ width: Int) -> Int { count * width + (count + 7) / 8 }

  /// Inserts a value of `width` bytes before element `index`. `fill` writes the bytes; if it is nil, inserts null.
  func insertFixed(_ ref: Int, _ index: Int, _ width: Int, _ fill: ((UnsafeMutableRawPointer) -> Void)?) {
    let count = fixedCount(slab.node(ref).count, width)
    if index > count || !isFixed(ref) { return slab.refuse(ref, index) }
    let size = fixedSize(count + 1, width)
    slab.reserve(ref, payload: size)
    if count % 8 == 0 {
      // A new block begins with its null flags.
      unsafe (slab.memory(ref) + Node.headerSize + count / 8 * (8 * width + 1)).storeBytes(of: 0, as: UInt8.self)
    }
    slab.setHeader(ref, [], .multiply, width: 1, count: size)
    var i = count
    while i > index {
      unsafe memcpy(fixed(ref, i, width), fixed(ref, i - 1, width), width)
      setFixedNull(ref, i, width, isFixedNull(ref, i - 1, width))
      i -= 1
    }
    unsafe setFixed(ref, index, width, fill)
  }

  /// Replaces element `index`.
  func setFixed(_ ref: Int, _ index: Int, _ width: Int, _ fill: ((UnsafeMutableRawPointer) -> Void)?) {
    if index >= fixedCount(slab.node(ref).count, width) || !isFixed(ref) { return slab.refuse(ref, index) }
    unsafe setFixedNull(ref, index, width, fill == nil)
    let target = unsafe fixed(ref, index, width)
    if let fill = unsafe fill { unsafe fill(target) } else { unsafe memset(target, 0, width) }
  }

  /// Removes element `index`.
  func removeFixed(_ ref: Int, _ index: Int, _ width: Int) {
    let count = fixedCount(slab.node(ref).count, width)
    if index >= count || !isFixed(ref) { return slab.refuse(ref, index) }
    for i in index..<count - 1 {
      unsafe memcpy(fixed(ref, i, width), fixed(ref, i + 1, width), width)
      setFixedNull(ref, i, width, isFixedNull(ref, i + 1, width))
    }
    setFixedNull(ref, count - 1, width, false)
    slab.setHeader(ref, [], .multiply, width: 1, count: fixedSize(count - 1, width))
  }

  private func fixed(_ ref: Int, _ index: Int, _ width: Int) -> UnsafeMutableRawPointer {
    unsafe slab.memory(ref) + Node.headerSize + index / 8 * (8 * width + 1) + 1 + index % 8 * width
  }

  private func flags(_ ref: Int, _ index: Int, _ width: Int) -> UnsafeMutableRawPointer {
    unsafe slab.memory(ref) + Node.headerSize + index / 8 * (8 * width + 1)
  }

  private func isFixedNull(_ ref: Int, _ index: Int, _ width: Int) -> Bool {
    unsafe flags(ref, index, width).load(as: UInt8.self) >> UInt8(index % 8) & 1 != 0
  }

  private func setFixedNull(_ ref: Int, _ index: Int, _ width: Int, _ isNull: Bool) {
    let byte = unsafe flags(ref, index, width), bit = UInt8(1) << UInt8(index % 8)
    let old = unsafe byte.load(as: UInt8.self)
    unsafe byte.storeBytes(of: isNull ? old | bit : old & ~bit, as: UInt8.self)
  }
}
