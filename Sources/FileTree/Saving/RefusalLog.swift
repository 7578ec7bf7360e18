// What was refused and why, for those who cannot see an errno's reason: the last hundred lines, and the last one of
// each file.

import RealmJSON
import RealmPages
import Synchronization

/// The refusals of a mount.
final class RefusalLog: Sendable {
  private struct State {
    var lines: [String] = []
    /// By path in the tree.
    var reasons: [String: String] = [:]
    /// Whether there were more reasons than are kept, so that a file may have been refused that has none.
    var hasForgotten = false
  }

  private let state = Mutex(State())

  private static let limit = 100

  /// Notes a refusal of something at `path`, such as `Person/4.json`.
  func note(_ path: String, _ operation: String, _ reason: String) {
    let reason = reason.printable
    remark(path, operation, reason)
    state.withLock { state in
      if state.reasons.count >= 1000 {
        state.reasons.removeAll()
        state.hasForgotten = true
      }
      state.reasons[path] = reason
    }
  }

  /// Notes something at `path` that is no refusal, but that its writer may not expect.
  func remark(_ path: String, _ operation: String, _ text: String) {
    add([("path", .string(path)), ("operation", .string(operation)), ("reason", .string(text.printable))])
  }

  /// Notes what became of the realm file, which concerns no file in particular.
  func report(_ text: String) { add([("operation", .string("realm")), ("reason", .string(text.printable))]) }

  private func add(_ facts: [(String, JSONValue)]) {
    let text = JSONValue.object([("time", .string(Clock.text(Timestamp.now.seconds)))] + facts).line
    state.withLock { state in
      if state.lines.count == Self.limit { state.lines.removeFirst() }
      state.lines.append(text)
    }
  }

  /// Forgets the reason of a file that could be saved.
  func clear(_ path: String) { state.withLock { $0.reasons[path] = nil } }

  /// Why the last change of a file was refused.
  func reason(of path: String) -> String? { state.withLock { $0.reasons[path] } }

  /// Whether nothing was refused that was not saved since.
  var isEmpty: Bool { state.withLock { $0.reasons.isEmpty } }

  /// Whether there may be a file that was refused and not saved since.
  var mayHaveAny: Bool { state.withLock { !$0.reasons.isEmpty || $0.hasForgotten } }

  /// All lines, the oldest first.
  var text: [UInt8] { state.withLock { Array($0.lines.joined().utf8) } }
}
