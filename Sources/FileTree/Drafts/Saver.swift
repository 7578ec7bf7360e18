// Carries changes out, one transaction each. A commit is on disk when saving returns; or, with `-o group_commit=MS`, it
// is there within MS milliseconds, together with all that came meanwhile, or at the next fsync.

import Glibc
import RealmPages
import Threads

/// What a change did to the realm.
struct Effect: Sendable {
  /// Whether there is anything to commit.
  var isChange = true
  /// All objects whose texts may differ from before; nil if that is not known.
  var touched: [ObjectReference]? = []
  /// The objects that were there before and that the change itself is about: their texts are worth keeping.
  var replaced: [ObjectReference] = []
  /// True if the schema differs from before; its text is worth keeping, too.
  var replacesSchema = false
  /// Whether there are the same classes and objects as before.
  var namesStay = false

  /// Nothing was changed.
  static let none = Effect(isChange: false)

  /// The times of so many objects are kept at most: those of more would take more memory than they are worth.
  static let mostTouched = 100_000

  /// What this change and another one in the same transaction did.
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

  /// An object that was there before has changed.
  static func changed(_ object: ObjectReference) -> Effect {
    Effect(touched: [object], replaced: [object], namesStay: true)
  }
}

/// The one place where a mount writes.
final class Saver: Sendable {
  /// A change of the realm.
  typealias Change = (borrowing WriteTransaction) throws(FileTreeError) -> Effect

  private let writer: RealmWriter
  private let options: TreeOptions
  private let changes: OwnChanges
  /// Nil if each save waits for the disk itself.
  private let delayedSync: DelayedSync?
  /// The file that changes are meant for, by `Standing.file`; nil if whichever is at the path takes them.
  private let file: Int?

  /// Writes through `writer` and tells `changes` what was changed.
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

  /// The same, which refuses to save when another file than `file`, by `Standing.file`, has the realm's place.
  func saving(to file: Int) -> Saver { Saver(self, to: file) }

  /// Makes a change. When it returns, the change is on disk, unless it `mayWait` and the user lets it. Returns whether
  /// there was anything to commit.
  @discardableResult
  func save(mayWait: Bool = true, _ change: Change) throws(FileTreeError) -> Bool {
    let transaction: WriteTransaction
    do throws(EngineError) { transaction = try writer.beginOnThisThread(timeout: options.lockTimeout) } catch {
      throw FileTreeError(error)
    }
    if let file, writer.realm.standing.file != file { throw .replaced }
    let effect = try change(transaction)
    if !effect.isChange {
      transaction.rollback()
      return false
    }
    let version = transaction.nextVersion
    // In a mirror the next version may have changes of others instead, or as well.
    if writer.uplink == nil { changes.note(version, effect.touched, namesStay: effect.namesStay) }
    do throws(EngineError) {
      let mayWait = mayWait && delayedSync != nil
      _ = try transaction.commit(mayWait ? .grouped : .full)
      if mayWait, delayedSync?.noteCommit() != true { try writer.sync(timeout: options.lockTimeout) }
    } catch {
      changes.forget(version)
      throw FileTreeError(error)
    }
    return true
  }

  /// Makes the file one that is written to, without changing what it holds.
  func takePart() throws(FileTreeError) {
    do throws(EngineError) { try writer.takePart(timeout: options.lockTimeout) } catch { throw FileTreeError(error) }
  }

  /// Makes a change of `snapshot` in memory and forgets it, to find out whether it would be refused. Does not wait for
  /// other writers.
  func rehearse<T>(
    on snapshot: Snapshot,
    _ change: (borrowing WriteTransaction) throws(FileTreeError) -> T
  ) throws(FileTreeError) -> T {
    let transaction: WriteTransaction
    do throws(EngineError) {
      try writer.uplink?.checkReadiness(until: .now.advanced(by: options.lockTimeout))
      transaction = try RealmWriter.rehearse(on: snapshot)
    } catch { throw FileTreeError(error) }
    let result = try change(transaction)
    transaction.rollback()
    return result
  }

  /// Throws if nothing can be saved until a user does something about it.
  func checkObstacles() throws(FileTreeError) {
    do throws(EngineError) { try writer.checkObstacles(timeout: options.lockTimeout) } catch {
      throw FileTreeError(error)
    }
  }

  /// Makes the file as small as its content, if no other program has the realm open.
  func compact() throws(FileTreeError) {
    do throws(EngineError) { _ = try writer.compact(timeout: options.lockTimeout) } catch {
      throw error.reason == .inUse ? .refused(.inUse, error.description) : FileTreeError(error)
    }
  }

  /// Returns when everything that was saved is on disk.
  func synchronize() throws(FileTreeError) {
    do throws(EngineError) { try writer.sync(timeout: options.lockTimeout) } catch { throw FileTreeError(error) }
  }

  /// Brings everything to disk, and waits for others no more.
  func finish() throws(FileTreeError) {
    delayedSync?.stop()
    try synchronize()
  }
}
