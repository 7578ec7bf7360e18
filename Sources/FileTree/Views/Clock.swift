// The time of day, as files have it.

import Glibc
import RealmPages

/// The system's clock.
enum Clock {
  /// The time of day.
  static func time() -> Timestamp {
    var time = timespec()
    clock_gettime(CLOCK_REALTIME, &time)
    return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec))
  }

  /// A time to the second, as `2024-05-01T10:00:00Z`.
  static func text(_ seconds: Int64) -> String { text(seconds, date: "-", time: ":") + "Z" }

  /// A time to the nanosecond for a file name, as `20240501T100000.000000001Z`.
  static func nameStamp(seconds: Int64, nanoseconds: Int) -> String {
    text(seconds, date: "", time: "") + "." + digits(nanoseconds, 9) + "Z"
  }

  private static func text(_ seconds: Int64, date: String, time: String) -> String {
    var seconds = time_t(seconds)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    let day = [digits(Int(parts.tm_year) + 1900, 4), digits(Int(parts.tm_mon) + 1, 2), digits(Int(parts.tm_mday), 2)]
    let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { digits(Int($0), 2) }
    return day.joined(separator: date) + "T" + clock.joined(separator: time)
  }

  private static func digits(_ value: Int, _ count: Int) -> String {
    let text = String(value)
    return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
  }
}
