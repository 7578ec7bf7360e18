// Whether a file is the realm of a replica: what a commit removes is removed, and nothing else.

import Foundation
import RealmPages
import RealmTransfer
import TestSupport
import Testing

@testable import RealmReplica

@Suite("Replaced files of a replicated realm", .serialized)
struct SuccessionTests {
  private static func content(_ setup: ReplicaSetup) throws -> [String] {
    try setup.rows("SELECT p::text FROM $S.\"Person\" p ORDER BY _id")
      + setup.rows("SELECT l::text FROM $S.\"Person_friends\" l ORDER BY owner, position")
      + setup.rows("SELECT version FROM $S._realmfs")
  }

  private static func deleteAll(_ setup: ReplicaSetup, _ ids: Range<Int64>) throws {
    let transaction = try setup.writer.begin()
    for id in ids {
      if let object = try transaction.objectKey(setup.person, primaryKey: .int(id)) {
        try transaction.delete(setup.person, object)
      }
    }
    _ = try transaction.commit()
  }

  /// Replaces the bytes of a file that is open elsewhere, as `cp` does.
  private static func overwrite(_ path: String, with data: Data) throws {
    let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
    try file.truncate(atOffset: 0)
    try file.write(contentsOf: data)
    try file.close()
  }

  @Test("a lineage round-trips through its text, and grows only as commits allow")
  func lineage() throws {
    #expect(Lineage("17 0:5 1:0")?.text == "17 0:5 1:0")
    #expect(Lineage("") == nil && Lineage("x") == nil && Lineage("1 2") == nil && Lineage("1 a:2") == nil)
    let base = try #require(Lineage("17 0:5 1:3"))
    for (text, commits, isPossible) in [
      ("9 0:5 1:3", 1, true), ("9 0:6 1:3", 1, true), ("9 0:7 1:3", 1, false), ("9 0:4 1:9", 9, false),
      ("9 1:4", 1, true), ("9 0:5 1:3 2:1", 0, true),
    ] as [(String, UInt64, Bool)] {
      #expect(base.canBecome(try #require(Lineage(text)), after: commits) == isPossible, "\(text)")
    }
    #expect(!base.sharesClass(with: try #require(Lineage("17 2:1"))))
    #expect(base.sharesClass(with: try #require(Lineage("17 1:9"))))
  }

  @Test(
    "a replica follows commits that delete everything, whether it is running or restarted",
    arguments: [1, 3]
  )
  func deletesEverything(commits: Int) throws {
    for isRunning in [true, false] {
      try withReplicaSetup { setup in
        try setup.add(0..<30)
        let replicator = try setup.replicator()
        _ = try HistoryTests.settle(replicator)
        for commit in 0..<Int64(commits) {
          try Self.deleteAll(setup, commit * 10..<(commit == commits - 1 ? 30 : commit * 10 + 10))
        }
        _ = try HistoryTests.settle(isRunning ? replicator : setup.replicator())
        #expect(try setup.rows("SELECT count(*) FROM $S.\"Person\"") == ["0"])
        try setup.check()
      }
    }
  }

  @Test("an older copy or another realm removes nothing from a replica until accepted", arguments: [false, true])
  func replaced(isOlder: Bool) throws {
    try withReplicaSetup { setup in
      try setup.add(0..<10)
      let backup = try Data(contentsOf: URL(fileURLWithPath: setup.path))
      try setup.setAge(of: 3, 100)
      try withTemporaryPath { path in
        try FileManager.default.copyItem(atPath: setup.path, toPath: path)
        let address = try setup.server.address
        func replicator() throws -> Replicator {
          try Replicator(Realm(Configuration(path: path)), setup.place, address)
        }
        _ = try HistoryTests.settle(replicator())
        let before = try Self.content(setup)
        if isOlder {
          try Self.overwrite(path, with: backup)
        } else {
          try withTemporaryPath { path2 in
            let other = try ReplicaSetup(path2)
            for id in Int64(100)..<120 { try other.add(id..<id + 1) }
            try Self.overwrite(path, with: Data(contentsOf: URL(fileURLWithPath: path2)))
          }
        }
        for _ in 0..<2 {
          let error = #expect(throws: ReplicaError.self) { try replicator().run() }
          #expect(error?.description.contains("--accept-replacement") ?? false, "\(error as Any)")
          #expect(try Self.content(setup) == before)
        }
        let accepting = try replicator()
        accepting.acceptsReplacement = true
        _ = try HistoryTests.settle(accepting)
        try HistoryTests.check(Realm(Configuration(path: path)), setup.place, address)
        #expect(try HistoryTests.settle(replicator()).isEmpty)
      }
    }
  }

  @Test("a file without classes removes nothing from a replica, of one realm or of many", arguments: [nil, "r"])
  func emptied(realm: String?) throws {
    try withReplicaSetup { setup in
      try setup.add(0..<10)
      let place = ReplicaPlace(schema: setup.schema, realm: realm), address = try setup.server.address
      try withTemporaryPath { path in
        try FileManager.default.copyItem(atPath: setup.path, toPath: path)
        _ = try HistoryTests.settle(Replicator(Realm(Configuration(path: path)), place, address))
        try withTemporaryPath { path2 in
          _ = try RealmWriter(Configuration(path: path2), create: true)
          try Self.overwrite(path, with: Data(contentsOf: URL(fileURLWithPath: path2)))
        }
        #expect(throws: (any Error).self) { try Replicator(Realm(Configuration(path: path)), place, address).run() }
        #expect(try setup.rows("SELECT count(*) FROM $S.\"Person\"") == ["10"])
      }
    }
  }

  @Test("whichever node is damaged, no row is lost")
  func damaged() throws {
    try withReplicaSetup { setup in
      try setup.add(0..<40)
      _ = try HistoryTests.settle(setup.replicator())
      try setup.setAge(of: 7, 70)
      let sound = try Data(contentsOf: URL(fileURLWithPath: setup.path)), count = 40
      let marks = (0..<sound.count - 8).filter { $0 % 8 == 0 && sound[$0..<$0 + 4].elementsEqual("AAAA".utf8) }
      #expect(marks.count > 10)
      var stopped = 0
      for mark in marks {
        var bytes = sound
        bytes.replaceSubrange(mark + 4..<mark + 8, with: [0xFF, 0xFF, 0xFF, 0xFF])
        try withTemporaryPath { path in
          try bytes.write(to: URL(fileURLWithPath: path))
          do {
            let replicator = try Replicator(Realm(Configuration(path: path)), setup.place, setup.server.address)
            _ = try replicator.run()
          } catch { stopped += 1 }
          #expect(try setup.rows("SELECT count(*) FROM $S.\"Person\"") == ["\(count)"], "node at \(mark)")
        }
      }
      #expect(stopped > 3, "of \(marks.count)")
    }
  }

  @Test("rows changed by another program are reported and repaired")
  func repairs() throws {
    try withReplicaSetup { setup in
      try setup.add(0..<30)
      _ = try HistoryTests.settle(setup.replicator())
      _ = try setup.rows(
        """
        UPDATE $S."Person" SET age = -1 WHERE _id < 10; \
        DELETE FROM $S."Person_friends" WHERE target = 29 OR owner = 29; \
        DELETE FROM $S."Person" WHERE _id = 29; INSERT INTO $S."Person" (_id) VALUES (77)
        """
      )
      let verifier = try ReplicaVerifier(setup.server.address)
      verifier.namedRows = 5
      let found = try verifier.run(Realm(Configuration(path: setup.path)), setup.place)
      let person = try #require(found.classes.first)
      #expect(!person.isSame && person.differenceCount == 12 && person.differences.count == 5)
      verifier.namedRows = 100
      let all = try #require(try verifier.run(Realm(Configuration(path: setup.path)), setup.place).classes.first)
        .differences
      #expect(all.filter { $0.kind == .extra }.map(\.key) == ["77"])
      #expect(all.filter { $0.kind == .missing }.map(\.key) == ["29"])
      #expect(all.filter { $0.kind == .values }.map(\.key) == (0..<10).map(String.init))
      let replicator = try setup.replicator()
      #expect(try replicator.run() == nil, "the replica has the version of the file")
      replicator.wantsComparison = true
      let pass = try #require(try replicator.run())
      #expect(pass.written == 11 && pass.removed == 1)
      try setup.check()
    }
  }
}
