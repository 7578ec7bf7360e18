// Maps Realm types to SQL types, in one table for exports and replicas. docs/POSTGRESQL.md shows it.

package import RealmPages

extension ValueType {
  /// The affinity of a column in SQLite; empty for a column of any type.
  package var sqliteAffinity: String {
    switch self {
    case .int, .bool, .link: "INTEGER"
    case .float, .double: "REAL"
    case .data: "BLOB"
    case .string, .date, .decimal128, .objectID, .uuid: "TEXT"
    case .mixed: ""
    }
  }

  /// The type in PostgreSQL. For a link, the type of an object key; a link to a class with a primary key has the type
  /// of that key.
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
