// What was refused and why, for those who cannot see an errno's reason: the last hundred lines, and the last one of
// each file. Programs that remove what they could not write whole are known here, too: what they remove is the object
// as it was before, which is not theirs.

import RealmJSON
import RealmPages
import Synchronization
import Threads

/// The refusals of a mount.
final class RefusalLog: Sendable {
  private struct Refusal {
    let reason: String
    /// Whose text it was, until that process has tried to remove the file; 0 if that is not known.
    var process: Int32
    let time: MonotonicTime
  }

  private struct State {
    var lines: [(kind: String, text: String)] = []
    /// By path in the tree.
    var refusals: [ExactName: Refusal] = [:]
    /// Whether there were more reasons than are kept, so that a file may have been refused that has none.
    var hasForgotten = false
    /// When the last text was refused whose process is known.
    var lastText: MonotonicTime?
  }

  private let state = Mutex(State())

  private static let limit = 100

  /// How long after a refusal a program clears up.
  private static let clearingUp = Duration.seconds(3)

  /// Notes a refusal of something at `path`, such as `Person/4.json`; a text of an object `by` that process.
  func note(_ path: String, _ operation: String, _ reason: String, by process: Int32 = 0) {
    let reason = reason.printable
    remark(path, operation, reason)
    state.withLock { state in
      if state.refusals.count >= 1000 {
        state.refusals.removeAll()
        state.hasForgotten = true
      }
      state.refusals[ExactName(path)] = Refusal(reason: reason, process: process, time: .now)
      if process != 0 { state.lastText = .now }
    }
  }

  /// Whether a text was refused a moment ago, so that its process may clear up.
  var mayBeClearedUp: Bool {
    state.withLock { $0.lastText.map { $0.advanced(by: Self.clearingUp) > .now } ?? false }
  }

  /// Whether `process` clears up when it removes the file at `path`: its text was refused there a moment ago. That is
  /// asked once; who removes the file again wants it gone.
  func isClearedUp(_ path: String, by process: @autoclosure () -> Int32) -> Bool {
    state.withLock { state in
      let name = ExactName(path)
      guard let refusal = state.refusals[name], refusal.process != 0, refusal.process == process() else { return false }
      state.refusals[name]?.process = 0
      return refusal.time.advanced(by: Self.clearingUp) > .now
    }
  }

  /// Notes something at `path` that is no refusal, but that its writer may not expect.
  func remark(_ path: String, _ operation: String, _ text: String) {
    add(operation, text, [("path", .string(path))])
  }

  /// Notes what became of the realm file, which concerns no file in particular.
  func report(_ text: String) { add("realm", text, []) }

  private func add(_ operation: String, _ reason: String, _ facts: [(String, JSONValue)]) {
    let outcome = [("operation", JSONValue.string(operation)), ("reason", .string(reason.printable))]
    let text = JSONValue.object([("time", .string(Clock.text(Timestamp.now.seconds)))] + facts + outcome).line
    state.withLock { state in
      state.lines.append((operation + " " + reason, text))
      if state.lines.count > Self.limit { state.lines.remove(at: Self.leastWorth(state.lines.map(\.kind))) }
    }
  }

  /// The line that makes room: the oldest one whose reason a later line gives, too, so that a program which is refused
  /// a thousand times for one reason does not push out all others; else the oldest one.
  private static func leastWorth(_ kinds: [String]) -> Int {
    var later: Set<String> = [], found = 0
    for (index, kind) in kinds.enumerated().reversed() where !later.insert(kind).inserted { found = index }
    return found
  }

  /// Forgets the reason of a file that could be saved.
  func clear(_ path: String) { state.withLock { $0.refusals[ExactName(path)] = nil } }

  /// Why the last change of a file was refused.
  func reason(of path: String) -> String? { state.withLock { $0.refusals[ExactName(path)]?.reason } }

  /// Whether something was refused at `path` since `time`.
  func hasRefused(_ path: String, since time: MonotonicTime) -> Bool {
    state.withLock { $0.refusals[ExactName(path)].map { $0.time >= time } ?? false }
  }

  /// Whether nothing was refused that was not saved since.
  var isEmpty: Bool { state.withLock { $0.refusals.isEmpty } }

  /// Whether there may be a file that was refused and not saved since.
  var mayHaveAny: Bool { state.withLock { !$0.refusals.isEmpty || $0.hasForgotten } }

  /// All lines, the oldest first.
  var text: [UInt8] { state.withLock { Array($0.lines.map(\.text).joined().utf8) } }
}

extension TreeContext {
  /// Runs what a program asked for at `path`, and notes why it is refused, if it is and nothing has noted it yet. What
  /// its own errno says well enough is not noted.
  func noting<T>(
    _ operation: String,
    _ path: @autoclosure () throws(FileTreeError) -> String?,
    _ body: () throws(FileTreeError) -> T
  ) throws(FileTreeError) -> T {
    let start = MonotonicTime.now
    do throws(FileTreeError) { return try body() } catch {
      // What has no path any more is gone.
      guard case .refused(.forbidden, let reason) = error, let path = try? path(),
        !refusals.hasRefused(path, since: start)
      else { throw error }
      let isNew = refusals.reason(of: path) != reason.printable
      refusals.note(path, operation, reason)
      if isNew { options.log?("\(path): \(reason)") }
      throw error
    }
  }
}
