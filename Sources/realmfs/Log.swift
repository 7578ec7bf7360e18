// Messages for people: on standard error while there is one, in the system log once a mount serves in the background.
import CLinux
import Glibc
import Synchronization

/// Where messages go.
enum Log {
  private static let toSystem = Atomic(false)

  /// From now on messages go to syslog(3), as standard error is about to end.
  static func switchToSystemLog() { toSystem.store(true, ordering: .releasing) }

  /// Something went wrong.
  ///
  /// The text may have several lines.
  static func error(_ text: String) { write(text, priority: LOG_ERR) }

  /// Something worth knowing.
  static func notice(_ text: String) { write(text, priority: LOG_NOTICE) }

  private static func write(_ text: String, priority: Int32) {
    if toSystem.load(ordering: .acquiring) {
      clinux_log_to_system(priority, text)
    } else {
      // Nothing can be said about a failure to say something.
      _ = StandardOutput.write(Array("realmfs: \(text)\n".utf8), to: STDERR_FILENO)
    }
  }
}
