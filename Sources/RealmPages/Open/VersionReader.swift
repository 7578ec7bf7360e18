// What every way of reading a realm has in common.

import Glibc
import Threads

/// Finds the newest version of a realm, and says whether what was read from a version can be trusted.
protocol VersionReader: AnyObject, Sendable {
  /// The newest version.
  func latest() throws(EngineError) -> Snapshot
  /// Whether no byte of `snapshot` can have been reused up to now.
  func isCurrent(_ snapshot: Snapshot) -> Bool
  /// Whether there seems to be a newer version.
  func hasChanged(since snapshot: Snapshot) -> Bool
  /// Waits for a newer version; whether there is one.
  func waitForChange(since snapshot: Snapshot, until deadline: MonotonicTime) -> Bool
  /// What became of the file.
  var standing: Standing { get }
  /// When the newest version was last asked for; nil if that is not known.
  var lastUse: MonotonicTime? { get }
  /// What the system says of the file.
  func fileStatus() throws(EngineError) -> FileStatus
}

extension VersionReader {
  var lastUse: MonotonicTime? { nil }

  /// How long a change without notification stays unnoticed.
  static var lookInterval: Duration { .milliseconds(250) }

  func waitForChange(since snapshot: Snapshot, until deadline: MonotonicTime) -> Bool {
    while !hasChanged(since: snapshot) {
      let left = deadline.milliseconds
      if left == 0 { return false }
      usleep(useconds_t(min(left, 250) * 1000))
    }
    return true
  }
}
