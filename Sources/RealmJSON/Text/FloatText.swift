// Formats floating-point numbers as the shortest text that reads back as the same number. The layout is that of C++
// `std::to_chars`: plain or with an exponent, whichever is shorter, and plain if both have the same length. A whole
// number in plain notation has its exact digits, not the shortest ones padded with zeros. `.0` is added to text that
// would otherwise read as an integer.

extension OutputBuffer {
  /// Appends a finite number.
  package func append(real value: Double) {
    append(ShortestDecimal(fewDigits: value.magnitude) ?? ShortestDecimal(value.description), value)
  }

  /// Appends a finite number.
  package func append(real value: Float) {
    append(ShortestDecimal(value.description), Double(value))
  }

  private func append(_ number: ShortestDecimal, _ value: Double) {
    if value.sign == .minus { append(UInt8(ascii: "-")) }
    if number.digits == 0 {
      append("0.0")
      return
    }
    let (count, exponent) = (number.digitCount, number.exponent)
    let scientific = count + exponent - 1
    let scientificLength = (count == 1 ? 1 : count + 1) + (abs(scientific) >= 100 ? 5 : 4)
    let plainLength = exponent >= 0 ? count + exponent : max(count + 1, 2 - exponent)
    if plainLength > scientificLength {
      append(number, scientific: scientific)
    } else if exponent >= 0 {
      append(whole: value.magnitude)
      append(".0")
    } else {
      append(number, point: count + exponent)
    }
  }

  private func append(_ number: ShortestDecimal, scientific exponent: Int) {
    let fraction = Self.power(of: 10, number.digitCount - 1)
    append(decimal: number.digits / fraction)
    if number.digitCount > 1 {
      append(UInt8(ascii: "."))
      append(decimal: number.digits % fraction, width: number.digitCount - 1)
    }
    append(exponent < 0 ? "e-" : "e+")
    append(decimal: UInt64(abs(exponent)), width: abs(exponent) >= 100 ? 3 : 2)
  }

  /// Appends a plain number. `point` is the number of digits before the point; at least one digit follows the point.
  private func append(_ number: ShortestDecimal, point: Int) {
    if point <= 0 {
      append("0.")
      append(decimal: number.digits, width: number.digitCount - point)
    } else {
      let fraction = Self.power(of: 10, number.digitCount - point)
      append(decimal: number.digits / fraction)
      append(UInt8(ascii: "."))
      append(decimal: number.digits % fraction, width: number.digitCount - point)
    }
  }

  /// Appends a whole number below 10^22; for larger ones, the notation with an exponent is shorter.
  private func append(whole value: Double) {
    if value < 0x1p64 {
      append(decimal: UInt64(value))
    } else {
      let billion: UInt128 = 1_000_000_000
      let (high, low) = UInt128(value).quotientAndRemainder(dividingBy: billion)
      append(decimal: UInt64(truncatingIfNeeded: high))
      append(decimal: UInt64(truncatingIfNeeded: low), width: 9)
    }
  }

  private static func power(of base: UInt64, _ exponent: Int) -> UInt64 {
    (0..<exponent).reduce(1) { product, _ in product &* base }
  }
}

/// digits * 10^exponent, where `digits` does not end in 0 (unless it is 0).
private struct ShortestDecimal {
  var digits: UInt64 = 0
  var digitCount = 0
  var exponent = 0

  /// Parses a description such as `12.5`, `100000.0`, `1.5e-07`; ignores the sign.
  init(_ description: String) {
    var written = 0
    var isNegative = false
    var seenPoint = false
    var inExponent = false
    for byte in description.utf8 {
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"):
        let digit = UInt64(byte - UInt8(ascii: "0"))
        if inExponent {
          written = written * 10 + Int(digit)
        } else {
          digits = digits &* 10 &+ digit
          if seenPoint { exponent -= 1 }
        }
      case UInt8(ascii: "."): seenPoint = true
      case UInt8(ascii: "e"): inExponent = true
      case UInt8(ascii: "-"): isNegative = inExponent
      default: break
      }
    }
    exponent += isNegative ? -written : written
    strip()
  }

  /// Finds the digits of a number with at most four decimals and 15 digits, as most handwritten numbers are; nil for
  /// others.
  ///
  /// No two decimals of up to 15 digits map to the same Double, so the first one that equals the value is its shortest
  /// form. The division is exact except for its final rounding, which is the same as when the text is parsed.
  init?(fewDigits value: Double) {
    var power = 1.0
    for decimals in 0...4 {
      let whole = (value * power).rounded()
      guard whole < 1e15 else { return nil }
      if whole / power == value {
        digits = UInt64(whole)
        exponent = -decimals
        strip()
        return
      }
      power *= 10
    }
    return nil
  }

  private mutating func strip() {
    while digits != 0 && digits % 10 == 0 {
      digits /= 10
      exponent += 1
    }
    var rest = digits
    while rest != 0 {
      rest /= 10
      digitCount += 1
    }
  }
}
