// Former versions that a file still holds without a reader: each one found has its original content, and undo goes back
// through them. SEED=n tests one history, FORMER_HISTORIES=n that many (6).

import Foundation
import TestSupport
import Testing

@testable import RealmJSON
@testable import RealmPages

@Suite("Former versions")
struct FormerVersionTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let key = EncryptionKey([UInt8](repeating: 9, count: 64))

  /// Tests one history. Returns the number of versions found, without those to which the header refers.
  private static func live(seed: UInt64) throws -> Int {
    var settings = RandomHistory.Settings()
    (settings.triesForbidden, settings.changesSchema) = (false, seed % 3 != 0)
    (settings.commits, settings.operations) = seed % 2 == 0 ? (40, 3) : (20, 40)
    let key = seed % 5 == 0 ? Self.key : nil
    settings.encryptionKey = key
    var found = 0
    try withTemporaryPath { path in
      var history = RandomHistory(seed: seed, path: path, settings), contents: [UInt64: [String: String]] = [:]
      try history.run { snapshot, _, _ in contents[snapshot.version] = try RestoreTests.content(snapshot) }
      let writer = try RealmWriter(Configuration(path: path, encryptionKey: key))
      var random = SplitMix64(seed: seed)
      for _ in 0..<12 {
        let transaction = try writer.begin()
        let base = transaction.former, former = FormerVersions(before: base)
        var versions: [Snapshot] = []
        while let version = try former.next() {
          versions.append(version)
          guard let wanted = contents[version.version] else { continue }
          if let difference = RestoreTests.firstDifference(try RestoreTests.content(version), wanted) {
            throw RandomHistory.Disagreement(description: "version \(version.version): \(difference)")
          }
        }
        found += max(0, versions.count - 1)
        guard let wanted = versions.isEmpty ? nil : versions[random.below(versions.count)] else {
          transaction.rollback()
          break
        }
        let content = try RestoreTests.content(wanted), steps = wanted.version
        do throws(EngineError) { try transaction.undo(to: wanted) } catch {
          transaction.rollback()
          if error.reason == .badSchema || error.reason == .forbidden { continue }
          throw error
        }
        _ = try transaction.commit()
        let newest = try writer.realm.latest()
        let saysSo = try newest.restoredVersion == steps || base.tableKeys().isEmpty
        #expect(saysSo)
        contents[newest.version] = content
        if let difference = RestoreTests.firstDifference(try RestoreTests.content(newest), content) {
          throw RandomHistory.Disagreement(description: "undo to \(steps): \(difference)")
        }
        if let problem = Verifier(newest, isStrict: true).problems(limit: 1).first {
          throw RandomHistory.Disagreement(description: "\(problem)")
        }
      }
    }
    return found
  }

  @Test("each version found without a header has its original content, before and after undos")
  func histories() throws {
    let seed = Self.environment["SEED"].flatMap(UInt64.init)
    let count = Self.environment["FORMER_HISTORIES"].flatMap(Int.init) ?? 6
    let first = seed ?? 1
    var found = 0
    for seed in first..<first + UInt64(seed == nil ? count : 1) {
      do { found += try Self.live(seed: seed) } catch {
        Issue.record("\(error)\nSEED=\(seed) repeats it")
        return
      }
    }
    print("seeds from \(first) on: \(found) former versions found")
    #expect(seed != nil || found > count)
  }

  @Test("reading an encrypted former version takes bounded memory and keeps what a later commit overwrites")
  func boundedMemory() throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path, encryptionKey: Self.key), create: true)
      let transaction = try writer.begin()
      let table = try transaction.addTable("class_Blob")
      let column = try transaction.addColumn(table, ColumnSpec("bytes", .data))
      func bytes(_ number: UInt8) -> Value { .data([UInt8](repeating: number, count: 3 << 20)) }
      var keys: [ObjKey] = []
      for number in 0..<14 {
        keys.append(try transaction.create(table))
        try transaction.set(table, keys[number], column, bytes(UInt8(number)))
      }
      _ = try transaction.commit()
      let change = try writer.begin()
      try change.set(table, keys[0], column, bytes(99))
      _ = try change.commit()
      let realm = try writer.withWriterLock { newest in
        Result {
          let timeline = try VersionTimeline(newest, of: writer.realm)
          return try timeline.realm(asOf: #require(timeline.version(newest.version - 1)))
        }
      }
      .get()
      for number in 0..<4 {
        let next = try writer.begin()
        try next.set(table, keys[1], column, bytes(UInt8(200 + number)))
        _ = try next.commit()
      }
      for number in [0, 0] + Array(0..<14) + [0, 1] {
        let snapshot = try realm.latest(), cursor = ObjectCursor(try #require(try snapshot.table(table)))
        #expect(try cursor.seek(keys[number]) && Value(copying: cursor.value(0)) == bytes(UInt8(number)))
        #expect(snapshot.arena.space.filledBytes < 28 << 20)
      }
    }
  }

  @Test("undo does not go back to a version that the free lists do not prove intact")
  func disproved() throws {
    let fixture = Fixture.named("many-versions"), bytes = try fixture.bytes()
    func previous(_ bytes: [UInt8]) throws -> Snapshot? {
      try withTemporaryPath { path in
        try Data(bytes).write(to: URL(fileURLWithPath: path))
        return try FormerVersions(before: Realm(Configuration(path: path, mode: .immutable)).latest()).next()
      }
    }
    let former = try #require(try previous(bytes)), positions = try former.arena.node(former.top.freeRefs[0])
    var changed = bytes
    // One more element than the list of sizes.
    changed[positions.ref + 7] += 1
    let found = try previous(changed)
    #expect(found == nil)
  }

  @Test("the changeset of an undo is marked, and no other is")
  func marks() {
    for steps in [1, 2, 63, 64, 300] {
      for table in [TableKey(0), TableKey(20), TableKey(0x1_0003)] {
        var bytes: [UInt8] = []
        UndoMark.append(steps: steps, table, to: &bytes)
        #expect(UndoMark.steps(in: bytes) == steps)
        // Another instruction begins here.
        #expect(UndoMark.steps(in: bytes + [0x0b, 0x05]) == steps)
      }
    }
    #expect(UndoMark.steps(in: []) == nil && UndoMark.steps(in: [0x0a, 0]) == nil)
    #expect(UndoMark.steps(in: [0x0a, 0, 0x14, 0x0b, 0x05]) == nil)
    #expect(UndoMark.steps(in: [0x0a, 0, 0x14, 0x0a, 0, 0x15]) == nil)
    #expect(UndoMark.steps(in: [0x0a, 0, 0x80, 0x80]) == nil)
  }
}
