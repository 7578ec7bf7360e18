// The catalog of what a replica has created in its schema, stored next to the data in `_realmfs_columns`: the table of
// each class and the column of each property. It keeps names stable when other classes and properties are added, and
// keeps the replica from changing objects that others created.

import RealmPages
import RealmTransfer

/// The tables and columns of a replica. Not thread-safe: one thread at a time.
final class Catalog {
  /// The kind of a catalog row.
  enum Role: String {
    /// The table of a class; the form is that of the key.
    case table
    /// The column of a property.
    case value
    /// The companion column of a property, for values that do not fit.
    case exact
    /// The table of a property's links.
    case links
  }

  struct Entry {
    let role: Role
    let table: String
    let className: String
    let keyForm: String
    let property: String
    let form: String
    /// Empty for tables.
    let column: String

    /// The table of the class that the entry belongs to; for links, the table of the owners.
    var owner: String { role == .links ? keyForm : table }
    var place: Place { Place(table: table, column: column) }
  }

  /// A location in the schema: a column, or a table if `column` is empty.
  struct Place: Hashable {
    let table: String
    var column = ""
  }

  private(set) var entries: [Entry] = []
  let place: ReplicaPlace

  init(_ place: ReplicaPlace) { self.place = place }

  private var table: String { place.qualified("_realmfs_columns") }

  /// Creates the schema and the catalog tables if they do not exist.
  static func prepare(_ place: ReplicaPlace, _ connection: PostgresConnection) throws {
    func holds(_ condition: String, _ parameter: String) throws -> Bool {
      var holds = false
      try connection.forEachRow("SELECT \(condition)", [.text(parameter)]) { row in holds = row.bytes(0, 0) == [1] }
      return holds
    }
    if try holds("to_regclass($1) IS NOT NULL", place.qualified("_realmfs")) {
      let isOther = "EXISTS (SELECT FROM \(place.qualified("_realmfs")) WHERE (realm = '') = ($1 <> ''))"
      if try holds(isOther, place.realm == nil ? "" : "many") {
        let other = place.realm == nil ? "many realms" : "one realm"
        throw ReplicaError.unsuitable(
          "the schema \(place.schema) holds the replica of \(other); choose another with --schema"
        )
      }
      try addLineage(place, connection)
      return
    }
    try connection.run("BEGIN; \(lock(place))")
    // If the schema exists, the role does not need the privilege to create one.
    let schema = place.schema.quotedForSQL
    if try !holds("to_regnamespace($1) IS NOT NULL", schema) { try connection.run("CREATE SCHEMA \(schema)") }
    try connection.run("\(Catalog.creation(place)) COMMIT")
  }

  /// Returns the statement that prevents other programs from changing the tables of a schema until the transaction
  /// ends.
  static func lock(_ place: ReplicaPlace) -> String {
    let key = Int64(bitPattern: SHA256Digest.word(of: Array("realmfs \(place.schema)".utf8)))
    return "SELECT pg_advisory_xact_lock(\(key))"
  }

  /// Returns the statements that create the catalog and the state table if they do not exist.
  private static func creation(_ place: ReplicaPlace) -> String {
    """
    CREATE TABLE IF NOT EXISTS \(place.qualified("_realmfs_columns")) (
      id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, role text NOT NULL, table_name text NOT NULL,
      class text NOT NULL, key text NOT NULL, property text NOT NULL, form text NOT NULL, column_name text NOT NULL);
    COMMENT ON TABLE \(place.qualified("_realmfs_columns")) IS
      'realmfs: which table holds which class, and which column which property';
    CREATE TABLE IF NOT EXISTS \(place.qualified("_realmfs")) (
      realm text PRIMARY KEY, file text NOT NULL, identity text, stamp text, version bigint, schema_version bigint,
      lineage text, replicated_at timestamptz, state text NOT NULL, reason text);
    COMMENT ON TABLE \(place.qualified("_realmfs")) IS
      'realmfs: the version of each realm that the tables of this schema hold';
    """
  }

  /// Adds the column that replicas written by earlier versions of the program lack.
  private static func addLineage(_ place: ReplicaPlace, _ connection: PostgresConnection) throws {
    var isThere = false
    try connection.forEachRow(
      "SELECT EXISTS (SELECT FROM pg_attribute WHERE attrelid = to_regclass($1) AND attname = 'lineage')",
      [.text(place.qualified("_realmfs"))]
    ) { row in isThere = row.bytes(0, 0) == [1] }
    if isThere { return }
    try connection.run("ALTER TABLE \(place.qualified("_realmfs")) ADD COLUMN IF NOT EXISTS lineage text")
  }

  /// Reads the catalog. Skips entries whose table or column was dropped by others, so that it is created again; if
  /// `mending`, also removes these entries.
  func load(_ connection: PostgresConnection, mending: Bool = false) throws {
    entries = []
    let isThere = """
      EXISTS (SELECT FROM pg_class t JOIN pg_namespace n ON n.oid = relnamespace \
      WHERE nspname = $1 AND relname = table_name AND (column_name = '' OR EXISTS (SELECT FROM pg_attribute a \
      WHERE attrelid = t.oid AND attname = column_name AND NOT attisdropped)))
      """
    if mending {
      try connection.queue("DELETE FROM \(table) WHERE NOT \(isThere)", [.text(place.schema)])
      try connection.sync()
    }
    try connection.forEachRow(
      """
      SELECT role, table_name, class, key, property, form, column_name FROM \(table) WHERE \(isThere) ORDER BY id
      """,
      [.text(place.schema)]
    ) { row in
      guard let role = Role(rawValue: row.text(0, 0) ?? "") else { return }
      self.entries.append(
        Entry(
          role: role,
          table: row.text(0, 1) ?? "",
          className: row.text(0, 2) ?? "",
          keyForm: row.text(0, 3) ?? "",
          property: row.text(0, 4) ?? "",
          form: row.text(0, 5) ?? "",
          column: row.text(0, 6) ?? ""
        )
      )
    }
  }

  func add(_ entry: Entry, _ connection: PostgresConnection) throws {
    try connection.queue(
      """
      INSERT INTO \(table) (role, table_name, class, key, property, form, column_name) \
      VALUES ($1, $2, $3, $4, $5, $6, $7)
      """,
      [
        .text(entry.role.rawValue), .text(entry.table), .text(entry.className), .text(entry.keyForm),
        .text(entry.property), .text(entry.form), .text(entry.column),
      ]
    )
    entries.append(entry)
  }

  /// Renames an entry.
  func rename(
    _ entry: Entry,
    property: String,
    table name: String? = nil,
    form: String? = nil,
    column: String? = nil,
    _ connection: PostgresConnection
  ) throws {
    let renamed = Entry(
      role: entry.role,
      table: name ?? entry.table,
      className: entry.className,
      keyForm: entry.keyForm,
      property: property,
      form: form ?? entry.form,
      column: column ?? entry.column
    )
    try connection.queue(
      """
      UPDATE \(table) SET table_name = $4, property = $5, form = $6, column_name = $7 \
      WHERE role = $1 AND table_name = $2 AND column_name = $3
      """,
      [
        .text(entry.role.rawValue), .text(entry.table), .text(entry.column), .text(renamed.table),
        .text(renamed.property), .text(renamed.form), .text(renamed.column),
      ]
    )
    if let index = entries.firstIndex(where: { $0.role == entry.role && $0.place == entry.place }) {
      entries[index] = renamed
    }
  }

  /// Removes a column.
  func remove(column: String, of name: String, _ connection: PostgresConnection) throws {
    try connection.queue(
      "DELETE FROM \(table) WHERE table_name = $1 AND column_name = $2",
      [.text(name), .text(column)]
    )
    entries.removeAll { $0.table == name && $0.column == column }
  }

  /// Removes a table.
  func remove(table name: String, _ connection: PostgresConnection) throws {
    try connection.queue("DELETE FROM \(table) WHERE table_name = $1", [.text(name)])
    entries.removeAll { $0.table == name }
  }

  /// Returns the entries for a property of the class in table `owner`, in the order of their creation.
  func entries(_ role: Role, of owner: String, _ property: String) -> [Entry] {
    entries.filter { $0.role == role && $0.owner == owner && $0.property.isExactly(property) }
  }

  /// The names of all tables.
  var tables: Set<String> { Set(entries.lazy.filter { $0.role == .table || $0.role == .links }.map(\.table)) }

  /// Returns a name as stored in the catalog: PostgreSQL does not allow NUL in text, so it is escaped.
  static func shown(_ name: String) -> String {
    guard name.utf8.contains(0) else { return name }
    return name.split(separator: "\0", omittingEmptySubsequences: false).joined(separator: "%00")
  }
}
