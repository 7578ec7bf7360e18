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
