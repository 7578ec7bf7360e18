// What was refused and why, for those who cannot see an errno's reason: the last hundred lines, and the last one of
// each file.

import RealmJSON
import RealmPages
import Synchronization

/// Why something was refused, for the user whose text it was and for others: reasons quote what a text says.
struct Reason: Sendable, Equatable {
  /// Everything.
  let full: String
  /// The same without values.
  let others: String
  /// Who reads everything, as root and the user who serves the mount do; nil for every user.
  let user: UInt32?

  /// A reason that quotes no text.
  init(_ text: String) { self.init(text, others: text, of: nil) }

  /// A reason that only `user` reads as a whole.
  init(_ full: String, others: String, of user: UInt32?) {
    (self.full, self.others, self.user) = (full.printable, others.printable, user)
  }

  /// What the user whose text it was reads of an error, and what others do; without a user, all read everything.
  init(_ error: FileTreeError, of user: UInt32?) {
    self.init(error.description, others: user == nil ? error.description : error.withoutValues, of: user)
  }

  /// True if a user reads everything.
  func isFull(for user: UInt32) -> Bool { self.user == nil || user == self.user || Caller.isTrusted(user) }

  /// What a user reads.
  func text(for user: UInt32) -> String { isFull(for: user) ? full : others }
}

/// The refusals of a mount.
final class RefusalLog: Sendable {
  private struct Refusal {
    let reason: Reason
    /// Counts the refusals of the mount.
    let number: Int
  }

  private struct State {
    var lines: [(kind: String, user: UInt32?, text: String, others: String)] = []
    /// By path in the tree, the last one of each user.
    var refusals: [ExactName: [Refusal]] = [:]
    /// Whether there were more reasons than are kept, so that a file may have been refused that has none.
    var hasForgotten = false
    var count = 0
    /// By path, the users whose text could not be saved there, and who have not tried to remove the file since.
    var protected: [ExactName: Set<UInt32>] = [:]

    /// False if the file was not protected.
    mutating func unprotect(_ name: ExactName, from user: UInt32) -> Bool {
      guard var users = protected[name], users.remove(user) != nil else { return false }
      protected[name] = users.isEmpty ? nil : users
      return true
    }
  }

  private let state = Mutex(State())
  /// True if the lines differ from user to user.
  private let isPersonal = Atomic<Bool>(false)

  private static let limit = 100
  /// Of so many files it is known why they were refused.
  private static let mostFiles = 1000

  /// Notes a refusal of something at `path`, such as `Person/4.json`. The file at `owner`, if it is another one, has
  /// the reason as an attribute.
  func note(_ path: String, _ operation: String, _ reason: Reason, attributedTo owner: String? = nil) {
    add(operation, reason, [("path", .string(path))])
    let name = ExactName(owner ?? path)
    state.withLock { state in
      if state.refusals.count >= Self.mostFiles {
        state.refusals.removeAll()
        state.hasForgotten = true
      }
      state.count += 1
      state.refusals[name, default: []].removeAll { $0.reason.user == reason.user }
      state.refusals[name, default: []].append(Refusal(reason: reason, number: state.count))
    }
  }

  /// Keeps the file at `path` from being removed by a user whose text could not be saved there, once.
  func protect(_ path: String, from user: UInt32) {
    state.withLock { state in
      if state.protected.count >= Self.mostFiles { state.protected.removeAll() }
      state.protected[ExactName(path), default: []].insert(user)
    }
  }

  /// Returns true once after `protect`.
  func takeProtection(_ path: String, from user: UInt32) -> Bool {
    state.withLock { $0.unprotect(ExactName(path), from: user) }
  }

  /// True if any file is protected.
  var protects: Bool { state.withLock { !$0.protected.isEmpty } }

  /// Notes something at `path` that is no refusal, but that its writer may not expect.
  func remark(_ path: String, _ operation: String, _ text: String) {
    add(operation, Reason(text), [("path", .string(path))])
  }

  /// Notes what became of the realm file, which concerns no file in particular.
  func report(_ text: String) { add("realm", Reason(text), []) }

  private func add(_ operation: String, _ reason: Reason, _ facts: [(String, JSONValue)]) {
    let time = Clock.text(Timestamp.now.seconds)
    func line(_ reason: String) -> String {
      let outcome = [("operation", JSONValue.string(operation)), ("reason", .string(reason))]
      return JSONValue.object([("time", .string(time))] + facts + outcome).line
    }
    if reason.full != reason.others { isPersonal.store(true, ordering: .releasing) }
    state.withLock { state in
      let kind = operation + " " + reason.full
      state.lines.append((kind, reason.user, line(reason.full), line(reason.others)))
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

  /// Forgets why a file was refused that a user has saved now. What was refused of other users' stays.
  func clear(_ path: String, of user: UInt32) {
    state.withLock { state in
      _ = state.unprotect(ExactName(path), from: user)
      guard let known = state.refusals[ExactName(path)] else { return }
      let left = known.filter { $0.reason.user != nil && $0.reason.user != user }
      state.refusals[ExactName(path)] = left.isEmpty ? nil : left
    }
  }

  /// Why a change of a file was refused, as a user reads it: the last reason that concerns this user, or else the last
  /// one of all.
  func reason(of path: String, for user: UInt32) -> String? {
    state.withLock { state in
      let known = state.refusals[ExactName(path)]
      let own = known?.filter { $0.reason.user == nil || $0.reason.user == user }.max { $0.number < $1.number }
      return (own ?? known?.max { $0.number < $1.number })?.reason.text(for: user)
    }
  }

  /// True if the last change of a file was refused for this reason.
  func isReason(_ reason: Reason, of path: String) -> Bool { self.reason(of: path, for: 0) == reason.full }

  /// The number of refusals so far.
  var count: Int { state.withLock { $0.count } }

  /// True if something was refused at `path` after the first `count` refusals.
  func hasRefused(_ path: String, after count: Int) -> Bool {
    state.withLock { $0.refusals[ExactName(path)]?.contains { $0.number > count } ?? false }
  }

  /// Whether nothing was refused that was not saved since.
  var isEmpty: Bool { state.withLock { $0.refusals.isEmpty } }

  /// Whether there may be a file that was refused and not saved since.
  var mayHaveAny: Bool { state.withLock { !$0.refusals.isEmpty || !$0.protected.isEmpty || $0.hasForgotten } }

  /// All lines as a user reads them, the oldest first.
  func text(for user: UInt32) -> [UInt8] {
    let isAll = Caller.isTrusted(user)
    return state.withLock { state in
      Array(
        state.lines.map { isAll || $0.user == nil || $0.user == user ? $0.text : $0.others }.joined().utf8
      )
    }
  }

  /// True if a user reads other lines than root does.
  func isPersonal(for user: UInt32) -> Bool {
    isPersonal.load(ordering: .acquiring) && !Caller.isTrusted(user)
  }
}

extension TreeContext {
  /// Runs what a program asked for at `path`, and notes why it is refused, if it is and nothing has noted it yet. What
  /// its own errno says well enough is not noted.
  func noting<T>(
    _ operation: String,
    _ path: @autoclosure () throws(FileTreeError) -> String?,
    _ body: () throws(FileTreeError) -> T
  ) throws(FileTreeError) -> T {
    let former = refusals.count
    do throws(FileTreeError) { return try body() } catch {
      // What has no path any more is gone.
      guard case .refused(let refusal, let reason) = error, refusal.needsReason, let path = try? path(),
        !refusals.hasRefused(path, after: former)
      else { throw error }
      note(path, operation, Reason(reason))
      throw error
    }
  }

  /// Notes a refusal, and logs it if it is another one than the last one of the file.
  func note(_ path: String, _ operation: String, _ reason: Reason) {
    let isNew = !refusals.isReason(reason, of: path)
    refusals.note(path, operation, reason)
    if isNew { options.log?("\(path): \(reason.full)") }
  }
}

extension Refusal {
  /// True if the errno alone does not tell what is wrong.
  fileprivate var needsReason: Bool {
    switch self {
    case .forbidden, .invalid, .noSpace: true
    default: false
    }
  }
}
