// A transaction over several files: a tree of its own over a branch of the realm, in which everything can be read and
// saved as in the main tree. Its commit makes in the realm, in one commit, what the branch has changed.
//
// Invariant: a transaction is committed at most once. Its commit, its test and its end exclude each other, and saves
// into the branch wait for them; after the end nothing can be saved there. `outcome` reports a commit only when it is
// on disk, and that the transaction was dropped only when no commit can follow.

import Glibc
import RealmJSON
import RealmPages
import Synchronization

/// An open transaction.
final class StagedTransaction: Sendable {
  /// What `.commit`, `.test` and `.abort` do.
  enum Action: String {
    case commit, test, abort
  }

  /// Tells it from others of the mount, also of the same name.
  let number: UInt64
  let name: [UInt8]
  /// The user who began it, and the permission bits of its directory.
  let owner: Caller
  let permissions: UInt32
  /// The tree that it is made from.
  private unowned let main: TreeContext
  /// `Standing.file` when it began.
  private let file: Int
  private let state = Mutex(State())
  /// New objects without a primary key whose file names say their keys.
  private let chosen = Mutex<Set<ObjectReference>>([])

  /// What it consists of. The kernel may remember its nodes long after the end, but nothing of this.
  struct Content: Sendable {
    /// The version that it begins with.
    let base: VersionHold
    fileprivate let branch: RealmBranch
    let tree: TreeContext
  }

  private struct State {
    /// Nil once it has ended.
    var content: Content?
    var outcome = TransactionOutcome.open
    /// What the last commit or test found, one line each.
    var log: [String] = []
  }

  /// Begins one on the newest version. Cost: that of reading the schema.
  init(
    _ number: UInt64,
    _ name: [UInt8],
    of owner: Caller,
    permissions: UInt32,
    in main: TreeContext
  ) throws(FileTreeError) {
    (self.number, self.name, self.owner, self.permissions, self.main) = (number, name, owner, permissions, main)
    let shown = String(decoding: name, as: UTF8.self)
    let base = try main.holdAmongWriters()
    let branch: RealmBranch, status: FileStatus
    do throws(EngineError) { status = try main.realm.fileStatus() } catch { throw .unavailable(error) }
    file = main.realm.standing.file
    do throws(EngineError) {
      branch = try RealmBranch(
        on: base,
        name: "\(main.realm.configuration.path): transaction \(number) (\(shown))",
        status: status,
        room: main.transactions.room
      )
    } catch { throw FileTreeError(error) }
    var options = main.options
    options.groupCommit = 0
    options.keepFormerText = nil
    options.log = { [log = main.options.log] text in log?(".realm/tx/\(shown)/\(text)") }
    let tree = TreeContext(main, over: branch.writer, options, staged: self)
    state.withLock { $0.content = Content(base: base, branch: branch, tree: tree) }
  }

  /// How messages call it.
  var shownName: String { ".realm/tx/" + String(decoding: name, as: UTF8.self) }

  /// What it consists of; `stale` after the end.
  func content() throws(FileTreeError) -> Content {
    guard let content = state.withLock({ $0.content }) else { throw .stale }
    return content
  }

  /// The tree; `stale` after the end.
  func context() throws(FileTreeError) -> TreeContext { try content().tree }

  /// Whether it has ended.
  var hasEnded: Bool { state.withLock { $0.content == nil } }

  /// What became of it.
  var outcome: TransactionOutcome { state.withLock { $0.outcome } }

  /// Ends it. Handles that are open keep their texts, but save nothing any more.
  fileprivate func close(_ outcome: TransactionOutcome) {
    let content = state.withLock { state in
      if state.outcome == .open { state.outcome = outcome }
      return state.content.take()
    }
    content?.branch.close()
  }

  /// True if `caller` began it, or is root.
  func isOwned(by caller: Caller) -> Bool { caller.user == 0 || caller.user == owner.user }

  private func checkOwner(_ caller: Caller) throws(FileTreeError) {
    if isOwned(by: caller) { return }
    throw .refused(.forbidden, "the transaction belongs to user \(owner.user); only that user and root can end it")
  }

  /// Drops it for `caller`, after a commit that is under way. `stale` if it has ended.
  func drop(by caller: Caller) throws(FileTreeError) {
    try checkOwner(caller)
    let content = try content()
    do throws(EngineError) {
      try content.branch.writer.whileNobodyCommits(timeout: main.options.lockTimeout) { _ in
        main.transactions.end(self, .dropped(by: caller.user))
      }
    } catch {
      // A commit was faster.
      if hasEnded { throw .stale }
      if error.reason == .busy { throw FileTreeError(error) }
      // A branch that cannot be read is not committed either.
      main.transactions.end(self, .dropped(by: caller.user))
    }
  }

  /// Notes a new object whose file name says its key.
  func noteChosen(_ object: ObjectReference) { chosen.withLock { _ = $0.insert(object) } }

  // MARK: what it says

  /// The text of `.log`.
  var log: [UInt8] { state.withLock { Array($0.log.joined().utf8) } }

  /// Whether something was saved in it, which is lost if it is not committed.
  var isChanged: Bool {
    guard let content = try? content(), let staged = try? content.branch.writer.realm.latest()  // it has ended
    else { return false }
    return staged.version != content.base.snapshot.version
  }

  /// The number of objects that it changes; nil if that cannot be told.
  var changeCount: Int? {
    guard let content = try? content(), let staged = try? content.branch.writer.realm.latest(),  // it has ended
      let merge = try? VersionMerge(from: content.base.snapshot, to: staged)  // damage is for who reads
    else { return nil }
    return merge.isEmpty ? 0 : max(1, merge.objectCount)
  }

  // MARK: what it does

  /// Carries out for `caller` what one of the files in its directory is for.
  func perform(_ action: Action, by caller: Caller) throws(FileTreeError) {
    let content = try content()
    do throws(FileTreeError) {
      try checkOwner(caller)
      switch action {
      case .abort: try drop(by: caller)
      case .test, .commit: try finish(content, isTest: action == .test)
      }
    } catch {
      main.refusals.note(shownName, action.rawValue, Reason(error, of: owner.user))
      main.options.log?("\(shownName): \(action.rawValue): \(error)")
      throw error
    }
  }

  private func finish(_ content: Content, isTest: Bool) throws(FileTreeError) {
    let action = isTest ? Action.test : .commit
    let refused = content.tree.refusedTexts()
    if !refused.isEmpty {
      note(action, refused)
      let first = "\(refused[0].path): \(refused[0].reason); save it again, or remove it from .realm/rejected"
      throw .refused(
        .invalid,
        refused.count == 1
          ? "a text was refused and not corrected: \(first)"
          : "\(refused.count) texts were refused and not corrected, the first of them: \(first)"
      )
    }
    let kept = content.tree.keptFilePaths()
    if let first = kept.first {
      let reason = "no object can have this name, so the commit would lose it"
      note(action, kept.map { VersionMerge.Problem(path: $0, isConflict: false, reason: reason) })
      let others = kept.count == 1 ? "" : " (and \(kept.count - 1) more)"
      throw .refused(.invalid, "\(first): \(reason)\(others); remove it, or move it out of the transaction")
    }
    // Nothing is saved into the branch from here on until it is known what becomes of it.
    let outcome: Result<Void, FileTreeError>
    do throws(EngineError) {
      outcome = try content.branch.writer.whileNobodyCommits(timeout: main.options.lockTimeout) { staged in
        Result { () throws(FileTreeError) in
          let version = try merge(content.base.snapshot, staged, action)
          // Before anything else can be saved that would be lost.
          if !isTest { main.transactions.end(self, .committed(version)) }
        }
      }
    } catch { throw FileTreeError(error) }
    try outcome.get()
    // So that the kernel learns of it at once. Whether it can be read is for who reads.
    if !isTest { _ = try? main.read { _ in } }
  }

  /// The version that the commit made.
  private func merge(_ base: Snapshot, _ staged: Snapshot, _ action: Action) throws(FileTreeError) -> UInt64 {
    guard let saver = main.saver else { throw .readOnly }
    var version = base.version
    let merge = try VersionMerge(from: base, to: staged, chosen: chosen.withLock { $0 })
    do throws(FileTreeError) {
      if action == .test {
        try main.read { view throws(FileTreeError) in
          try checkFile()
          try saver.rehearse(on: view.snapshot) { transaction throws(FileTreeError) in
            _ = try merge.apply(to: transaction)
          }
        }
      } else if !merge.isEmpty {
        // The one who commits is told that it is on disk.
        try main.saveKeepingTexts(saver, mayWait: false) { transaction throws(FileTreeError) in
          try checkFile()
          version = transaction.nextVersion
          let effect = try merge.apply(to: transaction)
          // What was read from reused space must not be committed.
          guard main.realm.isCurrent(base) else {
            throw .refused(.moved, "the version that the transaction began with was overwritten; begin a new one")
          }
          return effect
        }
      }
    } catch {
      if merge.problems.isEmpty {
        note(action, [VersionMerge.Problem(path: shownName, isConflict: false, reason: error.description)])
      } else {
        note(action, merge.problems)
      }
      throw error
    }
    note(action, [])
    return version
  }

  /// Refuses to merge into another file than the one that it began with.
  private func checkFile() throws(FileTreeError) {
    if main.realm.standing.file == file { return }
    throw .refused(.moved, "the realm was replaced by another file since the transaction began; begin a new one")
  }

  /// Makes `.log` say what was found.
  private func note(_ action: Action, _ problems: [VersionMerge.Problem]) {
    let lines = problems.map { problem in
      JSONValue.object([
        ("path", .string(problem.path)), ("operation", .string(action.rawValue)),
        ("conflict", .bool(problem.isConflict)), ("reason", .string(problem.reason.printable)),
      ])
      .line
    }
    state.withLock { $0.log = lines }
  }
}

extension TreeContext {
  /// The texts that were refused and neither mended nor removed since.
  fileprivate func refusedTexts() -> [VersionMerge.Problem] {
    overlay.allFiles.filter { $0.file.role == .refusedText }
      .map { place, file in
        let path = file.refusedPath ?? shownPath(of: place)
        let reason = refusals.reason(of: path, for: 0) ?? "its text was refused"
        return VersionMerge.Problem(path: path, isConflict: false, reason: reason)
      }
      .sorted { $0.path < $1.path }
  }
}

/// The open transactions of a mount, by name.
final class TransactionTable: Sendable {
  private struct State {
    var open: [StagedTransaction] = []
    var last: UInt64 = 0
  }

  /// What their changes may take.
  let room: BranchRoom
  private let state = Mutex(State())
  /// Whether there ever was one, so that a mount without them pays nothing.
  private let isUsed = Atomic<Bool>(false)
  /// Each keeps a version and a tree.
  private static let mostTransactions = 100

  /// No transactions; what they change may take `memory` bytes.
  init(memory: Int) { room = BranchRoom(capacity: memory) }

  /// Whether a node may be one of a transaction's.
  var wereAny: Bool { isUsed.load(ordering: .acquiring) }

  /// In the order in which they began.
  var all: [StagedTransaction] { wereAny ? state.withLock { $0.open } : [] }

  /// The transaction called `name`.
  func find(_ name: [UInt8]) -> StagedTransaction? { all.first { $0.name == name } }

  /// Begins a transaction of `owner`; `exists` if the name is taken.
  func begin(
    _ name: [UInt8],
    of owner: Caller,
    permissions: UInt32,
    in tree: TreeContext
  ) throws(FileTreeError) {
    isUsed.store(true, ordering: .releasing)
    try state.withLock { state throws(FileTreeError) in
      if state.open.contains(where: { $0.name == name }) { throw .refused(.exists, "exists already") }
      if state.open.count >= Self.mostTransactions {
        throw .refused(.noSpace, "more than \(Self.mostTransactions) transactions; commit or remove some")
      }
      state.last += 1
      state.open.append(try StagedTransaction(state.last, name, of: owner, permissions: permissions, in: tree))
    }
  }

  /// Ends a transaction; its name is free.
  func end(_ transaction: StagedTransaction, _ outcome: TransactionOutcome) {
    state.withLock { $0.open.removeAll { $0 === transaction } }
    transaction.close(outcome)
  }

  /// Ends all, and says of which something is lost.
  func endAll(_ log: (@Sendable (String) -> Void)?) {
    for transaction in all {
      let count = transaction.changeCount
      end(transaction, .dropped(by: nil))
      let loss = count.map {
        $0 == 0 ? "nothing was changed in it" : $0 == 1 ? "1 changed object is lost" : "\($0) changed objects are lost"
      }
      log?("\(transaction.shownName): still open, dropped: \(loss ?? "what was changed in it is lost")")
    }
  }
}
