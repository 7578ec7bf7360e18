// Maps Realm types to SQL types, in one table for exports and replicas. The table is in docs/POSTGRESQL.md.

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
  package var postgresType: PostgresType {
    switch self {
    case .int, .link: PostgresType(name: "bigint", oid: 20, arrayOID: 1016)
    case .bool: PostgresType(name: "boolean", oid: 16, arrayOID: 1000)
    case .float: PostgresType(name: "real", oid: 700, arrayOID: 1021)
    case .double: PostgresType(name: "double precision", oid: 701, arrayOID: 1022)
    case .data: .bytea
    case .string, .objectID: .text
    case .date: PostgresType(name: "timestamp with time zone", oid: 1184, arrayOID: 1185)
    case .decimal128: PostgresType(name: "numeric", oid: 1700, arrayOID: 1231)
    case .uuid: PostgresType(name: "uuid", oid: 2950, arrayOID: 2951)
    case .mixed: .jsonb
    }
  }
}

/// A type of PostgreSQL. Source of the numbers: PostgreSQL's pg_type.dat, stable across versions.
package struct PostgresType: Sendable {
  /// The SQL name.
  package let name: String
  /// The OID of the type.
  package let oid: UInt32
  /// The OID of arrays of the type.
  package let arrayOID: UInt32

  package static let bytea = PostgresType(name: "bytea", oid: 17, arrayOID: 1001)
  package static let text = PostgresType(name: "text", oid: 25, arrayOID: 1009)
  package static let jsonb = PostgresType(name: "jsonb", oid: 3802, arrayOID: 3807)
}
