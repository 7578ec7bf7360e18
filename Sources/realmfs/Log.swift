// Messages for people: on standard error while there is one, in the system log once a mount serves in the background.
import CLinux
import Glibc
import RealmJSON
import Synchronization

/// Where messages go.
enum Log {
  private static let toSystem = Atomic(false)

  /// From now on messages go to syslog(3), as standard error is about to end.
  static func switchToSystemLog() { toSystem.store(true, ordering: .releasing) }

  /// Something went wrong. `more` are lines that follow the text, such as one that points at a place.
  static func error(_ text: String, more: [String] = []) { write(([text] + more), priority: LOG_ERR) }

  /// Something worth knowing.
  static func notice(_ text: String) { write([text], priority: LOG_NOTICE) }

  /// Names of a realm or a process can hold anything, so nothing gets out but as text that can be shown.
  private static func write(_ lines: [String], priority: Int32) {
    let text = lines.map(\.printable).joined(separator: "\n")
    if toSystem.load(ordering: .acquiring) {
      unsafe clinux_log_to_system(priority, text)
    } else {
      // Nothing can be said about a failure to say something.
      _ = StandardOutput.write(Array("realmfs: \(text)\n".utf8), to: STDERR_FILENO)
    }
  }
}
