// One node: eight header bytes and its elements. Source: docs/format/1-storage.md S4.

import Glibc

/// How width and count determine the size of a node's payload. Source: docs/format/1-storage.md S4.
enum WidthScheme: UInt8 {
  /// `width` counts bits.
  case bits = 0
  /// `width` counts bytes.
  case multiply = 1
  /// One byte per element.
  case ignore = 2
}

/// A view of one node whose header has been checked. Valid while its arena exists.
@safe struct Node {
  // Safe: the code that creates a node has checked that it is in the arena, which its user holds; every index is
  // checked.
  /// The first payload byte.
  let payload: UnsafeRawPointer
  let ref: Int
  /// The number of elements.
  let count: Int
  /// Bits or bytes per element, depending on `scheme`.
  let width: UInt8
  private let flags: UInt8

  /// The number of bytes in a header.
  static let headerSize = 8
  /// The alignment of nodes.
  static let alignment = 8

  /// Reads the header at `bytes`; nil if its width scheme does not exist.
  @inline(__always)
  init?(header bytes: UnsafeRawPointer, ref: Int) {
    let word = unsafe UInt64(littleEndian: bytes.load(as: UInt64.self))
    flags = UInt8(truncatingIfNeeded: word >> 32)
    if flags & 0x18 == 0x18 { return nil }
    // The count is big-endian in bytes 5 to 7.
    count = Int(word.byteSwapped & 0xFF_FFFF)
    width = UInt8((1 << UInt16(flags & 7)) >> 1)
    unsafe payload = bytes + Self.headerSize
    self.ref = ref
  }

  @inline(__always) var isInner: Bool { flags & 0x80 != 0 }
  @inline(__always) var hasRefs: Bool { flags & 0x40 != 0 }
  @inline(__always) var hasContext: Bool { flags & 0x20 != 0 }
  @inline(__always) var scheme: WidthScheme {
    flags & 0x10 != 0 ? .ignore : flags & 0x08 != 0 ? .multiply : .bits
  }

  /// The size of the payload in bytes, without padding.
  @inline(__always) var payloadSize: Int {
    switch scheme {
    case .bits: (count * Int(width) + 7) >> 3
    case .multiply: count * Int(width)
    case .ignore: count
    }
  }

  /// The size of the node in the file, in bytes.
  @inline(__always) var byteSize: Int { (Self.headerSize + payloadSize + 7) & ~7 }

  /// True if exactly one byte of the mark "AAAA", with which writers begin a node, was changed. Nodes of early versions
  /// begin with other bytes that do not match this. Source: docs/format/1-storage.md S4.
  var hasDamagedMark: Bool {
    let mark = unsafe (payload - Self.headerSize).load(as: UInt32.self) ^ 0x4141_4141
    return (0..<4).count { mark >> UInt32(8 * $0) & 0xFF == 0 } == 3
  }

  /// True if another node has the same bits, apart from the mark.
  func isIdentical(to other: Node) -> Bool {
    unsafe flags == other.flags && count == other.count && memcmp(payload, other.payload, payloadSize) == 0
  }

  /// True if another node has as many elements of the same kind, regardless of width.
  func hasSameKind(as other: Node) -> Bool { (flags ^ other.flags) & 0xF8 == 0 && count == other.count }

  /// Element `index` of an integer node.
  @inline(__always)
  func int(_ index: Int) throws(EngineError) -> Int64 {
    if UInt(bitPattern: index) >= UInt(bitPattern: count) || flags & 0x18 != 0 { throw badAccess(index) }
    return unsafe PackedBits.signed(payload, width, index)
  }

  /// Element `index` of a key or offset node.
  @inline(__always)
  func unsigned(_ index: Int) throws(EngineError) -> UInt64 {
    if UInt(bitPattern: index) >= UInt(bitPattern: count) || flags & 0x18 != 0 { throw badAccess(index) }
    return unsafe PackedBits.unsigned(payload, width, index)
  }

  /// Returns the index of the first of ascending integers that is not below `word`; `count` if there is none. O(log n).
  /// Keys of search indexes have 32 bits, so that width has its own loop.
  func lowerBound(_ word: Int32) throws(EngineError) -> Int {
    if flags & 0x18 != 0 { throw badAccess(0) }
    var low = 0, rest = count
    if width == 32 {
      // A fixed number of steps without unpredictable branches.
      while rest > 1 {
        let half = rest &>> 1
        low = isBelow(low &+ half &- 1, word) ? low &+ half : low
        rest = rest &- half
      }
      return rest == 1 && isBelow(low, word) ? low &+ 1 : low
    }
    while rest > 0 {
      let half = rest >> 1
      if unsafe PackedBits.signed(payload, width, low + half) < Int64(word) {
        low += half + 1
        rest -= half + 1
      } else {
        rest = half
      }
    }
    return low
  }

  /// True if element `index` of width 32 is less than `word`.
  @inline(__always)
  private func isBelow(_ index: Int, _ word: Int32) -> Bool {
    unsafe Int32(littleEndian: payload.loadUnaligned(fromByteOffset: index &<< 2, as: Int32.self)) < word
  }

  /// The child at `index` of a has-refs node; 0 if there is none. A tagged integer is an error.
  @inline(__always)
  func child(_ index: Int) throws(EngineError) -> Int {
    let value = try int(index)
    if value & 1 != 0 { throw .damaged("slot \(index) holds a number where a ref belongs", ref: ref) }
    return Int(value)
  }

  /// The child at `index`; 0 if there is none or the node is shorter.
  @inline(__always)
  func childIfPresent(_ index: Int) throws(EngineError) -> Int { index < count ? try child(index) : 0 }

  /// The tagged integer at `index`. Plain 0 counts as 0, as in slots that were never filled.
  @inline(__always)
  func tagged(_ index: Int) throws(EngineError) -> Int64 {
    let value = try int(index)
    if value & 1 == 0 && value != 0 { throw .damaged("slot \(index) holds a ref where a number belongs", ref: ref) }
    return value >> 1
  }

  /// The bytes of element `index` of a node of scheme `multiply`.
  @inline(__always)
  func element(_ index: Int) throws(EngineError) -> UnsafeRawPointer {
    if UInt(bitPattern: index) >= UInt(bitPattern: count) || scheme != .multiply { throw badAccess(index) }
    return unsafe payload + index * Int(width)
  }

  @inline(never)
  private func badAccess(_ index: Int) -> EngineError {
    EngineError.damaged("has \(count) elements of scheme \(scheme); element \(index) cannot be read", ref: ref)
  }
}
