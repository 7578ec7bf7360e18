// Columns of properties, their indexes, and the columns beside them for values that do not fit.

import RealmPages
import RealmTransfer

extension SchemaPlanner {
  /// The type of a column with its checks.
  static func declaration(_ form: ColumnForm, _ name: String) -> String {
    guard case .scalar(let scalar) = form else { return form.sql }
    switch scalar.type {
    case .objectID: return "text COLLATE \"C\" CHECK (\(name.quotedForSQL) ~ '^[0-9a-f]{24}$')"
    default: return form.sql
    }
  }

  func column(
    _ property: String,
    _ form: ColumnForm,
    of table: String,
    _ className: String,
    _ names: inout SQLNames,
    _ source: Table
  ) throws(ReplicaError) -> String {
    if let known = try known(.value, of: table, property, form) { return known.column }
    let name = names.take(property)
    used.insert(Catalog.Place(table: table, column: name))
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
        form: Catalog.shown(form.name),
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
  func index(on column: String, of table: String, _ form: ColumnForm) -> String {
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
}
