// The refusals of a mount and their reasons, for users who only see an errno: the last hundred lines, and the last
// reason of each file.

import RealmJSON
import RealmPages
import Synchronization

/// The reason of a refusal. Reasons quote text, so there is a version for the user who owns the text and one for
/// others.
struct Reason: Sendable, Equatable {
  /// The full reason.
  let full: String
  /// The reason without values of the text.
  let others: String
  /// The user who may read the full reason, besides root and the user who serves the mount; nil if every user may.
  let user: UInt32?

  /// Creates a reason that quotes no text.
  init(_ text: String) { self.init(text, others: text, of: nil) }

  /// Creates a reason that only `user` may read in full.
  init(_ full: String, others: String, of user: UInt32?) {
    (self.full, self.others, self.user) = (full.printable, others.printable, user)
  }

  /// Creates a reason from an error. Users other than `user` read it without values; if `user` is nil, all read it in
  /// full.
  init(_ error: FileTreeError, of user: UInt32?) {
    self.init(error.description, others: user == nil ? error.description : error.withoutValues, of: user)
  }

  /// True if a user may read the full reason.
  func isFull(for user: UInt32) -> Bool { self.user == nil || user == self.user || Caller.isTrusted(user) }

  /// Returns the reason as a user may read it.
  func text(for user: UInt32) -> String { isFull(for: user) ? full : others }
}

/// The refusals of a mount.
final class RefusalLog: Sendable {
  private let log: (@Sendable (String) -> Void)?

  private struct Refusal {
    let reason: Reason
    /// The number of the refusal in this mount, counted from 1.
    let number: Int
  }

  private struct State {
    var lines: [(kind: String, user: UInt32?, text: String, others: String)] = []
    /// The last refusal for each user, by path in the tree.
    var refusals: [ExactName: [Refusal]] = [:]
    /// True if reasons were dropped, so that a refused file may have none.
    var hasForgotten = false
    var count = 0
    /// By path, the users whose text could not be saved there and who have not tried to remove the file since.
    var protected: [ExactName: Set<UInt32>] = [:]

    /// Returns false if the file was not protected from the user.
    mutating func unprotect(_ name: ExactName, from user: UInt32) -> Bool {
      guard var users = protected[name], users.remove(user) != nil else { return false }
      protected[name] = users.isEmpty ? nil : users
      return true
    }
  }

  private let state = Mutex(State())
  /// True if the lines differ between users.
  private let isPersonal = Atomic<Bool>(false)

  private static let limit = 100
  /// The maximum number of files whose reasons are kept.
  private static let maxFiles = 1000

  /// Creates an empty log. `log` is called for refusals that no other line of the mount's log reports.
  init(_ log: (@Sendable (String) -> Void)?) { self.log = log }

  /// Records a refusal at `path`, such as `Person/4.json`. The reason is an attribute of the file at `owner` if that is
  /// not nil, otherwise of the file at `path`.
  func note(_ path: String, _ operation: String, _ reason: Reason, attributedTo owner: String? = nil) {
    add(operation, reason, [("path", .string(path))])
    let name = ExactName(owner ?? path)
    state.withLock { state in
      if state.refusals.count >= Self.maxFiles {
        state.refusals.removeAll()
        state.hasForgotten = true
      }
      state.count += 1
      state.refusals[name, default: []].removeAll { $0.reason.user == reason.user }
      state.refusals[name, default: []].append(Refusal(reason: reason, number: state.count))
    }
  }

  /// Protects the file at `path` from its next removal by a user whose text could not be saved there.
  func protect(_ path: String, from user: UInt32) {
    state.withLock { state in
      if state.protected.count >= Self.maxFiles { state.protected.removeAll() }
      state.protected[ExactName(path), default: []].insert(user)
    }
  }

  /// Removes the protection. Returns false if there was none.
  func takeProtection(_ path: String, from user: UInt32) -> Bool {
    state.withLock { $0.unprotect(ExactName(path), from: user) }
  }

  /// True if any file is protected.
  var protects: Bool { state.withLock { !$0.protected.isEmpty } }

  /// Records a fact about `path` that is not a refusal, but may be unexpected for the program that wrote it.
  func remark(_ path: String, _ operation: String, _ text: String) {
    add(operation, Reason(text), [("path", .string(path))])
  }

  /// Records an event of the realm file, which concerns no single file of the tree.
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
      if state.lines.count > Self.limit { state.lines.remove(at: Self.indexToDrop(state.lines.map(\.kind))) }
    }
  }

  /// Returns the index of the line to drop: the oldest whose reason occurs in a later line, too, otherwise the oldest.
  /// Thus a thousand refusals for the same reason do not displace all other lines.
  private static func indexToDrop(_ kinds: [String]) -> Int {
    var later: Set<String> = [], found = 0
    for (index, kind) in kinds.enumerated().reversed() where !later.insert(kind).inserted { found = index }
    return found
  }

  /// Drops the reasons of a file that a user has now saved. Those of other users remain.
  func clear(_ path: String, of user: UInt32) {
    state.withLock { state in
      _ = state.unprotect(ExactName(path), from: user)
      guard let known = state.refusals[ExactName(path)] else { return }
      let left = known.filter { $0.reason.user != nil && $0.reason.user != user }
      state.refusals[ExactName(path)] = left.isEmpty ? nil : left
    }
  }

  /// Returns the reason why a change of a file was refused, as a user may read it: the last one that concerns this
  /// user, otherwise the last of all.
  func reason(of path: String, for user: UInt32) -> String? {
    state.withLock { state in
      let known = state.refusals[ExactName(path)]
      let own = known?.filter { $0.reason.user == nil || $0.reason.user == user }.max { $0.number < $1.number }
      return (own ?? known?.max { $0.number < $1.number })?.reason.text(for: user)
    }
  }

  /// True if the last change of a file was refused for this reason.
  func isReason(_ reason: Reason, of path: String) -> Bool { self.reason(of: path, for: 0) == reason.full }

  /// The number of refusals since the mount was started.
  var count: Int { state.withLock { $0.count } }

  /// True if something was refused at `path` after the first `count` refusals.
  func hasRefused(_ path: String, after count: Int) -> Bool {
    state.withLock { $0.refusals[ExactName(path)]?.contains { $0.number > count } ?? false }
  }

  /// True if all refused files have been saved since.
  var isEmpty: Bool { state.withLock { $0.refusals.isEmpty } }

  /// True if a file may have been refused or protected, and not saved since.
  var mayHaveAny: Bool { state.withLock { !$0.refusals.isEmpty || !$0.protected.isEmpty || $0.hasForgotten } }

  /// Returns all lines as a user may read them, oldest first.
  func text(for user: UInt32) -> [UInt8] {
    let isAll = Caller.isTrusted(user)
    return state.withLock { state in
      Array(
        state.lines.map { isAll || $0.user == nil || $0.user == user ? $0.text : $0.others }.joined().utf8
      )
    }
  }

  /// True if the lines that a user may read differ from those for root.
  func isPersonal(for user: UInt32) -> Bool {
    isPersonal.load(ordering: .acquiring) && !Caller.isTrusted(user)
  }
}

extension RefusalLog {
  /// Runs `body`, the operation that a program requested at `path`. If it is refused, records the reason, unless it was
  /// recorded already or the errno alone is clear enough.
  func noting<T>(
    _ operation: String,
    _ path: @autoclosure () throws(FileTreeError) -> String?,
    _ body: () throws(FileTreeError) -> T
  ) throws(FileTreeError) -> T {
    let former = count
    do { return try body() } catch {
      // A file without a path was deleted.
      guard case .refused(let refusal, let reason) = error, refusal.needsReason, let path = try? path(),
        !hasRefused(path, after: former)
      else { throw error }
      record(path, operation, Reason(reason))
      throw error
    }
  }

  /// Records a refusal, and logs it if the reason differs from the last one of the file.
  func record(_ path: String, _ operation: String, _ reason: Reason) {
    let isNew = !isReason(reason, of: path)
    note(path, operation, reason)
    if isNew { log?("cannot \(operation) \(path): \(reason.full)") }
  }
}

extension Refusal {
  /// True if the errno alone does not indicate the cause.
  fileprivate var needsReason: Bool {
    switch self {
    case .forbidden, .invalid, .noSpace: true
    default: false
    }
  }
}
