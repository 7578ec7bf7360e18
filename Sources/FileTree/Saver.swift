// Carries changes out, one transaction each, or several that come within a window in one transaction.
//
// A change is a function that can be run again: when one of a group fails, the others are run once more without it, so
// that no refused change takes others with it.

import Glibc
import RealmPages
import Synchronization
import Threads

/// What a change did to the realm.
struct Effect: Sendable {
  /// Whether there is anything to commit.
  var isChange = true
  /// All objects whose texts may differ from before; nil if that is not known.
  var touched: [ObjectReference]? = []

  /// Nothing was changed.
  static let none = Effect(isChange: false)
}

/// A change on its way.
final class Change: Sendable {
  typealias Body = @Sendable (borrowing WriteTransaction) throws(FileTreeError) -> Effect

  fileprivate let body: Body
  fileprivate let outcome = Mutex<Result<Void, FileTreeError>?>(nil)

  init(_ body: @escaping Body) { self.body = body }
}

/// The one place where a mount writes.
final class Saver: Sendable {
  private let writer: RealmWriter
  private let options: MountOptions
  private let changes: OwnChanges
  private let monitor = Monitor()
  private let queue = Mutex(Queue())

  private struct Queue {
    var waiting: [Change] = []
    var hasLeader = false
    /// Nobody waits for others any more.
    var isUrgent = false
  }

  /// Writes through `writer` and tells `changes` what was changed.
  init(_ writer: RealmWriter, _ options: MountOptions, _ changes: OwnChanges) {
    self.writer = writer
    self.options = options
    self.changes = changes
  }

  /// Makes a change; when it returns, the change is on disk. A change of a group waits for the others.
  func save(_ change: Change, inGroup: Bool = true) throws(FileTreeError) {
    guard options.groupCommit > 0, inGroup else { return try run(change) }
    let isLeader = queue.withLock { queue in
      queue.waiting.append(change)
      defer { queue.hasLeader = true }
      return !queue.hasLeader
    }
    if isLeader { lead() } else { waitForLeader(change) }
    guard let outcome = change.outcome.withLock({ $0 }) else { throw .busy }
    try outcome.get()
  }

  /// Makes the file as small as its content, if nobody else has the realm open.
  func compact() throws(FileTreeError) {
    do throws(CopyError) { _ = try writer.compact(timeout: options.lockTimeout) } catch {
      throw FileTreeError(error)
    }
  }

  /// Ends the waiting of the group that is gathering.
  func hurry() {
    queue.withLock { $0.isUrgent = $0.hasLeader }
    monitor.locked { monitor.wakeAll() }
  }

  /// Gathers what comes within the window, runs it, and leaves what came meanwhile to the next leader: the first of
  /// those who wait.
  private func lead() {
    let end = MonotonicTime.now.advanced(by: .milliseconds(options.groupCommit))
    monitor.locked {
      while MonotonicTime.now < end, !queue.withLock({ $0.isUrgent }) { monitor.wait(until: end) }
    }
    let group = queue.withLock { queue in
      let group = queue.waiting
      queue = Queue()
      return group
    }
    run(group)
    monitor.locked { monitor.wakeAll() }
  }

  private func waitForLeader(_ change: Change) {
    monitor.locked {
      while change.outcome.withLock({ $0 == nil }) { monitor.wait() }
    }
  }

  // MARK: transactions

  private func run(_ change: Change) throws(FileTreeError) {
    let transaction = try begin()
    let effect = try change.body(transaction)
    if !effect.isChange { return transaction.rollback() }
    try commit(transaction, effect.touched)
  }

  private func run(_ group: [Change]) {
    var remaining = group
    while !remaining.isEmpty {
      do throws(FileTreeError) {
        if let failed = try attempt(remaining) {
          remaining.removeAll { $0 === failed }
          continue
        }
        for change in remaining { change.outcome.withLock { $0 = .success(()) } }
      } catch {
        for change in remaining { change.outcome.withLock { $0 = .failure(error) } }
      }
      return
    }
  }

  /// Runs all in one transaction; the one that failed, if one did.
  private func attempt(_ group: [Change]) throws(FileTreeError) -> Change? {
    let transaction = try begin()
    var touched: [ObjectReference]? = []
    var isChange = false
    for change in group {
      do throws(FileTreeError) {
        let effect = try change.body(transaction)
        isChange = isChange || effect.isChange
        if let more = effect.touched { touched?.append(contentsOf: more) } else { touched = nil }
      } catch {
        change.outcome.withLock { $0 = .failure(error) }
        transaction.rollback()
        return change
      }
    }
    if isChange { try commit(transaction, touched) } else { transaction.rollback() }
    return nil
  }

  private func begin() throws(FileTreeError) -> WriteTransaction {
    do throws(TransactionError) { return try writer.beginOnThisThread(timeout: options.lockTimeout) } catch {
      throw FileTreeError(error)
    }
  }

  private func commit(
    _ transaction: consuming WriteTransaction,
    _ touched: [ObjectReference]?
  ) throws(FileTreeError) {
    let version = transaction.nextVersion
    changes.note(version, touched)
    do throws(TransactionError) { _ = try transaction.commit() } catch {
      changes.forget(version)
      throw FileTreeError(error)
    }
  }
}

extension FileTreeError {
  /// What a compaction that was not done is to the tree.
  init(_ error: CopyError) {
    let refusal: Refusal =
      switch error.reason {
      case .inUse: .inUse
      case .file(ENOSPC), .file(EDQUOT): .noSpace
      case .file(EACCES), .file(EPERM), .file(EROFS), .file(ENOKEY): .noAccess
      case .notApplicable: .unsupported
      case .open, .damaged, .file, .exists, .cancelled: .inputOutput
      }
    self = .refused(refusal, error.description)
  }

  /// What a refused change or a failed commit is to the tree.
  init(_ error: TransactionError) {
    let refusal: Refusal
    switch error.reason {
    case .format:
      self = .damaged(place: "the realm", problem: error.description)
      return
    case .readOnly:
      self = .readOnly
      return
    case .file(ENOSPC), .file(EDQUOT): refusal = .noSpace
    case .file(EFBIG), .overLimit: refusal = .tooLarge
    case .file(EACCES), .file(EPERM), .file(ENOKEY): refusal = .noAccess
    case .file, .poisoned, .halfDone: refusal = .inputOutput
    case .notFound, .wrongType, .badSchema, .needsMigration, .oldSchema, .migrationFailed: refusal = .invalid
    case .open: refusal = .inputOutput
    case .duplicateKey: refusal = .exists
    case .forbidden: refusal = .forbidden
    case .inUse, .busy, .tooManyVersions: refusal = .busy
    }
    self = .refused(refusal, error.description)
  }
}
