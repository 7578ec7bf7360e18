// The verdict of a recovery is "whole" only if it has everything that the original had.
//
// DAMAGES=n sets the number of damaged files in all; SEED=n the first seed; FIXTURES=name,... keeps to some of them;
// KEEP=path keeps the last damaged file.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Recovery reports", .serialized)
struct VerdictTests {
  private static let rescue = Fixture.package.appendingPathComponent("Tests/Fixtures/rescue")
  private static let names = [
    "people", "nested", "embedded", "many-versions", "no-history", "streaming-form", "name-limits", "empty",
    "empty-classes", "no-objects-all-types", "people-encrypted",
  ]

  /// Recovers a file in memory; nil with the error if nothing can be saved.
  private func recover<R>(
    _ bytes: [UInt8],
    key: EncryptionKey? = nil,
    _ body: (Result<(RealmRecovery.Report, Snapshot), EngineError>) throws -> R
  ) throws -> R {
    try withTemporaryFolder { folder in
      let damaged = folder.appendingPathComponent("damaged.realm"), saved = folder.appendingPathComponent("saved.realm")
      try Data(bytes).write(to: damaged)
      let outcome = Result { () throws(EngineError) in
        let report = try RealmRecovery.run(
          Configuration(path: damaged.path, encryptionKey: key),
          to: saved.path,
          verifies: false
        )
        return (report, try Realm(Configuration(path: saved.path, encryptionKey: key, mode: .immutable)).latest())
      }
      return try body(outcome)
    }
  }

  private func rescued(_ name: String) throws -> [UInt8] {
    [UInt8](try Data(contentsOf: Self.rescue.appendingPathComponent(name + ".realm")))
  }

  // MARK: files of the wild

  @Test(
    "without a version, everything in surviving nodes is saved, without a claim to completeness",
    arguments: [
      ("cut-copy-24", "people", [1, 5, 19]), ("cut-copy-1640", "people", [1, 5, 0]),
      ("cut-copy-half", "people", [1, 5, 0]), ("no-roots", "people", [1, 5, 19]),
      ("no-roots-nested", "nested", [1, 12]),
    ] as [(String, String, [Int])]
  )
  func noVersion(name: String, original: String, objects: [Int]) throws {
    try recover(rescued(name)) { outcome in
      let (report, saved) = try outcome.get()
      #expect(!report.isWhole && report.isUnreached && report.version == 0)
      #expect(report.parts.map(\.objects) == objects)
      let content = try Content(saved), expected = try Content(Fixture.named(original).snapshot())
      #expect(content.names == expected.names)
      // The link target of a class without objects is lost in the shortest copies, and with it one property.
      #expect(content.properties.count >= expected.properties.count - 1)
      if !name.hasPrefix("cut-copy-"), name != "no-roots-nested" { #expect(content == expected) }
    }
  }

  @Test("a recovery of a realm behind random bytes does not claim to be complete")
  func shifted() throws {
    try recover(rescued("offset-777")) { outcome in
      if let (report, _) = try? outcome.get() { #expect(!report.isWhole) }
    }
  }

  @Test("a realm behind zero bytes is not taken for an empty one")
  func offset() throws {
    try recover(rescued("offset-512")) { outcome in
      if let (report, _) = try? outcome.get() { #expect(!report.isWhole && report.unreachedNodes > 0) }
    }
  }

  @Test("a header without refs loses no data, and unreachable nodes are counted")
  func emptyHeader() throws {
    try recover(rescued("empty-header")) { outcome in
      let (report, saved) = try outcome.get()
      #expect(report.isUnreached && !report.isOutdated && report.firstProblem == nil && report.unreachedNodes == 1)
      #expect(!report.isWhole)
      #expect(try Content(saved) == Content(Fixture.named("people").snapshot()))
    }
  }

  @Test("a header overwritten by a TLS alert is recognized, and no data is lost")
  func alert() throws {
    try recover(rescued("tls-alert")) { outcome in
      let (report, saved) = try outcome.get()
      #expect(report.isWhole && report.headerNote?.contains("TLS alert") == true)
      #expect(try Content(saved) == Content(Fixture.named("people").snapshot()))
    }
  }

  @Test(
    "a flipped slot bit that selects the older version loses no newer data",
    arguments: ["people", "many-versions"]
  )
  func otherSlot(name: String) throws {
    var bytes = try Fixture.named(name).bytes()
    bytes[23] ^= 1
    try recover(bytes) { outcome in
      let (report, saved) = try outcome.get()
      let newest = try Fixture.named(name).snapshot()
      #expect(report.version == newest.version)
      #expect(try Content(saved) == Content(newest))
    }
  }

  @Test("grouped commits that a crash left in the other slot are recovered, however many versions they are ahead")
  func groupedCommits() throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true)
      let transaction = try writer.begin()
      let table = try transaction.addTable("class_A")
      _ = try transaction.commit()
      for _ in 0..<3 {
        let transaction = try writer.begin()
        _ = try transaction.create(table)
        _ = try transaction.commit(.grouped)
      }
      try writer.sync(timeout: .seconds(10))
      var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
      bytes[23] ^= 1
      try recover(bytes) { outcome in
        let (report, saved) = try outcome.get()
        #expect(try saved.table(named: "class_A")?.objectCount == 3)
        #expect(report.isUnreached && !report.isWhole)
      }
    }
  }

  // MARK: damages at random

  /// The content that a recovery must not lose without reporting it.
  private struct Content: Equatable {
    var names: [String] = []
    var properties: [String] = []
    var objects = 0
    var values: [String] = []

    init(_ snapshot: Snapshot) throws {
      for key in try snapshot.tableKeys() {
        guard let table = try snapshot.table(key), table.name != "pk" || snapshot.fileFormat >= 10 else { continue }
        names.append(table.name)
        properties += table.columns.map { "\(table.name).\($0.name)" }
        let cursor = ObjectCursor(table)
        while try cursor.next() {
          objects += 1
          // Links identify tables by numbers, which differ in the new file.
          let texts = try table.columns.indices.filter {
            table.columns[$0].type != .link && table.columns[$0].type != .mixed
          }
          .map { "\(try Value(copying: cursor.value($0)))" }
          values.append("\(table.name)/\(cursor.key): \(texts)")
        }
      }
      names.sort()
      properties.sort()
      values.sort()
    }

    /// True if as much is here as in `original`.
    func isComplete(_ original: Content) -> Bool {
      names.count >= original.names.count && properties.count >= original.properties.count
        && objects >= original.objects
    }
  }

  private enum Kind {
    case cut, zeros, flips, shift, hole, swap, crlf, latin1, utf8

    /// Damage by media and interrupted copies.
    static let media = [Kind.cut, .zeros, .flips, .shift, .hole]
    /// Blocks in the wrong order, and conversions of text.
    static let order = [Kind.swap, .crlf, .latin1, .utf8]
  }

  private func damage(_ bytes: [UInt8], _ kind: Kind, _ random: inout SplitMix64) -> [UInt8] {
    var bytes = bytes
    switch kind {
    case .cut: bytes.removeLast(1 + random.below(bytes.count - 1))
    case .zeros, .hole:
      // Half of them in or near the header.
      let start = random.below(2) == 0 ? random.below(64) : random.below(bytes.count)
      let count = kind == .hole ? 512 << random.below(4) : 1 + random.below(64)
      for place in start..<min(bytes.count, start + count) { bytes[place] = 0 }
    case .flips:
      for _ in 0...random.below(3) {
        let place = random.below(4) == 0 ? random.below(24) : random.below(bytes.count)
        bytes[place] ^= 1 << UInt8(random.below(8))
      }
    case .shift:
      let count = 1 + random.below(1024), fill: UInt8? = random.below(2) == 0 ? 0 : nil
      bytes.insert(
        contentsOf: (0..<count).map { _ in fill ?? UInt8(random.below(256)) },
        at: random.below(2) * random.below(64)
      )
    case .swap:
      let size = 512 << random.below(4), count = bytes.count / size
      let (a, b) = (random.below(max(1, count)) * size, random.below(max(1, count)) * size)
      for place in 0..<min(size, bytes.count) { bytes.swapAt(a + place, b + place) }
    case .crlf: bytes = bytes.flatMap { $0 == 0x0A ? [0x0D, 0x0A] : [$0] }
    case .latin1:
      bytes = bytes.enumerated().flatMap { $1 < 0x80 || $0 < 24 ? [$1] : [0xC0 | $1 >> 6, 0x80 | $1 & 0x3F] }
    case .utf8: bytes = Array(String(decoding: bytes, as: UTF8.self).utf8)
    }
    return bytes
  }

  @Test("a recovery that lost something never claims to be complete, whatever the damage")
  func randomDamages() throws {
    let environment = ProcessInfo.processInfo.environment
    let number = environment["DAMAGES"].flatMap { Int($0) } ?? 220
    let first = environment["SEED"].flatMap { UInt64($0) } ?? 1
    let originals = try MutantRun.chosen(Self.names.map { Fixture.named($0) }).map { try Original($0) }
    var counts: [String: Int] = [:]
    for index in 0..<number {
      let kinds = index % 4 == 3 ? Kind.order : Kind.media
      let original = originals[index / 4 % originals.count]
      let (kind, verdict) = try verdict(original, among: kinds, seed: first + UInt64(index))
      counts["\(kind) \(verdict)", default: 0] += 1
    }
    for (text, count) in counts.sorted(by: { $0.key < $1.key }) { print("\(text): \(count)") }
  }

  /// Damage after which a recovery once reported that nothing is lost: damaged refs and flags of the header that refer
  /// to nothing or to an older version, and an increased version number.
  @Test(
    "damage to the header does not hide a newer version",
    arguments: [
      ("empty", 1383), ("empty", 1933), ("no-objects-all-types", 1671), ("nested", 2136), ("empty-classes", 3595),
      ("empty-classes", 8138), ("name-limits", 8730), ("streaming-form", 10203), ("no-history", 10433),
    ] as [(String, UInt64)]
  )
  func headerDamage(name: String, seed: UInt64) throws {
    let (_, verdict) = try verdict(try Original(Fixture.named(name)), seed: seed)
    #expect(verdict == .lossReported || verdict == .nothingSaved || verdict == .cautious, "\(verdict)")
  }

  @Test("a flag that wrongly marks a table as embedded loses none of its objects")
  func embeddedFlag() throws {
    #expect(try verdict(try Original(Fixture.named("name-limits")), seed: 50743).1 == .whole)
  }

  @Test("a class without primary key that a flipped bit marks as embedded keeps its objects")
  func embeddedFlagWithoutKey() throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true), transaction = try writer.begin()
      let table = try transaction.addTable("class_A")
      for _ in 0..<3 { _ = try transaction.create(table) }
      _ = try transaction.commit()
      var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
      // A stored number n is the integer 2n + 1; the kind 1 is an embedded class.
      let flipped = bytes.indices.first { place in
        if bytes[place] != 1 { return false }
        bytes[place] = 3
        defer { bytes[place] = 1 }
        // A flip of another number may make the file unreadable.
        return bytes.withUnsafeBytes { (try? Realm.snapshot(of: $0).table(named: "class_A"))??.kind } == .embedded
      }
      bytes[try #require(flipped)] = 3
      try recover(bytes) { outcome in
        let (report, saved) = try outcome.get()
        #expect(report.isWhole)
        #expect(try saved.table(named: "class_A")?.objectCount == 3)
      }
    }
  }

  /// A sound file.
  private struct Original {
    let fixture: Fixture
    let bytes: [UInt8]
    let content: Content

    init(_ fixture: Fixture) throws {
      (self.fixture, bytes) = (fixture, try fixture.bytes())
      content = try Content(fixture.snapshot())
    }
  }

  /// Damages a file and recovers it. A false claim is an issue.
  private func verdict(
    _ original: Original,
    among kinds: [Kind] = Kind.media,
    seed: UInt64
  ) throws -> (Kind, Verdict) {
    var random = SplitMix64(seed: seed)
    let kind = kinds[random.below(kinds.count)], fixture = original.fixture
    let damaged = damage(original.bytes, kind, &random)
    if let path = ProcessInfo.processInfo.environment["KEEP"] {
      try Data(damaged).write(to: URL(fileURLWithPath: path))
    }
    let verdict = try recover(damaged, key: fixture.isEncrypted ? Fixture.key() : nil) { outcome in
      try self.verdict(outcome, original.content, damaged, original.bytes, isEncrypted: fixture.isEncrypted)
    }
    if verdict == .falseClaim { Issue.record("\(fixture), \(kind), SEED=\(seed)") }
    return (kind, verdict)
  }

  private enum Verdict {
    /// Reported as whole, and equal to the original.
    case whole
    /// Reported as whole: as many objects, with the values of the damaged file.
    case wholeButChanged
    /// Reported as whole, although something is missing.
    case falseClaim
    /// Losses are reported, and nothing is missing.
    case cautious
    case lossReported, nothingSaved
  }

  private func verdict(
    _ outcome: Result<(RealmRecovery.Report, Snapshot), EngineError>,
    _ original: Content,
    _ damaged: [UInt8],
    _ bytes: [UInt8],
    isEncrypted: Bool
  ) throws -> Verdict {
    guard case .success(let (report, saved)) = outcome else { return .nothingSaved }
    let content = try Content(saved)
    if !report.isWhole { return content == original ? .cautious : .lossReported }
    if content == original { return .whole }
    // Neither chance nor truncation changes a single byte in an encrypted file.
    let isChanged = !isEncrypted && damaged.count == bytes.count
    return isChanged && content.isComplete(original) ? .wholeButChanged : .falseClaim
  }
}
