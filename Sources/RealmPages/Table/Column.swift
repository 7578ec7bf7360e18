// One property of a class as the spec describes it. Source: docs/format/2-model.md M3, M4.

/// The type of a property, or of the elements of a collection property.
public enum ValueType: Sendable, Hashable {
  case int, bool, string, data, mixed, date, float, double, decimal128, objectID, uuid
  /// A link to an object of the column's target table; embedded objects are links too.
  case link
}

/// How a property holds more than one value.
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
  /// The type of the value, or of the elements when `collection` is not nil.
  public let type: ValueType
  /// The kind of collection; nil for one value.
  public let collection: CollectionKind?
  /// Whether null is a legal value (or element).
  public let isNullable: Bool
  /// The index as the spec declares it; a primary key has one without declaring it.
  public let index: IndexKind?
  /// The table that links of this column lead to; nil for other types.
  public let targetTable: TableKey?

  /// Ref of the enumerated values of a string column, or 0.
  let enumRef: Int
  /// Whether each different text of the column is in the file once, for all objects that have it.
  package var isEnumerated: Bool { enumRef != 0 }
  /// Ref of the search index root, or 0.
  let indexRef: Int
  /// The type code of the keys when `collection` is a dictionary: 2, string, in all files seen.
  let dictionaryKeyType: Int
}
