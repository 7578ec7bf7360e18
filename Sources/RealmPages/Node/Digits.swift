// Hexadecimal and base64 digits.

/// The value of a hexadecimal digit in either case; nil for another byte.
@inlinable
package func hexadecimalDigit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0")
  case UInt8(ascii: "a")...UInt8(ascii: "f"): byte - UInt8(ascii: "a") + 10
  case UInt8(ascii: "A")...UInt8(ascii: "F"): byte - UInt8(ascii: "A") + 10
  default: nil
  }
}

/// Formats a number with this many hexadecimal digits, lower-case.
package func hexadecimal(_ number: UInt64, digits: Int) -> String {
  let text = String(number, radix: 16)
  return String(repeating: "0", count: digits - text.count) + text
}

/// The value of a digit of base64 in the standard alphabet; nil for another byte.
@inlinable
package func base64Digit(_ byte: UInt8) -> UInt8? {
  switch byte {
  case UInt8(ascii: "A")...UInt8(ascii: "Z"): byte - UInt8(ascii: "A")
  case UInt8(ascii: "a")...UInt8(ascii: "z"): byte - UInt8(ascii: "a") + 26
  case UInt8(ascii: "0")...UInt8(ascii: "9"): byte - UInt8(ascii: "0") + 52
  case UInt8(ascii: "+"): 62
  case UInt8(ascii: "/"): 63
  default: nil
  }
}
