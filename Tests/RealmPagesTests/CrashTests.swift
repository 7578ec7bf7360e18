// A crash at any moment of a commit leaves the old or the new version, complete. Every write and sync of each kind of
// commit is recorded and replayed in part; docs/RELIABILITY.md explains why this must hold.
//
//     CRASH_SAMPLES=200 swift test --filter Crash      # more of the random images; SEED=n for others
//     CRASH_KEEP=/tmp/images swift test --filter Crash # leaves every 25th image there

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Crash")
struct CrashTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let samples = environment["CRASH_SAMPLES"].flatMap { Int($0) } ?? 12
  private static let seed = Seeds.first

  @Test("a crash at any moment of a commit leaves the old or the new version", arguments: CommitShape.allCases)
  func plain(shape: CommitShape) throws { try check(shape, key: nil) }

  @Test("the same holds for an encrypted file if page writes are atomic", arguments: CommitShape.allCases)
  func encrypted(shape: CommitShape) throws { try check(shape, key: Fixture.key()) }

  /// Metadata is written in sectors, each with eight slots; the pages of data as wholes.
  private static func unit(_ offset: Int, isEncrypted: Bool) -> Int {
    !isEncrypted || offset / 4096 % 65 == 0 ? 512 : 4096
  }

  private func check(_ shape: CommitShape, key: EncryptionKey?) throws {
    let recorded = try Recording(shape, key: key)
    let images = CrashImages(before: recorded.before, events: recorded.events) {
      Self.unit($0, isEncrypted: key != nil)
    }
    var seen = (old: 0, new: 0), count = 0
    let keep = Self.environment["CRASH_KEEP"]
    try images.visit(samples: Self.samples, seed: Self.seed) { image in
      count += 1
      let story: Comment = "\(shape), \(image.story)"
      try withTemporaryFile(image.bytes) { path in
        let configuration = Configuration(path: path, encryptionKey: key)
        defer { try? FileManager.default.removeItem(atPath: path + ".lock") }  // a leftover harms nobody
        if let keep, count % 25 == 0, recorded.old == nil || image.syncs > 1 {
          let name = "\(keep)/\(shape)-\(key == nil ? "plain" : "encrypted")-\(count).realm"
          try? FileManager.default.removeItem(atPath: name)
          try FileManager.default.copyItem(atPath: path, toPath: name)
        }
        do {
          // Every second image is looked at by a reader first, which changes nothing.
          if count % 2 == 0, !shape.isFirst { try expect(Realm(configuration).latest(), recorded, image, story, &seen) }
          let writer = try RealmWriter(configuration, create: shape.isFirst)
          try expect(try writer.realm.latest(), recorded, image, story, &seen)
          try CommitShape.more(writer)
          #expect(Verifier(try writer.realm.latest()).problems(limit: 3) == [], story)
        } catch {
          Issue.record("\(story): \(error)")
        }
      }
    }
    #expect(seen.old > 0 && seen.new > 0, "\(shape): \(seen)")
    print("\(shape), \(key == nil ? "plain" : "encrypted"): \(count) images, \(images.syncCount) barriers, \(seen)")
  }

  private func expect(
    _ snapshot: Snapshot,
    _ recorded: Recording,
    _ image: CrashImages.Image,
    _ story: Comment,
    _ seen: inout (old: Int, new: Int)
  ) throws {
    let contents = try Contents(snapshot)
    let isNew = contents == recorded.new
    if isNew { seen.new += 1 } else { seen.old += 1 }
    #expect(isNew || !image.isComplete && contents == recorded.old, story)
    #expect(Verifier(snapshot).problems(limit: 3) == [], story)
  }

  /// One or several commits, with their writes to the file.
  private struct Recording {
    let before: [UInt8]
    let events: [StorageEvent]
    let old: Contents?
    let new: Contents

    init(_ shape: CommitShape, key: EncryptionKey?) throws {
      let temporary = try TemporaryFolder(), folder = temporary.url
      defer { temporary.remove() }
      let url = folder.appendingPathComponent("a.realm")
      let configuration = Configuration(path: url.path, encryptionKey: key)
      switch shape {
      case .first: break
      case .conversion:
        let copy = try Fixture.named("streaming-form").bytes()
        try Data(try key.map { try Self.encrypted(copy, $0) } ?? copy).write(to: url)
      default: try shape.prepare(RealmWriter(configuration, create: true))
      }
      before = shape.isFirst ? [] : [UInt8](try Data(contentsOf: url))
      old = shape.isFirst ? try Contents(Self.empty()) : try Contents(Realm(configuration).latest())
      var recording: RecordingStorage?
      let writer = try RealmWriter(configuration, create: shape.isFirst) {
        let storage = RecordingStorage($0)
        recording = storage
        return storage
      }
      try shape.act(writer)
      new = try Contents(writer.realm.latest())
      events = recording?.events ?? []
    }

    private static func empty() throws -> Snapshot {
      try RealmWriter(memory: MemoryStorage(name: "empty")).realm.latest()
    }

    /// The copy of a realm, encrypted: its footer ends the last page.
    private static func encrypted(_ copy: [UInt8], _ key: EncryptionKey) throws -> [UInt8] {
      let footer = copy.suffix(Header.footerSize), padding = (4096 - copy.count % 4096) % 4096
      let bytes = copy.dropLast(footer.count) + [UInt8](repeating: 0, count: padding) + footer
      let memory = try MemoryStorage(name: "copy")
      guard let storage = EncryptedStorage(memory, key: key) else {
        throw EngineError.failed("encrypt", "copy", ENOMEM)
      }
      try storage.grow(to: bytes.count)
      try storage.write(Array(bytes), at: 0)
      try storage.sync()
      return try memory.read(memory.size(), at: 0)
    }
  }

  @Test("a torn page of an encrypted file is an error, never a wrong value")
  func tornPages() throws {
    let key = try Fixture.key()
    let recorded = try Recording(.small, key: key)
    var opened = 0, refused = 0
    try CrashImages(before: recorded.before, events: recorded.events).visit(samples: 20, seed: Self.seed) { image in
      try withTemporaryFile(image.bytes) { path in
        let contents: Contents
        do { contents = try Contents(Realm(Configuration(path: path, encryptionKey: key)).latest()) } catch {
          refused += 1
          return
        }
        opened += 1
        #expect(contents == recorded.new || contents == recorded.old, "\(image.story)")
      }
    }
    #expect(opened > 0 && refused > 0, "\(opened) opened, \(refused) refused")
  }

  @Test("space left by a crash beyond the end of a realm is truncated by the next writer")
  func leftover() throws {
    let bytes = try Fixture.named("people").bytes()
    try withTemporaryFile(bytes + [UInt8](repeating: 1, count: 40_960)) { path in
      let writer = try RealmWriter(Configuration(path: path))
      _ = try writer.realm.latest()
      #expect(try writer.realm.fileStatus().size == bytes.count + 40_960, "opening changes nothing")
      try CommitShape.more(writer)
      #expect(try writer.realm.fileStatus().size == (try writer.realm.latest().logicalSize + 4095) / 4096 * 4096)
      try? FileManager.default.removeItem(atPath: path + ".lock")
    }
  }

  @Test("opening a copy for writing does not change it until the first commit", arguments: [false, true])
  func copies(isExclusive: Bool) throws {
    let bytes = try Fixture.named("streaming-form").bytes()
    try withTemporaryFile(bytes) { path in
      defer { for suffix in [".lock", ".management"] { try? FileManager.default.removeItem(atPath: path + suffix) } }
      let writer = try RealmWriter(Configuration(path: path, mode: isExclusive ? .exclusive : .shared))
      let before = try writer.realm.latest().version
      #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == Data(bytes))
      try CommitShape.more(writer)
      #expect(try writer.realm.latest().version == before + 1)
      #expect(Verifier(try writer.realm.latest()).problems(limit: 3) == [])
    }
  }

  @Test("a file is initialized only if it never contained anything")
  func unmade() throws {
    let key = try Fixture.key()
    func opens(_ bytes: [UInt8], _ key: EncryptionKey?) throws -> Bool {
      try withTemporaryFile(bytes) { path in
        defer { try? FileManager.default.removeItem(atPath: path + ".lock") }  // a leftover harms nobody
        do {
          _ = try RealmWriter(Configuration(path: path, encryptionKey: key), create: true)
          return true
        } catch {
          let after = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
          #expect(after == bytes)
          return false
        }
      }
    }
    let zeros = [UInt8](repeating: 0, count: 4096)
    #expect(try opens([], nil) && opens(zeros, nil) && opens([], key) && opens(zeros + zeros, key))
    #expect(try !opens(zeros + zeros, nil))
    #expect(try !opens(Array("a text".utf8), nil) && !opens(zeros.dropLast() + [1], nil))
    // A plain realm is not mistaken for an encrypted one that was never completed.
    #expect(try !opens(Array(Fixture.named("empty").bytes().prefix(4096)) + zeros, key))
  }
}
