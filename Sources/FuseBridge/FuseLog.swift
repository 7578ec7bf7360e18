// The messages of libfuse: collected for the text of an error during setup, otherwise sent to a log.

import CFuse
import Glibc
import Synchronization

/// libfuse's messages.
enum FuseLog {
  private struct State {
    var messages: [String]?
    var sink: (@Sendable (String) -> Void)?
  }

  private static let state = Mutex(State())

  /// Sends later messages to `sink`.
  static func send(to sink: (@Sendable (String) -> Void)?) { state.withLock { $0.sink = sink } }

  /// Collects messages from now on.
  static func collect() {
    state.withLock { $0.messages = [] }
    unsafe fuse_set_log_func { level, format, arguments in
      guard let format = unsafe format, let arguments = unsafe arguments else { return }
      var text = [CChar](repeating: 0, count: 1024)
      unsafe vsnprintf(&text, text.count, format, arguments)
      FuseLog.take(String(decoding: text.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self))
    }
  }

  /// The messages since `collect`.
  static func collected() -> [String] {
    state.withLock { state in
      defer { state.messages = nil }
      return state.messages ?? []
    }
  }

  private static func take(_ message: String) {
    var line = message[...]
    while line.last?.isWhitespace ?? false { line.removeLast() }
    if line.hasPrefix("fuse: ") { line.removeFirst(6) }
    if line.isEmpty { return }
    let text = String(line)
    let sink = state.withLock { state in
      state.messages?.append(text)
      return state.messages == nil ? state.sink : nil
    }
    sink?("fuse: \(text)")
  }
}
