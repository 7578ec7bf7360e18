// The tables of a SQLite database, with their columns and foreign keys.

/// A table of a database.
struct SQLiteTable {
  struct Column {
    let name: String
    /// The declared type, in upper case; empty if there is none.
    let declared: String
    let isRequired: Bool
    /// The position in the primary key, from 1; 0 if the column is not in it.
    let keyPosition: Int64
  }

  /// A foreign key of one column.
  struct Reference {
    let column: String
    let table: String
    /// The referenced column; nil for the primary key.
    let target: String?
  }

  let name: String
  let columns: [Column]
  let references: [Reference]

  /// The column that is the primary key; nil if there is none, or if it has several columns.
  var key: Column? {
    let columns = columns.filter { $0.keyPosition > 0 }
    return columns.count == 1 ? columns[0] : nil
  }

  /// True if `realmfs export` wrote the table for a class.
  var isExported: Bool { columns.first?.name == "_key" && columns.first?.keyPosition == 1 }

  /// True if `realmfs export` wrote the table for a collection.
  var isExportedChild: Bool {
    columns.count == 3 && columns[0].name == "_owner" && columns[2].name == "value"
      && (columns[1].name == "_index" || columns[1].name == "_name")
  }
}

/// The tables of a database, in the order of their creation.
struct SQLiteSchema {
  private(set) var tables: [SQLiteTable] = []
  /// The names of virtual tables, whose content only their module can read.
  private(set) var virtualTables: [String] = []

  init(_ database: SQLiteDatabase) throws {
    let names = try SQLiteStatement(
      database,
      """
      SELECT m.name, l.type FROM sqlite_master m JOIN pragma_table_list l ON l.name = m.name AND l.schema = 'main' \
      WHERE m.type = 'table' AND m.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' ORDER BY m.rowid
      """
    ).rows()
    for row in names {
      guard let name = row[0].string, let type = row[1].string else { continue }
      switch type {
      case "table": tables.append(try Self.table(name, database))
      case "virtual": virtualTables.append(name)
      // The tables in which a virtual table stores its content.
      default: break
      }
    }
  }

  /// True if `realmfs export` wrote a table of this name for a collection.
  func hasCollection(_ name: String) -> Bool { tables.contains { $0.name == name && $0.isExportedChild } }

  /// True if the table that `realmfs export` wrote for a class has a column.
  func hasColumn(_ name: String, of table: String) -> Bool {
    tables.contains { $0.name == table && $0.columns.contains { $0.name == name } }
  }

  private static func table(_ name: String, _ database: SQLiteDatabase) throws -> SQLiteTable {
    let literal = "'" + name.doubling("'") + "'"
    // Hidden columns of a virtual table have 1; generated ones 2 and 3.
    let columns = try SQLiteStatement(
      database,
      "SELECT name, type, \"notnull\", pk FROM pragma_table_xinfo(\(literal)) WHERE hidden <> 1 ORDER BY cid"
    ).rows().map {
      SQLiteTable.Column(
        name: $0[0].string ?? "",
        declared: ($0[1].string ?? "").uppercased(),
        isRequired: $0[2].integer == 1,
        keyPosition: $0[3].integer ?? 0
      )
    }
    let keys = try SQLiteStatement(
      database,
      "SELECT \"from\", \"table\", \"to\" FROM pragma_foreign_key_list(\(literal)) GROUP BY id HAVING count(*) = 1"
    ).rows()
    let references = keys.compactMap { row -> SQLiteTable.Reference? in
      guard let column = row[0].string, let table = row[1].string else { return nil }
      return SQLiteTable.Reference(column: column, table: table, target: row[2].string)
    }
    return SQLiteTable(name: name, columns: columns, references: references)
  }
}
