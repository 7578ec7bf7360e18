// Differences between two versions: applying them to the older version gives the newer one. SEED=n tests one history,
// DIFFERENCE_HISTORIES=n that many (6).

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Differences")
struct DifferenceTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let key = EncryptionKey([UInt8](repeating: 7, count: 64))

  // MARK: random histories

  /// The cases that a run has covered.
  private struct Tally {
    var histories = 0, pairs = 0, changes = 0
  }

  private static func settings(seed: UInt64) -> RandomHistory.Settings {
    var settings = RandomHistory.Settings()
    settings.triesForbidden = false
    settings.commits = 25
    // Some have clusters that split and join.
    if seed % 10 == 3 { (settings.commits, settings.operations, settings.objects) = (8, 900, 900) }
    if seed % 5 == 0 { settings.encryptionKey = key }
    return settings
  }

  /// One history. Each version is compared with the one before, and with one of the 20 before that, in both directions.
  private func live(seed: UInt64, _ tally: inout Tally) throws {
    let settings = Self.settings(seed: seed)
    var random = SplitMix64(seed: seed ^ 0xD1FF)
    try withTemporaryPath { path in
      var history = RandomHistory(seed: seed, path: path, settings)
      var held: [(hold: VersionHold, model: RealmModel)] = []
      var reader: Realm?
      try history.run { snapshot, _, model in
        let realm = try reader ?? Realm(Configuration(path: path, encryptionKey: settings.encryptionKey))
        reader = realm
        let hold = try realm.hold()
        if hold.snapshot.version != snapshot.version {
          throw RandomHistory.Disagreement(description: "holds version \(hold.snapshot.version)")
        }
        held.append((hold, model))
        if held.count > 21 { held.removeFirst() }
        let newest = held[held.count - 1]
        if held.count > 1 { try Self.check(held[held.count - 2], newest, &random, &tally) }
        if held.count > 2 { try Self.check(held[random.below(held.count - 2)], newest, &random, &tally) }
      }
    }
    tally.histories += 1
  }

  private static func check(
    _ first: (hold: VersionHold, model: RealmModel),
    _ second: (hold: VersionHold, model: RealmModel),
    _ random: inout SplitMix64,
    _ tally: inout Tally
  ) throws {
    let (before, after) = random.below(4) == 0 ? (second, first) : (first, second)
    let (old, new) = (before.hold.snapshot, after.hold.snapshot)
    func fail(_ text: String) -> RandomHistory.Disagreement {
      RandomHistory.Disagreement(description: "from version \(old.version) to \(new.version): \(text)")
    }
    let difference = try VersionDifference(from: old, to: new)
    guard difference.sharesNodes else { throw fail("no nodes are shared") }
    var check = DifferenceCheck(before: before.model, after: after.model)
    if let error = try check.error(in: difference) { throw fail(error) }
    tally.pairs += 1
    tally.changes += check.changes
    // The same, found in other ways: without refs, and with many rounds for the owners of embedded objects.
    if random.below(3) == 0 {
      let byContent = try VersionDifference(from: old, to: new, sharing: false)
      var check = DifferenceCheck(before: before.model, after: after.model)
      if let error = try check.error(in: byContent) { throw fail("by content: \(error)") }
    }
    if random.below(3) == 0 {
      let inRounds = try VersionDifference(from: old, to: new, sharing: true, ownerLimit: 1 + random.below(4))
      for (table, other) in zip(difference.tables, inRounds.tables) {
        let all = try changes(difference, table)
        if try all != changes(inRounds, other) { throw fail("\(table.name) differs in rounds") }
        guard !all.isEmpty else { continue }
        let index = random.below(all.count)
        if try Array(all[(index + 1)...]) != changes(difference, table, after: all[index].key) {
          throw fail("\(table.name) differs after \(all[index].key)")
        }
      }
    }
  }

  private static func changes(
    _ difference: VersionDifference,
    _ table: TableDifference,
    after key: ObjKey = .none
  ) throws -> [ObjectDifference] {
    let changes = difference.changes(in: table, after: key)
    var all: [ObjectDifference] = []
    while let change = try changes.next() { all.append(change) }
    return all
  }

  @Test("the old version plus the differences gives the new one, for random transactions")
  func histories() throws {
    var tally = Tally()
    if let seed = Seeds.only { return try live(seed: seed, &tally) }
    let count = Self.environment["DIFFERENCE_HISTORIES"].flatMap(Int.init) ?? 6
    let first = Seeds.first
    for seed in first..<first + UInt64(count) {
      do { try live(seed: seed, &tally) } catch {
        Issue.record("\(error)\nSEED=\(seed) repeats it")
        return
      }
    }
    print(
      "seeds from \(first) on: \(tally.histories) histories, \(tally.pairs) pairs, \(tally.changes) changed objects"
    )
    #expect(tally.changes > 0)
  }
}
