// Commits changes, one transaction each. When a save returns, its commit is on disk. With `-o group_commit=MS` it is on
// disk within MS milliseconds, synced together with the other commits of that period, or at the next fsync.

import Glibc
import RealmPages
import Threads

/// The effect of a change on the realm.
struct Effect: Sendable {
  /// True if there is anything to commit.
  var isChange = true
  /// All objects whose texts may have changed; nil if unknown.
  var touched: [ObjectReference]? = []
  /// The existing objects that the change is for. Their previous texts are kept.
  var replaced: [ObjectReference] = []
  /// True if the schema changed. Its previous text is also kept.
  var replacesSchema = false
  /// True if no class or object was added or removed.
  var namesStay = false

  /// No change.
  static let none = Effect(isChange: false)

  /// The maximum number of objects whose times are kept. Keeping more is not worth the memory.
  static let maxTouched = 100_000

  /// Returns the joint effect of this change and another one in the same transaction.
  func joined(with other: Effect) -> Effect {
    if !other.isChange { return self }
    if !isChange { return other }
    var all: [ObjectReference]?
    if let touched, let others = other.touched { all = touched + others }
    return Effect(
      touched: all,
      replaced: replaced + other.replaced,
      replacesSchema: replacesSchema || other.replacesSchema,
      namesStay: namesStay && other.namesStay
    )
  }

  /// The effect of changing an existing object.
  static func changed(_ object: ObjectReference) -> Effect {
    Effect(touched: [object], replaced: [object], namesStay: true)
  }
}

/// The only writer of a mount.
final class Saver: Sendable {
  /// A change of the realm.
  typealias Change = (borrowing WriteTransaction) throws(FileTreeError) -> Effect

  private let writer: RealmWriter
  private let options: TreeOptions
  private let changes: OwnChanges
  /// Nil if each save waits for its own sync.
  private let delayedSync: DelayedSync?
  /// The file to which changes may be saved, as in `FileLocation.generation`; nil for any file at the path.
  private let file: Int?

  /// Writes through `writer` and records changes in `changes`.
  init(_ writer: RealmWriter, _ options: TreeOptions, _ changes: OwnChanges) {
    self.writer = writer
    self.options = options
    self.changes = changes
    file = nil
    if options.groupCommit == 0 {
      delayedSync = nil
    } else {
      let delay = Duration.milliseconds(options.groupCommit), log = options.log
      delayedSync = DelayedSync(writer, delay: delay, timeout: options.lockTimeout) { error in
        log?("the last saves are not on disk yet: \(error)")
      }
    }
  }

  private init(_ saver: Saver, to file: Int) {
    (writer, options, changes, delayedSync) = (saver.writer, saver.options, saver.changes, saver.delayedSync)
    self.file = file
  }

  /// Returns a saver for one file: it throws `replaced` if the realm is a file other than `file`, as in
  /// `FileLocation.generation`.
  func saving(to file: Int) -> Saver { Saver(self, to: file) }

  /// Commits a change, and returns true if there was anything to commit. The commit is on disk, unless it `mayWait` and
  /// the user chose `-o group_commit`. If `checksPath` is true, also checks before `change` which file the path of the
  /// realm refers to.
  @discardableResult
  func save(mayWait: Bool = true, checksPath: Bool = true, _ change: Change) throws(FileTreeError) -> Bool {
    let transaction: WriteTransaction
    do {
      transaction = try writer.beginOnThisThread(timeout: options.lockTimeout, checksPath: checksPath)
    } catch {
      throw FileTreeError(error)
    }
    if let file, writer.realm.location.generation != file { throw .replaced }
    let effect = try change(transaction)
    if !effect.isChange {
      transaction.rollback()
      return false
    }
    let version = transaction.nextVersion
    // In a mirror, the next version may also, or only, contain changes of others.
    if writer.uplink == nil { changes.note(version, effect.touched, namesStay: effect.namesStay) }
    do {
      let mayWait = mayWait && delayedSync != nil
      _ = try transaction.commit(mayWait ? .grouped : .full)
      if mayWait, delayedSync?.noteCommit() != true { try writer.sync(timeout: options.lockTimeout) }
    } catch {
      changes.forget(version)
      throw FileTreeError(error)
    }
    return true
  }

  /// Converts a file to which nothing was committed yet, such as a copy, to a format that lists the versions in use.
  /// Its content does not change.
  func convertPristineCopy() throws(FileTreeError) {
    do { try writer.convertPristineCopy(timeout: options.lockTimeout) } catch {
      throw FileTreeError(error)
    }
  }

  /// Applies a change to `snapshot` in memory and rolls back, to find out if it would be refused. Does not wait for
  /// other writers.
  func rehearse<T>(
    on snapshot: Snapshot,
    _ change: (borrowing WriteTransaction) throws(FileTreeError) -> T
  ) throws(FileTreeError) -> T {
    let transaction: WriteTransaction
    do {
      try writer.uplink?.checkReadiness(until: .now.advanced(by: options.lockTimeout))
      transaction = try RealmWriter.rehearse(on: snapshot)
    } catch { throw FileTreeError(error) }
    let result = try change(transaction)
    transaction.rollback()
    return result
  }

  /// Runs `body` on the newest version while no program can commit.
  func withWriterLock<R>(
    _ body: (Snapshot, Realm) throws(FileTreeError) -> R
  ) throws(FileTreeError) -> R {
    let outcome: Result<R, FileTreeError>
    do {
      outcome = try writer.withWriterLock(timeout: options.lockTimeout) { newest in
        Result { () throws(FileTreeError) in try body(newest, writer.realm) }
      }
    } catch { throw FileTreeError(error) }
    return try outcome.get()
  }

  /// Throws if nothing can be saved until a user intervenes.
  func checkObstacles() throws(FileTreeError) {
    do { try writer.checkObstacles(timeout: options.lockTimeout) } catch {
      throw FileTreeError(error)
    }
  }

  /// Shrinks the file to its content, if no other program has the realm open.
  func compact() throws(FileTreeError) {
    do { _ = try writer.compact(timeout: options.lockTimeout) } catch {
      throw error.reason == .inUse ? .refused(.inUse, error.description) : FileTreeError(error)
    }
  }

  /// Waits until all saves are on disk.
  func synchronize() throws(FileTreeError) {
    do { try writer.sync(timeout: options.lockTimeout) } catch { throw FileTreeError(error) }
  }

  /// Ends delayed syncs, and waits until all saves are on disk.
  func finish() throws(FileTreeError) {
    delayedSync?.stop()
    try synchronize()
  }
}
