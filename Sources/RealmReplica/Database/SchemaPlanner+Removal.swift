// Drops the tables and columns that a version no longer needs, or renames those that views or other objects depend on.
// With many realms, tables and columns are kept for the other realms.

import RealmPages
import RealmTransfer

extension SchemaPlanner {
  /// The SQLSTATE of an object that other objects depend on.
  private static let isNeeded = "2BP01"

  /// Queues the removal of obsolete rows and values, for a replica of many realms: tables and columns are kept for the
  /// other realms, but stale rows and values may have dangling links.
  func clearObsolete(_ tables: some Collection<ReplicaTable>) {
    let columns = Dictionary(
      tables.map { ($0.name, Set($0.columns.map(\.name))) },
      uniquingKeysWith: { first, _ in first }
    )
    for entry in catalog.entries where !isDamaged(entry) {
      let table = place.qualified(entry.table), column = entry.column.quotedForSQL
      switch entry.role {
      case .table, .links:
        if !used.contains(entry.place) { changes.obsolete.append("DELETE FROM \(table) WHERE realm = $1::text") }
      case .value, .exact:
        guard let known = columns[entry.table], !known.contains(entry.column) else { continue }
        changes.obsolete.append(
          "UPDATE \(table) SET \(column) = NULL WHERE realm = $1::text AND \(column) IS NOT NULL"
        )
      }
    }
  }

  /// True if the entry belongs to a class whose schema cannot be read.
  private func isDamaged(_ entry: Catalog.Entry) -> Bool {
    changes.damaged.contains { $0.className.isExactly(entry.className) }
  }

  func dropTables(exceptOf classes: [Table]) throws {
    let wanted = classes.map { (Catalog.shown($0.className ?? $0.name), Catalog.shown(RowKeyForm($0).name)) }
    for entry in catalog.entries where entry.role == .table && !isDamaged(entry) {
      let isWanted = wanted.contains { $0.0.isExactly(entry.className) && $0.1.isExactly(entry.form) }
      if isWanted { continue }
      for links in catalog.entries where links.role == .links && links.keyForm == entry.table {
        try dropTable(links.table)
      }
      try dropTable(entry.table)
    }
  }

  func dropColumns(
    of table: String,
    except names: Set<String>,
    links: Set<String>,
    _ source: Table
  ) throws {
    for entry in catalog.entries where entry.table == table && (entry.role == .value || entry.role == .exact) {
      if !names.contains(entry.column) { try dropColumn(entry.column, of: table) }
    }
    for entry in catalog.entries where entry.role == .links && entry.keyForm == table && !links.contains(entry.table) {
      try dropTable(entry.table)
    }
  }

  func dropColumn(_ column: String, of table: String) throws {
    if !catalog.entries.contains(where: { $0.table == table && $0.column == column }) { return }
    try lock()
    for entry in catalog.entries where entry.role == .exact && entry.table == table && entry.form == column {
      try dropColumn(entry.column, of: table)
    }
    let sql = "ALTER TABLE \(place.qualified(table)) DROP COLUMN \(column.quotedForSQL)"
    if try !attempt(sql, unless: Self.isNeeded) {
      let kept = try freeColumnName(formerName(column), in: table)
      try run(
        "ALTER TABLE \(place.qualified(table)) RENAME COLUMN \(column.quotedForSQL) TO \(kept.quotedForSQL)"
      )
      changes.remarks.append("column \(table).\(column) is used by a view or the like; it is kept as \(kept)")
    }
    changes.dropped.append("column \(table).\(column)")
    try catalog.remove(column: column, of: table, connection)
  }

  func dropTable(_ table: String) throws {
    try lock()
    try connection.forEachRow("SELECT count(*) FROM \(place.qualified(table))") { row in
      self.changes.droppedRows += Int(row.integer(0, 0) ?? 0)
    }
    changes.dropped.append("table \(table)")
    var references: [(table: String, name: String)] = []
    try connection.forEachRow(
      """
      SELECT t.relname::text, c.conname::text FROM pg_constraint c JOIN pg_class t ON t.oid = c.conrelid \
      JOIN pg_namespace n ON n.oid = t.relnamespace \
      WHERE c.contype = 'f' AND c.conparentid = 0 AND c.confrelid = $1::text::regclass AND n.nspname = $2
      """,
      [.text(place.qualified(table)), .text(place.schema)]
    ) { row in
      if let from = row.text(0, 0), let name = row.text(0, 1) { references.append((from, name)) }
    }
    // A reference that others created keeps the table.
    for (from, name) in references where catalog.tables.contains(from) {
      try run("ALTER TABLE \(place.qualified(from)) DROP CONSTRAINT \(name.quotedForSQL)")
    }
    if try !attempt("DROP TABLE \(place.qualified(table))", unless: Self.isNeeded) {
      let kept = try freeName(formerName(table))
      try run("ALTER TABLE \(place.qualified(table)) RENAME TO \(kept.quotedForSQL)")
      changes.remarks.append("table \(table) is used by a view or the like; it is kept as \(kept)")
    }
    try catalog.remove(table: table, connection)
  }

  /// Returns the name for a table or column that must be kept.
  private func formerName(_ name: String) -> String { "_former_\(name.cut(to: 30))_\(snapshot.version)" }
}
