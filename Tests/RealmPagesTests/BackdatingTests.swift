// A version that is held for long does not make the file grow without bound: space that no version needs is reused, and
// the held version does not change.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Reuse of space between held versions")
struct BackdatingTests {
  /// A realm of 500 objects, its class and a property of Int.
  private func make(at path: String) throws -> (RealmWriter, TableKey, ColKey, [ObjKey]) {
    let writer = try RealmWriter(Configuration(path: path), create: true)
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let column = try transaction.addColumn(table, ColumnSpec("number", .int))
    let keys = try (0..<500).map { _ in try transaction.create(table) }
    _ = try transaction.commit()
    return (writer, table, column, keys)
  }

  private func numbers(_ snapshot: Snapshot, _ table: TableKey) throws -> [Int64?] {
    guard let table = try snapshot.table(table) else { return [] }
    let cursor = ObjectCursor(table)
    var values: [Int64?] = []
    while try cursor.next() {
      if case .int(let number) = try cursor.value(0) { values.append(number) } else { values.append(nil) }
    }
    return values
  }

  @Test("held versions stay intact while thousands of commits reuse the space between them")
  func heldVersions() throws {
    try withTemporaryPath { path in
      let (writer, table, column, keys) = try make(at: path)
      let realm = try Realm(Configuration(path: path))
      var holds: [(hold: VersionHold, numbers: [Int64?])] = []
      var sizes: [Int] = [], random = SplitMix64(seed: 7)
      for round in 0..<8 {
        let hold = try realm.hold()
        holds.append((hold, try numbers(hold.snapshot, table)))
        // Some go while older ones stay.
        if round % 3 == 2 { holds.remove(at: 1) }
        for _ in 0..<250 {
          let transaction = try writer.begin()
          let key = keys[random.below(keys.count)]
          try transaction.set(table, key, column, .int(Int64(bitPattern: random.next())))
          _ = try transaction.commit(.grouped)
        }
        try writer.sync()
        sizes.append(try realm.latest().logicalSize)
        for (hold, expected) in holds {
          #expect(try numbers(hold.snapshot, table) == expected)
          #expect(Verifier(hold.snapshot, isStrict: true).problems() == [])
        }
        #expect(Verifier(try realm.latest(), isStrict: true).problems() == [])
      }
      // Without reuse, the free lists alone take several MB.
      #expect(sizes.allSatisfy { $0 <= 1 << 20 }, "\(sizes)")
      withExtendedLifetime(holds) {}
    }
  }

  @Test("old versions need a range only from the version that allocated it, and only its used part")
  func ranges() throws {
    try withTemporaryPath { path in
      let (writer, table, column, keys) = try make(at: path)
      let realm = try Realm(Configuration(path: path))
      let old = try realm.hold()
      for number in 0..<20 {
        let transaction = try writer.begin()
        try transaction.set(table, keys[0], column, .int(Int64(number)))
        _ = try transaction.commit()
      }
      let snapshot = try realm.latest(), versions = [old.snapshot, snapshot]
      let free = try Committer.ranges(snapshot.arena, snapshot.top)
      let end = FreeRange(position: old.snapshot.logicalSize, size: 1 << 40, version: 0)
      let unused = FreeRange.joined(try Committer.ranges(old.snapshot.arena, old.snapshot.top) + [end])
      var backdating = Backdating(
        snapshot.arena,
        versions.map { ReachableVersion(version: $0.version, topRef: $0.top.ref) },
        oldest: old.snapshot.version
      )
      let backdated = backdating.backdated(free)
      #expect(backdated.reduce(0) { $0 + $1.size } == free.reduce(0) { $0 + $1.size })
      for (range, next) in zip(backdated, backdated.dropFirst()) { #expect(range.end <= next.position) }
      for range in backdated {
        let isUnused = unused.contains { $0.position <= range.position && range.end <= $0.end }
        #expect((range.version <= old.snapshot.version) == isUnused, "\(range)")
      }
      withExtendedLifetime(old) {}
    }
  }
}
