// Creates and renames the columns of properties, their indexes, and the companion columns for values that do not fit.

import RealmPages
import RealmTransfer

extension SchemaPlanner {
  /// Returns the type of a column, with its constraints.
  static func declaration(_ form: ColumnForm, _ name: String) -> String {
    guard case .scalar(let scalar) = form else { return form.sql }
    switch scalar.type {
    case .objectID: return "text COLLATE \"C\" CHECK (\(name.quotedForSQL) ~ '^[0-9a-f]{24}$')"
    default: return form.sql
    }
  }

  /// Column names that are never used for properties.
  static let reservedColumns = ["realm", "_object_key", "ctid", "xmin", "xmax", "cmin", "cmax", "tableoid"]

  /// Returns a name that no column of the table has, including columns that others created.
  func freeColumnName(_ wanted: String, in table: String) throws -> String {
    var taken = Self.reservedColumns
    try connection.forEachRow(
      """
      SELECT attname::text FROM pg_attribute \
      WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped
      """,
      [.text(place.qualified(table))]
    ) { row in if let name = row.text(0, 0) { taken.append(name) } }
    var names = SQLNames.postgres(reserved: taken)
    return names.take(wanted)
  }

  func column(
    _ property: String,
    _ form: ColumnForm,
    of table: String,
    _ className: String,
    _ source: Table
  ) throws -> String {
    if let known = try known(.value, of: table, property, form) { return known.column }
    let name = try freeColumnName(property, in: table)
    used.insert(Catalog.Place(table: table, column: name))
    if !name.isExactly(property) {
      changes.remarks.append("property \(className).\(property): the column is called \(name)")
    }
    let declaration = "\(name.quotedForSQL) \(Self.declaration(form, name))"
    do { try run("ALTER TABLE \(place.qualified(table)) ADD COLUMN \(declaration)") } catch ReplicaError.server(
      state: "54011",
      _
    ) {
      throw ReplicaError.unsuitable(
        "class \(className) has more properties than a table of PostgreSQL can have columns (1600, dropped ones too)"
      )
    }
    try catalog.add(
      Catalog.Entry(
        role: .value,
        table: table,
        className: className,
        keyForm: "",
        property: property,
        form: Catalog.shown(form.name),
        column: name
      ),
      connection
    )
    if !changes.created.contains(source.key) { changes.altered.insert(source.key) }
    let isIndexed = source.columns.contains { Catalog.shown($0.name).isExactly(property) && $0.index == .general }
    if isIndexed || form.isLink { try later(index(on: name, of: table, form)) }
    return name
  }

  /// Returns the statement that creates an index. Text gets a hash index, because other index types reject long texts.
  func index(on column: String, of table: String, _ form: ColumnForm) -> String {
    let isText = form.sql == "text"
    if isText { return "CREATE INDEX ON \(place.qualified(table)) USING hash (\(column.quotedForSQL))" }
    let columns = (isMany ? ["realm"] : []) + [column]
    return "CREATE INDEX ON \(place.qualified(table)) (\(columns.map(\.quotedForSQL).joined(separator: ", ")))"
  }

  /// Renames the column or links table of a property; objects that others created on it stay attached.
  func rename(_ renamed: PropertyRename) throws {
    let from = Catalog.shown(renamed.from), to = Catalog.shown(renamed.to)
    let classes = catalog.entries.filter {
      $0.role == .table && $0.className.isExactly(Catalog.shown(renamed.className))
    }
    guard let owner = classes.first, classes.count == 1 else { return }
    for role in [Catalog.Role.value, .links] where catalog.entries(role, of: owner.table, to).isEmpty {
      for entry in catalog.entries(role, of: owner.table, from) {
        if role == .links {
          let name = try freeName("\(owner.className)_\(to)")
          try run("ALTER TABLE \(place.qualified(entry.table)) RENAME TO \(name.quotedForSQL)")
          try catalog.rename(entry, property: to, table: name, connection)
          continue
        }
        let name = try renameColumn(entry.column, to, of: entry.table)
        try catalog.rename(entry, property: to, column: name, connection)
        for beside in catalog.entries(.exact, of: entry.table, from) {
          let suffix = String(
            beside.column.dropFirst(beside.column.hasPrefix(entry.column) ? entry.column.count : .max)
          )
          let exact = try renameColumn(beside.column, Self.companionName(name, suffix), of: entry.table)
          try catalog.rename(beside, property: to, form: name, column: exact, connection)
        }
      }
    }
    // The form of a table's key contains the property name, and so do links to the table.
    let form = owner.form.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
    guard form.count == 2, String(form[1]).isExactly(from) else { return }
    try catalog.rename(owner, property: "", form: "\(form[0]) \(to)", connection)
    let target = " \(owner.className)(\(from))"
    for entry in catalog.entries where entry.form.hasPrefix("link") && entry.form.hasSuffix(target) {
      let form = "\(entry.form.dropLast(target.count)) \(owner.className)(\(to))"
      try catalog.rename(entry, property: entry.property, form: form, connection)
    }
  }

  private func renameColumn(_ column: String, _ wanted: String, of table: String) throws -> String {
    let name = try freeColumnName(wanted, in: table)
    try run("ALTER TABLE \(place.qualified(table)) RENAME COLUMN \(column.quotedForSQL) TO \(name.quotedForSQL)")
    return name
  }

  private static func companionName(_ column: String, _ suffix: String) -> String {
    column.cut(to: 63 - suffix.utf8.count) + suffix
  }

  /// Adds the companion column of a property.
  func addExact(_ table: ReplicaTable, property: Int, of source: Table) throws {
    guard case .value(let form, false) = table.slots[property], let exact = form.exact else { return }
    let propertyName = Catalog.shown(source.columns[property].name)
    var position = table.keyProperty == nil ? 1 : 0
    for slot in table.slots[..<property] {
      if case .value(_, let hasExact) = slot { position += hasExact ? 2 : 1 }
    }
    let own = table.columns[position].name
    let name = try freeColumnName(Self.companionName(own, exact.suffix), in: table.name)
    try run("ALTER TABLE \(table.qualifiedName) ADD COLUMN \(name.quotedForSQL) \(exact.type.name)")
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
}
