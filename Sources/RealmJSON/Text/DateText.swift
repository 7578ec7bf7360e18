// Formats points in time as ISO 8601 text in UTC, in the proleptic Gregorian calendar.

public import RealmPages

extension OutputBuffer {
  /// Appends a date as `2024-05-01T10:00:00Z`, with 0, 3, 6 or 9 fractional digits as needed.
  ///
  /// Returns false and appends nothing outside the years 0001 to 9999.
  public func append(date: Timestamp) -> Bool {
    var (seconds, nanoseconds) = (date.seconds, Int64(date.nanoseconds))
    guard seconds >= -62_135_596_800, seconds <= 253_402_300_799 else { return false }
    if nanoseconds < 0 {
      seconds -= 1
      nanoseconds += 1_000_000_000
      guard seconds >= -62_135_596_800 else { return false }
    }
    guard (0..<1_000_000_000).contains(nanoseconds) else { return false }
    let days = (seconds >= 0 ? seconds : seconds - 86_399) / 86_400
    append(day: days)
    append(timeOfDay: UInt64(seconds - days * 86_400))
    append(fraction: UInt64(nanoseconds))
    append(UInt8(ascii: "Z"))
    return true
  }

  private func append(day daysSince1970: Int64) {
    // Years run from March to February, so that a leap day is the last day of its year; an era is 400 years.
    let daysSince0000March = daysSince1970 + 719_468
    let era = (daysSince0000March >= 0 ? daysSince0000March : daysSince0000March - 146_096) / 146_097
    let dayOfEra = daysSince0000March - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthSinceMarch = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthSinceMarch + 2) / 5 + 1
    let month = monthSinceMarch < 10 ? monthSinceMarch + 3 : monthSinceMarch - 9
    let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    append(decimal: UInt64(year), width: 4)
    append(UInt8(ascii: "-"))
    append(decimal: UInt64(month), width: 2)
    append(UInt8(ascii: "-"))
    append(decimal: UInt64(day), width: 2)
  }

  private func append(timeOfDay seconds: UInt64) {
    append(UInt8(ascii: "T"))
    append(decimal: seconds / 3600, width: 2)
    append(UInt8(ascii: ":"))
    append(decimal: seconds / 60 % 60, width: 2)
    append(UInt8(ascii: ":"))
    append(decimal: seconds % 60, width: 2)
  }

  private func append(fraction nanoseconds: UInt64) {
    if nanoseconds == 0 { return }
    append(UInt8(ascii: "."))
    if nanoseconds % 1_000_000 == 0 {
      append(decimal: nanoseconds / 1_000_000, width: 3)
    } else if nanoseconds % 1_000 == 0 {
      append(decimal: nanoseconds / 1_000, width: 6)
    } else {
      append(decimal: nanoseconds, width: 9)
    }
  }
}

extension Timestamp {
  /// Milliseconds since 1970; nil if the date is not a whole number of milliseconds or does not fit.
  var exactMilliseconds: Int64? {
    guard nanoseconds % 1_000_000 == 0 else { return nil }
    let (thousands, overflow) = seconds.multipliedReportingOverflow(by: 1000)
    let (sum, overflow2) = thousands.addingReportingOverflow(Int64(nanoseconds / 1_000_000))
    return overflow || overflow2 ? nil : sum
  }
}
