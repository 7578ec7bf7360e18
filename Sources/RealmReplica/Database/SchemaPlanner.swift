// The tables that a version of a realm needs, and the statements that lead there from what the replica has. A class, a
// property or a link finds what was made for it in the catalog; what is missing is made. A replica of one realm drops
// what the realm has no more; one of many realms only ever adds, because others may need it.
//
// Here are the walk through the schema and the look-up; what is made and removed is in SchemaPlanner+Tables.swift,
// +Columns, +Links and +Removal.

import RealmPages
import RealmTransfer

/// What became of the tables of a replica.
struct SchemaChangeSet {
  /// Classes whose tables are new, and so empty.
  var created: Set<TableKey> = []
  /// Classes with columns that are new, and so not filled in.
  var altered: Set<TableKey> = []
  /// Statements that come when the rows are there: keys, indexes, references.
  var keys: [String] = [], constraints: [String] = []
  /// Statements that clear what a realm among many has no more, with its name as parameter.
  var obsolete: [String] = []
  /// Tables and columns that were dropped, and the rows of those tables.
  var dropped: [String] = [], droppedRows = 0
  /// Classes whose schema cannot be read, and why: their tables stay as they are.
  var damaged: [(className: String, reason: String)] = []
  /// What the user should know.
  var remarks: [String] = []

  var isEmpty: Bool { created.isEmpty && altered.isEmpty && keys.isEmpty && constraints.isEmpty }
}

/// Brings the tables of a replica to the schema of one version. One thread at a time, in one transaction.
final class SchemaPlanner {
  let catalog: Catalog
  let connection: PostgresConnection
  let snapshot: Snapshot
  var place: ReplicaPlace { catalog.place }
  var isMany: Bool { place.realm != nil }
  var changes = SchemaChangeSet()
  /// What of the catalog has found its class or property in this version.
  var used: Set<Catalog.Place> = []
  private(set) var isLocked: Bool

  /// `isLocked` says that no other program changes the tables of the schema meanwhile.
  init(_ catalog: Catalog, _ connection: PostgresConnection, _ snapshot: Snapshot, isLocked: Bool) {
    (self.catalog, self.connection, self.snapshot, self.isLocked) = (catalog, connection, snapshot, isLocked)
  }

  /// The tables that a version would need are not all there, and other programs may be making them.
  func lock() throws(ReplicaError) {
    if !isLocked { throw .overtaken }
  }

  /// Brings the tables to the schema of the version; they are returned by table key.
  func plan() throws(ReplicaError) -> [TableKey: ReplicaTable] {
    var tables: [TableKey: ReplicaTable] = [:]
    var classes: [Table] = []
    for key in try engine({ () throws(EngineError) in try self.snapshot.tableKeys() }) {
      let table = try engine { () throws(EngineError) in try self.snapshot.table(key) }
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

  func engine<R>(_ body: () throws(EngineError) -> R) throws(ReplicaError) -> R {
    do throws(EngineError) { return try body() } catch { throw .engine(error) }
  }

  func run(_ sql: String) throws(ReplicaError) {
    try lock()
    try connection.run(sql)
  }

  /// Runs a statement, and leaves it out if it fails with an SQLSTATE; false then.
  func attempt(_ sql: String, unless state: String) throws(ReplicaError) -> Bool {
    try lock()
    try connection.run("SAVEPOINT attempt")
    do throws(ReplicaError) { try connection.run(sql) } catch {
      guard case .server(state: state, _) = error else { throw error }
      try connection.run("ROLLBACK TO attempt; RELEASE attempt")
      return false
    }
    try connection.run("RELEASE attempt")
    return true
  }

  func later(_ sql: String, key: Bool = false) throws(ReplicaError) {
    try lock()
    if key { changes.keys.append(sql) } else { changes.constraints.append(sql) }
  }

  // MARK: tables

  func table(_ source: Table) throws(ReplicaError) -> ReplicaTable {
    let className = Catalog.shown(source.className ?? source.name), keyForm = KeyForm(source)
    let form = Catalog.shown(keyForm.name)
    let known = catalog.entries.first { entry in
      entry.role == .table && entry.className.isExactly(className) && entry.form.isExactly(form)
        && !used.contains(entry.place)
    }
    let name: String
    if let known { name = known.table } else { name = try create(source, className, keyForm, form) }
    used.insert(Catalog.Place(table: name))
    var columns: [ReplicaColumn] = [], slots: [ReplicaTable.Slot] = [], links: [LinksTable] = []
    let objectKey = ReplicaColumn(name: "_object_key", sql: "bigint", oid: 20)
    var keyColumn = objectKey
    if case .objectKey = keyForm { columns.append(objectKey) }
    for (index, column) in source.columns.enumerated() {
      let property = Catalog.shown(column.name)
      let form = try engine { () throws(EngineError) in try ColumnForm(column, in: self.snapshot) }
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
        columns.append(ReplicaColumn(name: entry.column, sql: exact.sql, oid: exact.oid))
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

  // MARK: what is there

  /// What was made for a property earlier. Nil if it is to be made; then what the property had with another type is
  /// gone, unless another realm may need it.
  func known(
    _ role: Catalog.Role,
    of owner: String,
    _ property: String,
    _ form: ColumnForm
  ) throws(ReplicaError) -> Catalog.Entry? {
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
