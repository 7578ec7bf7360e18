// Commits to a realm that no other program has open.

import Synchronization
import Threads

/// A file or memory that this process has for itself. The header says what the newest version is.
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
    /// Whether the file has the form that can be updated.
    var isReady = false
  }

  /// Opens a file. Until the first transaction it stays as it is, unless it is new.
  init(
    _ configuration: Configuration,
    create: Bool,
    over wrap: (any Storage) -> any Storage
  ) throws(TransactionError) {
    lock = try ExclusiveLock(realmPath: configuration.path)
    let maker: RealmFileMaker
    do throws(FileError) {
      maker = try RealmFileMaker(configuration, create: create, over: wrap)
      if create { try maker.makeEmptyIfNew() }
    } catch { throw TransactionError(error) }
    (file, storage) = (maker.file, maker.storage)
    // What is written is built on the file that it is written to, whatever is at the path later.
    do throws(OpenError) { reader = try HeaderReader(configuration, maker.file) } catch {
      throw TransactionError(error)
    }
  }

  /// Opens a realm in memory, which holds nothing if the memory is new.
  init(memory: MemoryStorage) throws(TransactionError) {
    lock = nil
    file = nil
    storage = memory
    do throws(FileError) {
      if try memory.size() == 0 { try RealmFileMaker.makeEmpty(memory) }
    } catch { throw TransactionError(error) }
    do throws(OpenError) { reader = try HeaderReader(memory: memory) } catch { throw TransactionError(error) }
  }

  func begin(until deadline: MonotonicTime, staysOnThread: Bool) throws(TransactionError) -> Snapshot {
    let (snapshot, header, _) = try newest()
    if state.withLock({ $0.isReady }) || RealmWriter.refusal(snapshot) != nil { return snapshot }
    do throws(FileError) { try RealmFileMaker.prepare(storage, snapshot, header) } catch {
      throw TransactionError(error)
    }
    state.withLock { $0.isReady = true }
    return try newest().snapshot
  }

  func beginPublishing(until deadline: MonotonicTime) throws(TransactionError) -> Snapshot { try newest().snapshot }

  func end() {}

  func activeVersions() throws(TransactionError) -> Int {
    VersionRegistry.shared.count(of: reader.configuration.path, besides: try newest().snapshot.version) + 1
  }

  func rewrite() throws(CopyError) -> RealmCopy.Sizes? {
    throw CopyError(.notApplicable, "\(reader.configuration.path): only a shared realm is compacted while it is open")
  }

  var hasUnpublished: Bool { state.withLock { $0.unpublished != nil } }

  func commit(_ group: GroupEditor, base: Snapshot, _ durability: Durability) throws(TransactionError) -> UInt64 {
    let published = try newest().publishedVersion
    // The file is ours alone, but nothing keeps others from moving or overwriting it.
    if let file, file.place != .here { throw TransactionError(Participant.moved(file.path)) }
    if !reader.isCurrent(base) { throw TransactionError(Participant.overwritten(storage.name)) }
    let oldest = min(published, reader.oldestVersionInUse(newest: base.version))
    do throws(TransactionError) {
      let result = try Committer(group: group, storage: storage, base: base.top, oldest: oldest).write()
      switch durability {
      case .full: try publish(result)
      case .grouped:
        do throws(FileError) { try storage.flush() } catch { throw TransactionError(error) }
        do throws(OpenError) { try reader.show(unpublished: result.topRef) } catch { throw TransactionError(error) }
        state.withLock { $0.unpublished = result }
      }
      return result.version
    } catch {
      // Space that the file had grown by stays with it when it cannot be given back; the next commit uses it.
      if !error.isFailedSync { try? RealmFileMaker.trim(storage, to: base.logicalSize) }
      throw error
    }
  }

  func publishNewest(_ newest: Snapshot) throws(TransactionError) {
    guard let result = state.withLock({ $0.unpublished }) else { return }
    storage.begin { [] }
    try publish(result)
  }

  private func publish(_ result: Committer.Result) throws(TransactionError) {
    let header = try newest().header
    do throws(FileError) { try Committer.publish(result, storage, replacing: header.slot) } catch {
      throw TransactionError(error)
    }
    state.withLock { $0.unpublished = nil }
  }

  private func newest() throws(TransactionError) -> (snapshot: Snapshot, header: Header, publishedVersion: UInt64) {
    do throws(OpenError) { return try reader.latestWithHeader() } catch { throw TransactionError(error) }
  }
}
