// Encodes the changeset of a transaction, which other programs parse to notify their users and to refresh their schema.
// Source: docs/format/6-history.md 6.4 to 6.6.

/// Encodes instructions for the in-Realm history, in the order of the changes.
struct ChangesetEncoder: Replication {
  var blob: GrowingBlob
  private var selectedTable: TableKey?
  private var selectedCollection: [Int64]?
  /// The object created last in each table. Values set in a new object need no instructions.
  private var newest: [TableKey: ObjKey] = [:]

  /// Begins a changeset in the memory of a transaction.
  init(_ slab: Slab) { blob = GrowingBlob(slab) }

  /// The number of bytes that mark the changeset as an undo.
  private var markSize = 0

  var size: Int { blob.count - markSize }

  mutating func markUndo(steps: Int, _ table: TableKey) {
    blob.bytes.removeAll()
    UndoMark.append(steps: steps, table, to: &blob.bytes)
    (markSize, selectedTable, selectedCollection) = (blob.count, table, nil)
  }

  func writeHistory(of group: GroupEditor, base: UInt64, oldest: UInt64) throws(EngineError) {
    try HistoryEditor(group: group).append(blob, base: base, oldest: oldest)
  }

  // MARK: schema

  mutating func insertTable(_ key: TableKey) { group(.insertTable, key) }
  mutating func eraseTable(_ key: TableKey) { group(.eraseTable, key) }
  mutating func renameTable(_ key: TableKey) { group(.renameTable, key) }
  mutating func insertColumn(_ table: TableKey, _ column: ColKey) { onTable(table, .insertColumn, column.value) }
  mutating func eraseColumn(_ table: TableKey, _ column: ColKey) { onTable(table, .eraseColumn, column.value) }
  mutating func renameColumn(_ table: TableKey, _ column: ColKey) { onTable(table, .renameColumn, column.value) }

  mutating func typedLinkChange(_ table: TableKey, _ column: ColKey, _ target: TableKey) {
    onTable(table, .typedLinkChange, column.value, Int64(target.value))
  }

  // MARK: objects

  /// Embedded objects are omitted: a change of their owner implies their creation.
  mutating func createObject(_ table: TableKey, _ key: ObjKey, isEmbedded: Bool) {
    if !isEmbedded { onTable(table, .createObject, key.value) }
    newest[table] = key
  }
  mutating func removeObject(_ table: TableKey, _ key: ObjKey) { onTable(table, .removeObject, key.value) }
  mutating func set(_ table: TableKey, _ column: ColKey, _ key: ObjKey) {
    if newest[table] == key { return }
    onTable(table, .set, column.value, key.value)
  }

  // MARK: collections

  mutating func collectionInsert(_ collection: CollectionPath, _ index: Int) {
    onCollection(collection, .collectionInsert, index)
  }
  mutating func collectionSet(_ collection: CollectionPath, _ index: Int) {
    onCollection(collection, .collectionSet, index)
  }
  mutating func collectionErase(_ collection: CollectionPath, _ index: Int) {
    onCollection(collection, .collectionErase, index)
  }
  mutating func collectionClear(_ collection: CollectionPath, oldCount: Int) {
    onCollection(collection, .collectionClear, oldCount)
  }
  mutating func collectionMove(_ collection: CollectionPath, from: Int, to: Int) {
    guard select(collection) else { return }
    begin(.collectionMove)
    encode(Int64(from))
    encode(Int64(to))
  }

  // MARK: encoding

  private mutating func group(_ code: Changeset.Code, _ key: TableKey) {
    begin(code)
    encode(Int64(key.value))
    (selectedTable, selectedCollection) = (nil, nil)
  }

  private mutating func onTable(_ table: TableKey, _ code: Changeset.Code, _ first: Int64, _ operands: Int64...) {
    if selectedTable != table {
      begin(.selectTable)
      encode(0)
      encode(Int64(table.value))
      (selectedTable, selectedCollection) = (table, nil)
    }
    begin(code)
    encode(first)
    for operand in operands { encode(operand) }
  }

  private mutating func onCollection(_ collection: CollectionPath, _ code: Changeset.Code, _ operand: Int) {
    guard select(collection) else { return }
    begin(code)
    encode(Int64(operand))
  }

  /// Selects a collection. Returns false for a collection of a new object, whose changes need no instructions.
  private mutating func select(_ collection: CollectionPath) -> Bool {
    if newest[collection.table] == collection.object { return false }
    let identity = [collection.column.value, collection.object.value] + collection.steps
    if selectedTable == collection.table && selectedCollection == identity { return true }
    if collection.steps.isEmpty {
      onTable(collection.table, .selectCollection, collection.column.value, collection.object.value)
    } else {
      onTable(
        collection.table,
        .selectByPath,
        collection.column.value,
        collection.object.value,
        Int64(collection.steps.count)
      )
      for step in collection.steps { encode(step) }
    }
    selectedCollection = identity
    return true
  }

  /// Begins an instruction.
  private mutating func begin(_ code: Changeset.Code) {
    blob.storeIfMany()
    blob.bytes.append(code.rawValue)
  }

  private mutating func encode(_ value: Int64) { ChangesetInteger.append(value, to: &blob.bytes) }
}
