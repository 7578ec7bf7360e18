// The differences between the schema of a file and the model classes, and the steps that apply them.

import RealmPages

/// The differences between the schema of a file and the model classes.
struct SchemaChange {
  /// Descriptions of the differences that require a higher schema version.
  private(set) var migrations: [String] = []
  /// The subset of `migrations` that adds properties to existing classes.
  private(set) var additions: [String] = []
  /// The subset of `migrations` that changes existing parts, except for properties that the models lack.
  private(set) var conflicts: [String] = []
  /// True if classes are missing.
  private var lacksClasses = false
  /// True if there are no differences.
  private(set) var isEmpty = true

  private let wanted: WantedClasses

  init(to wanted: WantedClasses, from snapshot: Snapshot) throws(EngineError) {
    self.wanted = wanted
    for schema in wanted.classes {
      guard let table = try snapshot.table(named: Table.classPrefix + schema.name) else {
        (isEmpty, lacksClasses) = (false, true)
        continue
      }
      if let damage = table.damage { throw damage }
      compare(schema, table, snapshot)
    }
  }

  private mutating func compare(_ schema: ClassSchema, _ table: Table, _ snapshot: Snapshot) {
    func add(_ text: String) {
      isEmpty = false
      migrations.append(text)
    }
    func refuse(_ text: String) {
      add(text)
      conflicts.append(text)
    }
    if table.kind != schema.kind {
      refuse("class '\(schema.name)' has been made \(schema.kind.name)")
    }
    for property in schema.properties where property.isStored {
      let place = "'\(schema.name).\(property.storedName)'"
      guard let column = table.columns.first(where: { $0.name.isExactly(property.storedName) }) else {
        add("property \(place) has been added")
        additions.append("property \(place)")
        continue
      }
      if !property.hasType(of: column) || !property.leads(to: column.targetTable, in: snapshot) {
        refuse("the type of property \(place) has been changed")
      } else if property.isNullable != column.isNullable {
        refuse("property \(place) has been made \(property.isNullable ? "optional" : "required")")
      }
      if property.isIndexed != (column.index == .general), column.key != table.primaryKey?.key, !property.isPrimaryKey {
        isEmpty = false
      }
    }
    for column in table.columns
    where !schema.properties.contains(where: { $0.isStored && $0.storedName == column.name }) {
      add("property '\(schema.name).\(column.name)' has been removed")
    }
    if table.primaryKey?.name != schema.primaryKey?.storedName {
      refuse("the primary key of class '\(schema.name)' has been changed")
    }
  }

  /// Adds what the file lacks. Classes and properties that the models lack stay until `finish`.
  func begin(in transaction: borrowing WriteTransaction) throws {
    for schema in wanted.classes {
      let name = Table.classPrefix + schema.name
      if let key = try transaction.tableKey(named: name) {
        let table = try transaction.table(key)
        if table.kind != schema.kind {
          throw Realm.Error(
            .schemaMismatch,
            "class '\(schema.name)' cannot be made \(schema.kind.name) in a realm with it"
          )
        }
      } else {
        _ = try transaction.addTable(name, kind: schema.kind)
      }
    }
    for schema in wanted.classes {
      guard let key = try transaction.tableKey(named: Table.classPrefix + schema.name) else { continue }
      if let present = try transaction.table(key).primaryKey, present.name != schema.primaryKey?.storedName {
        try transaction.setPrimaryKey(key, nil)
      }
      for property in schema.properties where property.isStored {
        try addOrConvert(property, in: key, transaction)
      }
    }
  }

  private func addOrConvert(
    _ property: ModelProperty,
    in table: TableKey,
    _ transaction: borrowing WriteTransaction
  ) throws {
    var target: TableKey?
    if let linked = property.linkedName { target = try transaction.tableKey(named: Table.classPrefix + linked) }
    if let column = try transaction.columns(of: table).first(where: { $0.name.isExactly(property.storedName) }) {
      if property.hasType(of: column), column.targetTable == target {
        if property.isNullable != column.isNullable {
          _ = try transaction.setNullable(table, column.key, property.isNullable)
        }
        return
      }
      try transaction.removeColumn(table, column.key)
    }
    let spec = ColumnSpec(
      property.storedName,
      property.type.type,
      collection: property.type.collection,
      isNullable: property.type.isOptional,
      target: target
    )
    _ = try transaction.addColumn(table, spec)
  }

  /// True if a synced realm has everything that the models have. Additional properties belong to other clients, and
  /// each client has its own indexes.
  var isEmptyForSync: Bool { !lacksClasses && additions.isEmpty && conflicts.isEmpty }

  /// Adds classes and properties to a synced realm, where nothing else can be changed.
  func add(in transaction: borrowing WriteTransaction) throws {
    try begin(in: transaction)
    for schema in wanted.classes {
      guard let name = schema.primaryKey?.storedName,
        let key = try transaction.tableKey(named: Table.classPrefix + schema.name),
        try transaction.table(key).primaryKey == nil
      else { continue }
      try transaction.setPrimaryKey(key, try transaction.columns(of: key).first { $0.name.isExactly(name) }?.key)
    }
  }

  /// Removes properties that the models lack, and sets primary keys, indexes and the schema version.
  func finish(in transaction: borrowing WriteTransaction, version: UInt64) throws {
    for schema in wanted.classes {
      guard let key = try transaction.tableKey(named: Table.classPrefix + schema.name) else { continue }
      for column in try transaction.columns(of: key)
      where !schema.properties.contains(where: { $0.isStored && $0.storedName == column.name }) {
        try transaction.removeColumn(key, column.key)
      }
      let columns = try transaction.columns(of: key), primaryKey = schema.primaryKey?.storedName
      if try transaction.table(key).primaryKey?.name != primaryKey {
        try transaction.setPrimaryKey(key, columns.first { $0.name.isExactly(primaryKey) }?.key)
      }
      for column in columns where column.name != primaryKey {
        guard let index = schema.index(of: column.name) else { continue }
        let isWanted = schema.properties[index].isIndexed
        if isWanted && column.index == nil { try transaction.addIndex(key, column.key) }
        if !isWanted && column.index == .general { try transaction.removeIndex(key, column.key) }
      }
    }
    try transaction.setSchemaVersion(version)
  }

  /// Removes all classes and their objects.
  static func removeAll(in transaction: borrowing WriteTransaction) throws {
    var keys: [TableKey] = []
    for key in try transaction.tableKeys() where try transaction.table(key).className != nil { keys.append(key) }
    for key in keys {
      for column in try transaction.columns(of: key) where column.type == .link {
        try transaction.removeColumn(key, column.key)
      }
    }
    for key in keys { try transaction.removeTable(key) }
  }
}

extension ModelProperty {
  /// True if the column can hold null, or null elements.
  var isNullable: Bool {
    switch (type.type, type.collection) {
    case (.mixed, _), (.link, nil), (.link, .dictionary): true
    case (.link, _): false
    default: type.isOptional
    }
  }

  func hasType(of column: Column) -> Bool { column.type == type.type && column.collection == type.collection }

  func leads(to target: TableKey?, in snapshot: Snapshot) -> Bool {
    guard type.type == .link else { return true }
    // A target that cannot be read counts as a difference; the error is reported later.
    guard let target, let table = try? snapshot.table(target) else { return false }
    return table.className == linkedName
  }
}
