// The changeset of a transaction: what other programs parse to notify their users and to refresh their schema. Source:
// docs/format/6-history.md 6.4 to 6.6.

/// Instructions in the order in which changes were made.
struct ChangesetEncoder {
  var bytes: [UInt8] = []
  private var selectedTable: TableKey?
  private var selectedCollection: [Int64]?
  /// The object of each table that was created last: what is set in a new object goes without saying.
  private var newest: [TableKey: ObjKey] = [:]

  private enum Code {
    static let insertTable: UInt8 = 0x01, eraseTable: UInt8 = 0x02, renameTable: UInt8 = 0x03
    static let selectTable: UInt8 = 0x0a, createObject: UInt8 = 0x0b, removeObject: UInt8 = 0x0c, set: UInt8 = 0x0d
    static let insertColumn: UInt8 = 0x14, eraseColumn: UInt8 = 0x15, renameColumn: UInt8 = 0x16
    static let selectCollection: UInt8 = 0x1e, collectionInsert: UInt8 = 0x1f, collectionSet: UInt8 = 0x20
    static let collectionMove: UInt8 = 0x21, collectionErase: UInt8 = 0x23, collectionClear: UInt8 = 0x24
    static let typedLinkChange: UInt8 = 0x2b, selectByPath: UInt8 = 0x2d
  }

  // MARK: schema

  mutating func insertTable(_ key: TableKey) { group(Code.insertTable, key) }
  mutating func eraseTable(_ key: TableKey) { group(Code.eraseTable, key) }
  mutating func renameTable(_ key: TableKey) { group(Code.renameTable, key) }
  mutating func insertColumn(_ table: TableKey, _ column: ColKey) { onTable(table, Code.insertColumn, column.value) }
  mutating func eraseColumn(_ table: TableKey, _ column: ColKey) { onTable(table, Code.eraseColumn, column.value) }
  mutating func renameColumn(_ table: TableKey, _ column: ColKey) { onTable(table, Code.renameColumn, column.value) }

  /// The first link of a Mixed column to objects of `target`.
  mutating func typedLinkChange(_ table: TableKey, _ column: ColKey, _ target: TableKey) {
    onTable(table, Code.typedLinkChange, column.value, Int64(target.value))
  }

  // MARK: objects

  /// Embedded objects are not told of: they come into being with a change of their owner.
  mutating func createObject(_ table: TableKey, _ key: ObjKey, isEmbedded: Bool) {
    if !isEmbedded { onTable(table, Code.createObject, key.value) }
    newest[table] = key
  }
  mutating func removeObject(_ table: TableKey, _ key: ObjKey) { onTable(table, Code.removeObject, key.value) }
  mutating func set(_ table: TableKey, _ column: ColKey, _ key: ObjKey) {
    if newest[table] == key { return }
    onTable(table, Code.set, column.value, key.value)
  }

  // MARK: collections

  mutating func collectionInsert(_ collection: CollectionPath, _ index: Int) {
    onCollection(collection, Code.collectionInsert, index)
  }
  mutating func collectionSet(_ collection: CollectionPath, _ index: Int) {
    onCollection(collection, Code.collectionSet, index)
  }
  mutating func collectionErase(_ collection: CollectionPath, _ index: Int) {
    onCollection(collection, Code.collectionErase, index)
  }
  mutating func collectionClear(_ collection: CollectionPath, oldCount: Int) {
    onCollection(collection, Code.collectionClear, oldCount)
  }
  mutating func collectionMove(_ collection: CollectionPath, from: Int, to: Int) {
    guard select(collection) else { return }
    bytes.append(Code.collectionMove)
    encode(Int64(from))
    encode(Int64(to))
  }

  // MARK: encoding

  private mutating func group(_ code: UInt8, _ key: TableKey) {
    bytes.append(code)
    encode(Int64(key.value))
    (selectedTable, selectedCollection) = (nil, nil)
  }

  private mutating func onTable(_ table: TableKey, _ code: UInt8, _ first: Int64, _ operands: Int64...) {
    if selectedTable != table {
      bytes.append(Code.selectTable)
      encode(0)
      encode(Int64(table.value))
      (selectedTable, selectedCollection) = (table, nil)
    }
    bytes.append(code)
    encode(first)
    for operand in operands { encode(operand) }
  }

  private mutating func onCollection(_ collection: CollectionPath, _ code: UInt8, _ operand: Int) {
    guard select(collection) else { return }
    bytes.append(code)
    encode(Int64(operand))
  }

  /// Selects a collection; false if it is one of a new object.
  private mutating func select(_ collection: CollectionPath) -> Bool {
    if newest[collection.table] == collection.object { return false }
    let identity = [collection.column.value, collection.object.value] + collection.steps
    if selectedTable == collection.table && selectedCollection == identity { return true }
    if collection.steps.isEmpty {
      onTable(collection.table, Code.selectCollection, collection.column.value, collection.object.value)
    } else {
      onTable(
        collection.table,
        Code.selectByPath,
        collection.column.value,
        collection.object.value,
        Int64(collection.steps.count)
      )
      for step in collection.steps { encode(step) }
    }
    selectedCollection = identity
    return true
  }

  /// Sign and magnitude, seven bits a byte, six in the last.
  private mutating func encode(_ value: Int64) {
    var magnitude = UInt64(bitPattern: value < 0 ? ~value : value)
    while magnitude >= 64 {
      bytes.append(0x80 | UInt8(magnitude & 0x7f))
      magnitude >>= 7
    }
    bytes.append(UInt8(magnitude) | (value < 0 ? 0x40 : 0))
  }
}

/// Which collection an instruction is about: a property of an object, and the keys of the collections nested in it.
struct CollectionPath: Hashable {
  let table: TableKey
  let column: ColKey
  let object: ObjKey
  var steps: [Int64] = []
}
