// The versions that remain in a file: a version reported as whole has the content that was committed, even while others
// commit; an unproven version does not count as whole. SEED=n tests one history, TIMELINES=n that many (6).

import Foundation
import TestSupport
import Testing

@testable import RealmJSON
@testable import RealmPages

@Suite("Version timelines")
struct VersionTimelineTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let key = EncryptionKey([UInt8](repeating: 9, count: 64))

  private struct Tally {
    var whole = 0
    var unproven = 0
    var unprovenAsLogged = 0
    var partial = 0
  }

  private typealias Contents = [UInt64: [String: String]]

  /// Runs `body` on the versions of a realm while no writer commits.
  private static func timeline<R>(_ writer: RealmWriter, _ body: (VersionTimeline) throws -> R) throws -> R {
    try writer.withWriterLock { newest in
      Result { try body(VersionTimeline(newest, of: writer.realm)) }
    }
    .get()
  }

  /// Throws if a version is not as it was.
  private static func check(_ snapshot: Snapshot, _ contents: Contents, _ what: String) throws {
    guard let wanted = contents[snapshot.version] else { return }
    if let difference = RestoreTests.firstDifference(try RestoreTests.content(snapshot), wanted) {
      throw RandomHistory.Disagreement(description: "\(what) version \(snapshot.version): \(difference)")
    }
  }

  private static func settings(seed: UInt64) -> RandomHistory.Settings {
    var settings = RandomHistory.Settings()
    (settings.triesForbidden, settings.changesSchema) = (false, seed % 3 != 0)
    (settings.commits, settings.operations) = seed % 2 == 0 ? (40, 3) : (20, 40)
    settings.fullCommits = seed % 4 < 2 ? 1 : 20
    settings.encryptionKey = seed % 5 == 0 ? key : nil
    return settings
  }

  /// Tests one history: its versions as found, and again after more commits.
  private static func live(seed: UInt64, _ tally: inout Tally) throws {
    let settings = settings(seed: seed)
    try withTemporaryPath { path in
      var history = RandomHistory(seed: seed, path: path, settings), contents: Contents = [:]
      try history.run { snapshot, _, _ in contents[snapshot.version] = try RestoreTests.content(snapshot) }
      let writer = try RealmWriter(Configuration(path: path, encryptionKey: settings.encryptionKey))
      let realms = try timeline(writer) { timeline in
        var realms: [Realm] = []
        for version in timeline.versions {
          switch timeline.state(of: version) {
          case .whole:
            tally.whole += 1
            let snapshot = try timeline.snapshot(of: version)
            try check(snapshot, contents, "whole")
            let counts = timeline.contents(of: version, counts: true).classes
            #expect(counts.allSatisfy { $0.objects == $0.claimedObjects })
            realms.append(try timeline.realm(asOf: version))
          case .unproven:
            tally.unproven += 1
            do {
              try check(try timeline.snapshot(of: version), contents, "unproven")
              tally.unprovenAsLogged += 1
            } catch {}  // only counted: it is not claimed to be as it was
          case .partial: tally.partial += 1
          }
        }
        #expect(realms.count == timeline.wholeVersions().count)
        return realms
      }
      // Other programs commit repeatedly while the former versions are read.
      var rest = settings
      rest.commits = 12
      var more = try RandomHistory(seed: seed + 1000, continuing: path, rest)
      try more.run { _, _, _ in }
      for realm in realms {
        let snapshot = try realm.latest()
        try check(snapshot, contents, "held")
        #expect(realm.isCurrent(snapshot))
        if let problem = Verifier(snapshot).problems(limit: 1).first(where: { !$0.isLeftover && $0.place != "header" })
        {
          throw RandomHistory.Disagreement(description: "held version \(snapshot.version): \(problem)")
        }
      }
    }
  }

  @Test("each whole version is what it was when it was committed, also after later commits")
  func wholeHistories() throws {
    let seed = Self.environment["SEED"].flatMap(UInt64.init)
    let count = Self.environment["TIMELINES"].flatMap(Int.init) ?? 6
    let first = seed ?? 1
    var tally = Tally()
    for seed in first..<first + UInt64(seed == nil ? count : 1) {
      do { try Self.live(seed: seed, &tally) } catch {
        Issue.record("\(error)\nSEED=\(seed) repeats it")
        return
      }
    }
    print("seeds from \(first) on: \(tally)")
    #expect(seed != nil || tally.whole > 2 * count)
  }

  /// Creates a history and closes the realm; returns the content of each version.
  private static func contents(
    seed: UInt64,
    _ path: String,
    _ settings: RandomHistory.Settings
  ) throws -> Contents {
    var history = RandomHistory(seed: seed, path: path, settings), contents: Contents = [:]
    try history.run { snapshot, _, _ in contents[snapshot.version] = try RestoreTests.content(snapshot) }
    return contents
  }

  /// A commit that was interrupted before the header referred to it: its nodes are in the file, with the older header.
  private static func cutOff(seed: UInt64, _ tally: inout Tally) throws {
    let settings = settings(seed: seed)
    try withTemporaryPath { path in
      let contents = try contents(seed: seed, path, settings)
      let before = try Data(contentsOf: URL(fileURLWithPath: path))
      var rest = settings
      (rest.commits, rest.fullCommits, rest.mode) = (1, 1, .exclusive)
      do {
        var more = try RandomHistory(seed: seed + 1000, continuing: path, rest)
        try more.run { _, _, _ in }
      }
      // The header of a plain file; of an encrypted one, the first page and its metadata.
      let file = try Foundation.FileHandle(forUpdating: URL(fileURLWithPath: path))
      let head = settings.encryptionKey == nil ? [0..<24] : [0..<64, 4096..<8192]
      for range in head {
        try file.seek(toOffset: UInt64(range.lowerBound))
        try file.write(contentsOf: before[range])
      }
      try file.close()
      let realm = try Realm(Configuration(path: path, encryptionKey: settings.encryptionKey, mode: .immutable))
      let timeline = try VersionTimeline(realm.latest(), of: realm)
      for version in timeline.versions {
        switch timeline.state(of: version) {
        case .whole:
          tally.whole += 1
          try check(try timeline.snapshot(of: version), contents, "whole")
          #expect(version.version <= (try realm.latest()).version)
        case .unproven: tally.unproven += 1
        case .partial: tally.partial += 1
        }
      }
    }
  }

  @Test("after an interrupted commit, no version that it overwrote counts as whole")
  func cutOffCommits() throws {
    let seed = Self.environment["SEED"].flatMap(UInt64.init)
    let count = Self.environment["TIMELINES"].flatMap(Int.init) ?? 6
    let first = seed ?? 1
    var tally = Tally()
    for seed in first..<first + UInt64(seed == nil ? count : 1) {
      do { try Self.cutOff(seed: seed, &tally) } catch {
        Issue.record("\(error)\nSEED=\(seed) repeats it")
        return
      }
    }
    print("cut off, seeds from \(first) on: \(tally)")
    #expect(tally.whole > 0)
  }

  @Test("a newest version with a fault proves nothing about the others, and its readable objects are counted")
  func damagedNewest() throws {
    try withTemporaryPath { path in
      var settings = RandomHistory.Settings()
      (settings.commits, settings.triesForbidden, settings.fullCommits) = (10, false, 1)
      var history = RandomHistory(seed: 8, path: path, settings), counts: [Int] = [], ref = 0
      try history.run { snapshot, _, _ in
        let tables = try snapshot.tableKeys().compactMap { try snapshot.table($0) }
        counts = tables.filter { $0.className != nil }.map(\.objectCount)
        ref = tables.first { $0.className != nil && $0.objectCount > 4 }.map(\.ref) ?? ref
      }
      #expect(ref > 0)
      let file = try Foundation.FileHandle(forUpdating: URL(fileURLWithPath: path))
      try file.seek(toOffset: UInt64(ref))
      try file.write(contentsOf: [UInt8](repeating: 0, count: 64))
      try file.close()
      let realm = try Realm(Configuration(path: path, mode: .immutable)), newest = try realm.latest()
      let timeline = try VersionTimeline(newest, of: realm)
      #expect(timeline.wholeVersions().isEmpty)
      let version = try #require(timeline.versions.first)
      #expect(version.version == newest.version && version.slots.contains { $0.isSelected })
      guard case .partial = timeline.state(of: version) else { return _ = Issue.record("no fault found") }
      let found = timeline.contents(of: version, counts: true)
      #expect(!found.problems.isEmpty && found.classes.count < counts.count)
    }
  }

  @Test("a file that does not open lists its versions, none of them as whole")
  func unopened() throws {
    try withTemporaryPath { path in
      var settings = RandomHistory.Settings()
      (settings.commits, settings.triesForbidden) = (10, false)
      let contents = try Self.contents(seed: 4, path, settings)
      let file = try Foundation.FileHandle(forUpdating: URL(fileURLWithPath: path))
      try file.write(contentsOf: [UInt8](repeating: 0, count: 24))
      try file.close()
      let configuration = Configuration(path: path, mode: .immutable)
      #expect(throws: EngineError.self) { try Realm(configuration) }
      let timeline = try VersionTimeline(damaged: configuration)
      let newest = try #require(timeline.versions.first)
      #expect(newest.version == contents.keys.max() && newest.slots.isEmpty)
      #expect(timeline.wholeVersions().isEmpty && timeline.state(of: newest) == .unproven)
      try Self.check(timeline.realm(asOf: newest).latest(), contents, "found")
    }
  }
}
