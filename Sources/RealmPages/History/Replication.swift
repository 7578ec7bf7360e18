// The interface between the editors and the kinds of history, which record the changes of a transaction for others.
// Source: docs/format/6-history.md 6.1.

/// Records each change of a transaction, in order, and writes to the realm's history what other programs need to know;
/// corresponds to realm-core's `Replication`.
///
/// The editors use only this protocol. `ChangesetEncoder` writes the in-Realm history of local realms; `NoReplication`
/// is for realms that no other program sees before they are copied. Another kind of history, such as that of a sync
/// client, is another type that `GroupEditor` starts with.
protocol Replication {
  /// Grows with each change that others need to know about; 0 if there is none.
  var size: Int { get }

  mutating func insertTable(_ key: TableKey)
  mutating func eraseTable(_ key: TableKey)
  mutating func renameTable(_ key: TableKey)
  mutating func insertColumn(_ table: TableKey, _ column: ColKey)
  mutating func eraseColumn(_ table: TableKey, _ column: ColKey)
  mutating func renameColumn(_ table: TableKey, _ column: ColKey)
  /// Records the first link of a Mixed column to objects of `target`.
  mutating func typedLinkChange(_ table: TableKey, _ column: ColKey, _ target: TableKey)

  mutating func createObject(_ table: TableKey, _ key: ObjKey, isEmbedded: Bool)
  mutating func removeObject(_ table: TableKey, _ key: ObjKey)
  mutating func set(_ table: TableKey, _ column: ColKey, _ key: ObjKey)

  mutating func collectionInsert(_ collection: CollectionPath, _ index: Int)
  mutating func collectionSet(_ collection: CollectionPath, _ index: Int)
  mutating func collectionErase(_ collection: CollectionPath, _ index: Int)
  mutating func collectionMove(_ collection: CollectionPath, from: Int, to: Int)
  mutating func collectionClear(_ collection: CollectionPath, oldCount: Int)

  /// Marks the transaction as an undo that goes back `steps` versions. Call it before any change. `table` must exist in
  /// the base version.
  mutating func markUndo(steps: Int, _ table: TableKey)

  /// Updates the history of `group` for the next version. `base` is the version that the transaction builds on. Entries
  /// that lead to versions up to `oldest` are no longer needed.
  func writeHistory(of group: GroupEditor, base: UInt64, oldest: UInt64) throws(EngineError)
}

extension Replication {
  mutating func markUndo(steps: Int, _ table: TableKey) {}
}

/// The collection that a change affects: a property of an object, and the keys of the collections nested in it.
struct CollectionPath: Hashable {
  let table: TableKey
  let column: ColKey
  let object: ObjKey
  var steps: [Int64] = []
}

/// For a realm under construction, which has no observers and no history.
struct NoReplication: Replication {
  private(set) var size = 0

  mutating func insertTable(_ key: TableKey) { size += 1 }
  mutating func eraseTable(_ key: TableKey) { size += 1 }
  mutating func renameTable(_ key: TableKey) { size += 1 }
  mutating func insertColumn(_ table: TableKey, _ column: ColKey) { size += 1 }
  mutating func eraseColumn(_ table: TableKey, _ column: ColKey) { size += 1 }
  mutating func renameColumn(_ table: TableKey, _ column: ColKey) { size += 1 }
  mutating func typedLinkChange(_ table: TableKey, _ column: ColKey, _ target: TableKey) { size += 1 }
  mutating func createObject(_ table: TableKey, _ key: ObjKey, isEmbedded: Bool) { size += 1 }
  mutating func removeObject(_ table: TableKey, _ key: ObjKey) { size += 1 }
  mutating func set(_ table: TableKey, _ column: ColKey, _ key: ObjKey) { size += 1 }
  mutating func collectionInsert(_ collection: CollectionPath, _ index: Int) { size += 1 }
  mutating func collectionSet(_ collection: CollectionPath, _ index: Int) { size += 1 }
  mutating func collectionErase(_ collection: CollectionPath, _ index: Int) { size += 1 }
  mutating func collectionMove(_ collection: CollectionPath, from: Int, to: Int) { size += 1 }
  mutating func collectionClear(_ collection: CollectionPath, oldCount: Int) { size += 1 }
  func writeHistory(of group: GroupEditor, base: UInt64, oldest: UInt64) {}
}
