// Applies explicit schema changes, one transaction each. Renaming keeps keys, values and links, which a comparison of
// two schemas by name cannot do.

public import RealmJSON
public import RealmPages

/// One change of a schema. Classes and properties are identified by name.
public enum SchemaEdit: Sendable {
  case addClass(ClassDescription)
  /// Removes a class and its objects.
  case removeClass(String)
  case renameClass(String, to: String)
  case addProperty(PropertyDescription, ofClass: String)
  /// Removes a property and its values.
  case removeProperty(String, ofClass: String)
  case renameProperty(String, ofClass: String, to: String)
  /// Sets the search index of a property; nil removes it.
  case setIndex(IndexKind?, ofProperty: String, ofClass: String)
}

extension RealmEdit {
  /// The result of a schema change.
  public struct SchemaOutcome: Sendable {
    /// The stored name of the class.
    public let className: String
    /// The number of objects of the class. For a property to be removed, the number of objects whose value is neither
    /// null nor an empty collection.
    public let objects: Int
    /// False if the schema already matched.
    public let hasChanged: Bool
  }

  /// Applies one change to the schema.
  ///
  /// Before anything is removed, calls `allow` with the stored name of the class and the number of objects that lose
  /// data, if there are any; `allow` throws to cancel. With `show`, shows the versions before and after the change, and
  /// commits nothing.
  ///
  /// Cost: O(n) in the objects of the class; O(1) for renaming.
  public func change(
    _ edit: SchemaEdit,
    allow: (_ className: String, _ objects: Int) throws -> Void,
    showing show: ((Snapshot, Snapshot) throws -> Void)?
  ) throws -> SchemaOutcome {
    let transaction = try begin()
    let outcome = try Self.apply(edit, to: transaction, allow)
    if let show, outcome.hasChanged {
      let after = try transaction.changed()
      try show(transaction.former, after)
      transaction.rollback()
    } else if outcome.hasChanged {
      _ = try transaction.commit()
    } else {
      transaction.rollback()
    }
    return outcome
  }

  private static func apply(
    _ edit: SchemaEdit,
    to transaction: borrowing WriteTransaction,
    _ allow: (String, Int) throws -> Void
  ) throws -> SchemaOutcome {
    switch edit {
    case .addClass(let description):
      try checkIsNew(description.name, in: transaction.former)
      try add(description, to: transaction)
      return SchemaOutcome(className: description.name, objects: 0, hasChanged: true)
    case .removeClass(let name):
      let (table, outcome) = try find(name, in: transaction.former)
      try checkLinks(to: table, in: transaction.former)
      if outcome.objects > 0 { try allow(outcome.className, outcome.objects) }
      try transaction.removeTable(table.key)
      return outcome
    case .renameClass(let name, let newName):
      let (table, outcome) = try find(name, in: transaction.former)
      if outcome.className.isExactly(newName) { return outcome.unchanged }
      try checkIsNew(newName, in: transaction.former)
      try transaction.renameTable(table.key, to: Table.classPrefix + newName)
      return outcome
    case .addProperty(let property, let name):
      let (table, outcome) = try find(name, in: transaction.former)
      try checkIsNew(property.name, in: table)
      let schema = try SchemaDescription(transaction)
      var description = schema[outcome.className] ?? ClassDescription(name: outcome.className)
      description.properties.append(property)
      try add(description, to: transaction)
      return outcome
    case .removeProperty(let property, let name):
      let (table, outcome) = try find(name, in: transaction.former)
      let index = try find(property, in: table)
      let count = try countValues(of: index, in: table)
      if count > 0 { try allow(outcome.className, count) }
      try transaction.removeColumn(table.key, table.columns[index].key)
      return SchemaOutcome(className: outcome.className, objects: count, hasChanged: true)
    case .renameProperty(let property, let name, let newName):
      let (table, outcome) = try find(name, in: transaction.former)
      let column = table.columns[try find(property, in: table)]
      if column.name.isExactly(newName) { return outcome.unchanged }
      try checkIsNew(newName, in: table)
      try transaction.renameColumn(table.key, column.key, to: newName)
      return outcome
    case .setIndex(let kind, let property, let name):
      let (table, outcome) = try find(name, in: transaction.former)
      let column = table.columns[try find(property, in: table)]
      let place = "\(outcome.className).\(column.name)"
      if column.key == table.primaryKey?.key, kind == nil {
        throw TransferError.unsuitable("\(place) is the primary key, which always has an index")
      }
      // A primary key always has an index, regardless of the schema.
      let present = column.key == table.primaryKey?.key ? .general : column.index
      if present == kind { return outcome.unchanged }
      if let kind {
        try transaction.addIndex(table.key, column.key, kind)
      } else {
        try transaction.removeIndex(table.key, column.key)
      }
      return outcome
    }
  }

  /// Adds a class, or one more property of it, to the transaction.
  private static func add(_ description: ClassDescription, to transaction: borrowing WriteTransaction) throws {
    let links = description.properties.filter { $0.target.map { !$0.isExactly(description.name) } ?? false }
    let classes = links.isEmpty ? [] : try SchemaDescription(transaction).classes.map(\.name)
    for property in links {
      guard let target = property.target else { continue }
      if classes.contains(where: { $0.isExactly(target) }) { continue }
      let hint = PropertyDescription.hint(forType: target, classes: classes)
      throw TransferError.unsuitable(
        "\(description.name).\(property.name): no type or class \(target)\(hint.isEmpty ? ";" : hint) the types are "
          + PropertyDescription.typeNames.joined(separator: ", ")
      )
    }
    try SchemaChange(toClass: description, in: transaction).apply(transaction)
  }

  private static func find(_ name: String, in snapshot: Snapshot) throws -> (Table, SchemaOutcome) {
    guard let table = try ObjectName.table(name, in: snapshot) else {
      let names = try SchemaDescription(snapshot).classes.map(\.name)
      throw TransferError.missingClass("no class \(name); \(KnownNames(names).hint(for: name))")
    }
    if let damage = table.damage { throw damage }
    let outcome = SchemaOutcome(
      className: table.className ?? table.name,
      objects: table.objectCount,
      hasChanged: true
    )
    return (table, outcome)
  }

  private static func find(_ property: String, in table: Table) throws -> Int {
    if let index = table.columns.firstIndex(where: { $0.name.isExactly(property) }) { return index }
    let hint = KnownNames(table.columns.map(\.name)).hint(for: property)
    throw TransferError.missingObject("\(table.className ?? table.name) has no property \(property); \(hint)")
  }

  private static func checkIsNew(_ name: String, in snapshot: Snapshot) throws {
    if try snapshot.table(named: Table.classPrefix + name) != nil {
      throw TransferError.unsuitable("class \(name) already exists")
    }
  }

  private static func checkIsNew(_ property: String, in table: Table) throws {
    if table.columns.contains(where: { $0.name.isExactly(property) }) {
      throw TransferError.unsuitable("\(table.className ?? table.name) already has a property \(property)")
    }
  }

  /// Throws if properties of other classes link to the class to be removed.
  private static func checkLinks(to table: Table, in snapshot: Snapshot) throws {
    var links: [String] = []
    for key in try snapshot.tableKeys() where key != table.key {
      guard let origin = try snapshot.table(key) else { continue }
      for column in origin.columns where column.targetTable == table.key {
        links.append("\(origin.className ?? origin.name).\(column.name)")
      }
    }
    if links.isEmpty { return }
    throw TransferError.unsuitable(
      "\(table.className ?? table.name) cannot be removed while properties link to it; remove these first: "
        + links.joined(separator: ", ")
    )
  }

  /// Returns the number of objects whose value is neither null nor an empty collection.
  private static func countValues(of index: Int, in table: Table) throws(EngineError) -> Int {
    let cursor = ObjectCursor(table)
    var count = 0
    while try cursor.next() {
      switch try cursor.value(index) {
      case .null: break
      case .list(let list), .set(let list): if list.count > 0 { count += 1 }
      case .dictionary(let dictionary): if dictionary.count > 0 { count += 1 }
      default: count += 1
      }
    }
    return count
  }
}

extension RealmEdit.SchemaOutcome {
  /// The outcome if no change is needed.
  fileprivate var unchanged: Self { Self(className: className, objects: objects, hasChanged: false) }
}
