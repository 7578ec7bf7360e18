// What the types of Realm are in SQL: the one table that exports and replicas are made by. docs/POSTGRESQL.md shows it.

package import RealmPages

extension ValueType {
  /// The affinity of a column in SQLite; empty for any value.
  package var sqliteAffinity: String {
    switch self {
    case .int, .bool, .link: "INTEGER"
    case .float, .double: "REAL"
    case .data: "BLOB"
    case .string, .date, .decimal128, .objectID, .uuid: "TEXT"
    case .mixed: ""
    }
  }

  /// The type in PostgreSQL; that of a link is the type of the key of its target.
  package var postgresType: String {
    switch self {
    case .int, .link: "bigint"
    case .bool: "boolean"
    case .float: "real"
    case .double: "double precision"
    case .data: "bytea"
    case .string, .objectID: "text"
    case .date: "timestamp with time zone"
    case .decimal128: "numeric"
    case .uuid: "uuid"
    case .mixed: "jsonb"
    }
  }
}
