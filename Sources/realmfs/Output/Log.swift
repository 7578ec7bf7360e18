// Messages for the user: on standard error, or in the system log once a mount serves in the background.
import CLinux
import Glibc
import RealmJSON
import Synchronization

/// Writes messages for the user.
enum Log {
  private static let toSystem = Atomic(false)

  /// Sends all further messages to syslog(3). Called before standard error is closed.
  static func switchToSystemLog() { toSystem.store(true, ordering: .releasing) }

  /// Reports an error. `more` contains lines to print after the text, such as a line that marks a position.
  static func error(_ text: String, more: [String] = []) { write(([text] + more), priority: LOG_ERR) }

  /// Reports a fact that is not an error.
  static func notice(_ text: String) { write([text], priority: LOG_NOTICE) }

  /// Names in a realm or of a process can contain any characters, so control characters are escaped first.
  private static func write(_ lines: [String], priority: Int32) {
    let text = lines.map(\.printable).joined(separator: "\n")
    if toSystem.load(ordering: .acquiring) {
      unsafe clinux_log_to_system(priority, text)
    } else {
      // A failure to write a message cannot be reported.
      _ = StandardOutput.write(Array("realmfs: \(text)\n".utf8), to: STDERR_FILENO)
    }
  }
}
