// What libfuse has to say: kept as the text of an error while something is tried, printed otherwise.

import CFuse
import Glibc
import Synchronization

/// libfuse's messages.
enum FuseLog {
  private static let messages = Mutex<[String]?>(nil)

  /// Keeps messages from now on.
  static func collect() {
    messages.withLock { $0 = [] }
    fuse_set_log_func { level, format, arguments in
      guard let format, let arguments else { return }
      var text = [CChar](repeating: 0, count: 1024)
      vsnprintf(&text, text.count, format, arguments)
      FuseLog.take(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    }
  }

  /// The messages since `collect`; later ones are printed.
  static func collected() -> [String] {
    messages.withLock { messages in
      defer { messages = nil }
      return messages ?? []
    }
  }

  private static func take(_ message: String) {
    var line = message[...]
    while line.last?.isWhitespace ?? false { line.removeLast() }
    if line.hasPrefix("fuse: ") { line.removeFirst(6) }
    if line.isEmpty { return }
    let text = String(line)
    let isKept = messages.withLock { messages in
      messages?.append(text)
      return messages != nil
    }
    if !isKept { _ = "fuse: \(text)\n".withCString { write(2, $0, strlen($0)) } }
  }
}
