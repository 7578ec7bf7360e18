// Edits nodes of packed integers: plain ones, has-refs ones, and the unsigned key and offset arrays. Elements become
// wider when a value needs it, but never narrower. Source: docs/format/1-storage.md S5.

import Glibc

extension PackedBits {
  /// The smallest width that can hold `value` in an ordinary integer node.
  @inline(__always)
  static func width(_ value: Int64) -> UInt8 {
    if value >= 0 && value < 16 { return value == 0 ? 0 : value == 1 ? 1 : value < 4 ? 2 : 4 }
    let magnitude = value < 0 ? ~value : value
    return magnitude >> 7 == 0 ? 8 : magnitude >> 15 == 0 ? 16 : magnitude >> 31 == 0 ? 32 : 64
  }

  /// The smallest width, from 8 bits, that can hold `value` in a key or offset node.
  @inline(__always)
  static func unsignedWidth(_ value: UInt64) -> UInt8 {
    value >> 8 == 0 ? 8 : value >> 16 == 0 ? 16 : value >> 32 == 0 ? 32 : 64
  }

  /// Stores element `index`; the value must fit the width.
  @inline(__always)
  static func store(_ base: UnsafeMutableRawPointer, _ width: UInt8, _ index: Int, _ value: Int64) {
    switch width {
    case 0: break
    case 1, 2, 4:
      let perByte = 8 / Int(width), shift = UInt8(index % perByte) * width
      let mask = (UInt8(1) << width - 1) << shift
      let byte = unsafe base + index / perByte
      let old = unsafe byte.load(as: UInt8.self)
      unsafe byte.storeBytes(of: old & ~mask | UInt8(truncatingIfNeeded: value) << shift & mask, as: UInt8.self)
    case 8: unsafe base.storeBytes(of: UInt8(truncatingIfNeeded: value), toByteOffset: index, as: UInt8.self)
    case 16:
      unsafe base.storeBytes(
        of: UInt16(truncatingIfNeeded: value).littleEndian,
        toByteOffset: index << 1,
        as: UInt16.self
      )
    case 32:
      unsafe base.storeBytes(
        of: UInt32(truncatingIfNeeded: value).littleEndian,
        toByteOffset: index << 2,
        as: UInt32.self
      )
    default: unsafe base.storeBytes(of: value.littleEndian, toByteOffset: index << 3, as: Int64.self)
    }
  }
}

extension Slab {
  /// Creates an integer node.
  func makeInts(_ flags: NodeFlags = [], _ values: [Int64] = []) -> Int {
    var width: UInt8 = 0
    for value in values { width = max(width, PackedBits.width(value)) }
    let ref = make(
      flags,
      .bits,
      width: width,
      count: values.count,
      payload: max(16, (values.count * Int(width) + 7) / 8)
    )
    let base = unsafe memory(ref) + Node.headerSize
    for (i, value) in values.enumerated() { unsafe PackedBits.store(base, width, i, value) }
    return ref
  }

  /// Creates an integer node of `count` equal elements.
  func makeInts(_ flags: NodeFlags = [], repeating value: Int64, count: Int) -> Int {
    let width = PackedBits.width(value)
    let ref = make(flags, .bits, width: width, count: count, payload: max(16, (count * Int(width) + 7) / 8))
    let base = unsafe memory(ref) + Node.headerSize
    for i in 0..<count { unsafe PackedBits.store(base, width, i, value) }
    return ref
  }

  /// Creates a key or offset node.
  func makeUnsigned(_ values: [UInt64]) -> Int {
    var width: UInt8 = 8
    for value in values { width = max(width, PackedBits.unsignedWidth(value)) }
    let ref = make([], .bits, width: width, count: values.count, payload: values.count * Int(width) / 8)
    let base = unsafe memory(ref) + Node.headerSize
    for (i, value) in values.enumerated() { unsafe PackedBits.store(base, width, i, Int64(bitPattern: value)) }
    return ref
  }

  /// Element `index` of a dirty integer node.
  @inline(__always)
  func int(_ ref: Int, _ index: Int) -> Int64 {
    let node = node(ref)
    if index < 0 || index >= node.count || node.scheme != .bits {
      refuse(ref, index)
      return 0
    }
    return unsafe PackedBits.signed(node.payload, node.width, index)
  }

  /// Replaces element `index` of a dirty integer node.
  @inline(__always)
  func setInt(_ ref: Int, _ index: Int, _ value: Int64) {
    var node = node(ref)
    if index < 0 || index >= node.count || node.scheme != .bits { return refuse(ref, index) }
    let needed = PackedBits.width(value)
    if needed > node.width {
      widen(ref, to: needed)
      node = self.node(ref)
    }
    unsafe PackedBits.store(UnsafeMutableRawPointer(mutating: node.payload), node.width, index, value)
  }

  /// Inserts `value` before element `index` of a dirty integer node.
  @inline(__always)
  func insertInt(_ ref: Int, _ index: Int, _ value: Int64) {
    if !append(ref, index, value) { insertAnywhere(ref, index, value) }
  }

  /// Appends `value` as element `index` if that is the end, the width suffices and there is room: the common case when
  /// building a leaf.
  @inline(__always)
  private func append(_ ref: Int, _ index: Int, _ value: Int64) -> Bool {
    let memory = unsafe memory(ref), word = unsafe UInt64(littleEndian: memory.load(as: UInt64.self))
    let count = Int(word.byteSwapped & 0xFF_FFFF), code = word >> 32 & 7
    guard code >= 4, word >> 35 & 3 == 0, index == count, count < 0xFF_FFFF else { return false }
    let shift = Int(code) - 4, bits = 8 << shift
    guard bits == 64 || value >> (bits - 1) == value >> 63 else { return false }
    guard Node.headerSize + (count + 1) << shift <= capacity(ref) else { return false }
    unsafe PackedBits.store(memory + Node.headerSize, UInt8(bits), count, value)
    let header = word & 0xFF_FFFF_FFFF | UInt64(UInt32(count + 1).byteSwapped >> 8) << 40
    unsafe memory.storeBytes(of: header.littleEndian, as: UInt64.self)
    return true
  }

  @inline(never)
  private func insertAnywhere(_ ref: Int, _ index: Int, _ value: Int64) {
    insert(ref, index, value, needed: PackedBits.width(value), isSigned: true)
  }

  /// Inserts `value` before element `index` of a dirty key or offset node.
  func insertUnsigned(_ ref: Int, _ index: Int, _ value: UInt64) {
    insert(ref, index, Int64(bitPattern: value), needed: PackedBits.unsignedWidth(value), isSigned: false)
  }

  /// Replaces element `index` of a dirty key or offset node.
  func setUnsigned(_ ref: Int, _ index: Int, _ value: UInt64) {
    var node = node(ref)
    if index < 0 || index >= node.count || node.scheme != .bits { return refuse(ref, index) }
    let needed = PackedBits.unsignedWidth(value)
    if needed > node.width {
      widen(ref, to: needed, isSigned: false)
      node = self.node(ref)
    }
    unsafe PackedBits.store(
      UnsafeMutableRawPointer(mutating: node.payload),
      node.width,
      index,
      Int64(bitPattern: value)
    )
  }

  private func insert(_ ref: Int, _ index: Int, _ value: Int64, needed: UInt8, isSigned: Bool) {
    var node = node(ref)
    if index < 0 || index > node.count || node.count >= 0xFF_FFFF || node.scheme != .bits {
      return refuse(ref, index)
    }
    if needed > node.width {
      widen(ref, to: needed, isSigned: isSigned)
      node = self.node(ref)
    }
    let width = node.width, count = node.count
    reserve(ref, payload: ((count + 1) * Int(width) + 7) / 8)
    let base = unsafe memory(ref) + Node.headerSize
    if width >= 8 {
      let size = Int(width) / 8
      if index < count { unsafe memmove(base + (index + 1) * size, base + index * size, (count - index) * size) }
    } else if width > 0 {
      var i = count
      while i > index {
        unsafe PackedBits.store(base, width, i, PackedBits.signed(base, width, i - 1))
        i -= 1
      }
    }
    unsafe PackedBits.store(base, width, index, value)
    setCount(ref, count + 1)
  }

  /// Appends `value` to a dirty integer node until it has `count` elements. Throws if it is not an integer node: in a
  /// damaged file, a loop that checks only the count would not end.
  func pad(_ ref: Int, to count: Int, with value: Int64 = 0) throws(EngineError) {
    let missing = count - node(ref).count
    if missing <= 0 { return }
    if node(ref).scheme != .bits || count > 0xFF_FFFF {
      let error = EngineError.damaged("\(node(ref).count) elements instead of \(count)", ref: ref)
      note(error)
      throw error
    }
    for index in count - missing..<count { insertInt(ref, index, value) }
  }

  /// Appends `values` to a dirty integer node.
  func appendInts(_ ref: Int, _ values: ArraySlice<Int64>) {
    var needed: UInt8 = 0
    for value in values { needed = max(needed, PackedBits.width(value)) }
    if needed > node(ref).width { widen(ref, to: needed) }
    let width = node(ref).width, count = node(ref).count
    if node(ref).scheme != .bits || count + values.count > 0xFF_FFFF { return refuse(ref, count) }
    reserve(ref, payload: ((count + values.count) * Int(width) + 7) / 8)
    let base = unsafe memory(ref) + Node.headerSize
    var index = count
    for value in values {
      unsafe PackedBits.store(base, width, index, value)
      index += 1
    }
    setCount(ref, index)
  }

  /// Removes element `index` of a dirty integer node of either kind.
  func removeInt(_ ref: Int, _ index: Int) {
    let node = node(ref)
    if index < 0 || index >= node.count || node.scheme != .bits { return refuse(ref, index) }
    let base = unsafe UnsafeMutableRawPointer(mutating: node.payload), width = node.width
    if width >= 8 {
      let size = Int(width) / 8
      unsafe memmove(base + index * size, base + (index + 1) * size, (node.count - index - 1) * size)
    } else if width > 0 {
      for i in index..<node.count - 1 { unsafe PackedBits.store(base, width, i, PackedBits.signed(base, width, i + 1)) }
    }
    setCount(ref, node.count - 1)
  }

  /// Truncates a dirty integer node to its first `count` elements.
  func truncateInts(_ ref: Int, _ count: Int) { setCount(ref, min(count, node(ref).count)) }

  /// Adds `delta` to the elements of a dirty offset node, from `index` on.
  func addUnsigned(_ ref: Int, from index: Int, _ delta: Int) {
    let count = node(ref).count
    if index >= count { return }
    if node(ref).scheme != .bits { return refuse(ref, index) }
    for i in index..<count {
      let node = node(ref)
      let value = unsafe PackedBits.unsigned(node.payload, node.width, i) &+ UInt64(bitPattern: Int64(delta))
      if PackedBits.unsignedWidth(value) > node.width {
        setUnsigned(ref, i, value)
      } else {
        unsafe PackedBits.store(
          UnsafeMutableRawPointer(mutating: node.payload),
          node.width,
          i,
          Int64(bitPattern: value)
        )
      }
    }
  }

  /// Widens all elements.
  func widen(_ ref: Int, to width: UInt8, isSigned: Bool = true) {
    let old = node(ref)
    if width <= old.width { return }
    if old.scheme != .bits { return refuse(ref, 0) }
    // Reserve room for one more element, as most callers widen to insert one.
    reserve(ref, payload: ((old.count + 1) * Int(width) + 7) / 8)
    let base = unsafe memory(ref) + Node.headerSize
    var i = old.count - 1
    while i >= 0 {
      let value =
        unsafe isSigned
        ? PackedBits.signed(base, old.width, i) : Int64(bitPattern: PackedBits.unsigned(base, old.width, i))
      unsafe PackedBits.store(base, width, i, value)
      i -= 1
    }
    setHeader(ref, old.nodeFlags, old.scheme, width: width, count: old.count)
  }

  /// Returns the child at `index` of a dirty has-refs node, made dirty in its slot. The slot must not be empty.
  @inline(__always)
  func child(_ parent: Int, _ index: Int, _ arena: Arena) throws(EngineError) -> Int {
    let node = node(parent)
    // The elements of other nodes of the file were not checked when they were copied.
    if !node.hasRefs { throw .damaged("slot \(index) of a node without refs", ref: parent) }
    let ref = try node.child(index)
    if owns(ref) && ref != 0 {
      try requirePresent(ref)
      return ref
    }
    if ref == 0 { throw .damaged("slot \(index) is empty", ref: parent) }
    let copy = try dirty(ref, arena)
    setInt(parent, index, Int64(copy))
    return copy
  }

  /// Replaces the child at `index`. The previous child is not dropped.
  @inline(__always)
  func setChild(_ parent: Int, _ index: Int, _ ref: Int) { setInt(parent, index, Int64(ref)) }

  /// Stores a tagged integer.
  @inline(__always)
  func setTagged(_ parent: Int, _ index: Int, _ value: Int64) { setInt(parent, index, value << 1 | 1) }
}
