// What a writer needs from the file it commits to, whether it has it alone or shares it.

import Threads

/// What a turn as writer is for.
enum WritingStage: Equatable {
  /// A transaction, which may end without a commit: a copy stays as it is, and only programs of this package are kept
  /// out of it.
  case edit
  /// A commit to the file with this number (`Standing.file`), or to any.
  case commit(file: Int?)
  /// `publishNewest` alone: also where nothing new can be committed any more.
  case publish
}

/// Where commits go. One transaction at a time, which the caller sees to.
protocol CommitTarget: AnyObject, Sendable {
  /// Excludes other writers and returns the newest version, which stays readable until `end`. Throws `busy` when that
  /// is not to be had by `deadline`. Without an error, `end` must follow, on the same thread if it `staysOnThread`.
  func begin(_ stage: WritingStage, until deadline: MonotonicTime, staysOnThread: Bool) throws(EngineError) -> Snapshot
  /// Writes a version and shows it; its number. Between `begin` and `end`, once.
  func commit(_ group: GroupEditor, base: Snapshot, _ durability: Durability) throws(EngineError) -> UInt64
  /// Lets other writers in.
  func end()
  /// True if something that only a user can end seems to keep commits out: the lock file is gone, or programs use the
  /// realm by another name. Outside of transactions; cost: a few system calls.
  var isObstructed: Bool { get }
  /// Whether there are grouped commits that the header does not show.
  var hasUnpublished: Bool { get }
  /// The number of versions in use, the newest among them. Between `begin` and `end`.
  func activeVersions() throws(EngineError) -> Int
  /// Writes the file anew without free space, when no other program has it open. Outside of transactions.
  func rewrite() throws(EngineError) -> RealmCopy.Sizes?
  /// Has the header show the newest version. Between `begin` and `end`.
  func publishNewest(_ newest: Snapshot) throws(EngineError)
}

extension CommitTarget {
  var isObstructed: Bool { false }
}
