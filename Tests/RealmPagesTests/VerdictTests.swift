// The verdict of a recovery: whole only where everything that the original had is there.
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
  /// Files of the wild, and the files from which they were made.
  private static let wild = [
    "no-roots": "people", "no-roots-nested": "nested", "empty-header": "people", "tls-alert": "people",
    "cut-copy-24": "people", "cut-copy-1640": "people", "cut-copy-half": "people", "offset-512": "people",
    "offset-777": "people",
  ]
  /// The greatest size in bytes of a file that is damaged many times.
  private static let greatestSize = 64 << 10

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
      #expect(try #require(try check(bytes, key: nil)).unselectedVersion == newest.version)
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

  /// The classes, properties, objects and values of a version, which a recovery must not lose without saying so.
  private struct Content: Equatable {
    struct Values: Equatable {
      let text: String
      /// The links in it, whose backlinks the file has, too.
      let links: [String]
    }

    struct Part: Equatable {
      let name: String
      let properties: [String]
      var objects: [(key: ObjKey, values: [Values])] = []

      static func == (a: Part, b: Part) -> Bool {
        a.name == b.name && a.properties == b.properties
          && a.objects.elementsEqual(b.objects) { $0.key == $1.key && $0.values == $1.values }
      }
    }

    private(set) var parts: [Part] = []
    var names: [String] { parts.map(\.name).sorted() }
    var properties: [String] { parts.flatMap { part in part.properties.map { "\(part.name).\($0)" } } }

    init(_ snapshot: Snapshot) throws {
      let isLegacy = snapshot.fileFormat < 10
      // The numbers of classes in the order of the file; their keys are others in the new file.
      var numbers: [TableKey: Int] = [:]
      for key in try snapshot.tableKeys() where try snapshot.table(key)?.className != nil {
        numbers[key] = numbers.count
      }
      for key in try snapshot.tableKeys() {
        guard let table = try snapshot.table(key), !isLegacy || table.name != "pk" else { continue }
        var part = Part(name: table.name, properties: table.columns.map(\.name))
        let cursor = ObjectCursor(table)
        while try cursor.next() {
          let values = try table.columns.indices.map {
            Self.values(try Value(copying: cursor.value($0)), of: table.columns[$0], numbers)
          }
          part.objects.append((cursor.key, values))
        }
        parts.append(part)
      }
    }

    private static func values(_ value: Value, of column: Column, _ numbers: [TableKey: Int]) -> Values {
      var links: [String] = []
      func text(_ value: Value) -> String {
        switch value {
        // A link to an object that does not exist yet is not shown.
        case .link(_, let key) where key.isUnresolved: return "null"
        case .link(let table, let key):
          links.append("class \(numbers[table] ?? -1), object \(key)")
          return "-> " + links[links.count - 1]
        case .list(let values):
          let texts = values.filter {
            if column.type == .link, case .link(_, let key) = $0 { !key.isUnresolved } else { true }
          }.map(text)
          // A set of links is sorted by the numbers of tables, too.
          return "[" + (column.collection == .set ? texts.sorted() : texts).joined(separator: ", ") + "]"
        case .dictionary(let entries):
          return "{" + entries.map { "\($0.key): \(text($0.value))" }.joined(separator: ", ") + "}"
        default: return "\(value)"
        }
      }
      return Values(text: text(value), links: links.sorted())
    }

    /// The first thing that `original` has and this content lacks or has differently; nil if there is none. Links are
    /// always compared, because the file has them as backlinks, too; other values only if `all`.
    func loss(of original: Content, all: Bool = false) -> String? {
      var unpaired = parts
      let namesakes = original.parts.map { old in
        unpaired.firstIndex { $0.name == old.name }.map { unpaired.remove(at: $0) }
      }
      for (old, namesake) in zip(original.parts, namesakes) {
        guard let part = namesake ?? (unpaired.isEmpty ? nil : unpaired.removeFirst()) else { return old.name }
        if part.properties.count < old.properties.count { return "a property of \(old.name)" }
        if part.objects.count < old.objects.count { return "objects of \(old.name)" }
        for (object, oldObject) in zip(part.objects, old.objects) {
          for (index, name) in old.properties.enumerated() {
            let (value, oldValue) = (object.values[index], oldObject.values[index])
            if value.links != oldValue.links || all && value != oldValue {
              return "\(old.name)/\(oldObject.key).\(name): \(oldValue.text), not \(value.text)"
            }
          }
        }
        if all, part != old { return "\(old.name): names or keys" }
      }
      return nil
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
      // Half of them over the header, or near it.
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
    let wild = Self.wild.keys.sorted().map { Fixture.named("rescue/" + $0) }
    let originals = try MutantRun.chosen(Fixture.all + wild).compactMap { fixture in
      let source = wild.contains { $0.url == fixture.url } ? Self.wild[fixture.name] : nil
      let original = try Original(fixture, madeFrom: source.map { Fixture.named($0) })
      return original.bytes.count <= Self.greatestSize ? original : nil
    }
    var counts: [String: Int] = [:]
    for index in 0..<number {
      let kinds = index % 4 == 3 ? Kind.order : Kind.media
      let original = originals[index / 4 % originals.count]
      let (kind, verdict) = try verdict(original, among: kinds, seed: first + UInt64(index))
      counts["\(kind) \(verdict)", default: 0] += 1
    }
    for (text, count) in counts.sorted(by: { $0.key < $1.key }) { print("\(text): \(count)") }
  }

  /// Damages of which a recovery once said that nothing is lost: refs and flags of the header that damage made lead to
  /// nothing or to an older version, and a version number that it made greater.
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

  @Test(
    "a name that is overwritten with zero bytes is damage, and its objects are saved",
    arguments: ["class_Doc", "parts"]
  )
  func zeroedName(name: String) throws {
    var bytes = try Fixture.named("nested").bytes()
    let text = Array(name.utf8)
    for start in bytes.indices.dropLast(text.count) where Array(bytes[start..<start + text.count]) == text {
      for place in start..<start + text.count { bytes[place] = 0 }
    }
    let checked = try check(bytes, key: nil)
    #expect(checked?.isSound == false)
    try recover(bytes) { outcome in
      let (report, saved) = try outcome.get()
      #expect(!report.isWhole && report.firstProblem?.contains("contains a zero byte") == true)
      #expect(report.parts.reduce(0) { $0 + $1.madeUpNames } == 1)
      let original = try Content(Fixture.named("nested").snapshot())
      #expect(try Content(saved).parts.map(\.objects.count) == original.parts.map(\.objects.count))
    }
  }

  @Test(
    "damage to the header that loses nothing is reported",
    arguments: [("nested", 22, "byte 22 is 128 instead of 0"), ("streaming-form", 8, "a second top ref")]
  )
  func headerNote(name: String, place: Int, text: String) throws {
    var bytes = try Fixture.named(name).bytes()
    bytes[place] ^= 0x80
    try recover(bytes) { outcome in
      let (report, _) = try outcome.get()
      #expect(report.isWhole && report.headerNote?.contains(text) == true)
    }
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

  /// A file before it is damaged.
  private struct Original {
    let name: String
    let key: EncryptionKey?
    let bytes: [UInt8]
    let content: Content

    /// A sound file, or one of the wild that was made from `source`.
    init(_ fixture: Fixture, madeFrom source: Fixture? = nil) throws {
      (name, key, bytes) = (fixture.description, fixture.isEncrypted ? try Fixture.key() : nil, try fixture.bytes())
      content = try Content((source ?? fixture).snapshot())
    }
  }

  /// Damages a file, recovers and checks it. A false claim is an issue.
  private func verdict(
    _ original: Original,
    among kinds: [Kind] = Kind.media,
    seed: UInt64
  ) throws -> (Kind, Verdict) {
    var random = SplitMix64(seed: seed)
    let kind = kinds[random.below(kinds.count)]
    let damaged = damage(original.bytes, kind, &random)
    if let path = ProcessInfo.processInfo.environment["KEEP"] {
      try Data(damaged).write(to: URL(fileURLWithPath: path))
    }
    let checked = try check(damaged, key: original.key)
    let verdict = try recover(damaged, key: original.key) { outcome in
      try self.verdict(outcome, original, damaged, checked)
    }
    if case .falseClaim(let lost) = verdict { Issue.record("\(original.name), \(kind), SEED=\(seed): \(lost)") }
    return (kind, verdict)
  }

  private enum Verdict: Equatable, CustomStringConvertible {
    /// Said to be whole, and the same as the original.
    case whole
    /// Said to be whole: only values other than links differ, and the damaged file has these values.
    case wholeButChanged
    /// Said to be whole or sound, and something is missing.
    case falseClaim(String)
    /// Losses are reported, and nothing is missing.
    case cautious
    case lossReported, nothingSaved

    var description: String {
      switch self {
      case .whole: "whole"
      case .wholeButChanged: "whole but changed"
      case .falseClaim: "false claim"
      case .cautious: "cautious"
      case .lossReported: "loss reported"
      case .nothingSaved: "nothing saved"
      }
    }
  }

  /// The verdict of `realmfs check` on a file that it can open.
  private struct Checked {
    /// True if no problem or warning is reported.
    let isSound: Bool
    let unselectedVersion: UInt64?
    let content: Content?
  }

  private func check(_ bytes: [UInt8], key: EncryptionKey?) throws -> Checked? {
    try withTemporaryFolder { folder in
      let file = folder.appendingPathComponent("damaged.realm")
      try Data(bytes).write(to: file)
      // A file that cannot be opened is not called sound.
      guard
        let snapshot = try? Realm(Configuration(path: file.path, encryptionKey: key, mode: .immutable)).latest()
      else { return nil }
      let isSound =
        Verifier(snapshot).run(limit: 1) { _ in }.isSound && snapshot.unreached == nil
        && snapshot.unselectedVersion == nil && !snapshot.hasUnreadableSlot
      // Content that cannot be read is not compared.
      let content = try? Content(snapshot)
      return Checked(isSound: isSound, unselectedVersion: snapshot.unselectedVersion, content: content)
    }
  }

  private func verdict(
    _ outcome: Result<(RealmRecovery.Report, Snapshot), EngineError>,
    _ original: Original,
    _ damaged: [UInt8],
    _ checked: Checked?
  ) throws -> Verdict {
    // No byte is changed by chance in an encrypted file, nor by a cut.
    let isChanged = original.key == nil && damaged.count == original.bytes.count
    if let checked, checked.isSound, checked.content != original.content {
      guard let content = checked.content else { return .falseClaim("sound, but not readable") }
      if !isChanged { return .falseClaim("sound, but not the same") }
      if let lost = content.loss(of: original.content) { return .falseClaim("sound, but lost: " + lost) }
    }
    guard case .success(let (report, saved)) = outcome else {
      return checked?.isSound == true ? .falseClaim("sound, but nothing saved") : .nothingSaved
    }
    let content = try Content(saved)
    if !report.isWhole { return content == original.content ? .cautious : .lossReported }
    // What is found in spite of a damaged header or table of initialization vectors may be whole.
    if let checked, !checked.isSound, report.headerNote == nil, report.lostSlots.count == 0 {
      return .falseClaim("whole, but not sound")
    }
    if content == original.content { return .whole }
    if !isChanged { return .falseClaim("not the same") }
    if let lost = content.loss(of: original.content) { return .falseClaim(lost) }
    if let damaged = checked?.content, let lost = content.loss(of: damaged, all: true) {
      return .falseClaim("not what the damaged file has: " + lost)
    }
    return .wholeButChanged
  }
}
