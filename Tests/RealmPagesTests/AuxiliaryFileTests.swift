// Files beside a realm with names used by realmfs: accepted if realmfs or Realm's engine could have created them, on
// any system; otherwise refused, and not changed.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Files beside a realm")
struct AuxiliaryFileTests {
  /// The first 24 bytes of lock files: x86-64 and aarch64 Linux, Apple, Windows, the layouts since 2014, and one whose
  /// creator was killed.
  static let locks: [[UInt8]] =
    [
      [1, 40, 48, 0, 24, 2, 14, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0],
      [1, 48, 48, 0, 24, 2, 14, 0, 0, 0, 0, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0],
      [1, 1, 16, 0, 24, 2, 14, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0],
      [1, 40, 48, 1, 24, 3, 14, 0, 0, 0, 0, 0, 9, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
      [1, 8, 24, 0, 22, 3, 13, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
      [1, 24, 12, 0, 9, 2, 10, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
      [1, 40, 48, 0, 0, 0, 3, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0],
      [0, 40, 48, 0, 0, 2, 14, 0],
      [UInt8](repeating: 0, count: 24),
      [1, 0, 0, 0, 1, 0, 0, 0],
    ]

  @Test("lock files of every system and layout are recognized", arguments: locks)
  func lockFiles(head: [UInt8]) {
    for size in [head.count, 1728, 3008, 1752, 448 + 40 * 60_000] {
      #expect(AuxiliaryFile.isLock(head: head, size: size))
    }
  }

  @Test("an empty file counts as a lock file that is not initialized yet")
  func empty() { #expect(AuxiliaryFile.isLock(head: [], size: 0)) }

  static let others: [[UInt8]] = [
    Array("hello, this is a text\n".utf8), Array("{\"a\": 1, \"b\": [1, 2, 3]}".utf8),
    [0x7F, 0x45, 0x4C, 0x46, 2, 1, 1, 0],
    Array("SQLite format 3\0".utf8), [0x1F, 0x8B, 8, 0, 0, 0, 0, 0], [0x89, 0x50, 0x4E, 0x47, 13, 10, 26, 10],
    [0, 0, 1, 0, 1, 0, 16, 16], [0, 1, 0, 0, 0, 12, 0, 128], [1, 40, 48], [0],
  ]

  @Test("other files are not taken for lock files", arguments: others)
  func otherFiles(head: [UInt8]) { #expect(!AuxiliaryFile.isLock(head: head, size: max(head.count, 1728))) }

  @Test("a realm is not taken for a lock file", arguments: Fixture.all)
  func realms(fixture: Fixture) throws {
    let bytes = try fixture.bytes()
    #expect(!AuxiliaryFile.isLock(head: Array(bytes.prefix(24)), size: bytes.count))
  }

  /// A realm, and the result of `put` at a name beside it.
  private func beside(_ suffix: String, _ put: (_ path: String, _ other: String) throws -> Void) throws {
    try withTemporaryPath { path in
      try Data(Fixture.named("people").bytes()).write(to: URL(fileURLWithPath: path))
      let other = path + ".other"
      try Data("precious".utf8).write(to: URL(fileURLWithPath: other))
      try put(path + suffix, other)
      let before = try listing(of: path + suffix)
      for mode in [Configuration.Mode.shared, .exclusive] where suffix == ".lock" || mode == .shared {
        do throws(EngineError) {
          _ = try Realm(Configuration(path: path, mode: mode))
          Issue.record("opened beside \(suffix)")
        } catch {
          #expect(error.reason == .file(EPERM) || error.reason == .inUse, "\(error)")
          #expect(error.description.contains(path + suffix) && error.description.contains("was not changed"))
        }
      }
      #expect(throws: EngineError.self) { try RealmWriter(Configuration(path: path)) }
      #expect(try Data(contentsOf: URL(fileURLWithPath: other)) == Data("precious".utf8))
      #expect(try listing(of: path + suffix) == before)
      _ = try Realm(Configuration(path: path, mode: .immutable)).latest()
    }
  }

  private func listing(of path: String) throws -> [String] {
    var status = stat()
    #expect(lstat(path, &status) == 0)
    let numbers = [Int(status.st_mode), Int(status.st_ino), Int(status.st_size), Int(status.st_nlink)]
    return numbers.map { "\($0)" } + ["\(status.st_mtim.tv_nsec)"]
  }

  @Test(
    "a link or another file in place of the lock file is refused and left unchanged",
    arguments: ["link", "hard", "pipe", "folder", "text"]
  )
  func noLock(kind: String) throws {
    try beside(".lock") { path, other in
      switch kind {
      case "link": #expect(symlink(other, path) == 0)
      case "hard": #expect(link(other, path) == 0)
      case "pipe": #expect(mkfifo(path, 0o600) == 0)
      case "folder": #expect(mkdir(path, 0o700) == 0)
      default: try Data("a text, longer than some bytes".utf8).write(to: URL(fileURLWithPath: path))
      }
    }
  }

  @Test("a link or file in place of the session's folder is refused and kept", arguments: ["link", "file"])
  func noFolder(kind: String) throws {
    try beside(".management") { path, other in
      #expect((kind == "link" ? symlink(other, path) : link(other, path)) == 0)
    }
  }

  @Test("a link or other file in place of the pipe is refused and kept", arguments: ["link", "file", "folder", "hard"])
  func noPipe(kind: String) throws {
    try beside(".note") { path, other in
      switch kind {
      case "link": #expect(symlink(other, path) == 0)
      case "file": #expect(link(other, path) == 0)
      case "folder": #expect(mkdir(path, 0o700) == 0)
      default:
        #expect(mkfifo(path, 0o600) == 0)
        #expect(link(path, path + ".2") == 0)
      }
    }
  }

  @Test("auxiliary files copied from another machine do not prevent opening", arguments: locks)
  func copiedFrom(head: [UInt8]) throws {
    try withTemporaryPath { path in
      try Data(Fixture.named("people").bytes()).write(to: URL(fileURLWithPath: path))
      let lock = Data(head + [UInt8](repeating: 0x5A, count: 1752 - head.count))
      try lock.write(to: URL(fileURLWithPath: path + ".lock"))
      // The remains of a pipe after a copy without special files.
      try Data().write(to: URL(fileURLWithPath: path + ".note"))
      #expect(mkdir(path + ".management", 0o755) == 0)
      try Data([0]).write(to: URL(fileURLWithPath: path + ".management/access_control.write.mx"))
      let writer = try RealmWriter(Configuration(path: path))
      let transaction = try writer.begin()
      _ = try transaction.addTable("class_New")
      _ = try transaction.commit()
      #expect(try Verifier(writer.realm.latest()).problems(limit: 3) == [])
    }
  }

  @Test(
    "a lock file of a user who may not write to the realm is refused",
    .enabled(if: geteuid() == 0, "only root can give files away")
  )
  func stranger() throws {
    try withTemporaryPath { path in
      try Data(Fixture.named("people").bytes()).write(to: URL(fileURLWithPath: path))
      try Data().write(to: URL(fileURLWithPath: path + ".lock"))
      #expect(chmod(path, 0o644) == 0 && chown(path + ".lock", 61001, 61001) == 0)
      do throws(EngineError) {
        _ = try Realm(Configuration(path: path))
        Issue.record("joined")
      } catch { #expect(error.description.contains("user 61001")) }
      #expect(chmod(path, 0o664) == 0)
      _ = try Realm(Configuration(path: path)).latest()
    }
  }

  @Test("a file at the path of the compacted copy is kept unless it is such a copy")
  func replacement() throws {
    try withTemporaryPath { path in
      try Data(Fixture.named("people").bytes()).write(to: URL(fileURLWithPath: path))
      let name = path + NewFile.provisionalSuffix, other = path + ".other"
      try Data("precious".utf8).write(to: URL(fileURLWithPath: other))
      for make in [symlink, link] {
        #expect(make(other, name) == 0)
        do throws(EngineError) {
          _ = try RealmCopy.rewrite(Configuration(path: path), key: nil)
          Issue.record("compacted")
        } catch { #expect(error.description.contains(name)) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: name)) == Data("precious".utf8))
        #expect(unlink(name) == 0)
      }
      try Data("of a program that was killed".utf8).write(to: URL(fileURLWithPath: name))
      _ = try RealmCopy.rewrite(Configuration(path: path), key: nil)
      #expect(access(name, F_OK) != 0)
    }
  }
}
