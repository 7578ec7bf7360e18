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
}
