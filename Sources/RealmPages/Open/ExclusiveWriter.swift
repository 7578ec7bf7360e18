// Commits to a realm that no other program has open.

import Synchronization
import Threads

/// A file or memory that only this process uses. The header determines the newest version.
final class ExclusiveWriter: CommitTarget {
  let reader: HeaderReader
  /// Nil for a realm in memory.
  private let file: FileHandle?
  private let storage: any Storage
  /// Nil for a realm in memory.
  private let lock: ExclusiveLock?
  private let state = Mutex(State())

  private struct State {
    /// The last grouped commit, if the header does not show it yet.
    var unpublished: Committer.Result?
    /// True if the file has the updatable form and the version that the header shows is on disk.
    var isReady = false
  }

  /// Opens a file. An existing file is not changed before the first transaction.
  init(
    _ configuration: Configuration,
    create: Bool,
    over wrap: (any Storage) -> any Storage
  ) throws(EngineError) {
    lock = try ExclusiveLock(realmPath: configuration.path)
    let maker = try RealmFileMaker(configuration, create: create, over: wrap)
    if create { try maker.makeEmptyIfNew() }
    (file, storage) = (maker.file, maker.storage)
    // The reader uses the file being written to, whatever is at the path later.
    reader = try HeaderReader(configuration, maker.file)
    try configuration.checkReached(reader.latest(), isUnshared: false)
  }

  /// Opens a realm in memory, which is empty if the memory is new.
  init(memory: MemoryStorage) throws(EngineError) {
    lock = nil
    file = nil
    storage = memory
    if try memory.size() == 0 { try RealmFileMaker.makeEmpty(memory) }
    reader = try HeaderReader(memory: memory)
  }

  func begin(_: WritingStage, until deadline: MonotonicTime, staysOnThread: Bool) throws(EngineError) -> Snapshot {
    try newest().snapshot
  }

  func end() {}

  func activeVersions() throws(EngineError) -> Int {
    VersionRegistry.shared.count(of: reader.configuration.path, besides: try newest().snapshot.version) + 1
  }

  func rewrite() throws(EngineError) -> RealmCopy.Sizes? {
    throw EngineError(.notApplicable, "\(reader.configuration.path): only a shared realm is compacted while it is open")
  }

  var hasUnpublished: Bool { state.withLock { $0.unpublished != nil } }

  func commit(_ group: GroupEditor, base: Snapshot, _ durability: Durability) throws(EngineError) -> UInt64 {
    // Only this process uses the file, but others can still move or overwrite it.
    if let file, file.place != .here { throw .moved(file.path) }
    if !reader.isCurrent(base) { throw .overwritten(storage.name) }
    if !state.withLock({ $0.isReady }) {
      try RealmFileMaker.prepare(storage, base, try newest().header)
      try RealmFileMaker.secureHeader(storage)
      state.withLock { $0.isReady = true }
    }
    let published = try newest().publishedVersion
    let oldest = min(published, reader.oldestVersionInUse(newest: base.version))
    do {
      let result = try Committer(group: group, storage: storage, base: base.top, oldest: oldest).write()
      switch durability {
      case .full: try publish(result)
      case .grouped:
        try storage.flush()
        try reader.show(unpublished: result.topRef)
        state.withLock { $0.unpublished = result }
      }
      return result.version
    } catch {
      // If the file cannot be truncated, it keeps the space it grew by, and the next commit uses it.
      if !error.isFailedSync { try? RealmFileMaker.trim(storage, to: base.logicalSize) }
      throw error
    }
  }

  func publishNewest(_ newest: Snapshot) throws(EngineError) {
    guard let result = state.withLock({ $0.unpublished }) else { return }
    storage.begin { [] }
    try publish(result)
  }

  private func publish(_ result: Committer.Result) throws(EngineError) {
    let header = try newest().header
    try Committer.publish(result, storage, replacing: header.slot)
    state.withLock { $0.unpublished = nil }
  }

  private func newest() throws(EngineError) -> (snapshot: Snapshot, header: Header, publishedVersion: UInt64) {
    try reader.latestWithHeader()
  }
}
