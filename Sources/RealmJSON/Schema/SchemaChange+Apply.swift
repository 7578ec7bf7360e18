// Applies a schema change in a transaction, step by step.

public import RealmPages

extension SchemaChange {
  /// Computes the change from the schema of a transaction to `new`.
  public init(
    to new: SchemaDescription,
    in transaction: borrowing WriteTransaction
  ) throws(SchemaChangeError) {
    let (old, empty) = try Self.present(transaction)
    try self.init(from: old, to: new, emptyClasses: empty)
  }

  /// Computes the change that gives one class of a transaction the schema `wanted`.
  public init(
    toClass wanted: ClassDescription,
    in transaction: borrowing WriteTransaction
  ) throws(SchemaChangeError) {
    let (old, empty) = try Self.present(transaction)
    try self.init(from: old, toClass: wanted, emptyClasses: empty)
  }

  /// Returns the schema of a transaction, and the classes without objects.
  private static func present(
    _ transaction: borrowing WriteTransaction
  ) throws(SchemaChangeError) -> (SchemaDescription, Set<ExactName>) {
    do {
      var empty: Set<ExactName> = []
      for key in try transaction.tableKeys() {
        let table = try transaction.table(key)
        if let name = table.className, table.objectCount == 0 { empty.insert(ExactName(name)) }
      }
      return (try SchemaDescription(transaction), empty)
    } catch { throw SchemaChangeError(error) }
  }

  /// Applies the change. On error the transaction may contain part of it; the caller must discard it.
  ///
  /// Cost: O(n) in the objects of a class for each property that is added, removed or indexed.
  public func apply(_ transaction: borrowing WriteTransaction) throws(SchemaChangeError) {
    try apply(transaction) { _ in true }
  }

  /// Applies the steps for which `isIncluded` returns true.
  package func apply(
    _ transaction: borrowing WriteTransaction,
    where isIncluded: (Step) -> Bool
  ) throws(SchemaChangeError) {
    for step in steps where isIncluded(step) {
      do { try Self.apply(step, transaction) } catch { throw SchemaChangeError(error) }
    }
  }

  private static func apply(_ step: Step, _ transaction: borrowing WriteTransaction) throws(EngineError) {
    switch step {
    case .addClass(let name, let kind): _ = try transaction.addTable(Table.classPrefix + name, kind: kind)
    case .removeClass(let name): try transaction.removeTable(table(name, transaction))
    case .addProperty(let name, let property):
      let target: TableKey?
      if let name = property.target { target = try table(name, transaction) } else { target = nil }
      let spec = ColumnSpec(
        property.name,
        property.type,
        collection: property.collection,
        isNullable: property.isNullable,
        target: target
      )
      _ = try transaction.addColumn(table(name, transaction), spec)
    case .removeProperty(let name, let property):
      let table = try table(name, transaction)
      try transaction.removeColumn(table, column(table, property, transaction))
    case .setNullable(let name, let property, let isNullable):
      let table = try table(name, transaction)
      _ = try transaction.setNullable(table, column(table, property, transaction), isNullable)
    case .addIndex(let name, let property, let kind):
      let table = try table(name, transaction)
      try transaction.addIndex(table, column(table, property, transaction), kind)
    case .removeIndex(let name, let property):
      let table = try table(name, transaction)
      try transaction.removeIndex(table, column(table, property, transaction))
    case .setPrimaryKey(let name, let property):
      let table = try table(name, transaction)
      let key: ColKey?
      if let property { key = try column(table, property, transaction) } else { key = nil }
      try transaction.setPrimaryKey(table, key)
    case .setVersion(let version): try transaction.setSchemaVersion(version)
    }
  }

  private static func table(
    _ name: String,
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> TableKey {
    if let key = try transaction.tableKey(named: Table.classPrefix + name) { return key }
    throw EngineError(.notFound, "there is no class \(name)")
  }

  private static func column(
    _ table: TableKey,
    _ name: String,
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> ColKey {
    if let column = try transaction.columns(of: table).first(where: { $0.name.isExactly(name) }) { return column.key }
    throw EngineError(.notFound, "there is no property \(name)")
  }
}
