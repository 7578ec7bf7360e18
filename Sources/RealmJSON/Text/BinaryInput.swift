// Parses binary values in text: base64, and the bytes of a UUID. Returns nil for malformed input.

import RealmPages

/// Returns the bytes that base64 text encodes, with or without padding; nil if the text is malformed.
func decodedBase64(_ text: ArraySlice<UInt8>) -> [UInt8]? {
  let padding = text.suffix(2).reversed().prefix { $0 == UInt8(ascii: "=") }.count
  let digits = text.dropLast(padding)
  if padding > 0 && text.count % 4 != 0 || digits.count % 4 == 1 { return nil }
  var bytes: [UInt8] = []
  bytes.reserveCapacity(digits.count / 4 * 3 + 2)
  var bits: UInt32 = 0, count = 0
  for digit in digits {
    guard let value = base64Digit(digit) else { return nil }
    bits = bits << 6 | UInt32(value)
    count += 6
    if count >= 8 {
      count -= 8
      bytes.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
    }
  }
  // Leftover bits must be zero; otherwise the text was truncated.
  return bits & (1 << UInt32(count) - 1) == 0 ? bytes : nil
}

extension UniqueID {
  /// Creates a UUID from 16 bytes, most significant first; nil for any other count.
  init?(bytes: [UInt8]) {
    guard bytes.count == 16 else { return nil }
    func number(_ bytes: ArraySlice<UInt8>) -> UInt64 { bytes.reduce(0) { $0 << 8 | UInt64($1) } }
    self.init(high: number(bytes[..<8]), low: number(bytes[8...]))
  }
}
