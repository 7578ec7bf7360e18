// The content of a schema file: classes and their properties by name, without the keys and slots of a realm.

public import RealmPages

/// A schema with classes and properties identified by name, as in a schema file.
public struct SchemaDescription: Hashable, Sendable {
  /// The schema version; nil if none is stored or specified.
  public var version: UInt64?
  /// The classes in the order of their creation.
  public var classes: [ClassDescription]

  /// Creates a schema of these classes.
  public init(version: UInt64? = nil, classes: [ClassDescription] = []) {
    self.version = version
    self.classes = classes
  }

  /// Reads the schema of a snapshot. Tables that are not classes are omitted.
  public init(_ snapshot: Snapshot) throws(EngineError) {
    var tables: [Table] = []
    for key in try snapshot.tableKeys() {
      guard let table = try snapshot.table(key) else { continue }
      if let damage = table.damage { throw damage }
      tables.append(table)
    }
    self.init(version: try snapshot.schemaVersion(), tables: tables)
  }

  /// Reads the current schema of a transaction, including its changes.
  public init(_ transaction: borrowing WriteTransaction) throws(EngineError) {
    var tables: [Table] = []
    for key in try transaction.tableKeys() { tables.append(try transaction.table(key)) }
    var version: UInt64?
    if let table = tables.first(where: { $0.name == "metadata" }) {
      version = try Self.version(in: table)
    }
    self.init(version: version, tables: tables)
  }

  /// Returns the schema version that the SDKs store. Source: docs/format/2-model.md M11.
  private static func version(in table: Table) throws(EngineError) -> UInt64? {
    guard let index = table.columns.firstIndex(where: { $0.name == "version" && $0.type == .int }) else { return nil }
    let cursor = ObjectCursor(table)
    guard try cursor.next(), case .int(let version) = try cursor.value(index), version != -1 else { return nil }
    return UInt64(bitPattern: version)
  }

  private init(version: UInt64?, tables: [Table]) {
    let names = Dictionary(tables.map { ($0.key, $0.className ?? $0.name) }) { first, _ in first }
    self.init(
      version: version,
      classes: tables.filter { $0.className != nil }.map { ClassDescription($0) { key in names[key] } }
    )
  }

  /// The class with this name; nil if there is none.
  public subscript(name: String) -> ClassDescription? { classes.first { $0.name.isExactly(name) } }
}

/// One class of a schema description.
public struct ClassDescription: Hashable, Sendable {
  /// The name without `class_`.
  public var name: String
  /// The kind of class: top-level, embedded or asymmetric.
  public var kind: TableKind
  /// The name of the primary key; nil if there is none.
  public var primaryKey: String?
  /// The properties in schema order.
  public var properties: [PropertyDescription]

  /// Creates a class with these properties.
  public init(
    name: String,
    kind: TableKind = .topLevel,
    primaryKey: String? = nil,
    properties: [PropertyDescription] = []
  ) {
    self.name = name
    self.kind = kind
    self.primaryKey = primaryKey
    self.properties = properties
  }

  package init(_ table: Table, name: (TableKey) -> String?) {
    self.init(
      name: table.className ?? table.name,
      kind: table.kind,
      primaryKey: table.primaryKey?.name,
      properties: table.columns.map { column in
        PropertyDescription(
          name: column.name,
          type: column.type,
          collection: column.collection,
          isNullable: column.isNullable,
          target: column.targetTable.flatMap(name),
          // A primary key always has an index, so it is not listed.
          index: column.key == table.primaryKey?.key ? nil : column.index
        )
      }
    )
  }

  /// The property with this name; nil if there is none.
  public subscript(name: String) -> PropertyDescription? { properties.first { $0.name.isExactly(name) } }
}

/// One property of a class description.
public struct PropertyDescription: Hashable, Sendable {
  /// The name.
  public var name: String
  /// The type of the value, or of the elements.
  public var type: ValueType
  /// The kind of collection; nil for a single value.
  public var collection: CollectionKind?
  /// True if null is a legal value or element.
  public var isNullable: Bool
  /// The class that links point to; nil for other types.
  public var target: String?
  /// The index; nil for the primary key, whose index is implied.
  public var index: IndexKind?

  /// Creates a property. For Mixed values and links, `isNullable` is ignored: Mixed values, links to one object and
  /// links in dictionaries are nullable; links in lists and sets are not.
  public init(
    name: String,
    type: ValueType,
    collection: CollectionKind? = nil,
    isNullable: Bool = false,
    target: String? = nil,
    index: IndexKind? = nil
  ) {
    self.name = name
    self.type = type
    self.collection = collection
    self.isNullable = Self.givenNullability(type, collection) ?? isNullable
    self.target = target
    self.index = index
  }

  /// Returns the nullability of types whose nullability is fixed; nil for types where the schema decides.
  static func givenNullability(_ type: ValueType, _ collection: CollectionKind?) -> Bool? {
    switch (type, collection) {
    case (.mixed, _), (.link, nil), (.link, .dictionary): true
    case (.link, _): false
    default: nil
    }
  }

  /// The short form of the type, such as `int?[]` or `Dog`.
  public var typeText: String {
    let element = target ?? SchemaRenderer.name(of: type)
    let isMarked = isNullable && Self.givenNullability(type, collection) == nil
    let suffix =
      switch collection {
      case nil: ""
      case .list: "[]"
      case .set: "<>"
      case .dictionary: "{}"
      }
    return element + (isMarked ? "?" : "") + suffix
  }
}
