// Parses numbers from text: integers and decimals are computed digit by digit, never through a double.

import RealmPages

/// A number in decimal notation: sign, digits and exponent.
package struct NumberText {
  let isNegative: Bool
  /// The digits before and after the point.
  private let whole: ArraySlice<UInt8>
  private let fraction: ArraySlice<UInt8>
  /// The exponent as written, clamped to +-10^9.
  private let writtenExponent: Int

  /// Parses `-12.5e+3` and the like, with any sign and leading zeros; nil for anything else.
  package init?(_ text: ArraySlice<UInt8>) {
    var rest = text
    func isDigit(_ byte: UInt8) -> Bool { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) }
    func takeSign() -> Bool {
      guard let sign = rest.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") else { return false }
      rest.removeFirst()
      return sign == UInt8(ascii: "-")
    }
    func takeDigits() -> ArraySlice<UInt8> {
      let digits = rest.prefix(while: isDigit)
      rest = rest[digits.endIndex...]
      return digits
    }
    isNegative = takeSign()
    whole = takeDigits()
    if rest.first == UInt8(ascii: ".") {
      rest.removeFirst()
      fraction = takeDigits()
    } else {
      fraction = rest.prefix(0)
    }
    if whole.isEmpty && fraction.isEmpty { return nil }
    var exponent = 0
    if rest.first == UInt8(ascii: "e") || rest.first == UInt8(ascii: "E") {
      rest.removeFirst()
      let isBelow = takeSign(), digits = takeDigits()
      if digits.isEmpty { return nil }
      for digit in digits { exponent = min(exponent * 10 + Int(digit - UInt8(ascii: "0")), 1_000_000_000) }
      if isBelow { exponent = -exponent }
    }
    if !rest.isEmpty { return nil }
    writtenExponent = exponent
  }

  /// The power of ten that scales the digits read as one integer.
  private var exponent: Int { writtenExponent - fraction.count }

  private var digitCount: Int { whole.count + fraction.count }

  /// Returns the digit at an index that counts through both parts.
  private func digit(_ index: Int) -> UInt8 {
    let byte =
      index < whole.count ? whole[whole.startIndex + index] : fraction[fraction.startIndex + index - whole.count]
    return byte - UInt8(ascii: "0")
  }

  enum Integer {
    case value(Int64)
    case fraction, outOfRange
  }

  /// The number as an integer. `1e3` and `7.0` are integers.
  var integer: Integer {
    let before = exponent >= 0 ? digitCount : max(0, digitCount + exponent)
    for index in before..<digitCount where digit(index) != 0 { return .fraction }
    let limit: UInt64 = isNegative ? 1 << 63 : 1 << 63 - 1
    var magnitude: UInt64 = 0
    func append(_ digit: UInt8) -> Bool {
      let (product, overflow) = magnitude.multipliedReportingOverflow(by: 10)
      let (sum, overflow2) = product.addingReportingOverflow(UInt64(digit))
      magnitude = sum
      return !overflow && !overflow2 && sum <= limit
    }
    for index in 0..<before { if !append(digit(index)) { return .outOfRange } }
    if magnitude != 0 && exponent > 0 {
      for _ in 0..<exponent { if !append(0) { return .outOfRange } }
    }
    return .value(isNegative ? Int64(truncatingIfNeeded: 0 &- magnitude) : Int64(magnitude))
  }

  /// The number as a decimal with the same digits; nil if it has more than 34 digits or the exponent is out of range.
  var decimal: Decimal128? {
    let largest = 9_999_999_999_999_999_999_999_999_999_999_999 as UInt128
    var coefficient: UInt128 = 0
    var exponent = exponent
    for index in 0..<digitCount {
      let next = coefficient * 10 + UInt128(digit(index))
      if next > largest {
        // Trailing zeros do not change the value.
        for later in index..<digitCount where digit(later) != 0 { return nil }
        exponent += digitCount - index
        break
      }
      coefficient = next
    }
    if coefficient == 0 { exponent = min(max(exponent, -6176), 6111) }
    while exponent > 6111 && coefficient * 10 <= largest {
      coefficient *= 10
      exponent -= 1
    }
    while exponent < -6176 && coefficient % 10 == 0 {
      coefficient /= 10
      exponent += 1
    }
    guard (-6176...6111).contains(exponent) else { return nil }
    let high = UInt64(isNegative ? 1 : 0) << 63 | UInt64(exponent + 6176) << 49 | UInt64(coefficient >> 64)
    return Decimal128(low: UInt64(truncatingIfNeeded: coefficient), high: high)
  }
}

/// A fast path for short numbers, which are the vast majority. The bytes must be a valid JSON number.
enum ShortNumber {
  /// Returns the value of a whole number of up to 18 digits; nil for anything else.
  @inline(__always)
  static func integer(_ bytes: [UInt8], _ range: Range<Int>) -> Int64? {
    let isNegative = bytes[range.lowerBound] == UInt8(ascii: "-"), places = isNegative ? range.dropFirst() : range
    if places.count > 18 { return nil }
    var value: Int64 = 0
    for index in places {
      let digit = bytes[index] &- UInt8(ascii: "0")
      if digit > 9 { return nil }
      value = value &* 10 &+ Int64(digit)
    }
    return isNegative ? -value : value
  }

  /// Returns the value of a number of up to 15 digits without an exponent; nil for anything else. Both the digits and
  /// the power of ten are exact doubles, so the quotient is the nearest double.
  @inline(__always)
  static func real(_ bytes: [UInt8], _ range: Range<Int>) -> Double? {
    let isNegative = bytes[range.lowerBound] == UInt8(ascii: "-"), places = isNegative ? range.dropFirst() : range
    if places.count > 16 { return nil }
    var digits: Int64 = 0, scale = 0, count = 0, isFraction = false
    for index in places {
      if bytes[index] == UInt8(ascii: "."), !isFraction {
        isFraction = true
      } else {
        let digit = bytes[index] &- UInt8(ascii: "0")
        if digit > 9 { return nil }
        digits = digits &* 10 &+ Int64(digit)
        if isFraction { scale += 1 }
        count += 1
      }
    }
    if count > 15 { return nil }
    let value = Double(digits) / powers[scale]
    return isNegative ? -value : value
  }

  private static let powers: [Double] = [
    1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
  ]
}
