// Computes the tables that a version of a realm needs, and creates them from the tables that the replica has. This file
// traverses the schema and looks up tables; creation and removal are in SchemaPlanner+Tables.swift, +Columns, +Links
// and +Removal.

import RealmPages
import RealmTransfer

/// The changes made to the tables of a replica.
struct SchemaChangeSet {
  /// Classes with new tables, which are empty.
  var created: Set<TableKey> = []
  /// Classes with new columns, which have no values yet.
  var altered: Set<TableKey> = []
  /// Statements to run after the rows are written: keys, indexes, references.
  var keys: [String] = [], constraints: [String] = []
  /// Statements that remove obsolete rows and values of one realm among many, with the realm's name as parameter.
  var obsolete: [String] = []
  /// Tables and columns that were dropped, and the number of rows in those tables.
  var dropped: [String] = [], droppedRows = 0
  /// Classes whose schema cannot be read, and the reason; their tables are not changed.
  var damaged: [(className: String, reason: String)] = []
  /// Messages for the user.
  var remarks: [String] = []

  var isEmpty: Bool { created.isEmpty && altered.isEmpty && keys.isEmpty && constraints.isEmpty }
}

/// Updates the tables of a replica to the schema of one version.
///
/// Classes, properties and links are looked up in the catalog; missing ones are created. A replica of one realm drops
/// those that the realm no longer has; a replica of many realms only adds, because other realms may need them.
///
/// Not thread-safe: one thread at a time, in one transaction.
final class SchemaPlanner {
  let catalog: Catalog
  let connection: PostgresConnection
  let snapshot: Snapshot
  var place: ReplicaPlace { catalog.place }
  var isMany: Bool { place.realm != nil }
  var changes = SchemaChangeSet()
  /// The catalog entries that belong to a class or property of this version.
  var used: Set<Catalog.Place> = []
  private(set) var isLocked: Bool

  /// Creates a planner. `isLocked` is true if no other program can change the tables of the schema.
  init(_ catalog: Catalog, _ connection: PostgresConnection, _ snapshot: Snapshot, isLocked: Bool) {
    (self.catalog, self.connection, self.snapshot, self.isLocked) = (catalog, connection, snapshot, isLocked)
  }

  /// Throws `overtaken` if the planner is not locked: a table is missing, and other programs may be creating it.
  func lock() throws {
    if !isLocked { throw ReplicaError.overtaken }
  }

  /// Updates the tables to the schema of the version and returns them by table key.
  func plan() throws -> [TableKey: ReplicaTable] {
    var tables: [TableKey: ReplicaTable] = [:]
    var classes: [Table] = []
    for key in try self.snapshot.tableKeys() {
      let table = try self.snapshot.table(key)
      guard let table, let className = table.className else { continue }
      if let damage = table.damage {
        changes.damaged.append((Catalog.shown(className), damage.description))
      } else if table.kind != .embedded {
        classes.append(table)
      }
    }
    if !isMany { try dropTables(exceptOf: classes) }
    for source in classes { tables[source.key] = try table(source) }
    if isMany { clearObsolete(tables.values) }
    try makeParts(for: tables.values)
    for source in classes { if let table = tables[source.key] { try references(of: table, tables) } }
    return tables
  }

  func run(_ sql: String) throws {
    try lock()
    try connection.run(sql)
  }

  /// Runs a statement and rolls it back if it fails with the SQLSTATE `state`; returns false in that case.
  func attempt(_ sql: String, unless state: String) throws -> Bool {
    try lock()
    try connection.run("SAVEPOINT attempt")
    do { try connection.run(sql) } catch ReplicaError.server(state: state, _) {
      try connection.run("ROLLBACK TO attempt; RELEASE attempt")
      return false
    }
    try connection.run("RELEASE attempt")
    return true
  }

  func later(_ sql: String, key: Bool = false) throws {
    try lock()
    if key { changes.keys.append(sql) } else { changes.constraints.append(sql) }
  }

  // MARK: tables

  func table(_ source: Table) throws -> ReplicaTable {
    let className = Catalog.shown(source.className ?? source.name), keyForm = RowKeyForm(source)
    let form = Catalog.shown(keyForm.name)
    let known = catalog.entries.first { entry in
      entry.role == .table && entry.className.isExactly(className) && entry.form.isExactly(form)
        && !used.contains(entry.place)
    }
    let name: String
    if let known { name = known.table } else { name = try create(source, className, keyForm, form) }
    used.insert(Catalog.Place(table: name))
    var columns: [ReplicaColumn] = [], slots: [ReplicaTable.Slot] = [], links: [LinksTable] = []
    let objectKeyType = ValueType.int.postgresType
    let objectKey = ReplicaColumn(name: "_object_key", sql: objectKeyType.name, oid: objectKeyType.oid)
    var keyColumn = objectKey
    if case .objectKey = keyForm { columns.append(objectKey) }
    for (index, column) in source.columns.enumerated() {
      let property = Catalog.shown(column.name)
      let form = try ColumnForm(column, in: self.snapshot)
      if case .links(let target) = form {
        let table = try linksTable(source, name, className, keyForm, property, form)
        slots.append(.links(links.count))
        links.append(LinksTable(name: table, property: index, target: target))
        continue
      }
      let isKey = index == source.primaryKeyIndex && keyForm != .objectKey
      let sqlName = try self.column(property, form, of: name, className, source)
      let own = ReplicaColumn(name: sqlName, sql: form.sql, oid: form.oid)
      columns.append(own)
      if isKey { keyColumn = own }
      var hasExact = false
      if let exact = form.exact,
        let entry = catalog.entries.first(where: {
          $0.role == .exact && $0.table == name && $0.form == sqlName
        })
      {
        columns.append(ReplicaColumn(name: entry.column, sql: exact.type.name, oid: exact.type.oid))
        hasExact = true
      }
      slots.append(.value(form, exact: hasExact))
    }
    if !isMany { try dropColumns(of: name, except: Set(columns.map(\.name)), links: Set(links.map(\.name)), source) }
    return ReplicaTable(
      place,
      source,
      name: name,
      keyForm: keyForm,
      columns: columns,
      slots: slots,
      links: links,
      keyColumn: keyColumn
    )
  }

  // MARK: lookup

  /// Returns the existing entry for a property; nil if it must be created. In that case entries of the property with
  /// another type are dropped, unless another realm may need them.
  func known(
    _ role: Catalog.Role,
    of owner: String,
    _ property: String,
    _ form: ColumnForm
  ) throws -> Catalog.Entry? {
    let formName = Catalog.shown(form.name)
    let entries = catalog.entries(role, of: owner, property).filter { !used.contains($0.place) }
    if let known = entries.first(where: { $0.form.isExactly(formName) }) {
      used.insert(known.place)
      return known
    }
    try lock()
    if isMany { return nil }
    for entry in entries {
      if role == .links { try dropTable(entry.table) } else { try dropColumn(entry.column, of: owner) }
    }
    return nil
  }
}
