// Creates the tables of classes: their names, keys, comments and partitions.

import RealmPages
import RealmTransfer

extension SchemaPlanner {
  func create(
    _ source: Table,
    _ className: String,
    _ keyForm: RowKeyForm,
    _ form: String
  ) throws -> String {
    try lock()
    let name = try freeName(className)
    if !name.isExactly(className) {
      let cause = catalog.tables.contains(className) ? "another table has its name" : "PostgreSQL has no such name"
      changes.remarks.append("class \(className): the table is called \(name), because \(cause)")
    }
    var columns: [String] = []
    if isMany { columns.append("realm text COLLATE \"C\" NOT NULL") }
    var names = SQLNames.postgres(reserved: Self.reservedColumns)
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
    // A table of this name was dropped by others, but its links tables remain.
    for links in catalog.entries where !isMany && links.role == .links && links.owner == name {
      try dropTable(links.table)
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

  /// Returns a name that no table has, including tables that others created.
  func freeName(_ wanted: String) throws -> String {
    var names = SQLNames.postgres(reserved: ["_realmfs", "_realmfs_columns"] + catalog.tables)
    while true {
      let name = names.take(wanted)
      var isFree = true
      // Each table also defines a row type with its name, so the name must not be a type either.
      try connection.forEachRow(
        "SELECT to_regclass($1) IS NULL AND to_regtype($1) IS NULL",
        [.text(place.qualified(name))]
      ) { row in isFree = row.bytes(0, 0) == [1] }
      if isFree { return name }
      changes.remarks.append("a table \(name) was there before and is not touched")
    }
  }

  var partitionClause: String {
    switch place.partition {
    case nil: ""
    case .hash: " PARTITION BY HASH (realm)"
    case .list: " PARTITION BY LIST (realm)"
    }
  }

  func makePartitions(of name: String) throws {
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

  /// If each realm has its own partition, creates the missing ones for this realm.
  func makeParts(for tables: some Sequence<ReplicaTable>) throws {
    guard place.partition == .list, let realm = place.realm else { return }
    for table in tables {
      for name in [table.name] + table.links.map(\.name) {
        let hash = SHA256Digest.word(of: Array("\(name)/\(realm)".utf8))
        // A name of at most 63 bytes, including the complete hash.
        let part = place.qualified(name.cut(to: 40) + "_" + hexadecimal(hash, digits: 16))
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

  func comment(on name: String, _ className: String) throws {
    let version = try self.snapshot.schemaVersion()
    let text = "class \(className)" + (version.map { ", schema version \($0)" } ?? "") + " (realmfs replicate)"
    try run("COMMENT ON TABLE \(place.qualified(name)) IS \(text.quotedForSQLText)")
  }
}
