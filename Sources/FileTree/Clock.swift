// The system's clocks.

import Glibc
import RealmPages

/// The clocks.
package enum Clock {
  /// Nanoseconds since some point in the past.
  package static func now() -> UInt64 { nanoseconds(CLOCK_MONOTONIC) }

  /// Cheaper, and some milliseconds behind.
  package static func coarse() -> UInt64 { nanoseconds(CLOCK_MONOTONIC_COARSE) }

  /// The time of day.
  static func time() -> Timestamp {
    let time = read(CLOCK_REALTIME)
    return Timestamp(seconds: Int64(time.tv_sec), nanoseconds: Int32(time.tv_nsec))
  }

  private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
    let time = read(clock)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
  }

  private static func read(_ clock: clockid_t) -> timespec {
    var time = timespec()
    clock_gettime(clock, &time)
    return time
  }
}
