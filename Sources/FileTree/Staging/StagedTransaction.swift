// A transaction over several files: a separate tree over a branch of the realm, in which everything can be read and
// saved as in the main tree. Committing it applies all changes of the branch to the realm in one commit.
//
// Invariant: a transaction is committed at most once. Its commit, test and end are mutually exclusive and block saves
// into the branch; after the end, nothing can be saved there. `outcome` reports a commit only once it is on disk, and a
// drop only once a commit is no longer possible.

import Glibc
import RealmJSON
import RealmPages
import Synchronization

/// An open transaction.
final class StagedTransaction: Subtree {
  static let kind = SubtreeKind.transaction

  /// The actions of `.commit`, `.test` and `.abort`.
  enum Action: String {
    case commit, test, abort
  }

  /// Unique in the mount, even among transactions of the same name.
  let number: UInt64
  let name: [UInt8]
  /// The user who began the transaction, and the permission bits of its directory.
  let owner: Caller
  let permissions: UInt32
  /// The tree of the realm.
  private unowned let parts: TreeParts
  private var main: TreeContext { TreeContext(parts) }
  /// `FileLocation.generation` when the transaction began.
  private let file: Int
  private let state = Mutex(State())
  /// New objects without a primary key whose keys were set by their file names.
  private let chosen = Mutex<Set<ObjectReference>>([])

  /// The resources of an open transaction. The kernel may remember its nodes long after the end, but this must not keep
  /// the resources in use.
  struct Content: Sendable {
    /// The version that the transaction is based on.
    let base: VersionHold
    fileprivate let branch: RealmBranch
    let tree: TreeContext
  }

  private struct State {
    /// Nil after the end.
    var content: Content?
    var outcome = TransactionOutcome.open
    /// The problems found by the last commit or test, one line each.
    var log: [String] = []
  }

  /// Begins a transaction on the newest version. Cost: that of reading the schema.
  init(
    _ number: UInt64,
    _ name: [UInt8],
    of owner: Caller,
    permissions: UInt32,
    in main: TreeContext
  ) throws(FileTreeError) {
    (self.number, self.name, self.owner, self.permissions, parts) = (number, name, owner, permissions, main.parts)
    let shown = String(decoding: name, as: UTF8.self)
    let base = try main.selections.holdNewest()
    let branch: RealmBranch, status: FileStatus
    do { status = try main.realm.fileStatus() } catch { throw .unavailable(error) }
    file = main.realm.location.generation
    do {
      branch = try RealmBranch(
        on: base,
        name: "\(main.realm.configuration.path): transaction \(number) (\(shown))",
        status: status,
        budget: main.subtrees.transactions.budget
      )
    } catch { throw FileTreeError(error) }
    var options = main.options
    options.groupCommit = 0
    options.keepFormerText = nil
    options.log = { [log = main.options.log] text in log?(".realm/tx/\(shown)/\(text)") }
    let tree = TreeContext(main.parts, over: branch.writer, options, staged: self)
    state.withLock { $0.content = Content(base: base, branch: branch, tree: tree) }
  }

  /// The path for messages.
  var shownName: String { ".realm/tx/" + String(decoding: name, as: UTF8.self) }

  /// The base version, branch and tree.
  ///
  /// - Throws: `stale` after the end.
  func content() throws(FileTreeError) -> Content {
    guard let content = state.withLock({ $0.content }) else { throw .stale }
    return content
  }

  /// The tree of the transaction.
  ///
  /// - Throws: `stale` after the end.
  func context() throws(FileTreeError) -> TreeContext { try content().tree }

  var isWritable: Bool { true }

  func shownPath(_ main: TreeContext) -> String { shownName }

  /// The kernel is not notified of changes in a transaction.
  func shown(_ attributes: FileAttributes) -> FileAttributes { attributes.uncached }

  /// A stat of the command file that ended the transaction still succeeds.
  func attributesAfterEnd(_ node: SubtreeNode, _ main: TreeContext) throws(FileTreeError) -> FileAttributes? {
    if !node.isCommand || !hasEnded { return nil }
    let attributes = try main.readable { view in view.rules.file(node.inode, size: 0, view.modified).uncached }
    return attributes.owned(by: owner, permissions: TransactionCommandNode.permissions)
  }

  /// True after the end.
  var hasEnded: Bool { state.withLock { $0.content == nil } }

  /// The state or final result of the transaction.
  var outcome: TransactionOutcome { state.withLock { $0.outcome } }

  /// Ends the transaction. Open handles keep their texts but can no longer save.
  fileprivate func close(_ outcome: TransactionOutcome) {
    let content = state.withLock { state in
      if state.outcome == .open { state.outcome = outcome }
      return state.content.take()
    }
    content?.branch.close()
  }

  /// True if `caller` began the transaction or is root.
  func isOwned(by caller: Caller) -> Bool { caller.user == 0 || caller.user == owner.user }

  private func checkOwner(_ caller: Caller) throws(FileTreeError) {
    if isOwned(by: caller) { return }
    throw .refused(.forbidden, "the transaction belongs to user \(owner.user); only that user and root can end it")
  }

  /// Drops the transaction for `caller`, after waiting for a commit in progress.
  ///
  /// - Throws: `stale` if the transaction has ended; `refused(.forbidden)` if it belongs to another user;
  ///   `refused(.busy)` if the wait times out.
  func drop(by caller: Caller) throws(FileTreeError) {
    try checkOwner(caller)
    let content = try content()
    do {
      try content.branch.writer.withWriterLock(timeout: main.options.lockTimeout) { _ in
        main.subtrees.transactions.end(self, .dropped(by: caller.user))
      }
    } catch {
      // It was committed first.
      if hasEnded { throw .stale }
      if error.reason == .busy { throw FileTreeError(error) }
      // A branch that cannot be read cannot be committed either.
      main.subtrees.transactions.end(self, .dropped(by: caller.user))
    }
  }

  /// Records a new object whose key was set by its file name.
  func noteChosen(_ object: ObjectReference) { chosen.withLock { _ = $0.insert(object) } }

  // MARK: reports

  /// The text of `.log`.
  var log: [UInt8] { state.withLock { Array($0.log.joined().utf8) } }

  /// True if the transaction has saved changes, which are lost unless it is committed.
  var isChanged: Bool {
    guard let content = try? content(), let staged = try? content.branch.writer.realm.latest()  // it has ended
    else { return false }
    return staged.version != content.base.snapshot.version
  }

  /// The number of objects changed; nil if unknown.
  var changeCount: Int? {
    guard let content = try? content(), let staged = try? content.branch.writer.realm.latest(),  // it has ended
      let merge = try? VersionMerge(from: content.base.snapshot, to: staged)  // readers report damage
    else { return nil }
    return merge.isEmpty ? 0 : max(1, merge.objectCount)
  }

  // MARK: actions

  /// Performs the action of a command file for `caller`.
  func perform(_ action: Action, by caller: Caller) throws(FileTreeError) {
    let content = try content()
    do {
      try checkOwner(caller)
      switch action {
      case .abort: try drop(by: caller)
      case .test, .commit: try finish(content, isTest: action == .test)
      }
    } catch {
      main.drafts.refusals.note(shownName, action.rawValue, Reason(error, of: owner.user))
      main.options.log?("\(shownName): \(action.rawValue): \(error)")
      throw error
    }
  }

  private func finish(_ content: Content, isTest: Bool) throws(FileTreeError) {
    let action = isTest ? Action.test : .commit
    let refused = content.tree.saves.refusedTexts()
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
    let kept = content.tree.namespace.keptFilePaths()
    if let first = kept.first {
      let reason = "no object can have this name, so the commit would lose it"
      note(action, kept.map { VersionMerge.Problem(path: $0, isConflict: false, reason: reason) })
      let others = kept.count == 1 ? "" : " (and \(kept.count - 1) more)"
      throw .refused(.invalid, "\(first): \(reason)\(others); remove it, or move it out of the transaction")
    }
    // Block saves into the branch until the outcome is known.
    let outcome: Result<Void, FileTreeError>
    do {
      outcome = try content.branch.writer.withWriterLock(timeout: main.options.lockTimeout) { staged in
        Result { () throws(FileTreeError) in
          let version = try merge(content.base.snapshot, staged, action)
          // End it before there is another save into the branch, which would be lost.
          if !isTest { main.subtrees.transactions.end(self, .committed(version)) }
        }
      }
    } catch { throw FileTreeError(error) }
    try outcome.get()
    // Notify the kernel now. If the version cannot be read, later reads report it.
    if !isTest { _ = try? main.read { _ in } }
  }

  /// Tests or commits the merge. Returns the version of the commit, or the base version if there is none.
  private func merge(_ base: Snapshot, _ staged: Snapshot, _ action: Action) throws(FileTreeError) -> UInt64 {
    guard let saver = main.drafts.saver else { throw .readOnly }
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
        // The commit must be on disk before its result is reported.
        try main.saves.saveKeepingTexts(saver, mayWait: false) { transaction throws(FileTreeError) in
          try checkFile()
          version = transaction.nextVersion
          let effect = try merge.apply(to: transaction)
          // Data read from reused space must not be committed.
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

  /// Throws `refused(.moved)` if the realm file is not the one that the transaction began with.
  private func checkFile() throws(FileTreeError) {
    if main.realm.location.generation == file { return }
    throw .refused(.moved, "the realm was replaced by another file since the transaction began; begin a new one")
  }

  /// Writes the problems to `.log`.
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

extension Saves {
  /// The refused texts that have been neither corrected nor removed since.
  fileprivate func refusedTexts() -> [VersionMerge.Problem] {
    tree.namespace.overlay.allFiles.filter { $0.file.role == .refusedText }
      .map { place, file in
        let path = file.refusedPath ?? tree.namespace.shownPath(of: place)
        let reason = tree.drafts.refusals.reason(of: path, for: 0) ?? "its text was refused"
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

  /// The memory budget for the changes of all transactions.
  let budget: BranchBudget
  private let state = Mutex(State())
  /// True once a transaction has begun, so that mounts without transactions have no extra cost.
  private let isUsed = Atomic<Bool>(false)
  /// Each transaction pins a version and holds a tree.
  private static let maxTransactions = 100

  /// An empty table whose transactions may use `memory` bytes for changes.
  init(memory: Int) { budget = BranchBudget(capacity: memory) }

  /// True if a node may belong to a transaction.
  var wereAny: Bool { isUsed.load(ordering: .acquiring) }

  /// The open transactions, in the order in which they began.
  var all: [StagedTransaction] { wereAny ? state.withLock { $0.open } : [] }

  /// The transaction called `name`.
  func find(_ name: [UInt8]) -> StagedTransaction? { all.first { $0.name == name } }

  /// Begins a transaction of `owner`.
  ///
  /// - Throws: `refused(.exists)` if the name is in use.
  func begin(
    _ name: [UInt8],
    of owner: Caller,
    permissions: UInt32,
    in tree: TreeContext
  ) throws(FileTreeError) {
    isUsed.store(true, ordering: .releasing)
    try state.withLock { state throws(FileTreeError) in
      if state.open.contains(where: { $0.name == name }) { throw .refused(.exists, "already exists") }
      if state.open.count >= Self.maxTransactions {
        throw .refused(.noSpace, "more than \(Self.maxTransactions) transactions; commit or remove some")
      }
      state.last += 1
      state.open.append(try StagedTransaction(state.last, name, of: owner, permissions: permissions, in: tree))
    }
  }

  /// Ends a transaction and frees its name.
  func end(_ transaction: StagedTransaction, _ outcome: TransactionOutcome) {
    state.withLock { $0.open.removeAll { $0 === transaction } }
    transaction.close(outcome)
  }

  /// Ends all transactions and logs lost changes.
  func endAll(_ log: (@Sendable (String) -> Void)?) {
    for transaction in all {
      let count = transaction.changeCount
      end(transaction, .dropped(by: nil))
      let loss = count.map {
        $0 == 0 ? "nothing was changed in it" : "\(counted($0, "changed object is", "changed objects are")) lost"
      }
      log?("\(transaction.shownName): still open, dropped: \(loss ?? "what was changed in it is lost")")
    }
  }
}
