// Formats bytes as text: base64 and hexadecimal digits.

public import RealmPages

extension OutputBuffer {
  /// Appends `bytes` in base64 with padding.
  package func append(base64 bytes: RawSpan) {
    reserve((bytes.byteCount + 2) / 3 * 4)
    var index = 0
    let whole = bytes.byteCount - bytes.byteCount % 3
    while index < whole {
      append(sextets: Self.byte(bytes, index) << 16 | Self.byte(bytes, index + 1) << 8 | Self.byte(bytes, index + 2))
      index += 3
    }
    switch bytes.byteCount - whole {
    case 1:
      append(sextets: Self.byte(bytes, index) << 16)
      truncate(to: count - 2)
      append("==")
    case 2:
      append(sextets: Self.byte(bytes, index) << 16 | Self.byte(bytes, index + 1) << 8)
      truncate(to: count - 1)
      append("=")
    default: break
    }
  }

  /// Appends the bytes of `view` in base64 with padding.
  func append(base64 view: ByteView) {
    view.withSpan { append(base64: $0) }
  }

  /// Appends `byte` as two lower-case hexadecimal digits.
  public func append(hex byte: UInt8) {
    append(pair: Self.hexDigits(byte))
  }

  /// Appends `byte` as two upper-case hexadecimal digits.
  public func append(upperHex byte: UInt8) {
    append(Self.upperHexDigit(byte >> 4))
    append(Self.upperHexDigit(byte & 15))
  }

  /// Appends the lowest `digits` hexadecimal digits of `value`; `digits` is even and at most 16.
  public func append(hex value: UInt64, digits: Int) {
    for shift in stride(from: digits * 4 - 8, through: 0, by: -8) {
      append(hex: UInt8(truncatingIfNeeded: value >> UInt64(shift)))
    }
  }

  /// Appends an object ID as 24 hexadecimal digits.
  public func append(_ id: ObjectID) {
    append(hex: id.high, digits: 16)
    append(hex: UInt64(id.low), digits: 8)
  }

  /// Appends a UUID in its usual form, in lower case: `8-4-4-4-12`.
  public func append(_ id: UniqueID) {
    append(hex: id.high >> 32, digits: 8)
    append(UInt8(ascii: "-"))
    append(hex: id.high >> 16, digits: 4)
    append(UInt8(ascii: "-"))
    append(hex: id.high, digits: 4)
    append(UInt8(ascii: "-"))
    append(hex: id.low >> 48, digits: 4)
    append(UInt8(ascii: "-"))
    append(hex: id.low, digits: 12)
  }

  /// Appends 24 bits as four base64 digits.
  private func append(sextets bits: UInt32) {
    let first = Self.base64Digit(bits >> 18) | Self.base64Digit(bits >> 12 & 63) << 8
    let last = Self.base64Digit(bits >> 6 & 63) << 16 | Self.base64Digit(bits & 63) << 24
    append(four: first | last)
  }

  private static func base64Digit(_ value: UInt32) -> UInt32 {
    switch value {
    case 0..<26: value + 65
    case 26..<52: value + 71
    case 52..<62: value - 4
    case 62: 43
    default: 47
    }
  }

  private static func hexDigits(_ byte: UInt8) -> UInt16 {
    UInt16(hexDigit(byte >> 4)) | UInt16(hexDigit(byte & 15)) << 8
  }

  private static func hexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? value + 48 : value + 87
  }

  private static func upperHexDigit(_ value: UInt8) -> UInt8 {
    value < 10 ? value + 48 : value + 55
  }

  private static func byte(_ bytes: RawSpan, _ index: Int) -> UInt32 {
    unsafe UInt32(bytes.unsafeLoad(fromByteOffset: index, as: UInt8.self))
  }
}
