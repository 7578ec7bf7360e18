// The interface between a writer and the place it commits to, exclusive or shared.

import Threads

/// The purpose for which a writer excludes others.
enum WritingStage: Equatable {
  /// A transaction that looks where the path leads.
  static let edit = WritingStage.edit(looks: true)

  /// A transaction, which may end without a commit: a copy is not changed, and only programs of this package are locked
  /// out of it. Unless it `looks`, it relies on an earlier look for the file that is at the path; the commit looks
  /// again.
  case edit(looks: Bool)
  /// A commit to the file with this number (`Standing.file`), or to any.
  case commit(file: Int?)
  /// `publishNewest` only; allowed even where nothing new can be committed.
  case publish
}

/// A destination of commits. The caller ensures that there is one transaction at a time.
protocol CommitTarget: AnyObject, Sendable {
  /// Excludes other writers and returns the newest version, which stays readable until `end`. Throws `busy` if the lock
  /// is not acquired by `deadline`. If it returns, `end` must follow, on the same thread if `staysOnThread`.
  func begin(_ stage: WritingStage, until deadline: MonotonicTime, staysOnThread: Bool) throws(EngineError) -> Snapshot
  /// Writes and shows a version; returns its number. Call it between `begin` and `end`, once.
  func commit(_ group: GroupEditor, base: Snapshot, _ durability: Durability) throws(EngineError) -> UInt64
  /// Lets other writers in.
  func end()
  /// True if commits seem to be blocked by something that only a user can resolve: the lock file is gone, or programs
  /// use the realm by another name. Call it outside of transactions. Cost: a few system calls.
  var isObstructed: Bool { get }
  /// True if there are grouped commits that the header does not show.
  var hasUnpublished: Bool { get }
  /// The number of versions in use, including the newest. Call it between `begin` and `end`.
  func activeVersions() throws(EngineError) -> Int
  /// Rewrites the file without free space if no other program has it open. Call it outside of transactions.
  func rewrite() throws(EngineError) -> RealmCopy.Sizes?
  /// Makes the header show the newest version. Call it between `begin` and `end`.
  func publishNewest(_ newest: Snapshot) throws(EngineError)
}

extension CommitTarget {
  var isObstructed: Bool { false }
}
