// Leaves of scalar types that need more than one integer per value. Source: docs/format/1-storage.md S6, S7, S11 to
// S13.

/// Integers with a sentinel for null in element 0. Source: docs/format/1-storage.md S6.
struct NullableIntLeaf {
  private let node: Node
  private let sentinel: Int64
  var count: Int { node.count - 1 }

  init(_ arena: borrowing Arena, _ ref: Int) throws(EngineError) {
    node = try arena.integers(ref)
    sentinel = try node.int(0)
  }

  @inline(__always)
  func value(_ index: Int) throws(EngineError) -> Int64? {
    let value = try node.int(index + 1)
    return value == sentinel ? nil : value
  }
}

/// Points in time. Source: docs/format/1-storage.md S11.
struct TimestampLeaf {
  private let seconds: NullableIntLeaf
  private let nanoseconds: Node
  var count: Int { seconds.count }

  init(_ arena: borrowing Arena, _ ref: Int) throws(EngineError) {
    let root = try arena.refs(ref, slots: 2)
    seconds = try NullableIntLeaf(arena, root.child(0))
    nanoseconds = try arena.integers(root.child(1))
    if nanoseconds.count != seconds.count { throw .damaged("seconds and nanoseconds differ in number", ref: ref) }
  }

  @inline(__always)
  func value(_ index: Int) throws(EngineError) -> Timestamp? {
    guard let seconds = try seconds.value(index) else { return nil }
    return try Timestamp(checked: seconds, nanoseconds.int(index), ref: nanoseconds.ref)
  }
}

extension Timestamp {
  /// Throws for values that no writer stores: nanoseconds of a second or more, or of the opposite sign.
  @inline(__always)
  init(checked seconds: Int64, _ nanoseconds: Int64, ref: Int) throws(EngineError) {
    if nanoseconds.magnitude >= 1_000_000_000 || seconds > 0 && nanoseconds < 0 || seconds < 0 && nanoseconds > 0 {
      throw .damaged("a date of \(seconds) seconds and \(nanoseconds) nanoseconds", ref: ref)
    }
    self.init(seconds: seconds, nanoseconds: Int32(nanoseconds))
  }
}

/// Floats and doubles. Source: docs/format/1-storage.md S7.
struct FloatingLeaf {
  private let node: Node
  var count: Int { node.count }

  /// `width` is 4 or 8 bytes.
  init(_ arena: borrowing Arena, _ ref: Int, width: UInt8) throws(EngineError) {
    node = try arena.node(ref)
    if node.scheme != .multiply || node.width != width && node.count != 0 {
      throw .damaged("expected elements of \(width) bytes", ref: ref)
    }
  }

  /// Null is one particular NaN.
  @inline(__always)
  func float(_ index: Int) throws(EngineError) -> Float? {
    let bits = unsafe UInt32(littleEndian: try node.element(index).loadUnaligned(as: UInt32.self))
    return bits == 0x7fc0_00aa ? nil : Float(bitPattern: bits)
  }

  /// Null is one particular NaN.
  @inline(__always)
  func double(_ index: Int) throws(EngineError) -> Double? {
    let number = try raw(index)
    return number.bitPattern == 0x7ff8_0000_0000_00aa ? nil : number
  }

  /// A double as stored, with null as its NaN.
  @inline(__always)
  func raw(_ index: Int) throws(EngineError) -> Double {
    unsafe Double(bitPattern: UInt64(littleEndian: try node.element(index).loadUnaligned(as: UInt64.self)))
  }
}

/// Decimals of 0, 4, 8 or 16 bytes, widened to 128 bits with exponent and coefficient kept.
/// Source: docs/format/1-storage.md S12.
struct DecimalLeaf {
  private let node: Node
  var count: Int { node.count }

  init(_ arena: borrowing Arena, _ ref: Int) throws(EngineError) {
    node = try arena.node(ref)
    if node.scheme != .multiply || ![0, 4, 8, 16].contains(node.width) {
      throw .damaged("expected decimals", ref: ref)
    }
  }

  func value(_ index: Int) throws(EngineError) -> Decimal128? {
    let bytes = try unsafe node.element(index)
    switch node.width {
    case 0: return node.hasContext ? Decimal128(low: 0, high: 0x3040 << 48) : nil
    case 4:
      let bits = unsafe UInt32(littleEndian: bytes.loadUnaligned(as: UInt32.self))
      return bits == 0x7c00_00aa ? nil : Decimal128(bid: UInt64(bits), width: 32, coefficientBits: 23, bias: 101)
    case 8:
      let bits = unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
      return bits == 0x7c00_0000_0000_00aa ? nil : Decimal128(bid: bits, width: 64, coefficientBits: 53, bias: 398)
    default:
      let low = unsafe UInt64(littleEndian: bytes.loadUnaligned(as: UInt64.self))
      let high = unsafe UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
      return high == 0x7c00_0000_0000_0000 && low == 0xaa ? nil : Decimal128(low: low, high: high)
    }
  }
}

extension Decimal128 {
  /// Widens a BID32 or BID64 number.
  fileprivate init(bid bits: UInt64, width: UInt64, coefficientBits: UInt64, bias: UInt64) {
    let sign = (bits >> (width - 1)) << 63
    let exponentMask = (1 << (width - 1 - coefficientBits)) - 1 as UInt64
    if bits >> (width - 3) & 3 == 3 {
      if bits >> (width - 5) & 15 == 15 {
        // Infinity or NaN, distinguished by five bits.
        self.init(low: 0, high: sign | (bits >> (width - 6) & 31) << 58)
        return
      }
      let exponent = bits >> (coefficientBits - 2) & exponentMask
      let coefficient = bits & ((1 << (coefficientBits - 2)) - 1) | 1 << coefficientBits
      self.init(low: coefficient, high: sign | (exponent &- bias &+ 6176) << 49)
    } else {
      let exponent = bits >> coefficientBits & exponentMask
      self.init(low: bits & ((1 << coefficientBits) - 1), high: sign | (exponent &- bias &+ 6176) << 49)
    }
  }
}

/// ObjectIds or UUIDs: blocks of one byte of null flags and up to eight values. Source: docs/format/1-storage.md S13.
struct FixedBytesLeaf {
  private let node: Node
  private let width: Int
  private let swapsGuids: Bool
  let count: Int

  /// `width` is 12 or 16 bytes.
  init(_ arena: borrowing Arena, _ ref: Int, width: Int) throws(EngineError) {
    node = try arena.node(ref)
    self.width = width
    swapsGuids = arena.swapsGuids
    let block = 8 * width + 1
    let rest = node.count % block
    if node.scheme != .multiply || node.width != 1 && node.count != 0 || rest != 0 && (rest - 1) % width != 0 {
      throw .damaged("expected values of \(width) bytes with null flags", ref: ref)
    }
    count = node.count / block * 8 + (rest == 0 ? 0 : (rest - 1) / width)
  }

  /// The bytes of element `index`, nil for null.
  @inline(__always)
  private func value(_ index: Int) throws(EngineError) -> UnsafeRawPointer? {
    if UInt(bitPattern: index) >= UInt(bitPattern: count) {
      throw .damaged("has \(count) values; value \(index) cannot be read", ref: node.ref)
    }
    let block = unsafe node.payload + (index >> 3) * (8 * width + 1)
    if unsafe block.load(as: UInt8.self) >> UInt8(index & 7) & 1 != 0 { return nil }
    return unsafe block + 1 + (index & 7) * width
  }

  /// An ObjectId; the leaf has a width of 12.
  func objectID(_ index: Int) throws(EngineError) -> ObjectID? { try unsafe value(index).map { unsafe ObjectID($0) } }

  /// A UUID; the leaf has a width of 16.
  func uuid(_ index: Int) throws(EngineError) -> UniqueID? {
    let id = try unsafe value(index).map { unsafe UniqueID($0) }
    return swapsGuids ? id?.swapped : id
  }
}

extension ObjectID {
  /// Reads twelve bytes.
  init(_ bytes: UnsafeRawPointer) {
    unsafe self.init(
      high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
      low: UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt32.self))
    )
  }
}

extension UniqueID {
  /// Reads sixteen bytes.
  init(_ bytes: UnsafeRawPointer) {
    unsafe self.init(
      high: UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self)),
      low: UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    )
  }
}
