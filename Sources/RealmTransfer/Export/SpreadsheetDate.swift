// Parses dates as spreadsheets write them, in the formats of different countries, if they are unambiguous. 01/02/2021
// is the first of February in most countries and the second of January in others: such a date is rejected, and the
// error states both interpretations.

import RealmPages

/// A text parsed as a spreadsheet date, in UTC.
enum SpreadsheetDate {
  case date(Timestamp)
  /// The two possible days, in ISO 8601.
  case ambiguous(String, String)
  /// A number, as found in a column that is not formatted as a date.
  case dayNumber
  case unknown

  /// Parses `31.1.2024`, `1/31/2024`, `31/01/2024 9:05`, `2024/1/31 9:05:00 PM` and the like.
  init(_ text: ArraySlice<UInt8>) {
    let parts = text.split(separator: 0x20)
    guard let first = parts.first, let time = Self.time(parts.dropFirst()) else {
      self = .unknown
      return
    }
    let separators = first.filter { !(0x30...0x39).contains($0) }
    let fields = first.split(omittingEmptySubsequences: false) { !(0x30...0x39).contains($0) }
    if fields.count < 3, parts.count == 1, first.count <= 18, fields.allSatisfy({ !$0.isEmpty }),
      separators.allSatisfy({ $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: ",") })
    {
      self = .dayNumber
      return
    }
    guard fields.count == 3, Set(separators).count == 1, "/.-".utf8.contains(separators[0]),
      fields.allSatisfy({ (1...4).contains($0.count) })
    else {
      self = .unknown
      return
    }
    func moment(_ year: ArraySlice<UInt8>, _ month: ArraySlice<UInt8>, _ day: ArraySlice<UInt8>) -> (String, Timestamp)?
    {
      guard year.count == 4, month.count <= 2, day.count <= 2 else { return nil }
      let text = [Array(year), Self.padded(month), Self.padded(day)].map { String(decoding: $0, as: UTF8.self) }
      let shown = text.joined(separator: "-")
      return Timestamp(lenient: (shown + time).utf8).map { (shown, $0) }
    }
    let dayFirst = moment(fields[2], fields[1], fields[0])
    // With points as separators, the day is always first.
    let monthFirst = separators[0] == UInt8(ascii: ".") ? nil : moment(fields[2], fields[0], fields[1])
    switch (moment(fields[0], fields[1], fields[2]), dayFirst, monthFirst) {
    case (let found?, _, _), (nil, let found?, nil), (nil, nil, let found?): self = .date(found.1)
    case (nil, let a?, let b?): self = a.1 == b.1 ? .date(a.1) : .ambiguous(a.0, b.0)
    case (nil, nil, nil): self = .unknown
    }
  }

  private static func padded(_ digits: ArraySlice<UInt8>) -> [UInt8] {
    (digits.count == 1 ? [UInt8(ascii: "0")] : []) + digits
  }

  /// Returns `T09:05:00` for `9:05`, and an empty string if there is no time; nil if the text is not a time.
  private static func time(_ parts: ArraySlice<ArraySlice<UInt8>>) -> String? {
    guard let clock = parts.first else { return "" }
    let fields = clock.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false)
    guard (2...3).contains(fields.count), let hours = Int(String(decoding: fields[0], as: UTF8.self)), hours >= 0,
      (1...2).contains(fields[0].count), parts.count <= 2
    else { return nil }
    var hour = hours
    if parts.count == 2 {
      guard (1...12).contains(hours) else { return nil }
      switch String(decoding: parts[parts.startIndex + 1], as: UTF8.self).uppercased() {
      case "AM": hour = hours % 12
      case "PM": hour = hours % 12 + 12
      default: return nil
      }
    }
    let rest = fields.dropFirst().map { String(decoding: $0, as: UTF8.self) } + (fields.count == 2 ? ["00"] : [])
    return "T"
      + ([String(decoding: padded(Array(String(hour).utf8)[...]), as: UTF8.self)] + rest).joined(separator: ":")
  }
}
