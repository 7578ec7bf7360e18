// The tables of a replica when the schema of the realm, or the database, is unusual: names that are SQL, tables of
// others, renamed, removed and recreated classes.

import Foundation
import RealmPages
import RealmTransfer
import TestSupport
import Testing

@testable import RealmReplica

@Suite("Tables of replicas", .serialized)
struct ReplicaSchemaTests {
  @Test("names of classes and properties are quoted, whatever characters they contain")
  func names() throws {
    try withTemporaryPath { path in
      let server = try PostgresServer.shared.get(), schema = PostgresServer.newSchema()
      let writer = try RealmWriter(Configuration(path: path), create: true)
      let long = String(repeating: "n", count: 57), accents = String(repeating: "é", count: 28)
      let names = [
        "user", "select", "a\"b", "a'b", "a;b", "a--b", "a\\b", "$1", "ctid", "_realmfs",
        "Robert\"); DROP TABLE x;--",
        long, accents, "A", "a", "é", " ", "a\nb", "a_b",
      ]
      let transaction = try writer.begin()
      var keys: [TableKey] = []
      for name in names {
        let table = try transaction.addTable("class_" + name)
        keys.append(table)
        let key = try transaction.addColumn(table, ColumnSpec(name, .string))
        if name.utf8.count % 2 == 0 { try transaction.setPrimaryKey(table, key) }
        for other in ["realm", "_object_key", "xmin", "oid", "b", "x\"; --", "é", String(repeating: "p", count: 63)]
        where other != name {
          _ = try transaction.addColumn(table, ColumnSpec(other, .string))
        }
        _ = try transaction.addColumn(table, ColumnSpec("l", .link, collection: .list, target: keys[0]))
        _ = try transaction.addColumn(table, ColumnSpec("next", .link, target: table))
      }
      for (table, name) in zip(keys, names) {
        let columns = try transaction.columns(of: table)
        for value in [name, name + "'); DROP TABLE x; --", "\0", "\\x00", "\\#", String(repeating: "v", count: 3000)] {
          let object =
            try name.utf8.count % 2 == 0
            ? transaction.create(table, primaryKey: .text(value)) : transaction.create(table)
          for column in columns where column.type == .string && column.key != columns[0].key {
            try transaction.set(table, object, column.key, .text(value))
          }
          // A circle of one.
          if let next = columns.last { try transaction.set(table, object, next.key, .link(table, object)) }
        }
      }
      _ = try transaction.commit()
      for realm in [nil, "r\"'; DROP TABLE x; --"] {
        let place = ReplicaPlace(schema: schema + (realm == nil ? "1" : "2"), realm: realm)
        let replicator = try Replicator(Realm(Configuration(path: path)), place, server.address)
        _ = try HistoryTests.settle(replicator)
        try HistoryTests.check(Realm(Configuration(path: path)), place, server.address)
        let tables = try server.query(
          "SELECT count(DISTINCT table_name) FROM \(place.schema.quotedForSQL)._realmfs_columns WHERE role = 'table'"
        )
        #expect(tables == ["\(names.count)"])
      }
    }
  }

  @Test("a table that realmfs did not create keeps its name, and the class's table gets another")
  func foreignTable() throws {
    try withReplicaSetup { setup in
      _ = try setup.rows(
        "CREATE SCHEMA $S; CREATE TABLE $S.\"Person\" (mine int); INSERT INTO $S.\"Person\" VALUES (1)"
      )
      try setup.add(0..<3)
      let passes = try HistoryTests.settle(setup.replicator())
      #expect(passes.first?.remarks.contains { $0.contains("is called Person_2") } ?? false)
      #expect(try setup.rows("SELECT mine FROM $S.\"Person\"") == ["1"])
      #expect(try setup.rows("SELECT count(*) FROM $S.\"Person_2\"") == ["3"])
      try setup.check()
    }
  }

  @Test("a column that a view needs is kept when its property is removed")
  func neededColumn() throws {
    try withReplicaSetup { setup in
      try setup.add(0..<3)
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      _ = try setup.rows(
        """
        CREATE VIEW $S.ages AS SELECT _id, age FROM $S."Person"; CREATE ROLE seer_\(setup.schema.filter(\.isNumber)); \
        GRANT SELECT ON $S."Person" TO seer_\(setup.schema.filter(\.isNumber)); \
        CREATE TABLE $S.mine (person bigint REFERENCES $S."Person"); INSERT INTO $S.mine VALUES (1)
        """
      )
      let transaction = try setup.writer.begin()
      try transaction.removeColumn(setup.person, setup.age)
      let name = try transaction.addColumn(setup.person, ColumnSpec("name", .string))
      for number in Int64(0)..<3 {
        guard let object = try transaction.objectKey(setup.person, primaryKey: .int(number)) else { continue }
        try transaction.set(setup.person, object, name, .text("n\(number)"))
      }
      _ = try transaction.commit()
      let passes = try HistoryTests.settle(replicator)
      #expect(passes.first?.remarks.contains { $0.contains("is used by a view") } ?? false)
      #expect(try setup.rows("SELECT age FROM $S.ages ORDER BY _id") == ["0", "1", "2"])
      #expect(try setup.rows("SELECT name FROM $S.\"Person\" ORDER BY _id") == ["n0", "n1", "n2"])
      try setup.check()
      #expect(
        try setup.rows("SELECT relacl::text LIKE '%seer_%=r/%' FROM pg_class WHERE oid = \(setup.oid("Person"))") == [
          "t"
        ]
      )
      // A removed class takes its tables with it; what depends on them stays.
      let next = try setup.writer.begin()
      try next.removeTable(setup.person)
      _ = try next.commit()
      _ = try HistoryTests.settle(replicator)
      #expect(try setup.rows("SELECT count(*) FROM $S.ages") == ["3"])
      #expect(try setup.rows("SELECT count(*) FROM pg_constraint WHERE conname = 'mine_person_fkey'") == ["1"])
      #expect(try setup.rows("SELECT count(*) FROM $S._realmfs_columns") == ["0"])
    }
  }

  @Test("columns with long names that views need keep distinct names when replaced, also in part of a replica")
  func longNames() throws {
    try withReplicaSetup { setup in
      let long = String(repeating: "é", count: 24), transaction = try setup.writer.begin()
      let table = try transaction.addTable("class_" + long + "k")
      let first = try transaction.addColumn(table, ColumnSpec(long + "1", .string))
      let second = try transaction.addColumn(table, ColumnSpec(long + "2", .string))
      let object = try transaction.create(table)
      for column in [first, second] { try transaction.set(table, object, column, .text("a\0b")) }
      _ = try transaction.commit()
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      try setup.check()
      _ = try setup.rows("CREATE VIEW $S.v AS SELECT * FROM $S.\"\(long)k\"")
      let next = try setup.writer.begin()
      try next.removeColumn(table, first)
      try next.removeColumn(table, second)
      _ = try next.commit()
      let passes = try HistoryTests.settle(replicator)
      #expect(passes.first?.remarks.count { $0.contains("is used by a view") } == 4)
      try setup.check()
      let address = try setup.server.address, realm = try Realm(Configuration(path: setup.path))
      for name in ["a", "b"] {
        let place = ReplicaPlace(schema: setup.schema + "2", realm: name, partition: .list)
        _ = try HistoryTests.settle(Replicator(realm, place, address))
        try HistoryTests.check(realm, place, address)
      }
      let parts =
        "SELECT count(*) FROM pg_class WHERE relispartition AND relname LIKE '\(long.prefix(20))%' AND relkind = 'r'"
      #expect(try setup.rows(parts) == ["2"])
    }
  }

  @Test("a renamed property keeps its column, with the indexes and constraints that others created")
  func renamedProperty() throws {
    try withReplicaSetup { setup in
      try setup.add(0..<5)
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      _ = try setup.rows(
        """
        CREATE VIEW $S.ages AS SELECT _id, age FROM $S."Person"; CREATE INDEX mine ON $S."Person" (age)
        """
      )
      let oids = [try setup.oid("Person"), try setup.oid("Person_friends")]
      let transaction = try setup.writer.begin()
      try transaction.renameColumn(setup.person, setup.age, to: "years")
      try transaction.renameColumn(setup.person, setup.friends, to: "peers")
      try transaction.renameColumn(setup.person, setup.id, to: "number")
      _ = try transaction.commit()
      let passes = try HistoryTests.settle(replicator)
      #expect(passes.map(\.written) == [0], "no row is written anew")
      #expect(try setup.rows("SELECT count(*) FROM $S.ages WHERE age = _id") == ["5"])
      #expect(try setup.rows("SELECT count(*) FROM pg_indexes WHERE indexname = 'mine'") == ["1"])
      #expect(try setup.rows("SELECT sum(years - number) FROM $S.\"Person\"") == ["0"])
      #expect(oids == [try setup.oid("Person"), try setup.oid("Person_peers")], "the same tables")
      try setup.check()
      try setup.setAge(of: 3, 9)
      _ = try HistoryTests.settle(replicator)
      try setup.check()
    }
  }

  @Test("a class removed and recreated in one commit has the new objects, and its property the new type")
  func remade() throws {
    try withReplicaSetup { setup in
      try setup.add(0..<5)
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      var person = setup.person
      for (type, wanted) in [
        (ValueType.int, ["3|30", "4|40", "5|50", "6|60"]), (.string, ["3|a3", "4|a4", "5|a5", "6|a6"]),
      ] {
        let transaction = try setup.writer.begin()
        try transaction.removeTable(person)
        person = try transaction.addTable("class_Person")
        let id = try transaction.addColumn(person, ColumnSpec("_id", .int))
        try transaction.setPrimaryKey(person, id)
        let age = try transaction.addColumn(person, ColumnSpec("age", type))
        let friends = try transaction.addColumn(person, ColumnSpec("friends", .link, collection: .list, target: person))
        for number in Int64(3)..<7 {
          let object = try transaction.create(person, primaryKey: .int(number))
          try transaction.set(person, object, age, type == .int ? .int(number * 10) : .text("a\(number)"))
          try transaction.insert(person, object, friends, at: 0, .link(person, object))
        }
        _ = try transaction.commit()
        _ = try HistoryTests.settle(replicator)
        #expect(try setup.rows("SELECT _id, age FROM $S.\"Person\" ORDER BY 1") == wanted)
        try setup.check()
      }
      // The same with another primary key: another table, which gets the name.
      let next = try setup.writer.begin()
      try next.removeTable(person)
      let other = try next.addTable("class_Person")
      let name = try next.addColumn(other, ColumnSpec("name", .string))
      try next.setPrimaryKey(other, name)
      _ = try next.create(other, primaryKey: .text("ann"))
      _ = try next.commit()
      _ = try HistoryTests.settle(replicator)
      #expect(try setup.rows("SELECT name FROM $S.\"Person\"") == ["ann"])
      try setup.check()
    }
  }

  @Test("foreign keys that the server does not support are omitted and reported")
  func unsupportedKeys() throws {
    try withReplicaSetup { setup in
      _ = try setup.rows(
        """
        CREATE SCHEMA $S; CREATE FUNCTION $S.refuse() RETURNS event_trigger LANGUAGE plpgsql AS $$ BEGIN \
        IF current_query() LIKE '%\(setup.schema.dropLast(2))%FOREIGN KEY%' THEN \
        RAISE EXCEPTION 'not supported' USING ERRCODE = '0A000'; END IF; END $$; \
        CREATE EVENT TRIGGER refuse ON ddl_command_start WHEN TAG IN ('ALTER TABLE') EXECUTE FUNCTION $S.refuse()
        """
      )
      try setup.add(0..<5)
      let replicator = try setup.replicator()
      let passes = try HistoryTests.settle(replicator)
      _ = try setup.rows("DROP EVENT TRIGGER refuse")
      #expect(passes.first?.remarks.count { $0.contains("left out: ALTER TABLE") } == 2)
      let person = try setup.oid("Person")
      let keys = "SELECT count(*) FROM pg_constraint WHERE contype = 'f' AND confrelid = \(person)"
      #expect(try setup.rows(keys) == ["0"])
      try setup.check()
    }
  }

  @Test("foreign keys follow the target's primary key when it changes", arguments: [nil, "r"])
  func otherKey(realm: String?) throws {
    try withReplicaSetup { setup in
      let transaction = try setup.writer.begin()
      let other = try transaction.addColumn(setup.person, ColumnSpec("number", .int))
      let best = try transaction.addColumn(setup.person, ColumnSpec("best", .link, target: setup.person))
      for number in Int64(0)..<5 {
        let object = try transaction.create(
          setup.person,
          primaryKey: .int(number),
          values: [(other, .int(100 + number))]
        )
        try transaction.set(setup.person, object, best, .link(setup.person, object))
        try transaction.insert(setup.person, object, setup.friends, at: 0, .link(setup.person, object))
      }
      _ = try transaction.commit()
      let place = ReplicaPlace(schema: setup.schema, realm: realm), address = try setup.server.address
      let realm = try Realm(Configuration(path: setup.path))
      let replicator = try Replicator(realm, place, address)
      _ = try HistoryTests.settle(replicator)
      let next = try setup.writer.begin()
      try next.setPrimaryKey(setup.person, other)
      _ = try next.commit()
      _ = try HistoryTests.settle(replicator)
      try HistoryTests.check(realm, place, address)
      try setup.setAge(of: 101, 3)
      _ = try HistoryTests.settle(replicator)
      try HistoryTests.check(realm, place, address)
    }
  }

  @Test("a table or column that someone dropped is recreated at the next start")
  func dropped() throws {
    try withReplicaSetup { setup in
      try setup.add(0..<5)
      _ = try HistoryTests.settle(setup.replicator())
      for sql in ["TABLE $S.\"Person\" CASCADE", "TABLE $S.\"Person_friends\"", "COLUMN age"] {
        _ = try setup.rows(sql.hasPrefix("COLUMN") ? "ALTER TABLE $S.\"Person\" DROP \(sql)" : "DROP \(sql)")
        #expect(throws: ReplicaError.self) { try setup.check() }
        _ = try HistoryTests.settle(setup.replicator())
        #expect(try setup.rows("SELECT sum(age - _id) FROM $S.\"Person\"") == ["0"])
        try setup.check()
      }
    }
  }

  @Test("one realm and many do not share a schema")
  func oneAndMany() throws {
    try withReplicaSetup { setup in
      try setup.add(0..<5)
      _ = try HistoryTests.settle(setup.replicator())
      let realm = try Realm(Configuration(path: setup.path)), many = ReplicaPlace(schema: setup.schema, realm: "a")
      let address = try setup.server.address
      let error = #expect(throws: ReplicaError.self) { try Replicator(realm, many, address) }
      #expect(error?.description.contains("holds the replica of one realm") ?? false)
      let other = ReplicaPlace(schema: setup.schema + "2", realm: "a")
      _ = try HistoryTests.settle(Replicator(realm, other, address))
      let second = #expect(throws: ReplicaError.self) {
        try Replicator(realm, ReplicaPlace(schema: other.schema), address)
      }
      #expect(second?.description.contains("holds the replica of many realms") ?? false)
      try setup.check()
    }
  }

  @Test("a class that is too wide for a table is named, and the replica stays as it was")
  func tooWide() throws {
    try withReplicaSetup { setup in
      try setup.add(0..<5)
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      let transaction = try setup.writer.begin()
      let wide = try transaction.addTable("class_Wide")
      for number in 0..<1600 { _ = try transaction.addColumn(wide, ColumnSpec("p\(number)", .int)) }
      _ = try transaction.commit()
      let error = #expect(throws: ReplicaError.self) { try replicator.run() }
      #expect(error?.description.hasPrefix("class Wide has more properties") ?? false)
      #expect(try setup.rows("SELECT count(*) FROM $S.\"Person\"") == ["5"])
      let next = try setup.writer.begin()
      try next.removeTable(wide)
      _ = try next.commit()
      _ = try HistoryTests.settle(replicator)
      try setup.check()
    }
  }

  @Test("columns and types that realmfs did not create keep their names")
  func foreignNames() throws {
    try withReplicaSetup { setup in
      _ = try setup.rows("CREATE SCHEMA $S; CREATE TYPE $S.\"Person_friends\" AS ENUM ('a')")
      try setup.add(0..<5)
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      _ = try setup.rows("ALTER TABLE $S.\"Person\" ADD COLUMN note text; UPDATE $S.\"Person\" SET note = 'mine'")
      let transaction = try setup.writer.begin()
      _ = try transaction.addColumn(setup.person, ColumnSpec("note", .string))
      _ = try transaction.commit()
      let passes = try HistoryTests.settle(replicator)
      #expect(passes.first?.remarks.contains { $0.contains("the column is called note_2") } ?? false)
      #expect(try setup.rows("SELECT count(*) FROM $S.\"Person\" WHERE note = 'mine'") == ["5"])
      try setup.check()
    }
  }
}
