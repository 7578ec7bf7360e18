// Maps the tables of a SQLite database to classes: by name to those of the realm, otherwise to new ones, whose
// properties have the types that the columns declare and hold.

import RealmJSON
import RealmPages

/// The classes and properties of the tables to import.
struct SQLiteMapping {
  /// A table and its class.
  struct MappedTable {
    let table: SQLiteTable
    let className: String
    let columns: [MappedColumn]
  }

  /// A column and its property.
  struct MappedColumn {
    let column: String
    let property: PropertyDescription
  }

  private(set) var tables: [MappedTable] = []
  private(set) var newClasses: [ClassDescription] = []
  private(set) var lines: [String] = []
  private(set) var notes: [String] = []
  /// The schema of the realm with the new classes.
  private(set) var schema: SchemaDescription

  /// Tables in which frameworks store facts about the database.
  private static let internalTables: [String: String] = [
    "android_metadata": "Android", "room_master_table": "Room", "grdb_migrations": "GRDB", "alembic_version": "Alembic",
    "django_migrations": "Django", "schema_migrations": "a migration tool", "z_primarykey": "Core Data",
    "z_metadata": "Core Data", "z_modelcache": "Core Data",
  ]

  /// Maps the tables of a database; only that of `className`, if it is given.
  init(
    _ content: SQLiteSchema,
    _ realm: SchemaDescription,
    className wanted: String?,
    _ database: SQLiteDatabase
  ) throws {
    schema = realm
    for name in content.virtualTables { notes.append("table \(name) is virtual and is not imported") }
    let exported = SQLiteNames(realm)
    var chosen: [(table: SQLiteTable, className: String, isNew: Bool)] = []
    for table in content.tables where !table.isExportedChild {
      if let owner = Self.internalTables[table.name.lowercased()] {
        notes.append("table \(table.name) belongs to \(owner) and is not imported")
        continue
      }
      let known: String?
      if table.isExported {
        known = zip(realm.classes, exported.classes).first { $1.table == table.name }?.0.name
      } else {
        known = Self.match(table.name, realm.classes.map(\.name))
      }
      if let wanted, !(known ?? table.name).isExactly(wanted) { continue }
      if let known, realm[known]?.kind == .embedded {
        if table.isExported {
          // Its objects are imported inside their parents.
          try Self.checkColumns(of: table, known, realm, exported)
          continue
        }
        throw TransferError.unsuitable(
          "table \(table.name): class \(known) is embedded; its objects exist inside others"
        )
      }
      if known == nil, table.isExported {
        if try Self.isEmpty(table, database) { continue }
        let hint = KnownNames(realm.classes.map(\.name)).hint(for: table.name)
        throw TransferError.unsuitable(
          "table \(table.name): no class \(table.name); \(hint); copy the classes with 'realmfs schema' and "
            + "'realmfs create --schema'"
        )
      }
      chosen.append((table, known ?? table.name, known == nil))
    }
    if let wanted, chosen.isEmpty {
      throw TransferError.unsuitable("no table \(wanted); \(KnownNames(content.tables.map(\.name)).hint(for: wanted))")
    }
    if wanted == nil { try Self.checkCollections(content, exported, database) }
    // Links need the primary keys of all classes.
    var types = try ColumnTypes(database)
    for entry in chosen where entry.isNew { newClasses.append(try types.description(of: entry.table)) }
    let names = Dictionary(chosen.map { ($0.table.name.lowercased(), $0.className) }) { first, _ in first }
    for index in newClasses.indices {
      guard let table = chosen.first(where: { $0.className.isExactly(newClasses[index].name) })?.table else { continue }
      link(&newClasses[index], table, content, names)
    }
    schema.classes += newClasses
    for (table, className, isNew) in chosen { try add(table, className, isNew, content, exported) }
  }

  /// Returns the class for a table: the one of its name, or the only one that differs only in case.
  private static func match(_ name: String, _ classes: [String]) -> String? {
    if let same = classes.first(where: { $0.isExactly(name) }) { return same }
    let similar = classes.filter { $0.lowercased() == name.lowercased() }
    return similar.count == 1 ? similar[0] : nil
  }

  /// Throws if an exported table of embedded objects has a column that is not a property of their class.
  private static func checkColumns(
    of table: SQLiteTable,
    _ className: String,
    _ realm: SchemaDescription,
    _ exported: SQLiteNames
  ) throws {
    guard let index = realm.classes.firstIndex(where: { $0.name.isExactly(className) }) else { return }
    let names = exported.classes[index].properties.map(\.name)
    for column in table.columns.dropFirst() where !names.contains(column.name) {
      throw unknown(column.name, table, realm.classes[index])
    }
  }

  /// Throws if an exported table contains the elements of a collection that no class has.
  private static func checkCollections(
    _ content: SQLiteSchema,
    _ exported: SQLiteNames,
    _ database: SQLiteDatabase
  ) throws {
    let names = Set(exported.classes.flatMap(\.properties).map(\.name))
    for table in content.tables where table.isExportedChild && !names.contains(table.name) {
      if try isEmpty(table, database) { continue }
      throw TransferError.unsuitable(
        "table \(table.name): no class has this collection; add the property with 'realmfs property'"
      )
    }
  }

  private static func isEmpty(_ table: SQLiteTable, _ database: SQLiteDatabase) throws -> Bool {
    try SQLiteStatement(database, "SELECT 1 FROM \(table.name.quotedForSQL) LIMIT 1").rows().isEmpty
  }

  /// Turns the columns of a new class that refer to the primary keys of other classes into links.
  private func link(
    _ description: inout ClassDescription,
    _ table: SQLiteTable,
    _ content: SQLiteSchema,
    _ names: [String: String]
  ) {
    for reference in table.references {
      guard let target = content.tables.first(where: { $0.name.lowercased() == reference.table.lowercased() }),
        let className = names[target.name.lowercased()],
        let known = schema[className] ?? newClasses.first(where: { $0.name.isExactly(className) }),
        let key = known.primaryKey, Self.match(reference.target ?? target.key?.name ?? "", [key]) != nil,
        let index = description.properties.firstIndex(where: { $0.name.isExactly(reference.column) }),
        description.primaryKey.map({ !$0.isExactly(reference.column) }) ?? true
      else { continue }
      description.properties[index] = PropertyDescription(name: reference.column, type: .link, target: className)
    }
  }

  private mutating func add(
    _ table: SQLiteTable,
    _ className: String,
    _ isNew: Bool,
    _ content: SQLiteSchema,
    _ exported: SQLiteNames
  ) throws {
    guard let description = schema[className] else { return }
    var columns: [MappedColumn] = []
    if table.isExported, let position = schema.classes.firstIndex(where: { $0.name.isExactly(className) }),
      position < exported.classes.count
    {
      let names = exported.classes[position].properties
      for (property, name) in zip(description.properties, names) where property.collection == nil {
        guard table.columns.contains(where: { $0.name == name.name }) else { continue }
        columns.append(MappedColumn(column: name.name, property: property))
      }
      for column in table.columns.dropFirst() where !columns.contains(where: { $0.column == column.name }) {
        throw Self.unknown(column.name, table, description)
      }
      // A collection that the class got after the export has no table.
      for (property, name) in zip(description.properties, names) where property.collection != nil {
        guard content.hasCollection(name.name) else { continue }
        columns.append(MappedColumn(column: name.name, property: property))
      }
    } else {
      for column in table.columns {
        guard let name = Self.match(column.name, description.properties.map(\.name)), let property = description[name]
        else { throw Self.unknown(column.name, table, description) }
        columns.append(MappedColumn(column: column.name, property: property))
      }
    }
    tables.append(MappedTable(table: table, className: className, columns: columns))
    let properties = columns.map { column in
      let name = column.property.name.isExactly(column.column) || table.isExported ? "" : "\(column.column) as "
      let isKey = description.primaryKey.isExactly(column.property.name)
      return "\(name)\(column.property.name) \(column.property.typeText)\(isKey ? " (primary key)" : "")"
    }
    lines.append(
      "table \(table.name): \(isNew ? "new class" : "class") \(className): \(properties.joined(separator: ", "))"
    )
  }

  private static func unknown(
    _ column: String,
    _ table: SQLiteTable,
    _ description: ClassDescription
  ) -> TransferError {
    let hint = KnownNames(description.properties.map(\.name)).hint(for: column)
    return .unsuitable(
      "table \(table.name), column \(column): \(description.name) has no property of this name; \(hint)"
    )
  }
}

/// Chooses the types of properties for new classes.
private struct ColumnTypes {
  private let database: SQLiteDatabase

  init(_ database: SQLiteDatabase) throws { self.database = database }

  /// The values in a column.
  private struct Content {
    let integers: Int64, reals: Int64, texts: Int64, blobs: Int64, nulls: Int64
    let areBits: Bool

    var count: Int64 { integers + reals + texts + blobs }
  }

  /// Returns the class for a table. Its links are not known yet.
  ///
  /// Cost: reading the table once for each column.
  mutating func description(of table: SQLiteTable) throws -> ClassDescription {
    var description = ClassDescription(name: table.name)
    for column in table.columns {
      let content = try content(of: column, table), type = try type(of: column, table, content)
      let isKey = try column.name == table.key?.name && isKey(column, table, type, content)
      let isNullable = content.nulls > 0 || !column.isRequired && !isKey
      if isKey { description.primaryKey = column.name }
      description.properties.append(PropertyDescription(name: column.name, type: type, isNullable: isNullable))
    }
    return description
  }

  /// True if the values of a primary key are different keys of a class.
  ///
  /// In SQLite, a primary key can be null in several rows, and UUIDs can differ in case alone.
  private func isKey(
    _ column: SQLiteTable.Column,
    _ table: SQLiteTable,
    _ type: ValueType,
    _ content: Content
  ) throws -> Bool {
    if content.nulls > 0 { return false }
    if type != .uuid { return type == .int || type == .string }
    let name = column.name.quotedForSQL
    let digits = "lower(CASE typeof(\(name)) WHEN 'blob' THEN hex(\(name)) ELSE replace(\(name), '-', '') END)"
    let row = try SQLiteStatement(
      database,
      "SELECT count(DISTINCT \(digits)) FROM \(table.name.quotedForSQL)"
    ).rows().first
    return row?[0].integer == content.count
  }

  private func content(
    of column: SQLiteTable.Column,
    _ table: SQLiteTable
  ) throws -> Content {
    let name = column.name.quotedForSQL
    let kinds = ["integer", "real", "text", "blob", "null"].map { "total(typeof(\(name)) = '\($0)')" }
    let row = try SQLiteStatement(
      database,
      "SELECT \(kinds.map { "CAST(\($0) AS INTEGER)" }.joined(separator: ", ")), total(\(name) NOT IN (0, 1)) = 0.0 "
        + "FROM \(table.name.quotedForSQL)"
    ).rows().first
    let counts = (0..<6).map { row?[$0].integer ?? 0 }
    return Content(
      integers: counts[0],
      reals: counts[1],
      texts: counts[2],
      blobs: counts[3],
      nulls: counts[4],
      areBits: counts[5] == 1
    )
  }

  /// Returns the declared type if the values have it, otherwise a type that all values have.
  private func type(
    of column: SQLiteTable.Column,
    _ table: SQLiteTable,
    _ content: Content
  ) throws -> ValueType {
    func declares(_ words: String...) -> Bool { words.contains { column.declared.contains($0) } }
    let areIntegers = content.integers == content.count, areTexts = content.texts == content.count
    if declares("BOOL"), areIntegers, content.areBits { return .bool }
    if declares("UUID", "GUID"), try holds(column, table, content, { Self.isUUID($0) }) { return .uuid }
    if declares("DATE", "TIME"), areTexts, try holds(column, table, content, { Self.isDate($0) }) { return .date }
    if declares("DECIMAL", "NUMERIC", "MONEY"), content.texts + content.blobs == 0 { return .decimal128 }
    if declares("INT"), !declares("POINT"), areIntegers { return .int }
    if declares("CHAR", "CLOB", "TEXT", "JSON"), areTexts { return .string }
    if declares("BLOB"), content.blobs == content.count { return .data }
    if declares("REAL", "FLOA", "DOUB"), content.texts + content.blobs == 0 { return .double }
    if content.count == 0 { return column.declared.isEmpty ? .mixed : .string }
    if areIntegers { return .int }
    if content.integers + content.reals == content.count { return .double }
    if areTexts { return .string }
    return content.blobs == content.count ? .data : .mixed
  }

  /// True if all values other than null satisfy a condition.
  private func holds(
    _ column: SQLiteTable.Column,
    _ table: SQLiteTable,
    _ content: Content,
    _ condition: (SQLiteValue) -> Bool
  ) throws -> Bool {
    if content.texts + content.blobs != content.count { return false }
    let name = column.name.quotedForSQL
    let values = try SQLiteStatement(
      database,
      "SELECT \(name) FROM \(table.name.quotedForSQL) WHERE \(name) IS NOT NULL"
    )
    defer { values.reset() }
    while let row = try values.next() { if !condition(row[0]) { return false } }
    return true
  }

  private static func isDate(_ value: SQLiteValue) -> Bool {
    if case .text(let text) = value { Timestamp(lenient: text) != nil } else { false }
  }

  private static func isUUID(_ value: SQLiteValue) -> Bool {
    switch value {
    case .text(let text):
      let groups = text.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
      return groups.map(\.count) == [8, 4, 4, 4, 12]
        && groups.joined().allSatisfy { Character(UnicodeScalar($0)).isHexDigit && $0 < 0x80 }
    case .blob(let bytes): return bytes.count == 16
    default: return false
    }
  }
}
