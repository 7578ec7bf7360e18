// Upgrades of files of every older format, against the trees that the real engine shows after its own upgrade.

import Foundation
import RealmPages
import TestSupport
import Testing

@Suite("Upgrades")
struct UpgradeTests {
  /// Calls `body` with a copy of a file in a temporary folder.
  private func withCopy(of file: URL, _ body: (String, URL) throws -> Void) throws {
    try withTemporaryFolder { folder in
      let copy = folder.appendingPathComponent("a.realm")
      try Data(contentsOf: file).write(to: copy)
      try body(copy.path, folder)
    }
  }

  /// A file of the package whose header has format 23, like one without link lists.
  private func withFormat23(_ name: String, _ body: (String, URL) throws -> Void) throws {
    try withCopy(of: FixtureTree.named(name).realm) { path, folder in
      var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
      (bytes[20], bytes[21]) = (23, 23)
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      try body(path, folder)
    }
  }

  private func expectSound(_ snapshot: Snapshot) {
    var problems: [String] = []
    _ = Verifier(snapshot).run(limit: 5) { problems.append($0.description) }
    #expect(problems.isEmpty)
    #expect(snapshot.fileFormat == 24)
  }

  @Test(
    "a file of any older format has the same content as after the reference engine's upgrade",
    arguments: FixtureTree.old
  )
  func upgrade(fixture: FixtureTree) throws {
    try withCopy(of: fixture.realm) { path, folder in
      let before = try Data(contentsOf: fixture.realm)
      let key = try fixture.key()
      var path = path
      if try fixture.snapshot().historyType > 2 {
        let refusal = #expect(throws: EngineError.self) { try RealmUpgrade.run(Configuration(path: path)) }
        #expect(refusal?.reason == .notApplicable)
        let local = folder.appendingPathComponent("local.realm").path
        _ = try RealmCopy.write(Configuration(path: path, mode: .immutable), to: local, key: nil, keepsHistory: false)
        path = local
      }
      let outcome = try RealmUpgrade.run(Configuration(path: path, encryptionKey: key))
      #expect(outcome.notes.isEmpty)
      if path.hasSuffix("a.realm") {
        let backup = folder.appendingPathComponent("a.v\(outcome.from).backup.realm")
        #expect(outcome.backup == backup.path)
        #expect(try Data(contentsOf: backup) == before)
      }
      let snapshot = try Realm(Configuration(path: path, encryptionKey: key, mode: .immutable)).latest()
      expectSound(snapshot)
      try fixture.compare(with: snapshot)
      #expect(try snapshot.schemaVersion() == fixture.snapshot().schemaVersion())
      let writer = try RealmWriter(Configuration(path: path, encryptionKey: key, mode: .exclusive))
      _ = try writer.begin().commit()
      expectSound(try writer.realm.latest())
    }
  }

  @Test("the old file is kept, and an upgrade never overwrites an older one", arguments: ["people", "embedded"])
  func backup(name: String) throws {
    try withFormat23(name) { path, folder in
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      let backup = folder.appendingPathComponent("a.v23.backup.realm")
      try Data("something else".utf8).write(to: backup)
      let refusal = #expect(throws: EngineError.self) { try RealmUpgrade.run(Configuration(path: path)) }
      #expect(refusal?.code == EEXIST)
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == before)
      try before.write(to: backup)
      #expect(try RealmUpgrade.run(Configuration(path: path)).from == 23)
      #expect(try Data(contentsOf: backup) == before)
      let snapshot = try Realm(Configuration(path: path, mode: .immutable)).latest()
      expectSound(snapshot)
      try FixtureTree.named(name).compare(with: snapshot)
      let again = try RealmUpgrade.run(Configuration(path: path))
      #expect(again.from == 24 && again.backup == nil)
    }
  }

  @Test("the backup is created in the requested folder")
  func folder() throws {
    try withFormat23("people") { path, folder in
      let other = folder.appendingPathComponent("backups")
      try FileManager.default.createDirectory(at: other, withIntermediateDirectories: true)
      let outcome = try RealmUpgrade.run(Configuration(path: path), backupFolder: other.path)
      #expect(outcome.backup == other.appendingPathComponent("a.v23.backup.realm").path)
      #expect(FileManager.default.fileExists(atPath: outcome.backup ?? ""))
      #expect(!FileManager.default.fileExists(atPath: folder.appendingPathComponent("a.v23.backup.realm").path))
    }
  }

  @Test("an encrypted file stays encrypted")
  func encrypted() throws {
    let fixture = try #require(FixtureTree.ownOld.first { $0.testDescription == "v9-core-5.23.9" })
    try withCopy(of: fixture.realm) { path, _ in
      let key = try #require(EncryptionKey((0..<64).map { UInt8($0) ^ 0x5A }))
      _ = try RealmCopy.rewrite(Configuration(path: path), key: key)
      let configuration = Configuration(path: path, encryptionKey: key, mode: .immutable)
      #expect(try RealmUpgrade.run(configuration).from == 9)
      let snapshot = try Realm(configuration).latest()
      expectSound(snapshot)
      try fixture.compare(with: snapshot)
    }
  }
}
