// Copies, which are read without a lock file until they are written to: versions that are held meanwhile, and copies of
// nothing. Found by `Simulator run`, seeds 151 and 148.

import Foundation
import RealmPages
import TestSupport
import Testing

@Suite("Copies that are written to")
struct HeldCopyTests {
  @Test("a version of a copy that is held stays when the copy is written to", arguments: [false, true])
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
    try withTemporaryPath { path in
      let key = isEncrypted ? try Fixture.key() : nil
      _ = try RealmCopy.write(try Fixture.named("people").configuration(), to: path, key: key)
      let file = URL(fileURLWithPath: path), before = try Data(contentsOf: file)
      var configuration = Configuration(path: path, encryptionKey: key)
      configuration.mode = mode
      let writer = try RealmWriter(configuration)
      let dropped = try writer.begin()
      _ = try dropped.addTable("class_New")
      dropped.rollback()
      _ = try writer.whileNobodyCommits { $0.version }
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

  @Test("of two programs that make the first change to a copy, one is told to try again", arguments: [false, true])
  func twoFirst(_ isEncrypted: Bool) throws {
    try withTemporaryPath { path in
      let key = isEncrypted ? try Fixture.key() : nil
      _ = try RealmCopy.write(try Fixture.named("people").configuration(), to: path, key: key)
      let configuration = Configuration(path: path, encryptionKey: key)
      let fast = try RealmWriter(configuration), slow = try RealmWriter(configuration)
      let late = try slow.begin()
      _ = try late.addTable("class_Slow")
      let first = try fast.begin()
      _ = try first.addTable("class_Fast")
      _ = try first.commit()
      do {
        _ = try late.commit()
        Issue.record("committed over what it did not see")
      } catch { #expect((error as? EngineError)?.reason == .busy, "\(error)") }
      let again = try slow.begin()
      _ = try again.addTable("class_Slow")
      _ = try again.commit()
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
