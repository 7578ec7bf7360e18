// Ends the process when the program breaks a rule that no error can report, such as reading a property of a deleted
// object or changing a realm outside of a write transaction. The SDK raises an exception in these cases. The message is
// printed in release builds too.

import Glibc

enum Misuse {
  /// Prints the message and ends the process.
  @inline(never) static func stop(_ message: String) -> Never {
    let text = Array("RealmSwift: \(message)\n".utf8)
    _ = unsafe Glibc.write(STDERR_FILENO, text, text.count)
    preconditionFailure(message)
  }

  /// Returns the result of `body`; ends the process with the error's text if it throws.
  static func unwrap<R>(_ body: () throws -> R) -> R {
    do { return try body() } catch { stop("\(error)") }
  }
}
