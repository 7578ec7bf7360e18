// Resolves the names in instructions: the classes of a transaction by name, with their properties by name.

package import RealmPages

/// A class as instructions refer to it.
final class KnownClass {
  let key: TableKey
  let name: String
  let kind: TableKind
  let columns: [Column]
  let primaryKey: Column?
  private let columnOf: [[UInt8]: Int]

  init(_ key: TableKey, _ table: Table) {
    (self.key, kind, columns, primaryKey) = (key, table.kind, table.columns, table.primaryKey)
    name = table.className ?? table.name
    var columnOf: [[UInt8]: Int] = [:]
    for (index, column) in table.columns.enumerated() { columnOf[Array(column.name.utf8)] = index }
    self.columnOf = columnOf
  }

  func column(_ name: [UInt8]) -> Column? { columnOf[name].map { columns[$0] } }
}

/// The classes of a transaction, each read on first use.
struct ClassCatalog {
  private var byName: [[UInt8]: KnownClass] = [:]
  private var byKey: [TableKey: KnownClass] = [:]

  /// Removes all cached classes, after a change of the schema.
  mutating func forgetAll() {
    byName.removeAll(keepingCapacity: true)
    byKey.removeAll(keepingCapacity: true)
  }

  /// Returns the class with this name; nil if it does not exist.
  mutating func find(
    _ name: [UInt8],
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> KnownClass? {
    if let known = byName[name] { return known }
    let stored = Table.classPrefix + String(decoding: name, as: UTF8.self)
    guard let key = try transaction.tableKey(named: stored) else { return nil }
    let known = KnownClass(key, try transaction.table(key))
    byName[name] = known
    byKey[key] = known
    return known
  }

  /// Returns the class with this key.
  mutating func find(
    _ key: TableKey,
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> KnownClass {
    if let known = byKey[key] { return known }
    let known = KnownClass(key, try transaction.table(key))
    byKey[key] = known
    return known
  }
}

/// Converts object keys of classes without a primary key between the file and the server. Source: docs/format/7-sync.md
/// 7.7.
package enum GlobalKey {
  /// Returns the key of an object in the file.
  package static func local(high: UInt64, low: UInt64) -> ObjKey {
    let lowByte = low & 0xff | (high & 0xff) << 8
    return ObjKey(Int64(lowByte | (low & 0xffff_ff00) << 8 | (high & 0x3fff_ff00) << 32))
  }

  static func global(_ key: ObjKey) -> (high: UInt64, low: UInt64) {
    let value = UInt64(bitPattern: key.value)
    return (value >> 8 & 0xff | value >> 32 & 0x3fff_ff00, value & 0xff | value >> 8 & 0xffff_ff00)
  }
}
