// What a replica does when things are unusual: names that are SQL, a server that stops in the middle, more changes than
// fit, tables that others made.

import Foundation
import RealmPages
import RealmTransfer
import Synchronization
import TestSupport
import Testing

@testable import RealmReplica

@Suite("Replicas", .serialized)
struct ReplicatorTests {
  /// A realm of people, its replica, and a server.
  private final class Setup {
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

    /// Makes people, each with a link to the one before.
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

    /// The number by which the server knows a table.
    func oid(_ table: String) throws -> String {
      let names = "nspname = \(schema.quotedForSQLText) AND relname = \(table.quotedForSQLText)"
      let sql = "SELECT c.oid FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE \(names)"
      return try server.query(sql).first ?? "none"
    }

    func rows(_ sql: String) throws -> [String] {
      try server.query(sql.replacingOccurrences(of: "$S", with: schema.quotedForSQL))
    }
  }

  private func withSetup(_ body: (Setup) throws -> Void) throws {
    try withTemporaryPath { path in
      let setup = try Setup(path)
      try body(setup)
    }
  }

  @Test("names of classes and properties are never SQL, whatever they consist of")
  func names() throws {
    try withTemporaryPath { path in
      let server = try PostgresServer.shared.get(), schema = PostgresServer.newSchema()
      let writer = try RealmWriter(Configuration(path: path), create: true)
      let long = String(repeating: "n", count: 57), accents = String(repeating: "é", count: 28)
      let names = [
        "user", "select", "a\"b", "a'b", "a;b", "a--b", "a\\b", "a\0b", "$1", "ctid", "_realmfs",
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

  @Test("a table that others made keeps its name, and a class gets another one")
  func foreignTable() throws {
    try withSetup { setup in
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

  @Test("a column that a view needs is kept when its property goes")
  func neededColumn() throws {
    try withSetup { setup in
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
      // A class that goes takes its tables with it, and what needs them stays.
      let next = try setup.writer.begin()
      try next.removeTable(setup.person)
      _ = try next.commit()
      _ = try HistoryTests.settle(replicator)
      #expect(try setup.rows("SELECT count(*) FROM $S.ages") == ["3"])
      #expect(try setup.rows("SELECT count(*) FROM pg_constraint WHERE conname = 'mine_person_fkey'") == ["1"])
      #expect(try setup.rows("SELECT count(*) FROM $S._realmfs_columns") == ["0"])
    }
  }

  @Test("a property that has another name keeps its column, with what others made on it")
  func renamedProperty() throws {
    try withSetup { setup in
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

  @Test("a class that is removed and made anew in one commit has the new objects, and a property its new type")
  func remade() throws {
    try withSetup { setup in
      try setup.add(0..<5)
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      let transaction = try setup.writer.begin()
      try transaction.removeTable(setup.person)
      let person = try transaction.addTable("class_Person")
      let id = try transaction.addColumn(person, ColumnSpec("_id", .int))
      try transaction.setPrimaryKey(person, id)
      let age = try transaction.addColumn(person, ColumnSpec("age", .string))
      for number in Int64(3)..<7 {
        _ = try transaction.create(person, primaryKey: .int(number), values: [(age, .text("a\(number)"))])
      }
      _ = try transaction.commit()
      _ = try HistoryTests.settle(replicator)
      #expect(try setup.rows("SELECT _id, age FROM $S.\"Person\" ORDER BY 1") == ["3|a3", "4|a4", "5|a5", "6|a6"])
      try setup.check()
      // The same with another primary key: another table, which takes the name.
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

  @Test("foreign keys that the server does not support are left out, and named")
  func unsupportedKeys() throws {
    try withSetup { setup in
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

  @Test("a table or column that others drop is made anew by the next start")
  func dropped() throws {
    try withSetup { setup in
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
    try withSetup { setup in
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
    try withSetup { setup in
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

  @Test("prepared statements that a pooler loses are done without")
  func pooled() throws {
    try withSetup { setup in
      try setup.add(0..<5)
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      try setup.setAge(of: 3, 9)
      _ = try HistoryTests.settle(replicator)
      // What the next transaction gets is another connection of the server.
      try replicator.connection.run("DEALLOCATE ALL")
      try setup.setAge(of: 3, 10)
      #expect(try HistoryTests.settle(replicator).map(\.written) == [1])
      try replicator.connection.run("DEALLOCATE ALL")
      try setup.setAge(of: 3, 11)
      #expect(try replicator.run()?.written == 1)
      let hadPooler = PostgresConnection.hasPooler.exchange(false, ordering: .relaxed)
      #expect(hadPooler)
      try setup.check()
    }
  }

  @Test("columns and types that others made keep their names")
  func foreignNames() throws {
    try withSetup { setup in
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

  @Test("a transaction that the server refuses is made again, with what came meanwhile", arguments: ["53100", "40001"])
  func refused(state: String) throws {
    try withSetup { setup in
      try setup.add(0..<10)
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      _ = try setup.rows(
        """
        CREATE FUNCTION $S.refuse() RETURNS trigger LANGUAGE plpgsql AS \
        $$ BEGIN RAISE EXCEPTION 'no space left' USING ERRCODE = '\(state)'; END $$; \
        CREATE TRIGGER refuse BEFORE UPDATE ON $S."Person" FOR EACH ROW EXECUTE FUNCTION $S.refuse()
        """
      )
      try setup.setAge(of: 3, 100)
      let error = #expect(throws: ReplicaError.self) { try replicator.run() }
      #expect(error?.isTemporary ?? false)
      try setup.add(10..<20)
      #expect(throws: ReplicaError.self) { try replicator.run() }
      _ = try setup.rows("DROP TRIGGER refuse ON $S.\"Person\"")
      let passes = try HistoryTests.settle(replicator)
      #expect(passes.map(\.written) == [11])
      #expect(passes.map(\.compared) == [0], "what changed was known all the time")
      try setup.check()
    }
  }

  @Test("a connection that breaks is taken up, without a comparison")
  func reconnects() throws {
    try withSetup { setup in
      try setup.add(0..<10)
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      try setup.setAge(of: 3, 100)
      try setup.server.query("SELECT pg_terminate_backend(\(replicator.connection.processID))")
      let error = #expect(throws: ReplicaError.self) { try replicator.run() }
      #expect(error?.isTemporary ?? false)
      let passes = try HistoryTests.settle(replicator)
      #expect(passes.map(\.written) == [1])
      #expect(passes.map(\.compared) == [0])
      try setup.check()
    }
  }

  @Test("more changes than fit into memory become a comparison, which goes part by part")
  func overflows() throws {
    try withSetup { setup in
      try setup.add(0..<500)
      let replicator = try setup.replicator()
      (replicator.comparedAtOnce, replicator.removedAtOnce) = (90, 7)
      replicator.window.changed = ChangedObjects(limit: 20)
      _ = try HistoryTests.settle(replicator)
      let transaction = try setup.writer.begin()
      for number in stride(from: Int64(0), to: 500, by: 3) {
        guard let object = try transaction.objectKey(setup.person, primaryKey: .int(number)) else { continue }
        if number % 2 == 0 {
          try transaction.delete(setup.person, object)
        } else {
          try transaction.set(setup.person, object, setup.age, .int(-number))
        }
      }
      _ = try transaction.commit()
      let passes = try HistoryTests.settle(replicator)
      #expect(passes.first?.compared == 1)
      #expect(passes.first?.removed == 84)
      try setup.check()
    }
  }

  @Test("two replicas of one realm in one place do not write twice")
  func overtaken() throws {
    try withSetup { setup in
      try setup.add(0..<10)
      let first = try setup.replicator(), second = try setup.replicator()
      _ = try HistoryTests.settle(first)
      _ = try HistoryTests.settle(second)
      try setup.setAge(of: 3, 100)
      #expect(try HistoryTests.settle(first).map(\.written) == [1])
      #expect(try HistoryTests.settle(second).map(\.written).reduce(0, +) == 0)
      try setup.setAge(of: 3, 101)
      #expect(try HistoryTests.settle(second).map(\.written).reduce(0, +) == 1)
      try setup.check()
    }
  }

  private static let hasGrown = Atomic(false)

  @Test("a server that does not answer makes no realm grow")
  func holdsNothing() throws {
    func size(_ path: String) throws -> Int {
      try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }
    /// The size after commits for some seconds that each write much anew.
    func grow(_ setup: Setup) throws -> Int {
      for round in 0..<150 {
        let transaction = try setup.writer.begin()
        for number in Int64(0)..<1000 {
          guard let object = try transaction.objectKey(setup.person, primaryKey: .int(number)) else { continue }
          try transaction.set(setup.person, object, setup.age, .int(Int64(round) << 33 | number))
        }
        _ = try transaction.commit()
        usleep(20_000)
      }
      return try size(setup.path)
    }
    try withSetup { setup in
      try setup.add(0..<1000)
      let held = try withTemporaryPath { path in
        let other = try Setup(path)
        try other.add(0..<1000)
        let hold = try Realm(Configuration(path: path)).hold()
        defer { withExtendedLifetime(hold) {} }
        return try grow(other)
      }
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      // A lock makes the server wait for as long as the commits take.
      let server = setup.server, schema = setup.schema.quotedForSQL
      let lock = Thread {
        let sql = "BEGIN; LOCK TABLE \(schema).\"Person\" IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(200)"
        _ = try? server.query(sql)
      }
      lock.start()
      usleep(300_000)
      try setup.setAge(of: 1, 1)
      let done = DispatchSemaphore(value: 0)
      nonisolated(unsafe) let shared = replicator
      let follower = Thread {
        while !Self.hasGrown.load(ordering: .relaxed) { _ = try? HistoryTests.settle(shared) }
        done.signal()
      }
      follower.start()
      let followed = try grow(setup)
      Self.hasGrown.store(true, ordering: .relaxed)
      try server.query(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'BEGIN; LOCK%'"
      )
      done.wait()
      #expect(followed <= held / 3, "\(followed) bytes; \(held) where a version is held")
      _ = try HistoryTests.settle(replicator)
      try setup.check()
    }
  }

  @Test("addresses with passwords are refused, others are shown without what is secret")
  func addresses() throws {
    for text in ["postgresql://u:p@h/d", "host=h password=p", "postgresql://h/d?sslpassword=p"] {
      #expect(throws: ReplicaError.self) { try PostgresAddress(text) }
    }
    #expect(throws: ReplicaError.self) { try PostgresAddress("postgresql://[") }
    #expect(try PostgresAddress("postgresql://u@h:7/d?sslmode=require").shown == "h:7/d")
  }

  @Test("a pattern names realms")
  func patterns() throws {
    let set = try #require(RealmFileSet([], template: "data/*/{id}.realm"))
    #expect(set.name(of: "data/eu/ann.realm") == "ann")
    #expect(set.name(of: "data/eu/a.realm.realm") == "a.realm")
    for path in ["data/ann.realm", "data/eu/x/ann.realm", "data/eu/.realm", "data/eu/ann.realm2"] {
      #expect(set.name(of: path) == nil, "\(path)")
    }
    #expect(RealmFileSet([], template: "users/{id}/default.realm")?.name(of: "users/ü 7/default.realm") == "ü 7")
    #expect(RealmFileSet([], template: "users.realm") == nil)
    #expect(RealmFileSet([], template: "{id}/{id}") == nil)
  }
}
