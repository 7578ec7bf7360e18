// One class and its tables in PostgreSQL: their columns, the order of the columns in a row, and the statements that
// write and compare rows.

import RealmPages
import RealmTransfer

/// The location of a realm in a database.
public struct ReplicaPlace: Sendable {
  /// The partitioning of tables with many realms.
  public enum Partition: Sendable, Hashable {
    /// By a hash of the realm's name, into this many partitions.
    case hash(Int)
    /// One partition for each realm.
    case list
  }

  /// The schema in the database.
  public let schema: String
  /// The value of the column `realm`; nil if the replica contains a single realm and has no such column.
  public let realm: String?
  /// The partitioning of new tables; only with `realm`.
  public let partition: Partition?

  /// Creates a location.
  public init(schema: String = "realm", realm: String? = nil, partition: Partition? = nil) {
    (self.schema, self.realm, self.partition) = (schema, realm, partition)
  }

  func qualified(_ table: String) -> String { schema.quotedForSQL + "." + table.quotedForSQL }
}

/// A column of a table.
struct ReplicaColumn: Hashable {
  let name: String
  let sql: String
  let oid: UInt32
}

/// A list or set of links: a table with the columns `owner`, `position` and `target`.
struct LinksTable {
  let name: String
  /// The index of the property in its class.
  let property: Int
  let target: LinkTarget
}

/// A class and its tables.
final class ReplicaTable {
  /// The representation of a property in a row.
  enum Slot {
    /// A column; `exact` is true if it has a companion column for values that do not fit.
    case value(ColumnForm, exact: Bool)
    /// A links table; its index in `links`.
    case links(Int)
  }

  let place: ReplicaPlace
  let key: TableKey
  let className: String
  let name: String
  let keyForm: RowKeyForm
  /// All columns except `realm`, in row order.
  let columns: [ReplicaColumn]
  /// Indexed like the properties.
  let slots: [Slot]
  let links: [LinksTable]
  /// The column that identifies rows.
  let keyColumn: ReplicaColumn
  /// The index of the primary key in the class, if rows are identified by it.
  let keyProperty: Int?

  init(
    _ place: ReplicaPlace,
    _ table: Table,
    name: String,
    keyForm: RowKeyForm,
    columns: [ReplicaColumn],
    slots: [Slot],
    links: [LinksTable],
    keyColumn: ReplicaColumn
  ) {
    (self.place, key, className, self.name) = (place, table.key, table.className ?? table.name, name)
    (self.keyForm, self.columns, self.slots, self.links) = (keyForm, columns, slots, links)
    self.keyColumn = keyColumn
    if case .property = keyForm { keyProperty = table.primaryKeyIndex } else { keyProperty = nil }
  }

  // MARK: statements

  private var isMany: Bool { place.realm != nil }
  var qualifiedName: String { place.qualified(name) }

  private func list(_ names: [String]) -> String {
    ((isMany ? ["realm"] : []) + names).map(\.quotedForSQL).joined(separator: ", ")
  }

  private(set) lazy var copy = "COPY \(qualifiedName) (\(list(columns.map(\.name)))) FROM STDIN (FORMAT binary)"

  func copy(_ links: LinksTable) -> String {
    "COPY \(place.qualified(links.name)) (\(list(["owner", "position", "target"]))) FROM STDIN (FORMAT binary)"
  }

  /// Inserts or updates a row; does nothing if the stored row is identical.
  lazy var upsert: String = {
    let types = (isMany ? ["text"] : []) + columns.map(\.sql)
    let values = types.enumerated().map { "$\($0 + 1)::\($1)" }.joined(separator: ", ")
    let others = columns.filter { $0.name != keyColumn.name }.map(\.name.quotedForSQL)
    var sql = "INSERT INTO \(qualifiedName) AS t (\(list(columns.map(\.name)))) VALUES (\(values)) "
    sql += "ON CONFLICT (\(list([keyColumn.name]))) DO "
    if others.isEmpty { return sql + "NOTHING" }
    let sets = others.map { "\($0) = EXCLUDED.\($0)" }.joined(separator: ", ")
    let olds = others.map { "t.\($0)" }.joined(separator: ", ")
    let news = others.map { "EXCLUDED.\($0)" }.joined(separator: ", ")
    return sql + "UPDATE SET \(sets) WHERE record_image_ne(ROW(\(olds)), ROW(\(news)))"
  }()

  /// Returns the condition that selects one realm, with its parameter number; true if the replica contains a single
  /// realm.
  private func realmCondition(_ parameter: Int) -> String { isMany ? "realm = $\(parameter)::text" : "true" }

  lazy var delete: String = {
    let (realm, key) = (realmCondition(1), isMany ? 2 : 1)
    return "DELETE FROM \(qualifiedName) WHERE \(realm) AND \(keyColumn.name.quotedForSQL) = $\(key)::\(keyColumn.sql)"
  }()

  var deleteAll: String { "DELETE FROM \(qualifiedName) WHERE \(realmCondition(1))" }

  /// Writes only those links of one owner that differ; the parameters are the owner and the array of targets.
  func setLinks(_ links: LinksTable) -> String {
    let (owner, targets) = isMany ? (2, 3) : (1, 2)
    let table = place.qualified(links.name)
    let (column, value) = isMany ? ("realm, ", "$1::text, ") : ("", "")
    return """
      INSERT INTO \(table) AS t (\(column)owner, position, target) \
      SELECT \(value)$\(owner)::\(keyColumn.sql), n - 1, l \
      FROM unnest($\(targets)::\(links.target.scalar.sql)[]) WITH ORDINALITY AS u (l, n) \
      ON CONFLICT (\(column)owner, position) DO UPDATE SET target = EXCLUDED.target \
      WHERE t.target IS DISTINCT FROM EXCLUDED.target
      """
  }

  /// Removes the links of one owner, starting at a position.
  func cutLinks(_ links: LinksTable) -> String {
    let (owner, count) = isMany ? (2, 3) : (1, 2)
    return """
      DELETE FROM \(place.qualified(links.name)) \
      WHERE \(realmCondition(1)) AND owner = $\(owner)::\(keyColumn.sql) AND position >= $\(count)::bigint
      """
  }

  func deleteLinks(_ links: LinksTable) -> String {
    let owner = isMany ? 2 : 1
    return """
      DELETE FROM \(place.qualified(links.name)) WHERE \(realmCondition(1)) AND owner = $\(owner)::\(keyColumn.sql)
      """
  }

  // MARK: hashes

  private func record(_ names: [String], prefix: String = "") -> String {
    "record_send(ROW(\(names.map { prefix + $0.quotedForSQL }.joined(separator: ", "))))"
  }

  /// The SQL expression for the hash of a row.
  private var rowHash: String { SHA256Digest.sql(record(columns.map(\.name))) }

  /// Selects the hash of the key, the hash of the row, and the key of each row.
  var rows: String {
    "SELECT \(SHA256Digest.sql(record([keyColumn.name]))), \(rowHash), \(keyColumn.name.quotedForSQL) "
      + "FROM \(qualifiedName) WHERE \(realmCondition(1))"
  }

  /// Selects the hash of the owner's key, the sum of the link hashes, and the owner, for each owner that has links.
  func rows(_ links: LinksTable) -> String {
    """
    SELECT \(SHA256Digest.sql(record(["owner"]))), \
    sum(\(SHA256Digest.sql(record(["owner", "position", "target"]))))::text, owner \
    FROM \(place.qualified(links.name)) WHERE \(realmCondition(1)) GROUP BY owner
    """
  }

  /// Selects the number of rows and the sum of their hashes.
  var digest: String {
    "SELECT count(*), coalesce(sum(\(rowHash)), 0)::text FROM \(qualifiedName) WHERE \(realmCondition(1))"
  }

  func digest(_ links: LinksTable) -> String {
    """
    SELECT count(*), coalesce(sum(\(SHA256Digest.sql(record(["owner", "position", "target"])))), 0)::text \
    FROM \(place.qualified(links.name)) WHERE \(realmCondition(1))
    """
  }

  /// The parameter for the realm, if the table has the column.
  var realmParameters: [PostgresParameter] { place.realm.map { [.text($0)] } ?? [] }
}
