// Standard input, which can be one thing only: a key, a schema or data.
import Synchronization

/// Who reads standard input.
enum StandardInput {
  private static let user = Mutex<String?>(nil)

  /// Whether a path is one of its names: read by any of them, a pipe is empty for who reads it next.
  static func isNamed(by path: String) -> Bool {
    ["-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(path)
  }

  /// Takes it for what the caller reads from it. Throws if it was something else before.
  static func take(as what: String) throws(CommandFailure) {
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
