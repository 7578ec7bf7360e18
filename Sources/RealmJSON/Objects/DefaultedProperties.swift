// Required properties that an object's text omits, so that they have their default values in a new object. This is not
// an error, but the user did not write these values, so callers that create objects report them.

public import RealmPages

extension Column {
  /// True if every object has a value of the property's type: the property is neither nullable nor a collection.
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

/// The number of new objects with the default value of a required property because their texts omit it.
public struct DefaultedProperty: Sendable {
  /// The class and the property, joined by a dot.
  public let name: String
  /// The number of new objects.
  public var objects: Int
  /// The default as JSON.
  public let value: String
}

extension [RequiredProperty: Int] {
  /// Returns the counts by property name, in schema order.
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
  /// The default value of a required property as JSON.
  fileprivate var defaultText: String {
    let out = OutputBuffer()
    var writer = JSONWriter(out, .compact)
    (defaultValue ?? .null).withView { _ = writer.scalar($0, .bare) }
    return out.string
  }
}
