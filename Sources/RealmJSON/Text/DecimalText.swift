// Formats Decimal128 values in the two forms that Realm prints (docs/format/2-model.md M13). A coefficient of up to 64
// bits is printed as its digits, with the point moved left until the exponent is 0 or one digit is left before the
// point (`1.10`, `1E-6143`). A longer coefficient is printed as a signed integer with an exponent (`+31415..E-33`).

public import RealmPages

extension OutputBuffer {
  /// Appends the text that Realm prints for `value`.
  public func append(_ value: Decimal128) {
    let isNegative = value.high >> 63 != 0
    switch value.parts {
    case .nan: append(isNegative ? "-NaN" : "NaN")
    case .infinity: append(isNegative ? "-Inf" : "Inf")
    case .number(let coefficient, let exponent):
      if coefficient >> 64 != 0 {
        append(isNegative ? "-" : "+")
        append(wide: coefficient)
        append(exponent < 0 ? "E-" : "E+")
        append(decimal: UInt64(exponent.magnitude))
      } else {
        if isNegative { append(UInt8(ascii: "-")) }
        append(narrow: UInt64(truncatingIfNeeded: coefficient), exponent)
      }
    }
  }

  private func append(wide coefficient: UInt128) {
    let (high, low) = coefficient.quotientAndRemainder(dividingBy: 10_000_000_000_000_000)
    let (first, middle) = high.quotientAndRemainder(dividingBy: 10_000_000_000_000_000)
    if first != 0 {
      append(decimal: UInt64(truncatingIfNeeded: first))
      append(decimal: UInt64(truncatingIfNeeded: middle), width: 16)
    } else {
      append(decimal: UInt64(truncatingIfNeeded: middle))
    }
    append(decimal: UInt64(truncatingIfNeeded: low), width: 16)
  }

  private func append(narrow coefficient: UInt64, _ exponent: Int) {
    var before = coefficient
    var fraction: UInt64 = 1
    var fractionDigits = 0
    var rest = exponent
    while before >= 10 && rest != 0 {
      before /= 10
      fraction *= 10
      fractionDigits += 1
      rest += 1
    }
    append(decimal: before)
    if fractionDigits > 0 {
      append(UInt8(ascii: "."))
      append(decimal: coefficient % fraction, width: fractionDigits)
    }
    if rest != 0 {
      append(UInt8(ascii: "E"))
      append(decimal: Int64(rest))
    }
  }
}

extension Decimal128 {
  /// The decoded form of a decimal.
  package enum Parts {
    case nan, infinity
    /// coefficient * 10^exponent; the sign is the highest bit of the value.
    case number(coefficient: UInt128, exponent: Int)
  }

  /// The decoded value. Non-canonical numbers count as zero.
  package var parts: Parts {
    if high & 0x7C00_0000_0000_0000 == 0x7C00_0000_0000_0000 { return .nan }
    if high & 0x7800_0000_0000_0000 == 0x7800_0000_0000_0000 { return .infinity }
    if high & 0x6000_0000_0000_0000 == 0x6000_0000_0000_0000 {
      // Not canonical: counts as zero.
      return .number(coefficient: 0, exponent: Int(high >> 47 & 0x3FFF) - 6176)
    }
    let coefficient = UInt128(high & 0x1_FFFF_FFFF_FFFF) << 64 | UInt128(low)
    let largest: UInt128 = 9_999_999_999_999_999_999_999_999_999_999_999
    return .number(
      coefficient: coefficient > largest ? 0 : coefficient,
      exponent: Int(high >> 49 & 0x3FFF) - 6176
    )
  }
}
