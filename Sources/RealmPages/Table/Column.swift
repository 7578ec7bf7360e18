// One property of a class, as described by the spec. Source: docs/format/2-model.md M3, M4.

/// The type of a property, or of the elements of a collection property.
public enum ValueType: Sendable, Hashable {
  case int, bool, string, data, mixed, date, float, double, decimal128, objectID, uuid
  /// A link to an object of the column's target table; embedded objects are links too.
  case link
}

/// The kind of collection that a property holds.
public enum CollectionKind: Sendable, Hashable {
  case list, set, dictionary
}

/// The search index of a column.
public enum IndexKind: Sendable, Hashable {
  case general, fullText
}

/// One named property of a class.
public struct Column: Sendable {
  /// The property's name, at most 63 bytes of UTF-8.
  public let name: String
  /// The key of the column, unique in its table.
  public let key: ColKey
  /// The type of the value, or of the elements if `collection` is not nil.
  public let type: ValueType
  /// The kind of collection; nil for a single value.
  public let collection: CollectionKind?
  /// True if null is a legal value (or element).
  public let isNullable: Bool
  /// The index that the spec declares. A primary key has an index without declaring one.
  public let index: IndexKind?
  /// The target table of links; nil for other types.
  public let targetTable: TableKey?

  /// The ref of the enumerated values of a string column, or 0.
  let enumRef: Int
  /// True if each distinct string of the column is stored once and shared by all objects that have it.
  package var isEnumerated: Bool { enumRef != 0 }
  /// The ref of the search index root, or 0.
  let indexRef: Int
  /// The type code of the keys if `collection` is a dictionary: 2 (string) in all known files.
  let dictionaryKeyType: Int
}
