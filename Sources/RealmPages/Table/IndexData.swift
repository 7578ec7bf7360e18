// The bytes that represent a value in a search index, and the index keys built from them. Source:
// docs/format/2-model.md M10.

/// The index data of one value. Borrows the bytes of strings and binaries, so it is valid as long as the value's
/// source.
struct IndexData {
  private enum Form {
    case none
    case bytes(ByteView)
    /// Up to sixteen bytes, a multiple of four, in little-endian order.
    case words(UInt64, UInt64)
  }

  private let form: Form
  /// The number of bytes.
  let count: Int

  private init(_ form: Form, _ count: Int) {
    self.form = form
    self.count = count
  }

  private init(_ bytes: StaticString) {
    unsafe self.init(
      .bytes(ByteView(base: UnsafeRawPointer(bytes.utf8Start), count: bytes.utf8CodeUnitCount)),
      bytes.utf8CodeUnitCount
    )
  }

  init(_ value: ValueView) {
    switch value {
    case .null: self.init(.none, 0)
    case .int(let value): self.init(integer: value)
    case .bool(let value): self.init(integer: value ? 1 : 0)
    case .string(let value), .data(let value): self.init(.bytes(value), value.count)
    case .objectID(let id): self.init(.words(id.high.byteSwapped, UInt64(id.low.byteSwapped)), 12)
    case .uuid(let id): self.init(.words(id.high.byteSwapped, id.low.byteSwapped), 16)
    case .date(let date):
      let nanoseconds = UInt32(bitPattern: date.nanoseconds)
      self.init(.words(UInt64(bitPattern: date.seconds), UInt64(nanoseconds)), 12)
    case .float(let value):
      if let integer = Int32(exactly: value) {
        self.init(integer: Int64(integer))
      } else {
        self.init(.words(UInt64(value.bitPattern), 0), 4)
      }
    case .double(let value):
      if let integer = Int32(exactly: value) {
        self.init(integer: Int64(integer))
      } else {
        self.init(.words(value.bitPattern, 0), 8)
      }
    case .decimal128(let value):
      // Without the fraction, as realm-core does: docs/format/2-model.md M10.
      if let integer = value.truncated {
        self.init(integer: integer)
      } else {
        self.init(.words(value.low, value.high), 16)
      }
    case .link(let table, let key):
      let bits = UInt64(bitPattern: key.value)
      self.init(.words(UInt64(table.value) | bits << 32, bits >> 32), 12)
    case .list, .set: self.init("__List__")
    case .dictionary: self.init("__Dictionary__")
    }
  }

  private init(integer: Int64) {
    self.init(.words(UInt64(bitPattern: integer), 0), 8)
  }

  /// The data of a word of a full-word index; nil means null.
  init(word: ByteView?) {
    if let word { self.init(.bytes(word), word.count) } else { self.init(.none, 0) }
  }

  /// Returns true if more bytes follow the key at `offset`.
  @inline(__always)
  func continues(after offset: Int) -> Bool { offset + 4 < count }

  /// Four bytes from `offset`, a multiple of four, as the index compares them: big-endian and signed. An 'X' marks the
  /// end of the data.
  @inline(__always)
  func key(_ offset: Int) -> Int32 {
    switch form {
    case .none: return 0
    case .words(let low, let high):
      if offset >= count { return offset == count ? Self.end : 0 }
      let word = UInt32(truncatingIfNeeded: (offset < 8 ? low : high) >> UInt64(8 * (offset & 7)))
      return Int32(bitPattern: word.byteSwapped)
    case .bytes(let view): return unsafe Self.key(view.unsafeBytes, offset)
    }
  }

  /// The key past the end of a value whose length is a multiple of four: only the end mark.
  static let end: Int32 = 0x5800_0000

  private static func key(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> Int32 {
    if offset > bytes.count { return 0 }
    if offset + 4 <= bytes.count {
      return unsafe Int32(bigEndian: bytes.loadUnaligned(fromByteOffset: offset, as: Int32.self))
    }
    var key: UInt32 = 0
    for i in offset..<offset + 4 {
      key = unsafe key << 8 | UInt32(i < bytes.count ? bytes[i] : i == bytes.count ? UInt8(ascii: "X") : 0)
    }
    return Int32(bitPattern: key)
  }

  /// Returns true if `keys` are the first index keys of this value.
  func hasKeys(_ keys: [Int32]) -> Bool { keys.indices.allSatisfy { keys[$0] == key(4 * $0) } }

  /// Returns true if both have the same bytes; null equals only null.
  func isEqual(_ other: IndexData) -> Bool {
    switch (form, other.form) {
    case (.none, .none): true
    case (.none, _), (_, .none): false
    case (.words(let low, let high), .words(let otherLow, let otherHigh)):
      count == other.count && low == otherLow && high == otherHigh
    default: count == other.count && stride(from: 0, through: count, by: 4).allSatisfy { key($0) == other.key($0) }
    }
  }
}

extension Decimal128 {
  /// The value without its fraction; nil if that does not fit into an Int64.
  fileprivate var truncated: Int64? {
    if high & 0x7800_0000_0000_0000 == 0x7800_0000_0000_0000 { return nil }
    // Coefficients that are not canonical count as zero.
    if high & 0x6000_0000_0000_0000 == 0x6000_0000_0000_0000 { return 0 }
    var coefficient = UInt128(high & 0x1_ffff_ffff_ffff) << 64 | UInt128(low)
    let limit: UInt128 = 10_000_000_000_000_000_000_000_000_000_000_000
    if coefficient >= limit || coefficient == 0 { return 0 }
    var exponent = Int(high >> 49 & 0x3fff) - 6176
    while exponent < 0 {
      if coefficient == 0 { return 0 }
      coefficient /= 10
      exponent += 1
    }
    let isNegative = high >> 63 != 0, largest = isNegative ? UInt128(Int64.max) + 1 : UInt128(Int64.max)
    while exponent > 0 {
      if coefficient > largest { return nil }
      coefficient *= 10
      exponent -= 1
    }
    if coefficient > largest { return nil }
    return Int64(truncatingIfNeeded: isNegative ? 0 &- coefficient : coefficient)
  }
}
