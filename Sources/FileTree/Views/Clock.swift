// Times as text for file names and logs.

import RealmJSON
import RealmPages

/// Dates in UTC.
enum Clock {
  /// Formats a time to the second, as in `2024-05-01T10:00:00Z`.
  static func text(_ seconds: Int64) -> String {
    let text = OutputBuffer()
    // Outside the range of dates, use the number.
    return text.append(date: Timestamp(seconds: seconds, nanoseconds: 0)) ? text.string : "\(seconds)"
  }

  /// Formats a time to the nanosecond for a file name, as in `20240501T100000.000000001Z`.
  static func nameStamp(seconds: Int64, nanoseconds: Int) -> String {
    let fraction = String(nanoseconds)
    return text(seconds).filter { !"-:Z".contains($0) } + "."
      + String(repeating: "0", count: max(0, 9 - fraction.utf8.count)) + fraction + "Z"
  }
}
