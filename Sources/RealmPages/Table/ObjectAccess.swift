// Access by name: objects by class and primary key, values by property. Each call looks the names up. To read or write
// many objects, use `ObjectCursor`, `Snapshot.value(_:_:_:)` or `WriteTransaction` with keys.

extension Snapshot {
  /// The classes of the realm, in the order of their tables. Internal tables of Realm's SDKs are left out.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func classes() throws(EngineError) -> [Table] {
    var classes: [Table] = []
    for key in try tableKeys() {
      if let table = try table(key), table.className != nil { classes.append(table) }
    }
    return classes
  }

  /// Returns a class.
  ///
  /// - Throws: `notFound` if the realm has no class of this name, `damaged` if the class cannot be read.
  public func table(ofClass name: String) throws(EngineError) -> Table {
    guard let table = try table(named: Table.classPrefix + name) else {
      throw EngineError(.notFound, "no class named \(name)")
    }
    if let damage = table.damage { throw damage }
    return table
  }

  /// Returns the object with this primary key; nil if it does not exist. Cost: O(log n).
  ///
  /// - Throws: `notFound` if there is no such class, `forbidden` if it has no primary key, `wrongType` if its primary
  ///   key has another type.
  public func object(_ className: String, primaryKey: Value) throws(EngineError) -> ObjectReference? {
    let table = try table(ofClass: className)
    try EngineError.check(primaryKey, table.primaryKey, of: className)
    guard let key = PrimaryKey(primaryKey) else { return nil }
    return try table.objectKey(primaryKey: key).map { ObjectReference(table: table.key, key: $0) }
  }

  /// Returns a copy of the value of a property: a list for a list or set, a dictionary for a dictionary. Cost: O(log n)
  /// and the size of the value.
  ///
  /// - Throws: `notFound` if there is no such object or property.
  public func value(of object: ObjectReference, _ property: String) throws(EngineError) -> Value {
    guard let table = try table(object.table) else { throw EngineError(.notFound, "no table with key \(object.table)") }
    if let damage = table.damage { throw damage }
    guard let index = table.columns.firstIndex(named: property, \.name) else {
      throw .noProperty(property, of: table.className ?? table.name)
    }
    let cursor = ObjectCursor(table)
    guard object.key.value >= 0, try cursor.seek(object.key) else {
      throw EngineError(.notFound, "\(table.className ?? table.name): no object \(object.key)")
    }
    return try Value(copying: cursor.value(index))
  }
}

extension WriteTransaction {
  /// Adds a class with these properties and returns its table. The property named `primaryKey` becomes the primary key,
  /// with an index.
  ///
  /// - Throws: `badSchema` if a name is taken or a definition breaks a rule, `overLimit` if a name is too long.
  public func addClass(
    _ name: String,
    kind: TableKind = .topLevel,
    _ properties: [ColumnSpec],
    primaryKey: String? = nil
  ) throws(EngineError) -> TableKey {
    let table = try addTable(Table.classPrefix + name, kind: kind)
    var key: ColKey?
    for property in properties {
      let column = try addColumn(table, property)
      if property.name.isExactly(primaryKey) { key = column }
    }
    if let primaryKey {
      guard let key else { throw .noProperty(primaryKey, of: name) }
      try setPrimaryKey(table, key)
    }
    return table
  }

  /// Returns the table of a class.
  ///
  /// - Throws: `notFound` if the realm has no class of this name.
  public func table(ofClass name: String) throws(EngineError) -> TableKey {
    guard let key = try tableKey(like: Table.classPrefix + name) else {
      throw EngineError(.notFound, "no class named \(name)")
    }
    return key
  }

  /// Returns the object with this primary key; nil if it does not exist. Cost: O(log n).
  ///
  /// - Throws: `notFound` if there is no such class, `forbidden` if it has no primary key, `wrongType` if its primary
  ///   key has another type.
  public func object(_ className: String, primaryKey: Value) throws(EngineError) -> ObjectReference? {
    let table = try group.table(table(ofClass: className))
    try EngineError.check(primaryKey, table.primaryKeyIndex.map { table.columns[$0] }, of: className)
    return try objectKey(table.key, primaryKey: primaryKey).map { ObjectReference(table: table.key, key: $0) }
  }

  /// Creates an object. Properties that `values` omits get the default of their type: null if they are optional.
  ///
  /// - Throws: `notFound` if there is no such class or property, `wrongType` if a property cannot have its value, or if
  ///   the class has a primary key and none is given, or the reverse, `duplicateKey`, or `forbidden` for an embedded
  ///   class. The transaction is then unchanged.
  public func create(
    _ className: String,
    primaryKey: Value? = nil,
    _ values: KeyValuePairs<String, Value> = [:]
  ) throws(EngineError) -> ObjectReference {
    let table = try table(ofClass: className)
    let columns = try columns(of: table)
    var byKey: [(ColKey, Value)] = []
    for (name, value) in values { byKey.append((try Self.column(name, in: columns, of: className), value)) }
    let key: ObjKey
    if let primaryKey {
      key = try create(table, primaryKey: primaryKey, values: byKey)
    } else {
      key = try create(table, values: byKey)
    }
    return ObjectReference(table: table, key: key)
  }

  /// Returns a copy of the value of a property, including the changes of this transaction.
  ///
  /// - Throws: `notFound` if there is no such object or property.
  public func value(of object: ObjectReference, _ property: String) throws(EngineError) -> Value {
    try value(object.table, object.key, column(property, of: object))
  }

  /// Sets a property. A list replaces the elements of a list or set, a dictionary the entries of a dictionary.
  /// Unchanged elements are not rewritten.
  ///
  /// - Throws: `notFound` if there is no such object or property, `wrongType` if the property cannot have the value,
  ///   `forbidden` for a primary key. The transaction is then unchanged.
  public func set(_ object: ObjectReference, _ property: String, to value: Value) throws(EngineError) {
    try assign(object.table, object.key, column(property, of: object), value)
  }

  /// Appends an element to a list.
  ///
  /// - Throws: `notFound` if there is no such object or property, `wrongType` if the list cannot have the value.
  public func append(_ value: Value, to object: ObjectReference, _ property: String) throws(EngineError) {
    let column = try column(property, of: object)
    try insert(object.table, object.key, column, at: count(object.table, object.key, column), value)
  }

  /// Deletes an object and its embedded objects. Links to it become null or are removed from collections.
  ///
  /// - Throws: `notFound` if there is no such object, `forbidden` for an embedded object.
  public func delete(_ object: ObjectReference) throws(EngineError) { try delete(object.table, object.key) }

  private func column(_ property: String, of object: ObjectReference) throws(EngineError) -> ColKey {
    let table = try group.table(object.table)
    return try Self.column(property, in: table.columns, of: table.className)
  }

  private static func column(
    _ name: String,
    in columns: [Column],
    of className: String
  ) throws(EngineError) -> ColKey {
    guard let column = columns.first(named: name, \.name) else { throw .noProperty(name, of: className) }
    return column.key
  }
}

extension EngineError {
  fileprivate static func noProperty(_ name: String, of className: String) -> EngineError {
    EngineError(.notFound, "\(className): no property named \(name)")
  }

  /// Throws if `value` cannot be a value of the primary key of a class.
  fileprivate static func check(
    _ value: Value,
    _ primaryKey: Column?,
    of className: String
  ) throws(EngineError) {
    guard let primaryKey else { throw EngineError(.forbidden, "\(className): the class has no primary key") }
    if value.fits(primaryKey.element) { return }
    throw EngineError(.wrongType, "\(className): the value is not of the type of the primary key, \(primaryKey.name)")
  }
}

extension Value {
  /// A link to an object.
  public static func link(to object: ObjectReference) -> Value { .link(object.table, object.key) }

  /// The string of a string value, with U+FFFD in place of invalid UTF-8; nil for other values.
  public var text: String? {
    guard case .string(let bytes) = self else { return nil }
    return String(decoding: bytes, as: UTF8.self)
  }

  /// The target of a link; nil for other values.
  public var object: ObjectReference? {
    guard case .link(let table, let key) = self else { return nil }
    return ObjectReference(table: table, key: key)
  }
}
