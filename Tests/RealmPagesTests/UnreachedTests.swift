// Files whose header refers to no version: empty realms open, files that contain nodes do not.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Headers that lead to no version")
struct UnreachedTests {
  private static let signature: [UInt8] = [0x54, 0x2D, 0x44, 0x42, 0, 0, 0, 0]

  /// Calls `body` with the path of a file that holds `bytes`.
  private func withFile(_ bytes: [UInt8], _ body: (String) throws -> Void) throws {
    try withTemporaryPath { path in
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      try body(path)
    }
  }

  /// The reason why a file does not open in a mode; nil if it does.
  private func reason(_ path: String, _ mode: Configuration.Mode) -> EngineError.Reason? {
    do throws(EngineError) {
      _ = try Realm(Configuration(path: path, mode: mode)).latest()
      return nil
    } catch { return error.reason }
  }

  @Test(
    "a realm without commits is empty, whatever space was allocated for it",
    arguments: [24, 40, 4096, 1 << 20]
  )
  func nothingCommitted(size: Int) throws {
    let header = [UInt8](repeating: 0, count: 16) + Self.signature
    for bytes in [header, header + [UInt8](repeating: 0, count: size - 24)] {
      try withFile(bytes) { path in
        for mode in [Configuration.Mode.immutable, .exclusive, .shared] { #expect(reason(path, mode) == nil) }
        let writer = try RealmWriter(Configuration(path: path))
        _ = try writer.begin().commit()
        #expect(try writer.realm.latest().version == 2)
      }
    }
  }

  @Test("a first commit is visible before it is on disk", arguments: [Configuration.Mode.exclusive, .shared])
  func groupedFirstCommit(mode: Configuration.Mode) throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path, mode: mode), create: true)
      for version in UInt64(2)...4 {
        #expect(try writer.begin().commit(.grouped) == version)
        #expect(try writer.realm.latest().version == version)
      }
      try writer.sync()
      #expect(try Realm(Configuration(path: path, mode: .immutable)).latest().version == 4)
    }
  }

  @Test("a header that lost the newest ref does not open, although the other slot has an older one")
  func lostSelectedRef() throws {
    var bytes = try Fixture.named("many-versions").bytes()
    let slot = Int(bytes[23] & 1)
    #expect(bytes[(1 - slot) * 8..<(2 - slot) * 8].contains { $0 != 0 })
    for at in slot * 8..<slot * 8 + 8 { bytes[at] = 0 }
    try withFile(bytes) { path in
      for mode in [Configuration.Mode.immutable, .exclusive, .shared] { #expect(reason(path, mode) == .unreached) }
    }
  }

  @Test("a file whose nodes are not where nodes can begin is not an empty realm", arguments: [4, 9])
  func shifted(by count: Int) throws {
    let people = try Fixture.named("people").bytes()
    let header = [UInt8](repeating: 0, count: 16) + people[16..<24]
    try withFile(header + [UInt8](repeating: 0, count: count) + people[24...]) { path in
      for mode in [Configuration.Mode.immutable, .exclusive, .shared] { #expect(reason(path, mode) == .unreached) }
      let saved = path + ".saved"
      let error = #expect(throws: EngineError.self) { try RealmRecovery.run(Configuration(path: path), to: saved) }
      #expect(error?.reason == .damaged)
    }
  }

  @Test("an empty realm can be copied")
  func emptyCopy() throws {
    let copy = Header.ofCopy(format: 24) + Header.footer(topRef: 0)
    try withFile(copy) { path in
      for mode in [Configuration.Mode.immutable, .exclusive, .shared] { #expect(reason(path, mode) == nil) }
    }
  }

  @Test("an encrypted realm whose header leads to no version does not open either")
  func encrypted() throws {
    try withTemporaryPath { path in
      let key = try #require(try Fixture.key()), original = Fixture.named("people-encrypted")
      try Data(original.bytes()).write(to: URL(fileURLWithPath: path))
      let file = try FileHandle(path: path, forWriting: true, create: false)
      let storage = try #require(EncryptedStorage(FileStorage(file), key: key))
      try storage.write([UInt8](repeating: 0, count: 16), at: 0)
      try storage.sync()
      var configuration = Configuration(path: path, encryptionKey: key, mode: .immutable)
      let error = #expect(throws: EngineError.self) { try Realm(configuration).latest() }
      #expect(error?.reason == .unreached)
      configuration.mode = .shared
      #expect(throws: EngineError.self) { try RealmWriter(configuration, create: true) }
      #expect(try Realm.unreached(configuration).version == original.snapshot().version)
    }
  }

  @Test("a realm opens while another program makes its first commit", arguments: [false, true])
  func firstCommit(isShared: Bool) throws {
    let people = try Fixture.named("people").bytes()
    let bytes = [UInt8](repeating: 0, count: 16) + people[16...]
    try withFile(Array(bytes.prefix(16)) + Self.signature) { path in
      // The nodes are written to the file after its session began.
      let first = try Realm(Configuration(path: path))
      let before = try first.latest()
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      if isShared {
        #expect(reason(path, .shared) == nil)
      } else {
        #expect(reason(path, .immutable) == .unreached, "of this process, which knows that it does not commit")
      }
      withExtendedLifetime((first, before)) {}
    }
  }

  @Test("an interrupted first commit leaves an empty realm", arguments: [false, true])
  func cutOff(isExclusive: Bool) throws {
    try withTemporaryPath { path in
      let mode: Configuration.Mode = isExclusive ? .exclusive : .shared
      do {
        let writer = try RealmWriter(Configuration(path: path, mode: mode), create: true)
        let transaction = try writer.begin()
        _ = try transaction.addTable("class_Kept")
        // A grouped commit writes everything except the header.
        _ = try transaction.commit(.grouped)
        let image = try Data(contentsOf: URL(fileURLWithPath: path))
        try image.write(to: URL(fileURLWithPath: path + ".cut"))
      }
      let cut = path + ".cut"
      for mode in [Configuration.Mode.immutable, .exclusive, .shared] { #expect(reason(cut, mode) == nil) }
      var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: cut)))
      bytes.replaceSubrange(0..<16, with: repeatElement(0, count: 16))
      try Data(bytes).write(to: URL(fileURLWithPath: cut))
      #expect(reason(cut, .immutable) == .unreached, "without the mark of a first commit")
    }
  }

  @Test("a realm whose header is overwritten while it is open is not read as an empty one")
  func overwritten() throws {
    let bytes = try Fixture.named("people").bytes()
    for mode in [Configuration.Mode.immutable, .shared] {
      try withFile(bytes) { path in
        let realm = try Realm(Configuration(path: path, mode: mode))
        #expect(try realm.latest().tableKeys().count == 3)
        try Data([UInt8](repeating: 0, count: 16) + bytes[16...]).write(
          to: URL(fileURLWithPath: path),
          options: .atomic
        )
        let error = #expect(throws: EngineError.self) { try realm.latest() }
        #expect(error?.reason == .unreached)
      }
    }
  }
}
