// `realmfs diff` of two versions, by the nodes that they do not share or by comparing clusters, finds what reading each
// object of both finds. SEED=n tests one history, COMPARISON_HISTORIES=n that many (3).

import Foundation
import RealmPages
import RealmTransfer
import TestSupport
import Testing

@Suite("Comparisons of versions")
struct ComparisonTests {
  private static let environment = ProcessInfo.processInfo.environment

  private func differences(
    _ old: Snapshot,
    _ new: Snapshot,
    areVersions: Bool,
    comparesClusters: Bool = true
  ) throws -> [String] {
    let comparison = RealmComparison(old, new, classes: nil, areVersions: areVersions)
    comparison.comparesClusters = comparesClusters
    var found: [String] = []
    comparison.onComplaint = { found.append("complaint: \($0)") }
    try comparison.run { difference in found.append("\(difference)") }
    return found
  }

  /// Tests one history: each version is compared with the one before and an older one. Returns the number of
  /// differences.
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
          let byClusters = try differences(old, new, areVersions: false)
          let expected = try differences(old, new, areVersions: false, comparesClusters: false)
          count += expected.count
          if found != expected || byClusters != expected {
            throw RandomHistory.Disagreement(
              description: "from \(old.version) to \(new.version): \(found), \(byClusters), \(expected)"
            )
          }
        }
      }
    }
    return count
  }

  /// Creates a realm of owners with these primary keys, and of 600 items that link to them in rotation.
  private func makeRealm(at path: String, owners: [Int64]) throws {
    let transaction = try RealmWriter(Configuration(path: path), create: true).begin()
    let owner = try transaction.addTable("class_Owner"), item = try transaction.addTable("class_Item")
    for table in [owner, item] {
      let id = try transaction.addColumn(table, ColumnSpec("id", .int))
      try transaction.setPrimaryKey(table, id)
    }
    let link = try transaction.addColumn(item, ColumnSpec("owner", .link, isNullable: true, target: owner))
    var keys: [ObjKey] = []
    for number in owners { keys.append(try transaction.create(owner, primaryKey: .int(number))) }
    for number in 0..<600 {
      let target = Value.link(owner, keys[number % keys.count])
      _ = try transaction.create(item, primaryKey: .int(Int64(number)), values: [(link, target)])
    }
    _ = try transaction.commit()
  }

  @Test("links are compared by primary key, not by object key")
  func linksByPrimaryKey() throws {
    try withTemporaryPath { path in
      try makeRealm(at: path, owners: [1, 2, 3])
      try withTemporaryPath { other in
        try makeRealm(at: other, owners: [1, 7, 3])
        let old = try Realm(Configuration(path: path)).latest(), new = try Realm(Configuration(path: other)).latest()
        let found = try differences(old, new, areVersions: false)
        #expect(found == (try differences(old, new, areVersions: false, comparesClusters: false)))
        // One owner each that only one of them has, and each third item.
        #expect(found.count == 202)
      }
    }
  }

  /// Creates a realm of tags, in this order, and of an item with a set of links to some of them, directly and in an
  /// embedded object.
  private func makeSets(at path: String, tags: [String], linked: [String]) throws {
    let transaction = try RealmWriter(Configuration(path: path), create: true).begin()
    let tag = try transaction.addTable("class_Tag"), item = try transaction.addTable("class_Item")
    let part = try transaction.addTable("class_Part", kind: .embedded)
    try transaction.setPrimaryKey(tag, try transaction.addColumn(tag, ColumnSpec("id", .string)))
    try transaction.setPrimaryKey(item, try transaction.addColumn(item, ColumnSpec("id", .int)))
    let set = try transaction.addColumn(item, ColumnSpec("tags", .link, collection: .set, target: tag))
    let inner = try transaction.addColumn(part, ColumnSpec("tags", .link, collection: .set, target: tag))
    let embedded = try transaction.addColumn(item, ColumnSpec("part", .link, isNullable: true, target: part))
    var keys: [String: ObjKey] = [:]
    for name in tags { keys[name] = try transaction.create(tag, primaryKey: .string(Array(name.utf8))) }
    let object = try transaction.create(item, primaryKey: .int(1))
    let inside = try transaction.setEmbedded(item, object, embedded)
    for name in linked {
      guard let key = keys[name] else { continue }
      _ = try transaction.add(item, object, set, .link(tag, key))
      _ = try transaction.add(part, inside, inner, .link(tag, key))
    }
    _ = try transaction.commit()
  }

  @Test("sets of links are equal if their elements are, whatever the order of object keys")
  func setsOfLinks() throws {
    func found(_ tags: [String], _ linked: [String]) throws -> [String] {
      try withTemporaryPath { path in
        try makeSets(at: path, tags: ["a", "b", "c"], linked: ["a", "b"])
        return try withTemporaryPath { other in
          try makeSets(at: other, tags: tags, linked: linked)
          let old = try Realm(Configuration(path: path)).latest(), new = try Realm(Configuration(path: other)).latest()
          let found = try differences(old, new, areVersions: false)
          #expect(found == (try differences(old, new, areVersions: false, comparesClusters: false)))
          return found
        }
      }
    }
    #expect(try found(["c", "b", "a"], ["a", "b"]) == [])
    #expect(try found(["c", "b", "a"], ["a", "c"]).count == 1)
    #expect(try found(["a", "b", "c"], ["a"]).count == 1)
  }

  @Test("comparing by shared nodes gives the same differences as reading both, in the same order")
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
