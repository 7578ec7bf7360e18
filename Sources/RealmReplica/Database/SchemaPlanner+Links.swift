// Creates the tables for lists and sets of links, and the foreign keys of all links.

import RealmPages
import RealmTransfer

extension SchemaPlanner {
  // MARK: tables

  func linksTable(
    _ source: Table,
    _ owner: String,
    _ className: String,
    _ keyForm: RowKeyForm,
    _ property: String,
    _ form: ColumnForm
  ) throws -> String {
    if let known = try known(.links, of: owner, property, form) { return known.table }
    let name = try freeName("\(className)_\(property)")
    used.insert(Catalog.Place(table: name))
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
        form: Catalog.shown(form.name),
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
  func references(of table: ReplicaTable, _ all: [TableKey: ReplicaTable]) throws {
    guard isLocked else { return }
    func found(_ target: LinkTarget) -> ReplicaTable? {
      all.values.first { $0.className.isExactly(target.className) && $0.keyForm == target.key }
    }
    let realm = isMany ? "realm, " : ""
    var position = table.keyProperty == nil ? 1 : 0
    for slot in table.slots {
      guard case .value(let form, let hasExact) = slot else { continue }
      defer { position += hasExact ? 2 : 1 }
      guard case .link(let target) = form, let other = found(target) else { continue }
      let column = table.columns[position].name
      try reference(table.name, "\(realm)\(column.quotedForSQL)", other, "", column)
    }
    for links in table.links {
      try reference(links.name, "\(realm)owner", table, " ON DELETE CASCADE", "owner")
      if let other = found(links.target) {
        try reference(links.name, "\(realm)target", other, "", "target")
      }
    }
  }

  func reference(
    _ table: String,
    _ columns: String,
    _ target: ReplicaTable,
    _ action: String,
    _ column: String
  ) throws {
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
}
