// Cursors and primary keys on every available realm file.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Reading real files")
struct FixtureReadingTests {
  /// The number of objects that are read in each table.
  private static let sample = 400

  /// The tables of a fixture that have objects.
  private func tables(_ fixture: Fixture) throws -> [Table] {
    let snapshot = try fixture.snapshot()
    return try snapshot.tableKeys().compactMap { try snapshot.table($0) }.filter { $0.objectCount > 0 }
  }

  @Test("the fixtures of the package are present")
  func present() { #expect(Fixture.own.count >= 15, "Tests/Fixtures has too few .realm files") }

  @Test("next, seek and seek(after:) agree on every object", arguments: Fixture.all)
  func cursors(fixture: Fixture) throws {
    for table in try tables(fixture) {
      let cursor = ObjectCursor(table), seeker = ObjectCursor(table), follower = ObjectCursor(table)
      var last = ObjKey.none, count = 0
      while try cursor.next() {
        count += 1
        let key = cursor.key
        #expect(key > last)
        if count > Self.sample { continue }
        #expect(try follower.seek(after: last) && follower.key == key)
        #expect(try seeker.seek(key) && seeker.key == key)
        #expect(try table.contains(key))
        for index in table.columns.indices.prefix(3) {
          #expect(try text(cursor.value(index)) == text(seeker.value(index)))
        }
        if key.value > last.value + 1 {
          let gap = ObjKey(key.value - 1)
          #expect(try !seeker.seek(gap) && seeker.key == .none)
          #expect(try !table.contains(gap))
        }
        last = key
      }
      #expect(count == table.objectCount)
      #expect(cursor.key == .none)
      #expect(try !seeker.seek(ObjKey(.max)))
      #expect(try !seeker.seek(after: ObjKey(.max)))
    }
  }

  @Test("every object is found by its primary key, and absent keys are not", arguments: Fixture.all)
  func primaryKeys(fixture: Fixture) throws {
    for table in try tables(fixture) {
      guard let index = table.primaryKeyIndex else {
        #expect(try table.objectKey(primaryKey: .int(0)) == nil)
        continue
      }
      let cursor = ObjectCursor(table)
      var seen: Set<PrimaryKey> = [], count = 0
      while try cursor.next() {
        let key = try #require(PrimaryKey(try cursor.value(index)))
        #expect(seen.insert(key).inserted)
        count += 1
        if count <= Self.sample || count % 97 == 0 { #expect(try table.objectKey(primaryKey: key) == cursor.key) }
      }
      for key in Self.candidates(seen) where !seen.contains(key) {
        #expect(try table.objectKey(primaryKey: key) == nil)
      }
    }
  }

  /// Keys near those that exist, and far from them, of every type.
  private static func candidates(_ seen: Set<PrimaryKey>) -> [PrimaryKey] {
    var keys: [PrimaryKey] = [
      .null, .int(-1), .int(0), .int(.max), .int(.min), .int(123_456_789), .string([]), .string([0]),
      .string(Array("no such key".utf8)), .objectID(ObjectID(high: 1, low: 2)), .uuid(UniqueID(high: 3, low: 4)),
    ]
    for key in seen.prefix(50) {
      switch key {
      case .null: break
      case .int(let value): keys += [.int(value &+ 1), .int(value &- 1), .int(~value)]
      case .string(let bytes):
        keys += [.string(bytes + [0x58]), .string(bytes + [0]), .string(Array(bytes.dropLast()))]
      case .objectID(let id): keys.append(.objectID(ObjectID(high: id.high, low: id.low ^ 1)))
      case .uuid(let id): keys.append(.uuid(UniqueID(high: id.high, low: id.low ^ 1)))
      }
    }
    return keys
  }
}
