// Encodes scalar Realm values as PostgreSQL fields in binary format. Values that a type cannot hold are reported:
// nothing is rounded silently.

import Glibc
import RealmJSON
import RealmPages

/// The degree to which a field represents a value.
enum Fit {
  case whole
  /// The field has the nearest value; the exact value belongs in the companion column.
  case rounded
  /// The field is null; the exact value belongs in the companion column.
  case unfit
}

extension FieldBuffer {
  /// Appends a field with its length.
  func append(_ value: ValueView) -> Fit {
    let start = beginField()
    let fit = content(of: value)
    if case .unfit = fit {
      truncate(to: start - 4)
      appendNull()
    } else {
      endField(start)
    }
    return fit
  }

  private func content(of value: ValueView) -> Fit {
    switch value {
    case .int(let value): append(value)
    case .bool(let value): append(byte: value ? 1 : 0)
    case .float(let value): append((value.isNaN ? Float.nan : value).bitPattern)
    case .double(let value): append((value.isNaN ? Double.nan : value).bitPattern)
    case .string(let text):
      if unsafe !text.unsafeBytes.isPostgresText { return .unfit }
      unsafe append(text.unsafeBytes)
    case .data(let bytes): unsafe append(bytes.unsafeBytes)
    case .date(let date): return append(date)
    case .decimal128(let decimal): return append(decimal)
    case .objectID(let id):
      for shift in stride(from: 60, through: 0, by: -4) { append(byte: Self.digit(UInt8(id.high >> shift & 15))) }
      for shift in stride(from: 28, through: 0, by: -4) { append(byte: Self.digit(UInt8(id.low >> shift & 15))) }
    case .uuid(let id):
      append(id.high)
      append(id.low)
    case .null, .link, .list, .set, .dictionary: return .unfit
    }
    return .whole
  }

  static func digit(_ value: UInt8) -> UInt8 { value < 10 ? 0x30 + value : 0x57 + value }

  // MARK: dates

  /// Appends microseconds since 2000, rounded down. The server's range is 4713 BC to 294276 AD.
  private func append(_ date: Timestamp) -> Fit {
    // Seconds and nanoseconds have the same sign.
    let (floor, fraction) = (Int64(date.nanoseconds) >= 0 ? 0 : -1, Int64(date.nanoseconds))
    let positive = floor == 0 ? fraction : fraction + 1_000_000_000
    let (seconds, overflow) = date.seconds.addingReportingOverflow(Int64(floor) - 946_684_800)
    let (whole, overflow2) = seconds.multipliedReportingOverflow(by: 1_000_000)
    let (micros, overflow3) = whole.addingReportingOverflow(positive / 1000)
    let range: Range<Int64> = -211_813_488_000_000_000..<9_223_371_331_200_000_000
    guard !overflow, !overflow2, !overflow3, range.contains(micros) else { return .unfit }
    append(micros)
    return positive % 1000 == 0 ? .whole : .rounded
  }

  // MARK: decimals

  /// Appends a number in digits of base 10000. Source: numeric_send of PostgreSQL.
  private func append(_ decimal: Decimal128) -> Fit {
    let isNegative = decimal.high >> 63 != 0
    switch decimal.parts {
    case .nan:
      header(digits: 0, weight: 0, sign: 0xC000, scale: 0)
      return .whole
    case .infinity:
      header(digits: 0, weight: 0, sign: isNegative ? 0xF000 : 0xD000, scale: 0x20)
      return .whole
    case .number(let coefficient, let exponent):
      let scale = max(0, -exponent)
      if coefficient == 0 {
        header(digits: 0, weight: 0, sign: 0, scale: scale)
        return isNegative || exponent > 0 ? .rounded : .whole
      }
      let shift = (exponent % 4 + 4) % 4
      var rest = coefficient
      for _ in 0..<shift { rest *= 10 }
      var digits: [UInt16] = []
      while rest != 0 {
        let (quotient, digit) = rest.quotientAndRemainder(dividingBy: 10_000)
        digits.append(UInt16(digit))
        rest = quotient
      }
      let weight = digits.count - 1 + (exponent - shift) / 4
      let zeros = digits.prefix { $0 == 0 }.count
      header(digits: digits.count - zeros, weight: weight, sign: isNegative ? 0x4000 : 0, scale: scale)
      for digit in digits.dropFirst(zeros).reversed() { append(digit) }
      // The number of trailing zeros before the decimal point is lost.
      return exponent > 0 ? .rounded : .whole
    }
  }

  private func header(digits: Int, weight: Int, sign: UInt16, scale: Int) {
    append(UInt16(truncatingIfNeeded: digits))
    append(Int16(truncatingIfNeeded: weight))
    append(sign)
    append(UInt16(truncatingIfNeeded: scale))
  }

  // MARK: keys

  /// Appends a primary key. Text that the server cannot store, or that is too long for an index, is replaced by a name:
  /// `\x` and its bytes, or `\#` and their hash. Text that looks like such a name is replaced, too.
  func append(key value: ValueView) -> Fit {
    guard case .string(let text) = value else { return append(value) }
    let bytes = unsafe text.unsafeBytes, first = unsafe bytes.first
    let looksLikeName = unsafe first == UInt8(ascii: "\\") && bytes.count > 1 && (bytes[1] == 0x78 || bytes[1] == 0x23)
    if bytes.count <= Self.longestKey, !looksLikeName, unsafe bytes.isPostgresText { return append(value) }
    let start = beginField()
    if bytes.count <= Self.longestKey / 2 {
      append(Array("\\x".utf8))
      unsafe bytes.forEach { byte in
        append(byte: Self.digit(byte >> 4))
        append(byte: Self.digit(byte & 15))
      }
    } else {
      append(Array("\\#".utf8))
      for byte in unsafe SHA256Digest.of(bytes) {
        append(byte: Self.digit(byte >> 4)); append(byte: Self.digit(byte & 15))
      }
    }
    endField(start)
    return .rounded
  }

  /// A PostgreSQL index allows keys of up to 2704 bytes.
  private static let longestKey = 1024
}

extension UnsafeRawBufferPointer {
  /// True if the bytes are valid PostgreSQL text: UTF-8 without NUL.
  var isPostgresText: Bool {
    guard let base = baseAddress, count > 0 else { return true }
    if unsafe memchr(base, 0, count) != nil { return false }
    var index = 0
    while index + 8 <= count, unsafe loadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
    {
      index += 8
    }
    while index < count, unsafe self[index] < 0x80 { index += 1 }
    if index == count { return true }
    let rest = unsafe bindMemory(to: UInt8.self)
    // Only success matters, not the error.
    return unsafe (try? UTF8Span(validating: Span(_unsafeElements: rest))) != nil
  }
}
