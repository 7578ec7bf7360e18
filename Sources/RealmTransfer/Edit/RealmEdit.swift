// Applies single changes to a realm, one transaction each, by the same rules as saving a file in a mount: texts are
// applied by `ObjectPatcher`, deletions by `WriteTransaction.delete`.

public import RealmJSON
public import RealmPages

extension InputError {
  /// The message for a new object whose primary key already exists.
  static let exists =
    "an object with this primary key exists; 'realmfs set' changes it, 'realmfs import' creates or changes objects"
}

/// Changes a realm.
public struct RealmEdit {
  private let writer: RealmWriter
  /// Receives the change for display; in that case, nothing is committed.
  public var preview: Preview?
  /// The time that a change waits for other writers.
  public var timeout = RealmWriter.timeout

  /// Creates an editor that commits through `writer`.
  public init(_ writer: RealmWriter) { self.writer = writer }

  func begin() throws -> WriteTransaction {
    try writer.beginOnThisThread(timeout: timeout)
  }

  // MARK: setting

  /// Sets properties of an object; returns false if they already had these values.
  public func set(_ name: ObjectName, to assignments: [Assignment]) throws -> Bool {
    let transaction = try begin()
    let object = try name.object(in: transaction.former)
    return try set(object, name, Self.text(assignments, object.table, transaction), transaction)
  }

  /// Sets the properties that a JSON object contains; returns false if they already had these values.
  public func set(_ name: ObjectName, to text: JSONText) throws -> Bool {
    let transaction = try begin()
    return try set(name.object(in: transaction.former), name, text, transaction)
  }

  private func set(
    _ object: ObjectReference,
    _ name: ObjectName,
    _ text: JSONText,
    _ transaction: consuming WriteTransaction
  ) throws -> Bool {
    let outcome: PatchOutcome
    do {
      outcome = try ObjectPatcher().apply(text, to: .object(object.key), of: object.table, in: transaction)
    } catch { throw Self.refusal(error, of: "\(name)") }
    try transaction.end(preview, [object])
    return outcome.hasChanged
  }

  /// Creates an object with these properties, and returns it with the required properties that were set to their
  /// default values.
  public func insert(
    into directory: String,
    _ assignments: [Assignment]
  ) throws -> (object: ObjectReference, defaulted: [DefaultedProperty]) {
    let transaction = try begin()
    guard let table = try ObjectName.table(directory, in: transaction.former) else {
      throw TransferError.missingClass("no class \(directory)")
    }
    let text = try Self.text(assignments, table.key, transaction)
    let outcome: PatchOutcome
    do {
      outcome = try ObjectPatcher().apply(text, to: .new(), of: table.key, in: transaction)
    } catch { throw Self.refusal(error, of: directory) }
    let object = ObjectReference(table: table.key, key: outcome.object)
    var counts: [RequiredProperty: Int] = [:]
    for property in outcome.defaulted { counts[property, default: 0] += 1 }
    let defaulted = try counts.named(in: transaction)
    try transaction.end(preview, [object])
    return (object, defaulted)
  }

  private static func text(
    _ assignments: [Assignment],
    _ table: TableKey,
    _ transaction: borrowing WriteTransaction
  ) throws -> JSONText {
    let snapshot = transaction.former
    let columns = try transaction.columns(of: table)
    let bytes = try Assignment.text(assignments, columns) { key in
      let target = try snapshot.table(key)
      // An embedded object is written as JSON.
      return target?.kind == .embedded ? .link : target?.primaryKey?.type
    }
    do { return try JSONText(bytes) } catch { throw TransferError.unsuitable(error.problem) }
  }

  /// Converts an error, without the positions in the JSON that was built from the assignments.
  static func refusal(_ error: InputError, of name: String) -> any Error {
    switch error.kind {
    case .engine(let cause): return cause
    case .duplicate: return TransferError.unsuitable("\(name): \(InputError.exists)")
    default: break
    }
    let path = error.path.isEmpty ? "" : ": \(error.path)"
    let isText = error.problem.hasPrefix("expected a string, found null")
    let hint = isText ? "; the text null is written '\"null\"'" : ""
    return TransferError.unsuitable("\(name)\(path): \(error.problem)\(hint)")
  }

  // MARK: deleting

  /// Deletes the objects that `find` returns for the version that the transaction is based on, and returns their
  /// number.
  ///
  /// Cost: O(log n) for each object and each link to it.
  public func delete(
    _ find: (Snapshot) throws -> [ObjectReference]
  ) throws -> Int {
    let transaction = try begin()
    let objects = try find(transaction.former)
    var concerned: [ObjectReference] = [], known: Set<ObjectReference> = []
    if preview != nil {
      for object in objects {
        let origins = try transaction.origins(of: object.table, object.key)
        for reference in [object] + origins where known.insert(reference).inserted { concerned.append(reference) }
      }
    }
    for object in objects { try transaction.delete(object.table, object.key) }
    try transaction.end(preview, concerned)
    return objects.count
  }

  // MARK: undoing

  /// The changes that `undo` reverts: those from `previous` to `undone`.
  public struct Undone: Sendable {
    /// The version whose content is restored.
    public let previous: UInt64
    /// The version that made the changes: the newest one, or the one that an earlier undo restored.
    public let undone: UInt64
    /// The newest version before the undo.
    public let newest: UInt64
  }

  /// The direction of `undo`.
  public enum Direction: Sendable {
    /// To the version before the last change. After an undo, to the version before the restored one.
    case back
    /// To the version that the last commit, an undo, reverted.
    case forth
  }

  /// Calls `body` with each version to which `undo` can go back, the next one first, while no program can commit. Each
  /// is described with all changes that going back to it undoes.
  ///
  /// Cost: the whole file is read, once for each version.
  public func listUndoable(
    _ body: (_ wanted: Snapshot, _ newest: Snapshot, _ undone: Undone) throws -> Void
  ) throws {
    let outcome = try writer.withWriterLock(timeout: timeout) { newest in
      Result { try Self.listUndoable(before: newest, body) }
    }
    try outcome.get()
  }

  private static func listUndoable(
    before newest: Snapshot,
    _ body: (_ wanted: Snapshot, _ newest: Snapshot, _ undone: Undone) throws -> Void
  ) throws {
    let former = FormerVersions(before: newest), present = newest.restoredVersion ?? newest.version
    while true {
      let next = try former.next()
      guard let wanted = next else { return }
      if wanted.version >= present { continue }
      try body(wanted, newest, Undone(previous: wanted.version, undone: present, newest: newest.version))
    }
  }

  /// Restores an older version in a new commit. Returns nil if the file no longer contains that version completely or,
  /// for `forth`, if the last commit is not an undo. Versions without a difference are skipped.
  ///
  /// `look` receives the older version, the newest version and a description of the change; if it returns false,
  /// nothing is committed.
  ///
  /// Cost: proportional to the changes of the last commit; after an undo, the whole file is read.
  public func undo(
    _ direction: Direction = .back,
    _ look: (_ wanted: Snapshot, _ newest: Snapshot, _ undone: Undone) throws -> Bool
  ) throws -> Undone? {
    let transaction = try begin()
    let newest = transaction.former
    // No other program can commit during the transaction, so no version is overwritten until the commit.
    let former = FormerVersions(before: newest), restored = newest.restoredVersion
    if direction == .forth, restored == nil {
      transaction.rollback()
      return nil
    }
    let present = direction == .forth ? newest.version : restored ?? newest.version
    while true {
      let next = try former.next()
      guard let wanted = next else {
        transaction.rollback()
        return nil
      }
      if wanted.version >= present { continue }
      do {
        if direction == .back { try transaction.undo(to: wanted) } else { _ = try transaction.restore(wanted) }
      } catch {
        guard [.badSchema, .forbidden].contains(error.reason) else { throw error }
        let hint = "'realmfs diff --previous' shows what the commit changed, to revert it by hand"
        throw EngineError(error.reason, "\(error); \(hint)")
      }
      if !transaction.hasChanges { continue }
      let undone = Undone(previous: wanted.version, undone: present, newest: newest.version)
      if try look(wanted, newest, undone) {
        _ = try transaction.commit()
      } else {
        transaction.rollback()
      }
      return undone
    }
  }
}
