// Copies, which are read without a lock file until they are first written: versions held at that time, and copies of
// empty realms. Found by `Simulator run`, seeds 151 and 148.

import Foundation
import RealmPages
import TestSupport
import Testing

@Suite("Writing to copies")
struct HeldCopyTests {
  /// Runs `body` with a copy of a realm, as created by `backup`.
  private func withCopy(_ isEncrypted: Bool, _ body: (Configuration) throws -> Void) throws {
    try withTemporaryPath { path in
      let configuration = Configuration(path: path, encryptionKey: isEncrypted ? try Fixture.key() : nil)
      _ = try RealmCopy.write(try Fixture.named("people").configuration(), to: path, key: configuration.encryptionKey)
      try body(configuration)
    }
  }

  private func expect(_ reason: EngineError.Reason, _ body: () throws -> Void) {
    do {
      try body()
      Issue.record("not refused")
    } catch { #expect((error as? EngineError)?.reason == reason, "\(error)") }
  }

  @Test("a held version of a copy stays readable when the copy is written to", arguments: [false, true])
  func stays(_ isEncrypted: Bool) throws {
    try withTemporaryPath { path in
      let configuration = Configuration(path: path, encryptionKey: isEncrypted ? try Fixture.key() : nil)
      let writer = try RealmWriter(configuration, create: true)
      for _ in 0..<4 { try CommitShape.more(writer) }
      _ = try writer.compact()
      let hold = try writer.realm.hold()
      let before = try Contents(hold.snapshot)
      for _ in 0..<12 { try CommitShape.more(writer) }
      #expect(try Contents(hold.snapshot) == before)
    }
  }

  @Test(
    "a copy stays as it is, byte for byte, until something is committed to it",
    arguments: [Configuration.Mode.shared, .exclusive],
    [false, true]
  )
  func unchanged(_ mode: Configuration.Mode, _ isEncrypted: Bool) throws {
    try withCopy(isEncrypted) { configuration in
      let file = URL(fileURLWithPath: configuration.path), before = try Data(contentsOf: file)
      var configuration = configuration
      configuration.mode = mode
      let writer = try RealmWriter(configuration)
      let dropped = try writer.begin()
      _ = try dropped.addTable("class_New")
      dropped.rollback()
      _ = try writer.withWriterLock { $0.version }
      #expect(try Data(contentsOf: file) == before)
      let first = try writer.begin()
      _ = try first.addTable("class_New")
      _ = try first.commit()
      let newest = try writer.realm.latest()
      #expect(try Data(contentsOf: file) != before && newest.table(named: "class_New") != nil)
      #expect(Verifier(newest).problems(limit: 1).isEmpty)
      for _ in 0..<3 { try CommitShape.more(writer) }
    }
  }

  @Test("a realm compacted repeatedly while open is written to at its path", arguments: [false, true])
  func compactedTwice(_ isEncrypted: Bool) throws {
    try withCopy(isEncrypted) { configuration in
      let writer = try RealmWriter(configuration)
      for number in 0..<3 {
        for _ in 0..<number { _ = try writer.compact() }
        let transaction = try writer.begin()
        _ = try transaction.addTable("class_New\(number)")
        _ = try transaction.commit()
        var alone = configuration
        alone.mode = .immutable
        #expect(try Realm(alone).latest().table(named: "class_New\(number)") != nil)
      }
    }
  }

  @Test("a transaction on a copy is not committed to a file that replaced it, even an identical one")
  func replacedCopy() throws {
    try withTemporaryPath { path in
      let people = try Fixture.named("people").configuration()
      for name in [path, path + ".other"] { _ = try RealmCopy.write(people, to: name, key: nil) }
      let writer = try RealmWriter(Configuration(path: path)), transaction = try writer.begin()
      _ = try transaction.addTable("class_New")
      let other = try Data(contentsOf: URL(fileURLWithPath: path + ".other"))
      #expect(rename(path + ".other", path) == 0)
      do {
        _ = try transaction.commit()
        Issue.record("committed to another file")
      } catch { #expect((error as? EngineError)?.reason == .moved, "\(error)") }
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)).prefix(other.count) == other)
    }
  }

  @Test("programs that make the first changes to a copy wait for one another", arguments: [false, true])
  func turns(_ isEncrypted: Bool) throws {
    try withCopy(isEncrypted) { configuration in
      DispatchQueue.concurrentPerform(iterations: 6) { number in
        do {
          let writer = try RealmWriter(configuration), transaction = try writer.begin()
          _ = try transaction.addTable("class_New\(number)")
          _ = try transaction.commit()
        } catch { Issue.record("\(number): \(error)") }
      }
      let newest = try Realm(configuration).latest()
      for number in 0..<6 { #expect(try newest.table(named: "class_New\(number)") != nil) }
      #expect(Verifier(newest).problems(limit: 1).isEmpty)
    }
  }

  @Test("of two programs that make the first change to a copy, one is refused as busy", arguments: [false, true])
  func twoFirst(_ isEncrypted: Bool) throws {
    try withCopy(isEncrypted) { configuration in
      let fast = try RealmWriter(configuration), slow = try RealmWriter(configuration)
      let first = try fast.begin()
      _ = try first.addTable("class_Fast")
      expect(.busy) { _ = try slow.begin(timeout: .milliseconds(50)) }
      _ = try first.commit()
      let second = try slow.begin()
      _ = try second.addTable("class_Slow")
      _ = try second.commit()
      for realm in [fast.realm, slow.realm] {
        let newest = try realm.latest()
        #expect(try newest.table(named: "class_Slow") != nil && newest.table(named: "class_Fast") != nil)
        #expect(Verifier(newest).problems(limit: 1).isEmpty)
      }
    }
  }

  @Test("an empty realm can be written to after it was compacted", arguments: [false, true])
  func emptyCopy(_ isEncrypted: Bool) throws {
    try withTemporaryPath { path in
      let configuration = Configuration(path: path, encryptionKey: isEncrypted ? try Fixture.key() : nil)
      let writer = try RealmWriter(configuration, create: true)
      _ = try writer.compact()
      for _ in 0..<3 { try CommitShape.more(writer) }
      var alone = configuration
      alone.mode = .immutable
      let snapshot = try Realm(alone).latest()
      #expect(try Contents(snapshot) == Contents(writer.realm.latest()))
      #expect(Verifier(snapshot).problems(limit: 1).isEmpty)
    }
  }
}
