// ObjectIds and UUIDs as text.

/// The value of up to 16 hexadecimal digits; nil if there are other characters.
private func number(_ digits: ArraySlice<UInt8>) -> UInt64? {
  var value: UInt64 = 0
  for byte in digits {
    guard let digit = hexadecimalDigit(byte) else { return nil }
    value = value << 4 | UInt64(digit)
  }
  return value
}

extension ObjectID: LosslessStringConvertible {
  /// Parses 24 hexadecimal digits.
  package init?(text: ArraySlice<UInt8>) {
    guard text.count == 24, let high = number(text.prefix(16)), let low = number(text.suffix(8)) else { return nil }
    self.init(high: high, low: UInt32(low))
  }

  /// Parses 24 hexadecimal digits.
  public init?(_ description: String) { self.init(text: Array(description.utf8)[...]) }

  /// 24 hexadecimal digits, lower-case.
  public var description: String { hexadecimal(high, digits: 16) + hexadecimal(UInt64(low), digits: 8) }
}

extension UniqueID: LosslessStringConvertible {
  /// Parses `8-4-4-4-12` hexadecimal digits.
  package init?(text: ArraySlice<UInt8>) {
    let dashes = [8, 13, 18, 23]
    guard text.count == 36, dashes.allSatisfy({ text[text.startIndex + $0] == UInt8(ascii: "-") }) else { return nil }
    let digits = text.filter { $0 != UInt8(ascii: "-") }[...]
    guard digits.count == 32, let high = number(digits.prefix(16)), let low = number(digits.suffix(16)) else {
      return nil
    }
    self.init(high: high, low: low)
  }

  /// Parses `8-4-4-4-12` hexadecimal digits.
  public init?(_ description: String) { self.init(text: Array(description.utf8)[...]) }

  /// `8-4-4-4-12` hexadecimal digits, lower-case.
  public var description: String {
    let parts = [(high >> 32, 8), (high >> 16, 4), (high, 4), (low >> 48, 4), (low, 12)]
    return parts.map { hexadecimal($0 & (1 << ($1 * 4) - 1), digits: $1) }.joined(separator: "-")
  }
}
