// A realm whose file is moved, replaced, removed, overwritten, encrypted or opened by a second name while it is open:
// reads have the right content, nothing is written to a wrong file, and no commit is lost.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Moved files")
struct MovedFileTests {
  private func makeCounter(_ path: String, _ start: Int64 = 0, key: EncryptionKey? = nil) throws {
    let writer = try RealmWriter(Configuration(path: path, encryptionKey: key), create: true)
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Counter")
    let column = try transaction.addColumn(table, ColumnSpec("value", .int))
    try transaction.set(table, transaction.create(table), column, .int(start))
    _ = try transaction.commit()
  }

  /// Counts in a transaction, during which `meanwhile` runs.
  private func count(
    _ writer: RealmWriter,
    _ durability: Durability = .full,
    meanwhile: () throws -> Void = {}
  ) throws {
    let transaction = try writer.begin()
    let table = try #require(try transaction.tableKey(named: "class_Counter"))
    let column = try transaction.columns(of: table)[0].key
    guard case .int(let value) = try transaction.value(table, ObjKey(0), column) else {
      throw CocoaError(.fileReadCorruptFile)
    }
    try transaction.set(table, ObjKey(0), column, .int(value + 1))
    try meanwhile()
    _ = try transaction.commit(durability)
  }

  private func value(_ realm: Realm) throws -> Int64 {
    let snapshot = try realm.latest()
    let cursor = ObjectCursor(try #require(try snapshot.table(named: "class_Counter")))
    guard try cursor.next(), case .int(let value) = try cursor.value(0) else { return -1 }
    return value
  }

  /// The content for a program that knows nothing of this process, in a file that must be sound.
  private func stored(_ path: String, key: EncryptionKey? = nil) throws -> Int64 {
    let realm = try Realm(Configuration(path: path, encryptionKey: key, mode: .immutable))
    #expect(try Verifier(realm.latest()).problems(limit: 3) == [])
    return try value(realm)
  }

  private func expectMoved(_ body: () throws -> Void, _ place: SourceLocation = #_sourceLocation) {
    do {
      try body()
      Issue.record("written", sourceLocation: place)
    } catch { #expect((error as? EngineError)?.reason == .moved, "\(error)", sourceLocation: place) }
  }

  private func bytes(_ path: String) throws -> Data { try Data(contentsOf: URL(fileURLWithPath: path)) }

  private func waitUntil(_ condition: () throws -> Bool) rethrows -> Bool {
    let deadline = Date(timeIntervalSinceNow: 120)
    while try !condition() {
      if Date() > deadline { return false }
      usleep(20_000)
    }
    return true
  }

  static let modes: [Configuration.Mode] = [.shared, .exclusive]

  @Test(
    "a realm that was moved away stays readable, is not writable, and recovers when it is moved back",
    arguments: modes,
    [false, true]
  )
  func movedAway(mode: Configuration.Mode, isEncrypted: Bool) throws {
    try withTemporaryPath { path in
      let key = isEncrypted ? try Fixture.key() : nil
      try makeCounter(path, key: key)
      let writer = try RealmWriter(Configuration(path: path, encryptionKey: key, mode: mode))
      try count(writer)
      #expect(rename(path, path + ".new") == 0)
      let before = try bytes(path + ".new")
      #expect(try value(writer.realm) == 1)
      expectMoved { try count(writer) }
      #expect(try bytes(path + ".new") == before)
      if mode == .shared { #expect(writer.realm.location.place == .gone) }
      #expect(rename(path + ".new", path) == 0)
      try count(writer)
      #expect(try value(writer.realm) == 2 && stored(path, key: key) == 2)
      #expect(writer.realm.location.place == .here)
    }
  }

  @Test("a commit fails if the file is moved, replaced or removed during its transaction", arguments: modes)
  func duringTransaction(mode: Configuration.Mode) throws {
    try withTemporaryPath { path in
      let other = path + ".other", aside = path + ".aside"
      try makeCounter(path)
      try makeCounter(other, 70)
      let writer = try RealmWriter(Configuration(path: path, mode: mode))
      let before = try bytes(path), otherBytes = try bytes(other)
      expectMoved { try count(writer) { #expect(rename(path, aside) == 0) } }
      #expect(try bytes(aside).prefix(before.count) == before)
      #expect(rename(aside, path) == 0)
      expectMoved {
        try count(writer) {
          #expect(link(path, aside) == 0)
          #expect(rename(other, path) == 0)
        }
      }
      #expect(try bytes(path) == otherBytes && stored(aside) == 0)
      if mode == .exclusive { return }
      try count(writer)
      #expect(try value(writer.realm) == 71 && stored(path) == 71)
      expectMoved { try count(writer) { #expect(unlink(path) == 0) } }
      #expect(try value(writer.realm) == 71)
      #expect(access(path, F_OK) != 0)
    }
  }

  @Test("the new name of a file can be opened and written to while the old one is still open")
  func bothNames() throws {
    try withTemporaryPath { path in
      try makeCounter(path)
      let first = try RealmWriter(Configuration(path: path))
      try count(first)
      #expect(rename(path, path + ".new") == 0)
      let second = try RealmWriter(Configuration(path: path + ".new"))
      try count(second)
      #expect(try value(first.realm) == 2)
      expectMoved { try count(first) }
      #expect(try stored(path + ".new") == 2)
      #expect(rename(path + ".new", path) == 0)
      // The second is in the session of a name that no longer exists, and leaves it soon.
      #expect(try waitUntil { try value(first.realm) == 2 && first.realm.location.place == .here })
      try count(first)
      #expect(try stored(path) == 3)
      expectMoved { try count(second) }
    }
  }

  @Test("writers that use two names of one file take turns or are refused, and lose nothing")
  func hardLinks() throws {
    try withTemporaryPath { path in
      try makeCounter(path)
      #expect(link(path, path + ".2") == 0)
      let done = NSLock()
      nonisolated(unsafe) var counted: Int64 = 0
      let group = DispatchGroup()
      for name in [path, path + ".2", path, path + ".2"] {
        DispatchQueue.global().async(group: group) {
          for _ in 0..<10 {
            do {
              let writer = try RealmWriter(Configuration(path: name))
              try count(writer)
              done.withLock { counted += 1 }
            } catch { #expect((error as? EngineError)?.reason == .inUse, "\(error)") }
          }
        }
      }
      group.wait()
      #expect(try counted > 0 && stored(path) == counted)
    }
  }

  @Test("a reader by another name sees commits, and can write after the other program has left")
  func otherName() throws {
    try withTemporaryPath { path in
      try makeCounter(path)
      #expect(link(path, path + ".2") == 0)
      var first: RealmWriter? = try RealmWriter(Configuration(path: path))
      let reader = try Realm(Configuration(path: path + ".2"))
      #expect(try value(reader) == 0 && reader.location.place == .otherName)
      try first.map { try count($0) }
      #expect(try value(reader) == 1)
      first = nil
      #expect(try waitUntil { try value(reader) == 1 && reader.location.place == .here })
    }
  }

  @Test("a program that recreates a removed lock file cannot join while a version is held")
  func removedLockFile() throws {
    try withTemporaryPath { path in
      try makeCounter(path)
      let first = try RealmWriter(Configuration(path: path))
      try count(first)
      let held = try first.realm.hold()
      #expect(unlink(path + ".lock") == 0)
      #expect(try Realm(Configuration(path: path)).location.place == .here)
      let second = try Realm(Configuration(path: path))
      #expect(try value(second) == 1 && second.location.place == .otherName)
      do {
        try count(first)
        Issue.record("written without a lock file")
      } catch { #expect((error as? EngineError)?.reason == .inUse, "\(error)") }
      #expect(try stored(path) == 1)
      withExtendedLifetime(held) {}
    }
  }

  @Test("the only program that has the realm open recreates a removed lock file, and others can join")
  func removedLockFileOfOne() throws {
    try withTemporaryPath { path in
      try makeCounter(path)
      let first = try RealmWriter(Configuration(path: path))
      try count(first)
      #expect(unlink(path + ".lock") == 0)
      try count(first)
      #expect(try stored(path) == 2 && access(path + ".lock", F_OK) == 0)
      // It leaves without a request, too, so that another writer does not wait for long.
      #expect(unlink(path + ".lock") == 0)
      let second = try RealmWriter(Configuration(path: path))
      try count(second)
      try count(first)
      try count(second)
      #expect(try stored(path) == 5 && value(first.realm) == 5)
    }
  }

  @Test(
    "a commit made just before the lock file is removed, emptied or overwritten is read",
    arguments: [nil, 0, 0x41, 0xff] as [UInt8?]
  )
  func removedBeforeReading(_ filler: UInt8?) throws {
    try withTemporaryPath { path in
      try makeCounter(path)
      let writer = try RealmWriter(Configuration(path: path))
      for number in 1...3 {
        try count(writer)
        switch filler {
        case nil: #expect(unlink(path + ".lock") == 0)
        case 0: #expect(truncate(path + ".lock", 0) == 0)
        case let filler?:
          let handle = try Foundation.FileHandle(forWritingTo: URL(fileURLWithPath: path + ".lock"))
          try handle.write(contentsOf: Data(repeating: filler, count: 2000))
          try handle.close()
        }
        #expect(try value(writer.realm) == number)
      }
    }
  }

  @Test(
    "the new content of a file overwritten in place is read, and commits based on the old one are refused",
    arguments: modes
  )
  func overwritten(mode: Configuration.Mode) throws {
    try withTemporaryPath { path in
      let other = path + ".other"
      try makeCounter(path)
      try makeCounter(other, 70)
      for _ in 0..<3 { try count(RealmWriter(Configuration(path: other))) }
      let writer = try RealmWriter(Configuration(path: path, mode: mode))
      try count(writer)
      let new = try bytes(other)
      func overwrite() throws {
        let handle = try Foundation.FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.truncate(atOffset: 0)
        try handle.write(contentsOf: new)
        try handle.close()
      }
      expectMoved { try count(writer, meanwhile: overwrite) }
      #expect(try bytes(path) == new)
      #expect(try value(writer.realm) == 73)
      try count(writer)
      #expect(try value(writer.realm) == 74 && stored(path) == 74)
      try overwrite()
      #expect(try value(writer.realm) == 73)
      try count(writer)
      #expect(try stored(path) == 74)
    }
  }

  @Test("an older copy written over the realm is not taken for the realm")
  func overwrittenByOlderCopy() throws {
    try withTemporaryPath { path in
      try makeCounter(path)
      let writer = try RealmWriter(Configuration(path: path))
      try count(writer)
      let old = try bytes(path)
      for _ in 0..<5 { try count(writer) }
      let handle = try Foundation.FileHandle(forWritingTo: URL(fileURLWithPath: path))
      expectMoved {
        try count(writer) {
          try handle.truncate(atOffset: 0)
          try handle.write(contentsOf: old)
        }
      }
      #expect(try bytes(path) == old)
      #expect(try value(writer.realm) == 1)
      try count(writer)
      #expect(try stored(path) == 2)
    }
  }

  @Test("a truncated copy does not open as an empty realm, and is not written to")
  func lostFooter() throws {
    var bytes = try Fixture.named("streaming-form").bytes()
    for at in bytes.count - 16..<bytes.count - 8 { bytes[at] = 0 }
    try withTemporaryFile(bytes) { path in
      let error = #expect(throws: EngineError.self) { _ = try RealmWriter(Configuration(path: path)) }
      #expect(error?.reason == .unreached)
      let untouched = try self.bytes(path)
      #expect(untouched == Data(bytes))
    }
  }

  @Test("an overwritten empty realm is not taken for an earlier version of the new one")
  func overwrittenEmpty() throws {
    try withTemporaryPath { path in
      let other = path + ".other"
      try makeCounter(other, 5)
      let new = try bytes(other)
      let writer = try RealmWriter(Configuration(path: path), create: true)
      let transaction = try writer.begin()
      _ = try transaction.addTable("class_Lost")
      let handle = try Foundation.FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: new)
      do throws(EngineError) {
        _ = try transaction.commit()
        Issue.record("written")
      } catch { #expect(error.reason == .moved) }
      #expect(try bytes(path) == new)
      try count(writer)
      #expect(try stored(path) == 6)
    }
  }

  @Test(
    "grouped commits reach the file that they were made in, even after it was moved",
    arguments: ["moved", "replaced", "removed"]
  )
  func grouped(operation: String) throws {
    try withTemporaryPath { path in
      let other = path + ".other", aside = path + ".aside"
      try makeCounter(path)
      try makeCounter(other, 70)
      let writer = try RealmWriter(Configuration(path: path))
      for _ in 0..<3 { try count(writer, .grouped) }
      switch operation {
      case "moved": #expect(rename(path, aside) == 0)
      case "replaced": #expect(link(path, aside) == 0 && rename(other, path) == 0)
      default: #expect(link(path, aside) == 0 && unlink(path) == 0)
      }
      #expect(try value(writer.realm) == 3)
      if operation == "replaced" {
        // New transactions are for the new file.
        try count(writer)
        #expect(try value(writer.realm) == 71 && stored(path) == 71)
      } else {
        expectMoved { try count(writer) }
      }
      try writer.sync()
      #expect(try stored(aside) == 3)
    }
  }

  @Test("a grouped commit that was not read yet is read, and reaches the file, after the lock file is removed")
  func groupedWithoutLockFile() throws {
    try withTemporaryPath { path in
      try makeCounter(path)
      let writer = try RealmWriter(Configuration(path: path))
      #expect(try value(writer.realm) == 0)
      try count(writer, .grouped)
      #expect(unlink(path + ".lock") == 0)
      #expect(try value(writer.realm) == 1 && stored(path) == 0)
      try count(writer, .grouped)
      #expect(try value(writer.realm) == 2)
      try writer.sync()
      #expect(try stored(path) == 2)
    }
  }

  @Test("grouped commits to an overwritten file are reported as lost, and the file is not modified")
  func groupedAndOverwritten() throws {
    try withTemporaryPath { path in
      let other = path + ".other"
      try makeCounter(path)
      try makeCounter(other, 70)
      let writer = try RealmWriter(Configuration(path: path))
      for _ in 0..<3 { try count(writer, .grouped) }
      let new = try bytes(other)
      let handle = try Foundation.FileHandle(forWritingTo: URL(fileURLWithPath: path))
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: new)
      expectMoved { try writer.sync() }
      #expect(try bytes(path) == new)
      try count(writer)
      #expect(try stored(path) == 71)
    }
  }

  @Test("the old realm stays visible after it is replaced, until other programs have closed it")
  func replacedWhileShared() throws {
    try withTemporaryPath { path in
      let other = path + ".other"
      try makeCounter(path)
      try makeCounter(other, 70)
      let first = try RealmWriter(Configuration(path: path))
      var second: RealmWriter? = try RealmWriter(Configuration(path: path))
      try count(first)
      let new = try bytes(other)
      #expect(rename(other, path) == 0)
      #expect(try value(first.realm) == 1 && first.realm.location.place == .shared)
      expectMoved { try count(first) }
      #expect(throws: EngineError.self) { try Realm(Configuration(path: path)).latest() }
      #expect(try bytes(path) == new)
      second = nil
      _ = second
      #expect(try waitUntil { try value(first.realm) == 70 })
      try count(first)
      #expect(try stored(path) == 71)
    }
  }

  @Test("a realm that is compacted or decrypted stays open; if it is encrypted, an error says which key is missing")
  func otherKeys() throws {
    try withTemporaryPath { path in
      let key = try Fixture.key(), second = try #require(EncryptionKey([UInt8](repeating: 7, count: 64)))
      try makeCounter(path)
      var configuration = Configuration(path: path)
      configuration.idleTime = .milliseconds(100)
      var keyed = configuration
      keyed.encryptionKey = key
      let plain = try RealmWriter(configuration)
      func rewrite(_ configuration: Configuration, _ key: EncryptionKey?) {
        #expect(waitUntil { (try? RealmCopy.rewrite(configuration, key: key)) != nil })
      }
      rewrite(configuration, nil)
      try count(plain)
      #expect(try value(plain.realm) == 1)
      rewrite(configuration, key)
      do {
        _ = try plain.realm.latest()
        Issue.record("an encrypted file was read without its key")
      } catch { #expect((error as? EngineError)?.reason == .keyNeeded) }
      let encrypted = try RealmWriter(keyed)
      try count(encrypted)
      #expect(try value(encrypted.realm) == 2 && encrypted.realm.location.isEncrypted)
      rewrite(keyed, second)
      do {
        _ = try encrypted.realm.latest()
        Issue.record("a file with another key was read")
      } catch { #expect((error as? EngineError)?.reason == .wrongKey) }
      var other = keyed
      other.encryptionKey = second
      rewrite(other, nil)
      for writer in [encrypted, plain] {
        try count(writer)
        #expect(!writer.realm.location.isEncrypted)
      }
      #expect(try value(encrypted.realm) == 4 && stored(path) == 4)
      rewrite(configuration, key)
      try count(encrypted)
      #expect(try value(encrypted.realm) == 5 && encrypted.realm.location.isEncrypted && stored(path, key: key) == 5)
    }
  }

  @Test(
    "a commit by a program with an unknown lock file is read, and the next commit builds on it",
    arguments: [false, true]
  )
  func foreignCommit(isEncrypted: Bool) throws {
    try withTemporaryPath { path in
      let key = isEncrypted ? try Fixture.key() : nil, copy = path + ".copy"
      try makeCounter(path, key: key)
      let writer = try RealmWriter(Configuration(path: path, encryptionKey: key))
      for round in 0..<4 {
        let before = Int64(2 * round)
        #expect(try value(writer.realm) == before)
        // The next version, as a program with Realm's engine writes it that has the file open by another name.
        try bytes(path).write(to: URL(fileURLWithPath: copy))
        try count(RealmWriter(Configuration(path: copy, encryptionKey: key)))
        let handle = try Foundation.FileHandle(forWritingTo: URL(fileURLWithPath: path))
        try handle.write(contentsOf: bytes(copy))
        try handle.close()
        if round % 2 == 0 { #expect(try value(writer.realm) == before + 1) }
        try count(writer)
        #expect(try stored(path, key: key) == before + 2)
        #expect(writer.realm.location.generation == 0)
      }
      // A program that opens the file during a transaction of this process.
      try bytes(path).write(to: URL(fileURLWithPath: copy))
      try count(RealmWriter(Configuration(path: copy, encryptionKey: key)))
      let handle = try Foundation.FileHandle(forWritingTo: URL(fileURLWithPath: path))
      expectMoved { try count(writer) { try handle.write(contentsOf: bytes(copy)) } }
      #expect(try value(writer.realm) == 9 && stored(path, key: key) == 9)
    }
  }

  @Test("a symbolic link has its own lock file, as in Realm's engine, unless another name is in use")
  func symbolicLinks() throws {
    try withTemporaryPath { path in
      let name = path + ".link"
      try makeCounter(path)
      #expect(unlink(path + ".lock") == 0 && symlink(path, name) == 0)
      do {
        let writer = try RealmWriter(Configuration(path: name))
        try count(writer)
        #expect(access(name + ".lock", F_OK) == 0 && access(path + ".lock", F_OK) != 0)
      }
      #expect(waitUntil { LockHolders.ofLock(name + ".lock").isEmpty })
      let direct = try RealmWriter(Configuration(path: path))
      try count(direct)
      let linked = try RealmWriter(Configuration(path: name))
      for _ in 0..<5 {
        try count(direct)
        try count(linked)
      }
      #expect(try value(direct.realm) == 12 && value(linked.realm) == 12 && direct.realm.location.place == .here)
      // A program of another kind joins beside the link.
      let descriptor = open(name + ".lock", O_RDWR)
      defer { close(descriptor) }
      #expect(flock(descriptor, LOCK_SH) == 0)
      do {
        try count(linked)
        Issue.record("written while programs use two lock files")
      } catch { #expect((error as? EngineError)?.reason == .inUse, "\(error)") }
      #expect(throws: EngineError.self) { try RealmWriter(Configuration(path: name)) }
      #expect(throws: EngineError.self) { try RealmCopy.rewrite(Configuration(path: name), key: nil) }
      #expect(try stored(path) == 12)
    }
  }
}
