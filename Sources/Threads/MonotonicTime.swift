// The clock for timeouts: it is not affected by changes to the time of day.

import Glibc

/// A point in time of the monotonic clock.
package struct MonotonicTime: Comparable, Hashable, Sendable {
  /// Nanoseconds since an arbitrary start.
  package let nanoseconds: Int64

  /// The point in time `nanoseconds` after the arbitrary start.
  package init(nanoseconds: Int64) { self.nanoseconds = nanoseconds }

  package static var now: MonotonicTime { read(CLOCK_MONOTONIC) }
  /// Cheaper than `now`, but some milliseconds late.
  package static var coarse: MonotonicTime { read(CLOCK_MONOTONIC_COARSE) }

  private static func read(_ clock: clockid_t) -> MonotonicTime {
    var time = Glibc.timespec()
    unsafe clock_gettime(clock, &time)
    return MonotonicTime(nanoseconds: Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec))
  }

  package func advanced(by duration: Duration) -> MonotonicTime {
    let (seconds, attoseconds) = duration.components
    // Limited to a year, to prevent overflow.
    let limited = min(max(seconds, 0), 31_536_000)
    return MonotonicTime(nanoseconds: nanoseconds + limited * 1_000_000_000 + attoseconds / 1_000_000_000)
  }

  /// The milliseconds until this point in time, rounded up; 0 if it has passed.
  package var milliseconds: Int64 { max(0, (nanoseconds - Self.now.nanoseconds + 999_999) / 1_000_000) }

  var timespec: timespec {
    Glibc.timespec(tv_sec: Int(nanoseconds / 1_000_000_000), tv_nsec: Int(nanoseconds % 1_000_000_000))
  }

  package static func < (a: MonotonicTime, b: MonotonicTime) -> Bool { a.nanoseconds < b.nanoseconds }
}
