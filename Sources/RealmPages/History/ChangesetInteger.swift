// The integers of changesets, for both the in-Realm history and sync: sign and magnitude, seven bits per byte, six in
// the last. Source: docs/format/6-history.md 6.4.

/// Encodes and decodes the integers of changesets.
package enum ChangesetInteger {
  /// Appends a signed number; 1 to 10 bytes.
  @inline(__always)
  package static func append(_ value: Int64, to bytes: inout [UInt8]) {
    append(magnitude: UInt64(bitPattern: value < 0 ? ~value : value), isNegative: value < 0, to: &bytes)
  }

  /// Appends an unsigned number of up to 64 bits.
  package static func append(unsigned value: UInt64, to bytes: inout [UInt8]) {
    append(magnitude: value, isNegative: false, to: &bytes)
  }

  private static func append(magnitude: UInt64, isNegative: Bool, to bytes: inout [UInt8]) {
    var magnitude = magnitude
    while magnitude >= 64 {
      bytes.append(0x80 | UInt8(magnitude & 0x7f))
      magnitude >>= 7
    }
    bytes.append(UInt8(magnitude) | (isNegative ? 0x40 : 0))
  }

  /// The reason why bytes are not a valid integer.
  package enum Problem: String, Error {
    case truncated = "the changeset ends"
    case overflow = "more than 64 bits"
    case overlong = "too long"
  }

  /// Reads a signed number at `offset` and advances past it. Accepts only the shortest form.
  package static func read(_ bytes: [UInt8], at offset: inout Int) throws(Problem) -> Int64 {
    if offset < bytes.count, bytes[offset] & 0x80 == 0 {
      // Most numbers have one byte.
      let byte = bytes[offset]
      offset += 1
      return byte & 0x40 == 0 ? Int64(byte) : ~Int64(byte & 0x3f)
    }
    let (magnitude, isNegative) = try parts(bytes, at: &offset)
    guard let value = Int64(exactly: magnitude) else { throw .overflow }
    return isNegative ? ~value : value
  }

  /// Reads an unsigned number of up to 64 bits at `offset` and advances past it. Accepts only the shortest form.
  package static func readUnsigned(_ bytes: [UInt8], at offset: inout Int) throws(Problem) -> UInt64 {
    let (magnitude, isNegative) = try parts(bytes, at: &offset)
    if isNegative { throw .overflow }
    return magnitude
  }

  private static func parts(
    _ bytes: [UInt8],
    at offset: inout Int
  ) throws(Problem) -> (magnitude: UInt64, isNegative: Bool) {
    var value: UInt64 = 0, shift: UInt64 = 0
    while offset < bytes.count {
      let byte = bytes[offset]
      offset += 1
      if byte & 0x80 != 0 {
        if shift > 56 { throw .overflow }
        value |= UInt64(byte & 0x7f) << shift
        shift += 7
        continue
      }
      let last = UInt64(byte & 0x3f)
      if shift == 63, last > 1 { throw .overflow }
      if last == 0, shift > 0, value < 64 << (shift - 7) { throw .overlong }
      return (value | last << shift, byte & 0x40 != 0)
    }
    throw .truncated
  }
}
