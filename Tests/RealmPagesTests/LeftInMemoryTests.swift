// A program dies, or a sync fails, and its writes are in the file but not on disk. Another program builds on them, and
// the power fails before its first sync has ended. The simulator found the encrypted form (seed 5374 of its first
// version).

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Power loss before sync")
struct LeftInMemoryTests {
  private static let shapes: [CommitShape] = [.small, .deleting, .grouped, .shrinking]

  @Test("a power cut while the next program commits loses nothing", arguments: shapes, Configuration.Mode.tested)
  func plain(shape: CommitShape, mode: Configuration.Mode) throws { try check(shape, mode, key: nil) }

  @Test("the same holds for encrypted files", arguments: shapes, Configuration.Mode.tested)
  func encrypted(shape: CommitShape, mode: Configuration.Mode) throws { try check(shape, mode, key: Fixture.key()) }

  private func check(_ shape: CommitShape, _ mode: Configuration.Mode, key: EncryptionKey?) throws {
    let folder = try TemporaryFolder(), origin = folder.path("origin.realm"), path = folder.path("a.realm")
    defer { folder.remove() }
    try shape.prepare(RealmWriter(Configuration(path: origin, encryptionKey: key), create: true))
    let before = [UInt8](try Data(contentsOf: URL(fileURLWithPath: origin)))
    let configuration = Configuration(path: path, encryptionKey: key, mode: mode)
    var sync = 0, count = 0
    while true {
      let log = EventLog()
      try Data(before).write(to: URL(fileURLWithPath: path))
      var allowed = [try Contents(Realm(Configuration(path: path, encryptionKey: key, mode: .immutable)).latest())]
      guard try dies(at: sync, shape, configuration, log) else { break }
      let syncs = log.syncs
      do {
        let next = try RealmWriter(configuration, create: false, over: { RecordingStorage($0, into: log) })
        allowed.append(try Contents(next.realm.latest()))
        try CommitShape.more(next)
        allowed.append(try Contents(next.realm.latest()))
      }
      try FileManager.default.removeItem(atPath: path)
      let images = CrashImages(before: before, events: log.events) {
        key == nil || $0 / 4096 % 65 == 0 ? 512 : 4096
      }
      let state = Configuration(path: folder.path("state.realm"), encryptionKey: key, mode: .immutable)
      try images.visit(samples: 12, seed: Seeds.first) { image in
        if image.syncs < syncs { return }
        count += 1
        let story: Comment = "\(shape), dead at sync \(sync), \(image.story)"
        try Data(image.bytes).write(to: URL(fileURLWithPath: state.path))
        do {
          let snapshot = try Realm(state).latest()
          let found = try allowed.firstIndex(of: Contents(snapshot))
          #expect(image.isComplete ? found == 2 : found != nil, story)
          #expect(Verifier(snapshot).problems(limit: 3) == [], story)
        } catch { Issue.record("\(story): \(error)") }
      }
      sync += 1
    }
    #expect(sync > 1 && count > 20, "\(sync) syncs, \(count) images")
  }

  /// Commits in a program that dies when it waits for its n-th sync; returns false if there are fewer.
  private func dies(
    at sync: Int,
    _ shape: CommitShape,
    _ configuration: Configuration,
    _ log: EventLog
  ) throws -> Bool {
    let writer = try RealmWriter(
      configuration,
      create: false,
      over: { FaultyStorage(RecordingStorage($0, into: log), fault: .init(call: sync, code: EIO, isOfSyncs: true)) }
    )
    do { try shape.act(writer) } catch is EngineError { return true }
    return false
  }
}

extension Configuration.Mode {
  fileprivate static var tested: [Self] { [.exclusive, .shared] }
}
