// Parses ISO 8601 text as a timestamp, in the profile of RFC 3339: years 0001 to 9999, any offset, up to nine
// fractional digits.

extension Timestamp {
  /// Parses `2024-05-01T10:00:00.5Z`, `2024-05-01 12:00:00+02:00` and the like; nil for anything else.
  package init?(text: ArraySlice<UInt8>) {
    var scanner = DateScanner(rest: text)
    guard let year = scanner.number(4), scanner.skip("-"), let month = scanner.number(2), scanner.skip("-"),
      let day = scanner.number(2), scanner.skip("T") || scanner.skip("t") || scanner.skip(" "),
      let hour = scanner.number(2), scanner.skip(":"), let minute = scanner.number(2), scanner.skip(":"),
      let second = scanner.number(2), let nanoseconds = scanner.fraction(), let offset = scanner.offset(),
      scanner.rest.isEmpty
    else { return nil }
    guard year >= 1, (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year), hour < 24, minute < 60,
      second < 60
    else { return nil }
    let days = Self.daysSince1970(year, month, day)
    self.init(wholeSeconds: days * 86_400 + hour * 3600 + minute * 60 + second - offset, plus: Int32(nanoseconds))
  }

  /// Also accepts `2024-05-01` (its first moment), times without a zone (UTC), and times without seconds.
  package init?(lenient text: some Collection<UInt8>) {
    let text = Array(text)
    let rest = text.count == 10 ? "T00:00:00Z" : text.count == 16 ? ":00Z" : "Z"
    guard let date = Timestamp(text: text[...]) ?? Timestamp(text: (text + rest.utf8)[...]) else { return nil }
    self = date
  }

  /// The moment `nanoseconds` after a whole second; `nanoseconds` must not be negative.
  package init(wholeSeconds: Int64, plus nanoseconds: Int32) {
    if wholeSeconds < 0 && nanoseconds > 0 {
      self.init(seconds: wholeSeconds + 1, nanoseconds: nanoseconds - 1_000_000_000)
    } else {
      self.init(seconds: wholeSeconds, nanoseconds: nanoseconds)
    }
  }

  /// The moment `milliseconds` after 1970-01-01T00:00:00Z.
  package init(milliseconds: Int64) {
    self.init(seconds: milliseconds / 1000, nanoseconds: Int32(milliseconds % 1000) * 1_000_000)
  }

  /// Nanoseconds since 1970. Equal for all stored forms of the same moment.
  package var moment: Int128 { Int128(seconds) * 1_000_000_000 + Int128(nanoseconds) }

  private static func days(in month: Int64, of year: Int64) -> Int64 {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }

  /// The days from 1970 to a date, which may be beyond the end of its month; the year must be at least 0.
  package static func daysSince1970(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
    // Years from March to February, as in DateText; the year is at least 0 here, so eras are simple quotients.
    let shifted = month > 2 ? year : year - 1
    let era = shifted / 400, yearOfEra = shifted % 400
    let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }
}

private struct DateScanner {
  var rest: ArraySlice<UInt8>

  mutating func skip(_ character: Unicode.Scalar) -> Bool {
    guard rest.first == UInt8(ascii: character) else { return false }
    rest.removeFirst()
    return true
  }

  private mutating func digit() -> Int64? {
    guard let byte = rest.first, (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
    rest.removeFirst()
    return Int64(byte - UInt8(ascii: "0"))
  }

  mutating func number(_ digits: Int) -> Int64? {
    var value: Int64 = 0
    for _ in 0..<digits {
      guard let digit = digit() else { return nil }
      value = value * 10 + digit
    }
    return value
  }

  /// Parses a fraction such as `.5` as nanoseconds; 0 if there is none. Digits after the ninth must be zeros.
  mutating func fraction() -> Int64? {
    guard skip(".") else { return 0 }
    var value: Int64 = 0, count = 0
    while let digit = digit() {
      count += 1
      if count <= 9 { value = value * 10 + digit } else if digit != 0 { return nil }
    }
    if count == 0 { return nil }
    while count < 9 {
      value *= 10
      count += 1
    }
    return value
  }

  /// Parses the offset of local time from UTC in seconds.
  mutating func offset() -> Int64? {
    if skip("Z") || skip("z") { return 0 }
    let isBehind = skip("-")
    guard isBehind || skip("+"), let hours = number(2), hours < 24 else { return nil }
    _ = skip(":")
    guard let minutes = number(2), minutes < 60 else { return nil }
    return (hours * 3600 + minutes * 60) * (isBehind ? -1 : 1)
  }
}
