// The interface that all ways of reading a realm share.

import Glibc
import Threads

/// Finds the newest version of a realm, and determines if data read from a version can be trusted.
protocol VersionReader: AnyObject, Sendable {
  /// The newest version. If `checksPath` is true, that of the file now at the path; otherwise that of the file found by
  /// the last check, without a system call if nothing changed.
  func latest(checksPath: Bool) throws(EngineError) -> Snapshot
  /// True if no byte of `snapshot` can have been reused until now.
  func isCurrent(_ snapshot: Snapshot) -> Bool
  /// True if there seems to be a newer version.
  func hasChanged(since snapshot: Snapshot) -> Bool
  /// Waits for a newer version; true if there is one.
  func waitForChange(since snapshot: Snapshot, until deadline: MonotonicTime) -> Bool
  /// The location of the file.
  var location: FileLocation { get }
  /// When the newest version was last requested; nil if unknown.
  var lastUse: MonotonicTime? { get }
  /// Returns the file's status from the operating system.
  func fileStatus() throws(EngineError) -> FileStatus
}

extension VersionReader {
  func latest() throws(EngineError) -> Snapshot { try latest(checksPath: true) }

  var lastUse: MonotonicTime? { nil }

  /// The longest time for which a change without notification goes unnoticed.
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
