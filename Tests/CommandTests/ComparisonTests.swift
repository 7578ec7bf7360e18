// `realmfs diff --previous`: what it finds by what two versions share is what it finds by reading both. SEED=n makes
// one history, COMPARISON_HISTORIES=n as many (3).

import Foundation
import RealmPages
import RealmTransfer
import TestSupport
import Testing

@Suite("Comparisons of versions")
struct ComparisonTests {
  private static let environment = ProcessInfo.processInfo.environment

  private func differences(_ old: Snapshot, _ new: Snapshot, areVersions: Bool) throws -> [String] {
    let comparison = RealmComparison(old, new, classes: nil, areVersions: areVersions)
    var found: [String] = []
    comparison.onComplaint = { found.append("complaint: \($0)") }
    try comparison.run { difference in found.append("\(difference)") }
    return found
  }

  /// One history; each version is compared with the one before and an older one. The number of differences.
  private func live(seed: UInt64) throws -> Int {
    var settings = RandomHistory.Settings(), random = SplitMix64(seed: seed)
    settings.commits = 15
    settings.triesForbidden = false
    // Most commits do not change a schema.
    settings.operations = 12
    settings.changesSchema = seed % 2 == 0
    var count = 0
    try withTemporaryPath { path in
      var history = RandomHistory(seed: seed, path: path, settings)
      var held: [VersionHold] = [], reader: Realm?
      try history.run { _, _, _ in
        let realm = try reader ?? Realm(Configuration(path: path))
        reader = realm
        held.append(try realm.hold())
        let new = held[held.count - 1].snapshot
        for index in Set([held.count - 2, random.below(held.count)]) where index >= 0 {
          let old = held[index].snapshot
          let found = try differences(old, new, areVersions: true)
          let expected = try differences(old, new, areVersions: false)
          count += expected.count
          if found != expected {
            throw RandomHistory.Disagreement(
              description: "from \(old.version) to \(new.version): \(found), \(expected)"
            )
          }
        }
      }
    }
    return count
  }

  @Test("shared nodes give the differences that reading both versions gives, in the same order")
  func sharedNodes() throws {
    if let seed = Seeds.only {
      _ = try live(seed: seed)
      return
    }
    let first = Seeds.first
    let histories = Self.environment["COMPARISON_HISTORIES"].flatMap(UInt64.init) ?? 3
    var count = 0
    for seed in first..<first + histories {
      do { count += try live(seed: seed) } catch {
        Issue.record("\(error)\nSEED=\(seed) repeats it")
        return
      }
    }
    #expect(count > 0)
  }
}
