// The tables that a version of a realm needs, and the statements that lead there from what the replica has. A class, a
// property or a link finds what was made for it in the catalog; what is missing is made. A replica of one realm drops
// what the realm has no more; one of many realms only ever adds, because others may need it.

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
  /// What the user should know.
  var remarks: [String] = []

  var isEmpty: Bool { created.isEmpty && altered.isEmpty && keys.isEmpty && constraints.isEmpty }
}

/// Brings the tables of a replica to the schema of one version. One thread at a time, in one transaction.
final class SchemaPlanner {
  private let catalog: Catalog
  private let connection: PostgresConnection
  private let snapshot: Snapshot
  private var place: ReplicaPlace { catalog.place }
  private var isMany: Bool { place.realm != nil }
  private(set) var changes = SchemaChangeSet()
  private var tableNames: SQLNames
  /// By class and form of key, the table in SQL.
  private var used: Set<String> = []
  private var isLocked: Bool

  /// `isAlone` says that nobody else changes the tables of the schema meanwhile.
  init(_ catalog: Catalog, _ connection: PostgresConnection, _ snapshot: Snapshot, isLocked: Bool) {
    (self.catalog, self.connection, self.snapshot, self.isLocked) = (catalog, connection, snapshot, isLocked)
    tableNames = .postgres(reserved: ["_realmfs", "_realmfs_columns"] + catalog.tables)
  }

  /// The tables that a version would need are not all there, and other programs may be making them.
  private func lock() throws(ReplicaError) {
    if !isLocked { throw .overtaken }
  }

  /// Brings the tables to the schema of the version; they are returned by table key.
  func plan() throws(ReplicaError) -> [TableKey: ReplicaTable] {
    var tables: [TableKey: ReplicaTable] = [:]
    var classes: [Table] = []
    for key in try engine({ () throws(EngineError) in try self.snapshot.tableKeys() }) {
      let table = try engine { () throws(EngineError) in try self.snapshot.table(key) }
      if let table, table.className != nil, table.kind != .embedded, table.damage == nil { classes.append(table) }
    }
    if !isMany { try dropTables(exceptOf: classes) }
    for source in classes { tables[source.key] = try table(source) }
    if isMany { clearObsolete(tables.values) }
    try makeParts(for: tables.values)
    for source in classes { if let table = tables[source.key] { try references(of: table, tables) } }
    return tables
  }

  private func engine<R>(_ body: () throws(EngineError) -> R) throws(ReplicaError) -> R {
    do throws(EngineError) { return try body() } catch { throw .engine(error) }
  }

  private func run(_ sql: String) throws(ReplicaError) {
    try lock()
    try connection.run(sql)
  }

  private func later(_ sql: String, key: Bool = false) throws(ReplicaError) {
    try lock()
    if key { changes.keys.append(sql) } else { changes.constraints.append(sql) }
  }

  // MARK: tables

  private func table(_ source: Table) throws(ReplicaError) -> ReplicaTable {
    let className = Catalog.shown(source.className ?? source.name), keyForm = KeyForm(source)
    let form = Catalog.shown(keyForm.name)
    let known = catalog.entries.first { entry in
      entry.role == .table && entry.className.isSame(as: className) && entry.form.isSame(as: form)
        && !used.contains(entry.table)
    }
    let name: String
    if let known { name = known.table } else { name = try create(source, className, keyForm, form) }
    used.insert(name)
    var names = SQLNames.postgres(
      reserved: ["realm", "_object_key", "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"]
        + catalog.entries.filter { $0.table == name }.map(\.column)
    )
    var columns: [ReplicaColumn] = [], slots: [ReplicaTable.Slot] = [], links: [LinksTable] = []
    let objectKey = ReplicaColumn(name: "_object_key", sql: "bigint", oid: 20)
    var keyColumn = objectKey
    if case .objectKey = keyForm { columns.append(objectKey) }
    var taken: Set<String> = []
    for (index, column) in source.columns.enumerated() {
      let property = Catalog.shown(column.name)
      let form = try engine { () throws(EngineError) in try ColumnForm(column, in: self.snapshot) }
      if case .links(let target, let targetClass) = form {
        let table = try linksTable(source, name, className, keyForm, property, form)
        slots.append(.links(links.count))
        links.append(LinksTable(name: table, property: index, target: target, targetClass: targetClass))
        continue
      }
      let isKey = index == source.primaryKeyIndex && keyForm != .objectKey
      let sqlName = try self.column(property, form, of: name, className, &names, &taken, isKey: isKey, source)
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

  private func create(
    _ source: Table,
    _ className: String,
    _ keyForm: KeyForm,
    _ form: String
  ) throws(ReplicaError) -> String {
    try lock()
    let name = try freeName(className)
    if name != className {
      let cause = catalog.tables.contains(className) ? "another table has its name" : "PostgreSQL has no such name"
      changes.remarks.append("class \(className): the table is called \(name), because \(cause)")
    }
    var columns: [String] = []
    if isMany { columns.append("realm text COLLATE \"C\" NOT NULL") }
    var names = SQLNames.postgres(reserved: [
      "realm", "_object_key", "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid",
    ])
    let table = place.qualified(name), key: String
    var entries: [Catalog.Entry] = [
      Catalog.Entry(
        role: .table,
        table: name,
        className: className,
        keyForm: form,
        property: "",
        form: form,
        column: ""
      )
    ]
    switch keyForm {
    case .objectKey:
      key = "_object_key"
      columns.append("_object_key bigint NOT NULL")
    case .property(let property, let scalar):
      key = names.take(Catalog.shown(property))
      columns.append("\(key.quotedForSQL) \(Self.declaration(.scalar(scalar), key)) NOT NULL")
      entries.append(
        Catalog.Entry(
          role: .value,
          table: name,
          className: className,
          keyForm: form,
          property: Catalog.shown(property),
          form: Catalog.shown(ColumnForm.scalar(scalar).name),
          column: key
        )
      )
    }
    try run("CREATE TABLE \(table) (\(columns.joined(separator: ", ")))\(partitionClause)")
    for entry in entries { try catalog.add(entry, connection) }
    try makePartitions(of: name)
    try comment(on: name, className)
    let keys = (isMany ? ["realm"] : []) + [key]
    try later("ALTER TABLE \(table) ADD PRIMARY KEY (\(keys.map(\.quotedForSQL).joined(separator: ", ")))", key: true)
    changes.created.insert(source.key)
    return name
  }

  /// A name that no table has, whoever made it.
  private func freeName(_ wanted: String) throws(ReplicaError) -> String {
    while true {
      let name = tableNames.take(wanted)
      var isFree = true
      try connection.forEachRow("SELECT to_regclass($1) IS NULL", [.text(place.qualified(name))]) { row in
        isFree = row.bytes(0, 0) == [1]
      }
      if isFree { return name }
      changes.remarks.append("a table \(name) was there before and is not touched")
    }
  }

  private var partitionClause: String {
    switch place.partition {
    case nil: ""
    case .hash: " PARTITION BY HASH (realm)"
    case .list: " PARTITION BY LIST (realm)"
    }
  }

  private func makePartitions(of name: String) throws(ReplicaError) {
    guard case .hash(let count) = place.partition else { return }
    for index in 0..<count {
      let part = try freeName("\(name)_\(index)")
      try run(
        """
        CREATE TABLE \(place.qualified(part)) PARTITION OF \(place.qualified(name)) \
        FOR VALUES WITH (MODULUS \(count), REMAINDER \(index))
        """
      )
    }
  }

  /// Where each realm has a part of its own, makes those that this one lacks.
  private func makeParts(for tables: some Sequence<ReplicaTable>) throws(ReplicaError) {
    guard place.partition == .list, let realm = place.realm else { return }
    for table in tables {
      for name in [table.name] + table.links.map(\.name) {
        let hash = SHA256Digest.word(of: Array("\(name)/\(realm)".utf8))
        let part = place.qualified(String(name.prefix(20)) + "_" + hexadecimal(hash, digits: 16))
        var isThere = false
        try connection.forEachRow(
          """
          SELECT EXISTS (SELECT FROM pg_inherits WHERE inhrelid = to_regclass($1) AND inhparent = to_regclass($2))
          """,
          [.text(part), .text(place.qualified(name))]
        ) { row in isThere = row.bytes(0, 0) == [1] }
        if isThere { continue }
        try run(
          "CREATE TABLE \(part) PARTITION OF \(place.qualified(name)) FOR VALUES IN (\(realm.quotedForSQLText))"
        )
      }
    }
  }

  private func comment(on name: String, _ className: String) throws(ReplicaError) {
    let version = try engine { () throws(EngineError) in try self.snapshot.schemaVersion() }
    let text = "class \(className)" + (version.map { ", schema version \($0)" } ?? "") + " (realmfs replicate)"
    try run("COMMENT ON TABLE \(place.qualified(name)) IS \(text.quotedForSQLText)")
  }

  /// The type of a column with its checks.
  private static func declaration(_ form: ColumnForm, _ name: String) -> String {
    guard case .scalar(let scalar) = form else { return form.sql }
    switch scalar.type {
    case .objectID: return "text COLLATE \"C\" CHECK (\(name.quotedForSQL) ~ '^[0-9a-f]{24}$')"
    default: return form.sql
    }
  }

  // MARK: columns

  private func column(
    _ property: String,
    _ form: ColumnForm,
    of table: String,
    _ className: String,
    _ names: inout SQLNames,
    _ taken: inout Set<String>,
    isKey: Bool,
    _ source: Table
  ) throws(ReplicaError) -> String {
    let formName = Catalog.shown(form.name)
    let known = catalog.entries.first { entry in
      entry.role == .value && entry.table == table && entry.property.isSame(as: property)
        && entry.form.isSame(as: formName) && !taken.contains(entry.column)
    }
    if let known {
      taken.insert(known.column)
      return known.column
    }
    try lock()
    // A column that this property had with another type makes place, unless another realm needs it.
    for entry in catalog.entries
    where !isMany && entry.role == .value && entry.table == table && entry.property.isSame(as: property) {
      try dropColumn(entry.column, of: table)
    }
    let name = names.take(property)
    taken.insert(name)
    if name != property {
      changes.remarks.append("property \(className).\(property): the column is called \(name)")
    }
    try run("ALTER TABLE \(place.qualified(table)) ADD COLUMN \(name.quotedForSQL) \(Self.declaration(form, name))")
    try catalog.add(
      Catalog.Entry(
        role: .value,
        table: table,
        className: className,
        keyForm: "",
        property: property,
        form: formName,
        column: name
      ),
      connection
    )
    if !changes.created.contains(source.key) { changes.altered.insert(source.key) }
    let isIndexed = source.columns.contains { Catalog.shown($0.name).isSame(as: property) && $0.index == .general }
    if isIndexed || form.isLink { try later(index(on: name, of: table, form)) }
    return name
  }

  /// An index of text is one of hashes: other indexes refuse long texts.
  private func index(on column: String, of table: String, _ form: ColumnForm) -> String {
    let isText = form.sql == "text"
    if isText { return "CREATE INDEX ON \(place.qualified(table)) USING hash (\(column.quotedForSQL))" }
    let columns = (isMany ? ["realm"] : []) + [column]
    return "CREATE INDEX ON \(place.qualified(table)) (\(columns.map(\.quotedForSQL).joined(separator: ", ")))"
  }

  /// Adds the column beside that of a property.
  func addExact(_ table: ReplicaTable, property: Int, of source: Table) throws(ReplicaError) {
    guard case .value(let form, false) = table.slots[property], let exact = form.exact else { return }
    let propertyName = Catalog.shown(source.columns[property].name)
    var position = table.keyProperty == nil ? 1 : 0
    for slot in table.slots[..<property] {
      if case .value(_, let hasExact) = slot { position += hasExact ? 2 : 1 }
    }
    let own = table.columns[position].name
    var names = SQLNames.postgres(
      reserved: ["realm", "_object_key"] + catalog.entries.filter { $0.table == table.name }.map(\.column)
    )
    let wanted = String(
      own.utf8.count + exact.suffix.utf8.count > 63 ? own.prefix(40) + exact.suffix : own + exact.suffix
    )
    let name = names.take(wanted)
    try run("ALTER TABLE \(table.qualifiedName) ADD COLUMN \(name.quotedForSQL) \(exact.sql)")
    let comment = "the exact value where \(own) cannot hold it (realmfs replicate)"
    try run("COMMENT ON COLUMN \(table.qualifiedName).\(name.quotedForSQL) IS \(comment.quotedForSQLText)")
    try catalog.add(
      Catalog.Entry(
        role: .exact,
        table: table.name,
        className: Catalog.shown(table.className),
        keyForm: "",
        property: propertyName,
        form: own,
        column: name
      ),
      connection
    )
    changes.remarks.append(
      "\(table.className).\(propertyName) has values that \(form.sql) cannot hold; they are in the column \(name)"
    )
  }

  // MARK: links

  private func linksTable(
    _ source: Table,
    _ owner: String,
    _ className: String,
    _ keyForm: KeyForm,
    _ property: String,
    _ form: ColumnForm
  ) throws(ReplicaError) -> String {
    let formName = Catalog.shown(form.name)
    let known = catalog.entries.first { entry in
      entry.role == .links && entry.keyForm == owner && entry.property.isSame(as: property)
        && entry.form.isSame(as: formName) && !used.contains(entry.table)
    }
    if let known {
      used.insert(known.table)
      return known.table
    }
    try lock()
    for entry in catalog.entries
    where !isMany && entry.role == .links && entry.keyForm == owner && entry.property.isSame(as: property) {
      try dropTable(entry.table)
    }
    let name = try freeName("\(className)_\(property)")
    used.insert(name)
    let table = place.qualified(name), key = keyForm.scalar.sql, realm = isMany ? "realm, " : ""
    try run(
      """
      CREATE TABLE \(table) (\(isMany ? "realm text COLLATE \"C\" NOT NULL, " : "")owner \(key) NOT NULL, \
      position bigint NOT NULL, target \(form.sql) NOT NULL)\(partitionClause)
      """
    )
    try catalog.add(
      Catalog.Entry(
        role: .links,
        table: name,
        className: className,
        keyForm: owner,
        property: property,
        form: formName,
        column: ""
      ),
      connection
    )
    try makePartitions(of: name)
    try run("COMMENT ON TABLE \(table) IS \("\(className).\(property) (realmfs replicate)".quotedForSQLText)")
    try later("ALTER TABLE \(table) ADD PRIMARY KEY (\(realm)owner, position)", key: true)
    try later("CREATE INDEX ON \(table) (\(realm)target)")
    if !changes.created.contains(source.key) { changes.altered.insert(source.key) }
    return name
  }

  // MARK: references

  /// Adds the foreign keys of links whose columns are new.
  private func references(of table: ReplicaTable, _ all: [TableKey: ReplicaTable]) throws(ReplicaError) {
    guard isLocked else { return }
    func target(_ name: String, _ form: ScalarForm) -> ReplicaTable? {
      // The key of the target as it was when the column was made: in a replica of many realms it can be another table.
      all.values.first { $0.className.isSame(as: name) && $0.keyForm.scalar == form }
    }
    let realm = isMany ? "realm, " : ""
    var position = table.keyProperty == nil ? 1 : 0
    for slot in table.slots {
      guard case .value(let form, let hasExact) = slot else { continue }
      defer { position += hasExact ? 2 : 1 }
      guard case .link(let scalar, let name) = form, let other = target(name, scalar) else { continue }
      let column = table.columns[position].name
      try reference(table.name, "\(realm)\(column.quotedForSQL)", other, "", column)
    }
    for links in table.links {
      try reference(links.name, "\(realm)owner", table, " ON DELETE CASCADE", "owner")
      if let other = target(links.targetClass, links.target) {
        try reference(links.name, "\(realm)target", other, "", "target")
      }
    }
  }

  private func reference(
    _ table: String,
    _ columns: String,
    _ target: ReplicaTable,
    _ action: String,
    _ column: String
  ) throws(ReplicaError) {
    var isThere = false
    try connection.forEachRow(
      """
      SELECT EXISTS (SELECT FROM pg_constraint c \
      JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = ANY (c.conkey) \
      WHERE c.contype = 'f' AND c.conrelid = $1::text::regclass AND a.attname = $2 \
      AND c.confrelid = $3::text::regclass)
      """,
      [.text(place.qualified(table)), .text(column), .text(target.qualifiedName)]
    ) { row in isThere = row.bytes(0, 0) == [1] }
    if isThere { return }
    let realm = isMany ? "realm, " : ""
    try later(
      """
      ALTER TABLE \(place.qualified(table)) ADD FOREIGN KEY (\(columns)) REFERENCES \(target.qualifiedName) \
      (\(realm)\(target.keyColumn.name.quotedForSQL))\(action) DEFERRABLE INITIALLY DEFERRED
      """
    )
  }

  // MARK: what is not needed any more

  /// A realm among many leaves tables and columns to the others, but no rows and values, which may lead nowhere.
  private func clearObsolete(_ tables: some Collection<ReplicaTable>) {
    let columns = Dictionary(
      tables.map { ($0.name, Set($0.columns.map(\.name))) },
      uniquingKeysWith: { first, _ in first }
    )
    for entry in catalog.entries {
      let table = place.qualified(entry.table), column = entry.column.quotedForSQL
      switch entry.role {
      case .table, .links:
        if !used.contains(entry.table) { changes.obsolete.append("DELETE FROM \(table) WHERE realm = $1::text") }
      case .value, .exact:
        guard let known = columns[entry.table], !known.contains(entry.column) else { continue }
        changes.obsolete.append(
          "UPDATE \(table) SET \(column) = NULL WHERE realm = $1::text AND \(column) IS NOT NULL"
        )
      }
    }
  }

  private func dropTables(exceptOf classes: [Table]) throws(ReplicaError) {
    let wanted = classes.map { (Catalog.shown($0.className ?? $0.name), Catalog.shown(KeyForm($0).name)) }
    for entry in catalog.entries where entry.role == .table {
      let isWanted = wanted.contains { $0.0.isSame(as: entry.className) && $0.1.isSame(as: entry.form) }
      if isWanted { continue }
      for links in catalog.entries where links.role == .links && links.keyForm == entry.table {
        try dropTable(links.table)
      }
      try dropTable(entry.table)
    }
  }

  private func dropColumns(
    of table: String,
    except names: Set<String>,
    links: Set<String>,
    _ source: Table
  ) throws(ReplicaError) {
    for entry in catalog.entries where entry.table == table && (entry.role == .value || entry.role == .exact) {
      if !names.contains(entry.column) { try dropColumn(entry.column, of: table) }
    }
    for entry in catalog.entries where entry.role == .links && entry.keyForm == table && !links.contains(entry.table) {
      try dropTable(entry.table)
    }
  }

  private func dropColumn(_ column: String, of table: String) throws(ReplicaError) {
    if !catalog.entries.contains(where: { $0.table == table && $0.column == column }) { return }
    try lock()
    for entry in catalog.entries where entry.role == .exact && entry.table == table && entry.form == column {
      try dropColumn(entry.column, of: table)
    }
    let sql = "ALTER TABLE \(place.qualified(table)) DROP COLUMN \(column.quotedForSQL)"
    if try !runUnlessNeeded(sql) {
      let kept = try keptName(column)
      try run(
        "ALTER TABLE \(place.qualified(table)) RENAME COLUMN \(column.quotedForSQL) TO \(kept.quotedForSQL)"
      )
      changes.remarks.append("column \(table).\(column) is used by a view or the like; it is kept as \(kept)")
    }
    try catalog.remove(column: column, of: table, connection)
  }

  private func dropTable(_ table: String) throws(ReplicaError) {
    try lock()
    try connection.forEachRow(
      """
      SELECT c.conrelid::regclass::text, quote_ident(c.conname) FROM pg_constraint c \
      WHERE c.contype = 'f' AND c.confrelid = $1::text::regclass
      """,
      [.text(place.qualified(table))]
    ) { row in
      if let from = row.text(0, 0), let name = row.text(0, 1) { self.references.append((from, name)) }
    }
    for (from, name) in references { try run("ALTER TABLE \(from) DROP CONSTRAINT \(name)") }
    references = []
    if try !runUnlessNeeded("DROP TABLE \(place.qualified(table))") {
      let kept = try keptName(table)
      try run("ALTER TABLE \(place.qualified(table)) RENAME TO \(kept.quotedForSQL)")
      changes.remarks.append("table \(table) is used by a view or the like; it is kept as \(kept)")
    }
    try catalog.remove(table: table, connection)
  }

  private var references: [(table: String, name: String)] = []

  private func keptName(_ name: String) throws(ReplicaError) -> String {
    var names = SQLNames.postgres(reserved: [])
    return names.take("_former_" + String(name.prefix(24)) + "_\(snapshot.version)")
  }

  /// Runs a statement that fails where others depend on what it removes; false then.
  private func runUnlessNeeded(_ sql: String) throws(ReplicaError) -> Bool {
    try lock()
    try connection.run("SAVEPOINT removal")
    do throws(ReplicaError) { try connection.run(sql) } catch {
      guard case .server(state: "2BP01", _) = error else { throw error }
      try connection.run("ROLLBACK TO removal; RELEASE removal")
      return false
    }
    try connection.run("RELEASE removal")
    return true
  }
}

extension ColumnForm {
  var isLink: Bool { if case .link = self { true } else { false } }
}

extension String {
  /// Whether two names have the same bytes: Swift takes letters with accents for the same however they are written.
  func isSame(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

  /// A literal in SQL.
  var quotedForSQLText: String {
    let text = doubling("'")
    return
      (contains("\\")
      ? " E'" + text.doubling("\\") : "'" + text)
      + "'"
  }
}
