// Replicas in unusual situations: a server that stops or does not answer, more changes than fit, a pooler, two programs
// at once.

import Foundation
import RealmPages
import RealmTransfer
import Synchronization
import TestSupport
import Testing

@testable import RealmReplica

@Suite("Replicas", .serialized)
struct ReplicatorTests {
  @Test("replication continues without prepared statements if a pooler drops them")
  func pooled() throws {
    try withReplicaSetup { setup in
      try setup.add(0..<5)
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      try setup.setAge(of: 3, 9)
      _ = try HistoryTests.settle(replicator)
      // The next transaction gets another connection of the server.
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

  @Test("a transaction that the server rejects is retried, together with newer changes", arguments: ["53100", "40001"])
  func refused(state: String) throws {
    try withReplicaSetup { setup in
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

  @Test("after a lost connection, replication resumes without a comparison")
  func reconnects() throws {
    try withReplicaSetup { setup in
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

  @Test("changes that exceed the memory limit are replaced by a comparison in parts")
  func overflows() throws {
    try withReplicaSetup { setup in
      try setup.add(0..<500)
      let replicator = try setup.replicator()
      (replicator.comparedAtOnce, replicator.removedAtOnce) = (90, 7)
      replicator.window.changed = PendingChanges(limit: 20)
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

  @Test("a copy that diverged by similar commits is not mistaken for the realm")
  func sameKind() throws {
    try withReplicaSetup { setup in
      try setup.add(0..<10)
      try withTemporaryPath { path in
        try FileManager.default.copyItem(atPath: setup.path, toPath: path)
        let other = try RealmWriter(Configuration(path: path))
        for (writer, value) in [(setup.writer, Int64(100)), (other, 101)] {
          let transaction = try writer.begin()
          if let object = try transaction.objectKey(setup.person, primaryKey: .int(3)) {
            try transaction.set(setup.person, object, setup.age, .int(value))
          }
          _ = try transaction.commit()
        }
        let address = try setup.server.address, place = setup.place
        _ = try HistoryTests.settle(setup.replicator())
        let realm = try Realm(Configuration(path: path))
        let identities = try [Realm(Configuration(path: setup.path)), realm].map { try $0.latest().identity() }
        #expect(identities[0] == identities[1], "both versions have one number and the same places")
        let replicator = try Replicator(realm, place, address)
        let error = #expect(throws: ReplicaError.self) { try replicator.run() }
        #expect(error?.description.contains("as the replica is") ?? false, "\(error as Any)")
        #expect(try setup.rows("SELECT age FROM $S.\"Person\" WHERE _id = 3") == ["100"])
        replicator.acceptsReplacement = true
        _ = try HistoryTests.settle(replicator)
        #expect(try setup.rows("SELECT age FROM $S.\"Person\" WHERE _id = 3") == ["101"])
        try HistoryTests.check(realm, place, address)
      }
    }
  }

  @Test("two processes that replicate one realm to the same schema do not write rows twice")
  func overtaken() throws {
    try withReplicaSetup { setup in
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
  /// The version that the follower read last.
  private static let seen = Atomic<UInt64>(0)

  @Test("a server that does not answer does not make the realm grow")
  func holdsNothing() throws {
    func size(_ path: String) throws -> Int {
      try FileManager.default.attributesOfItem(atPath: path)[.size] as? Int ?? 0
    }
    /// The size after commits that each rewrite much; `wait` is called after each, with its version.
    func grow(_ setup: ReplicaSetup, _ wait: (UInt64) throws -> Void = { _ in }) throws -> Int {
      for round in 0..<250 {
        let transaction = try setup.writer.begin()
        for number in Int64(0)..<1000 {
          guard let object = try transaction.objectKey(setup.person, primaryKey: .int(number)) else { continue }
          try transaction.set(setup.person, object, setup.age, .int(Int64(round) << 33 | number))
        }
        _ = try transaction.commit()
        try wait(setup.writer.realm.latest().version)
      }
      return try size(setup.path)
    }
    try withReplicaSetup { setup in
      try setup.add(0..<1000)
      let held = try withTemporaryPath { path in
        let other = try ReplicaSetup(path)
        try other.add(0..<1000)
        let hold = try Realm(Configuration(path: path)).hold()
        defer { withExtendedLifetime(hold) {} }
        return try grow(other)
      }
      let replicator = try setup.replicator()
      _ = try HistoryTests.settle(replicator)
      // A lock makes the server wait for the duration of the commits.
      let server = setup.server, schema = setup.schema.quotedForSQL
      let lock = Thread {
        let sql = "BEGIN; LOCK TABLE \(schema).\"Person\" IN ACCESS EXCLUSIVE MODE; SELECT pg_sleep(200)"
        _ = try? server.query(sql)
      }
      lock.start()
      let isLocked = """
        SELECT count(*) FROM pg_locks l JOIN pg_class c ON c.oid = relation \
        JOIN pg_namespace n ON n.oid = relnamespace WHERE mode = 'AccessExclusiveLock' AND granted \
        AND nspname = \(setup.schema.quotedForSQLText)
        """
      while try server.query(isLocked) == ["0"] { usleep(10_000) }
      try setup.setAge(of: 1, 1)
      let done = DispatchSemaphore(value: 0)
      // Called while the server has not answered, between two checks of the realm.
      replicator.shouldStop = { [unowned replicator] in
        Self.seen.store(replicator.newestVersion, ordering: .relaxed)
        return false
      }
      nonisolated(unsafe) let shared = replicator
      let follower = Thread {
        while !Self.hasGrown.load(ordering: .relaxed) { _ = try? HistoryTests.settle(shared) }
        done.signal()
      }
      follower.start()
      // The follower may be slow; what matters is that it moves on while the server does not answer.
      let followed = try grow(setup) { version in
        while Self.seen.load(ordering: .relaxed) < version { usleep(1000) }
      }
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

  @Test("addresses with passwords are refused, and secrets are removed from those that are shown")
  func addresses() throws {
    for text in ["postgresql://u:p@h/d", "host=h password=p", "postgresql://h/d?sslpassword=p"] {
      #expect(throws: ReplicaError.self) { try PostgresAddress(text) }
    }
    #expect(throws: ReplicaError.self) { try PostgresAddress("postgresql://[") }
    #expect(try PostgresAddress("postgresql://u@h:7/d?sslmode=require").shown == "h:7/d")
  }

  @Test("a path pattern extracts the names of realms")
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
