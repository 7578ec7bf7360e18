// The interface between a writer and the place it commits to, exclusive or shared.

import Threads

/// The purpose for which a writer excludes others.
enum WritingStage: Equatable {
  /// A transaction that checks which file is at the path.
  static let edit = WritingStage.edit(checksPath: true)

  /// A transaction, which may end without a commit: a file that is a copy is not modified yet, and only programs that
  /// use this package are locked out. Unless `checksPath` is true, it relies on an earlier check of which file is at
  /// the path; the commit checks again.
  case edit(checksPath: Bool)
  /// A commit to the file with this number (`FileLocation.generation`), or to any file if nil.
  case commit(file: Int?)
  /// `publishNewest` only; allowed even where nothing new can be committed.
  case publish
}

/// A destination for commits. The caller ensures that there is one transaction at a time.
protocol CommitTarget: AnyObject, Sendable {
  /// Excludes other writers and returns the newest version, which stays readable until `end`. Throws `busy` if the lock
  /// is not acquired by `deadline`. Each successful call must be followed by `end`, on the same thread if
  /// `staysOnThread` is true.
  func begin(_ stage: WritingStage, until deadline: MonotonicTime, staysOnThread: Bool) throws(EngineError) -> Snapshot
  /// Writes a version, makes it visible to readers, and returns its number. Call it between `begin` and `end`, once.
  func commit(_ group: GroupEditor, base: Snapshot, _ durability: Durability) throws(EngineError) -> UInt64
  /// Lets other writers in.
  func end()
  /// True if commits seem to be blocked by something that only a user can resolve: the lock file was removed, or
  /// programs use the realm under another name. Call it outside of transactions. Cost: a few system calls.
  var isObstructed: Bool { get }
  /// True if there are grouped commits to which the header does not lead yet.
  var hasUnpublished: Bool { get }
  /// The number of versions in use, including the newest. Call it between `begin` and `end`.
  func activeVersions() throws(EngineError) -> Int
  /// Rewrites the file without free space if no other program has it open. Call it outside of transactions.
  func rewrite() throws(EngineError) -> RealmCopy.Sizes?
  /// Makes the header lead to the newest version. Call it between `begin` and `end`.
  func publishNewest(_ newest: Snapshot) throws(EngineError)
}

extension CommitTarget {
  var isObstructed: Bool { false }
}
