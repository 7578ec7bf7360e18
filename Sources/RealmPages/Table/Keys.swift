// Keys of tables, columns and objects in a Realm file. Source: docs/format/2-model.md M1, M4, M5.

/// Identifies a table for as long as it exists: 16 bits of table slot below 15 bits of a tag that changes when the slot
/// is reused.
public struct TableKey: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The raw key.
  public let value: UInt32

  /// Wraps a raw table key.
  public init(_ value: UInt32) { self.value = value }

  /// The position of the table in the group.
  public var slot: Int { Int(value & 0xFFFF) }

  /// "No table" in the arrays of opposite tables.
  static let none = TableKey(0x7FFF_FFFF)

  /// Ascending by raw key.
  public static func < (a: TableKey, b: TableKey) -> Bool { a.value < b.value }
  /// The raw key in decimal.
  public var description: String { String(value) }
}

/// Identifies a column of a table: leaf position, type, attributes at creation, and a tag.
public struct ColKey: Hashable, Sendable, CustomStringConvertible {
  /// The raw key.
  public let value: Int64

  /// Wraps a raw column key.
  public init(_ value: Int64) { self.value = value }

  /// The position of the column's leaf in each cluster; the leaf is in slot `leafPosition + 1`.
  var leafPosition: Int { Int(value & 0xFFFF) }
  var typeCode: Int { Int(value >> 16) & 0x3F }
  var attributes: Int { Int(value >> 22) & 0xFF }

  /// "No column" in the arrays of opposite columns.
  static let none = ColKey(0x7FFF_FFFF_FFFF_FFFF)

  /// The raw key in decimal.
  public var description: String { String(value) }
}

/// Identifies an object within its table. Live objects have keys from 0 up, unresolved ones (tombstones) from -2 down;
/// -1 means "no object".
public struct ObjKey: Hashable, Comparable, Sendable, CustomStringConvertible {
  /// The raw key.
  public let value: Int64

  /// Wraps a raw object key.
  public init(_ value: Int64) { self.value = value }

  /// No object.
  public static let none = ObjKey(-1)

  /// True for the key of a tombstone: an object that is linked to but does not exist (yet).
  public var isUnresolved: Bool { value <= -2 }
  /// True if a branch uses this key for an object it expects to be created; see `WriteTransaction.expectedObject`.
  package var isExpected: Bool { value <= Self.firstExpected }
  static let firstExpected: Int64 = -2 - 1 << 62

  /// The key by which a branch refers to an object that will get the key `local`, from 0 to 2^62 - 1. There is one key
  /// fewer from `firstExpected` down, so the last two objects share a key.
  init(expecting local: ObjKey) { self.init(Self.firstExpected - min(local.value, Self.firstExpected - .min)) }

  /// The key of a live object, from the tagged number in a backlink leaf or an index. The number is unsigned: keys from
  /// 2^62 up use its top bit.
  init(tagged element: Int64) { self.init(Int64(bitPattern: UInt64(bitPattern: element) >> 1)) }

  /// Ascending by raw key.
  public static func < (a: ObjKey, b: ObjKey) -> Bool { a.value < b.value }
  /// The raw key in decimal.
  public var description: String { String(value) }
}

/// An object of a realm.
public struct ObjectReference: Hashable, Sendable {
  /// The object's table.
  public let table: TableKey
  /// The object's key in that table.
  public let key: ObjKey

  /// The object with the given key in the given table.
  public init(table: TableKey, key: ObjKey) {
    self.table = table
    self.key = key
  }
}
