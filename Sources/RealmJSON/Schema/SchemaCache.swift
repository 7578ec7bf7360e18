// Caches the classes of a transaction, and cursors for the stored objects, for use when reading texts.

import RealmPages

/// One class; valid while its schema does not change.
final class CachedClass: Sendable {
  let key: TableKey
  /// The name of the class in `$ref`.
  let name: String
  let kind: TableKind
  let columns: [Column]
  /// The names of the properties, as UTF-8 bytes.
  let names: [[UInt8]]
  /// True for each property that is a single value and neither a link nor Mixed.
  let isScalar: [Bool]
  let primaryKeyIndex: Int?
  /// The indices of the properties that have a value in every object: neither nullable, nor a collection, nor the
  /// primary key.
  let required: [Int]

  /// Returns the schema of a table. The result may be shared with other transactions.
  static func of(_ table: Table) -> CachedClass {
    let schema = table.derived { CachedClass(table) }
    // A class can be renamed without a change to its columns.
    return schema.name.isExactly(table.className ?? table.name) ? schema : CachedClass(table)
  }

  private init(_ table: Table) {
    key = table.key
    name = table.className ?? table.name
    kind = table.kind
    columns = table.columns
    names = columns.map { Array($0.name.utf8) }
    isScalar = columns.map { $0.collection == nil && $0.type != .mixed && $0.type != .link }
    primaryKeyIndex = table.primaryKeyIndex
    required = table.columns.indices.filter { $0 != table.primaryKeyIndex && table.columns[$0].isRequired }
  }

  var primaryKey: Column? { primaryKeyIndex.map { columns[$0] } }
}

/// The classes of a transaction, each read once.
final class SchemaCache {
  private var classes: [TableKey: CachedClass] = [:]
  /// The class that was requested last.
  private var last: CachedClass?
  private var names: [ExactName: TableKey] = [:]
  /// Valid until the next change of the transaction.
  private var cursors: [TableKey: ObjectCursor] = [:]

  /// Invalidates the cursors. Must be called after each change to the transaction.
  func forgetObjects() { if !cursors.isEmpty { cursors = [:] } }

  func schema(_ key: TableKey, _ transaction: borrowing WriteTransaction) throws(InputError) -> CachedClass {
    if let last, last.key == key { return last }
    if let known = classes[key] {
      last = known
      return known
    }
    do {
      let schema = CachedClass.of(try transaction.table(key))
      classes[key] = schema
      last = schema
      return schema
    } catch { throw InputError(.engine(error), error.description) }
  }

  /// Returns the class that `$ref` names; nil if it does not exist.
  func schema(named name: String, _ transaction: borrowing WriteTransaction) throws(InputError) -> CachedClass? {
    if let key = names[ExactName(name)] { return try schema(key, transaction) }
    var key: TableKey?
    do {
      key = try transaction.tableKey(like: Table.classPrefix + name)
      if key == nil { key = try transaction.tableKey(like: name) }
    } catch { throw InputError(.engine(error), error.description) }
    guard let key else { return nil }
    names[ExactName(name)] = key
    return try schema(key, transaction)
  }

  private func cursor(
    _ key: TableKey,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> ObjectCursor {
    if let known = cursors[key] { return known }
    do {
      let cursor = ObjectCursor(try transaction.table(key))
      cursors[key] = cursor
      return cursor
    } catch { throw InputError(.engine(error), error.description) }
  }

  /// True if a live object with this key exists.
  func contains(
    _ schema: CachedClass,
    _ object: ObjKey,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> Bool {
    if object.value < 0 { return false }
    let cursor = try cursor(schema.key, transaction)
    do { return try cursor.seek(object) } catch { throw damaged(error) }
  }

  /// Returns a stored value, before any planned change.
  func value(
    _ schema: CachedClass,
    _ object: ObjKey,
    _ index: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(InputError) -> ValueView {
    let cursor = try cursor(schema.key, transaction)
    do {
      // The cursor may be at a different object of the class.
      _ = try cursor.seek(object)
      return try cursor.value(index)
    } catch { throw damaged(error) }
  }

  private func damaged(_ error: EngineError) -> InputError {
    InputError(.engine(error), error.description)
  }
}
