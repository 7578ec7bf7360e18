// The differences between the schema of a file and the model classes, and the steps that apply them.

import RealmJSON
import RealmPages

/// The differences between the schema of a file and the model classes.
struct ModelDifference {
  /// Descriptions of the differences that require a higher schema version.
  private(set) var migrations: [String] = []
  /// The subset of `migrations` that adds properties to existing classes.
  private(set) var additions: [String] = []
  /// The subset of `migrations` that changes existing parts, except for properties that the models lack.
  private(set) var conflicts: [String] = []

  private let wanted: WantedClasses
  private let change: SchemaChange

  init(to wanted: WantedClasses, from snapshot: Snapshot) throws {
    self.wanted = wanted
    let present = try SchemaDescription(wanted, in: snapshot)
    let kinds = wanted.kindConflicts(with: present)
    // A class whose kind differs is compared as one of the new kind.
    var comparable = present
    for (schema, index) in kinds { comparable.classes[index].kind = schema.kind }
    change = try wanted.change(from: comparable)
    for (schema, _) in kinds { refuse("class '\(schema.name)' has been made \(schema.kind.name)") }
    for step in change.steps { describe(step, present) }
  }

  /// True if there are no differences.
  var isEmpty: Bool { change.isEmpty && conflicts.isEmpty }

  /// True if a synced realm has everything that the models have. Additional properties belong to other clients, and
  /// each client has its own indexes.
  var isEmptyForSync: Bool {
    let lacksClasses = change.steps.contains { if case .addClass = $0 { true } else { false } }
    return !lacksClasses && additions.isEmpty && conflicts.isEmpty
  }

  private mutating func describe(_ step: SchemaChange.Step, _ present: SchemaDescription) {
    switch step {
    case .addProperty(let name, let property):
      guard let known = present[name] else { return }
      let place = "property '\(name).\(property.name)'"
      if known[property.name] == nil {
        migrations.append("\(place) has been added")
        additions.append(place)
      } else {
        refuse("the type of \(place) has been changed")
      }
    case .removeProperty(let name, let property) where !wanted.has(property, in: name):
      migrations.append("property '\(name).\(property)' has been removed")
    case .setNullable(let name, let property, let isNullable):
      refuse("property '\(name).\(property)' has been made \(isNullable ? "optional" : "required")")
    case .setPrimaryKey(let name, let property):
      // A change from one primary key to another consists of two steps.
      if let known = present[name], property == nil || known.primaryKey == nil {
        refuse("the primary key of class '\(name)' has been changed")
      }
    default: break
    }
  }

  private mutating func refuse(_ text: String) {
    migrations.append(text)
    conflicts.append(text)
  }
}

extension WantedClasses {
  /// One class for each name. Classes with the same name store the same properties.
  fileprivate var tables: [ClassSchema] {
    var names: Set<ExactName> = []
    return classes.filter { names.insert(ExactName($0.name)).inserted }
  }

  /// Adds what the file lacks. Classes and properties that the models lack stay until `finish`.
  func begin(in transaction: borrowing WriteTransaction) throws {
    let present = try SchemaDescription(self, in: transaction)
    for (schema, _) in kindConflicts(with: present) {
      throw Realm.Error(.schemaMismatch, "class '\(schema.name)' cannot be made \(schema.kind.name) in a realm with it")
    }
    try apply(change(from: present), to: transaction) { step in
      switch step {
      case .addClass, .addProperty, .setNullable, .setPrimaryKey(_, nil): true
      case .removeProperty(let name, let property): has(property, in: name)
      default: false
      }
    }
  }

  /// Adds classes and properties to a synced realm, where nothing else can be changed.
  func add(in transaction: borrowing WriteTransaction) throws {
    try begin(in: transaction)
    try apply(change(from: SchemaDescription(self, in: transaction)), to: transaction) { step in
      if case .setPrimaryKey(_, .some) = step { true } else { false }
    }
  }

  /// Removes properties that the models lack, and sets primary keys, indexes and the schema version.
  func finish(in transaction: borrowing WriteTransaction, version: UInt64) throws {
    try apply(change(from: SchemaDescription(self, in: transaction), version: version), to: transaction)
  }

  /// Removes all classes and their objects.
  func removeAll(in transaction: borrowing WriteTransaction) throws {
    try apply(change(from: SchemaDescription(transaction), to: []), to: transaction)
  }

  /// Returns the change of the classes in `present` to these. Full-text indexes, which models cannot declare, stay.
  fileprivate func change(from present: SchemaDescription, version: UInt64? = nil) throws(EngineError) -> SchemaChange {
    let classes = tables.map { schema in
      ClassDescription(
        name: schema.name,
        kind: schema.kind,
        primaryKey: schema.primaryKey?.storedName,
        properties: schema.properties.filter(\.isStored).map { property in
          let index = present[schema.name]?[property.storedName]?.index
          return PropertyDescription(
            name: property.storedName,
            type: property.type.type,
            collection: property.type.collection,
            isNullable: property.type.isOptional,
            target: property.linkedName,
            index: property.isPrimaryKey ? nil : index == .fullText ? index : property.isIndexed ? .general : nil
          )
        }
      )
    }
    return try change(from: present, to: classes, version: version)
  }

  /// Returns the change to `classes`. The caller decides whether data may be lost, so no class counts as having
  /// objects.
  private func change(
    from present: SchemaDescription,
    to classes: [ClassDescription],
    version: UInt64? = nil
  ) throws(EngineError) -> SchemaChange {
    do {
      return try SchemaChange(
        from: SchemaDescription(classes: present.classes),
        to: SchemaDescription(version: version, classes: classes),
        emptyClasses: Set(present.classes.map { ExactName($0.name) })
      )
    } catch { throw EngineError(error) }
  }

  private func apply(
    _ change: SchemaChange,
    to transaction: borrowing WriteTransaction,
    where isIncluded: (SchemaChange.Step) -> Bool = { _ in true }
  ) throws(EngineError) {
    do { try change.apply(transaction, where: isIncluded) } catch { throw EngineError(error) }
  }

  /// The classes whose kind differs, with their positions in `present`.
  fileprivate func kindConflicts(with present: SchemaDescription) -> [(ClassSchema, Int)] {
    tables.compactMap { schema in
      present.classes.firstIndex { $0.name.isExactly(schema.name) && $0.kind != schema.kind }.map { (schema, $0) }
    }
  }

  fileprivate func has(_ property: String, in name: String) -> Bool {
    classes.contains { schema in
      schema.name.isExactly(name)
        && schema.properties.contains { $0.isStored && $0.storedName.isExactly(property) }
    }
  }
}

extension SchemaDescription {
  /// Reads those of the wanted classes that a snapshot has. Other classes are not read, so they may be damaged.
  fileprivate init(_ wanted: WantedClasses, in snapshot: Snapshot) throws(EngineError) {
    try self.init(wanted) { (name) throws(EngineError) in
      guard let table = try snapshot.table(named: name) else { return nil }
      if let damage = table.damage { throw damage }
      // A target that cannot be read counts as a difference; the error is reported later.
      return ClassDescription(table) { key in (try? snapshot.table(key))?.className }
    }
  }

  /// Reads those of the wanted classes that a transaction has.
  fileprivate init(_ wanted: WantedClasses, in transaction: borrowing WriteTransaction) throws(EngineError) {
    try self.init(wanted) { (name) throws(EngineError) in
      guard let key = try transaction.tableKey(named: name) else { return nil }
      let table = try transaction.table(key)
      var names: [TableKey: String] = [:]
      for target in table.columns.compactMap(\.targetTable) { names[target] = try transaction.table(target).className }
      return ClassDescription(table) { names[$0] }
    }
  }

  private init(
    _ wanted: WantedClasses,
    _ read: (String) throws(EngineError) -> ClassDescription?
  ) throws(EngineError) {
    var classes: [ClassDescription] = []
    for schema in wanted.tables {
      if let found = try read(Table.classPrefix + schema.name) { classes.append(found) }
    }
    self.init(classes: classes)
  }
}
