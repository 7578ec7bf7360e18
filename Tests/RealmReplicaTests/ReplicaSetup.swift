// A realm of people, and queries of its replica.

import Foundation
import RealmPages
import RealmTransfer
import TestSupport

@testable import RealmReplica

/// A realm of people, its replica, and a server.
final class ReplicaSetup {
  let server: PostgresServer
  let schema = PostgresServer.newSchema()
  let writer: RealmWriter
  let path: String
  let person: TableKey, id: ColKey, age: ColKey, friends: ColKey

  init(_ path: String) throws {
    self.path = path
    server = try PostgresServer.shared.get()
    writer = try RealmWriter(Configuration(path: path), create: true)
    let transaction = try writer.begin()
    person = try transaction.addTable("class_Person")
    id = try transaction.addColumn(person, ColumnSpec("_id", .int))
    try transaction.setPrimaryKey(person, id)
    age = try transaction.addColumn(person, ColumnSpec("age", .int))
    friends = try transaction.addColumn(person, ColumnSpec("friends", .link, collection: .list, target: person))
    _ = try transaction.commit()
  }

  deinit { _ = try? server.query("DROP SCHEMA IF EXISTS \(schema.quotedForSQL) CASCADE") }

  var place: ReplicaPlace { ReplicaPlace(schema: schema) }

  func replicator() throws -> Replicator { try Replicator(Realm(Configuration(path: path)), place, server.address) }

  func check() throws { try HistoryTests.check(Realm(Configuration(path: path)), place, server.address) }

  /// Creates people, each with a link to the previous one.
  func add(_ ids: Range<Int64>) throws {
    let transaction = try writer.begin()
    var last: ObjKey?
    for number in ids {
      let object = try transaction.create(person, primaryKey: .int(number), values: [(age, .int(number))])
      if let last { try transaction.insert(person, object, friends, at: 0, .link(person, last)) }
      last = object
    }
    _ = try transaction.commit()
  }

  func setAge(of number: Int64, _ value: Int64) throws {
    let transaction = try writer.begin()
    if let object = try transaction.objectKey(person, primaryKey: .int(number)) {
      try transaction.set(person, object, age, .int(value))
    }
    _ = try transaction.commit()
  }

  /// The server's number of a table.
  func oid(_ table: String) throws -> String {
    let names = "nspname = \(schema.quotedForSQLText) AND relname = \(table.quotedForSQLText)"
    let sql = "SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE \(names)"
    return try server.query(sql).first ?? "none"
  }

  func rows(_ sql: String) throws -> [String] {
    try server.query(sql.replacingOccurrences(of: "$S", with: schema.quotedForSQL))
  }
}

func withReplicaSetup(_ body: (ReplicaSetup) throws -> Void) throws {
  try withTemporaryPath { path in
    let setup = try ReplicaSetup(path)
    try body(setup)
  }
}
