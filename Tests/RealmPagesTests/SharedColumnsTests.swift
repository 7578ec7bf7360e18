// A version and the transactions on it share the parsed columns of a table while they are equal.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Shared columns")
struct SharedColumnsTests {
  private func withPeople(_ body: (RealmWriter) throws -> Void) throws {
    try withTemporaryPath { path in
      _ = try RealmCopy.write(try Fixture.named("people").configuration(), to: path, key: nil)
      try body(try RealmWriter(Configuration(path: path)))
    }
  }

  private func age(_ table: Table) throws -> Column { try #require(table.columns.first { $0.name == "age" }) }

  @Test("a transaction shares the columns of its version until an index moves, and the next one shares them again")
  func sharing() throws {
    try withPeople { writer in
      let base = try #require(try writer.realm.latest().table(named: "class_Person")), key = base.key
      let spec = try #require(base.spec), age = try age(base)
      for _ in 0..<2 {
        let transaction = try writer.begin()
        #expect(try transaction.table(key).spec === spec)
        try transaction.set(key, try #require(try base.objectKey(primaryKey: .int(4))), age.key, .int(99))
        #expect(try transaction.table(key).spec === spec, "no index has age")
        let made = try transaction.create(key, primaryKey: .int(7000))
        let changed = try transaction.table(key)
        #expect(changed.spec !== spec)
        #expect(try changed.objectKey(primaryKey: .int(7000)) == made && changed.objectKey(primaryKey: .int(4)) != nil)
        transaction.rollback()
      }
      let transaction = try writer.begin()
      let made = try transaction.create(key, primaryKey: .int(7000))
      _ = try transaction.commit()
      let newest = try #require(try writer.realm.latest().table(key))
      #expect(newest.spec !== spec)
      #expect(try newest.objectKey(primaryKey: .int(7000)) == made)
      #expect(try base.objectKey(primaryKey: .int(7000)) == nil, "the version before has its own index")
      #expect(Verifier(try writer.realm.latest()).problems(limit: 1).isEmpty)
    }
  }

  @Test("columns that a transaction modifies are private to it until the commit")
  func changes() throws {
    try withPeople { writer in
      let base = try #require(try writer.realm.latest().table(named: "class_Person")), key = base.key
      let names = base.columns.map(\.name), age = try age(base)
      var transaction = try writer.begin()
      let added = try transaction.addColumn(key, ColumnSpec("more", .int))
      #expect(try transaction.table(key).columns.map(\.name) == names + ["more"])
      try transaction.addIndex(key, age.key)
      #expect(try self.age(transaction.table(key)).index == .general)
      try transaction.set(key, try #require(try base.objectKey(primaryKey: .int(4))), added, .int(1))
      transaction.rollback()
      transaction = try writer.begin()
      #expect(try transaction.table(key).columns.map(\.name) == names && self.age(transaction.table(key)).index == nil)
      try transaction.removeColumn(key, age.key)
      #expect(try transaction.table(key).columns.map(\.name) == names.filter { $0 != "age" })
      _ = try transaction.commit()
      #expect(try writer.realm.latest().table(key)?.columns.map(\.name) == names.filter { $0 != "age" })
      #expect(base.columns.map(\.name) == names)
      #expect(Verifier(try writer.realm.latest()).problems(limit: 1).isEmpty)
    }
  }
}
