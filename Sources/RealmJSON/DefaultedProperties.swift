// Required properties that a text did not give, so that new objects have their defaults: not an error, but nothing that
// the user wrote. Whoever makes objects reports them.

public import RealmPages

extension Column {
  /// True if each object has a value of the type: the property is neither nullable nor a collection.
  package var isRequired: Bool { collection == nil && !isNullable && type != .mixed && type != .link }
}

/// A required property of a class.
public struct RequiredProperty: Hashable, Sendable {
  /// The class.
  public let table: TableKey
  /// The property.
  public let column: ColKey

  package init(_ table: TableKey, _ column: ColKey) { (self.table, self.column) = (table, column) }
}

/// How many new objects have the default of a required property, because their texts did not give it.
public struct DefaultedProperty: Sendable {
  /// The class and the property, with a point between them.
  public let name: String
  /// The number of objects.
  public var objects: Int
  /// The JSON of the value that they have.
  public let value: String
}

extension [RequiredProperty: Int] {
  /// The counts by the names of the properties, in the order of the schema.
  package func named(in transaction: borrowing WriteTransaction) throws(EngineError) -> [DefaultedProperty] {
    var found: [DefaultedProperty] = []
    for key in try transaction.tableKeys() {
      let wanted = keys.filter { $0.table == key }
      if wanted.isEmpty { continue }
      let table = try transaction.table(key)
      for column in table.columns where column.isRequired {
        guard let count = self[RequiredProperty(key, column.key)] else { continue }
        let name = "\(table.className ?? table.name).\(column.name)"
        found.append(DefaultedProperty(name: name, objects: count, value: column.defaultText))
      }
    }
    return found
  }
}

extension Column {
  /// The JSON of the default of a required property.
  fileprivate var defaultText: String {
    switch type {
    case .int, .link, .mixed: "0"
    case .bool: "false"
    case .float, .double: "0.0"
    case .string, .data: "\"\""
    case .date: "\"1970-01-01T00:00:00Z\""
    case .decimal128: "\"0\""
    case .objectID: "\"\(String(repeating: "0", count: 24))\""
    case .uuid: "\"00000000-0000-0000-0000-000000000000\""
    }
  }
}
