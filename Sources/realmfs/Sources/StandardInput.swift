// Standard input, which can be used only once: for a key, a schema or data.
import Synchronization

/// Keeps track of the use of standard input.
enum StandardInput {
  private static let user = Mutex<String?>(nil)

  /// True if a path refers to standard input. A pipe that was read under one of these names is empty for the next
  /// reader.
  static func isNamed(by path: String) -> Bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(path)
  }

  /// Reserves standard input for `what`. Throws if it is already reserved.
  static func take(as what: String) throws {
    let former = user.withLock { user in
      defer { user = user ?? what }
      return user
    }
    guard let former else { return }
    throw CommandFailure(
      .usage,
      "standard input cannot be both \(former) and \(what): put one of them in a file"
    )
  }
}
