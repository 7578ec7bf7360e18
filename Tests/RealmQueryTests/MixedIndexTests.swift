// A search index on a Mixed property finds the same objects as comparing every object. MIXED_SEEDS=n tests that many
// (6).

import Foundation
import RealmPages
import RealmQuery
import TestSupport
import Testing

@Suite("Search indexes on Mixed")
struct MixedIndexTests {
  private static let seeds = ProcessInfo.processInfo.environment["MIXED_SEEDS"].flatMap(UInt64.init) ?? 6

  /// Numbers that are equal, or nearly equal, in other types, and values with the same bytes in an index.
  private static let values: [Value] = {
    var values: [Value] = [.null, .bool(true), .bool(false), .string([]), .data([]), .string([0, 0, 0, 0, 1])]
    for number in [0, 1, -1, 7, 256, 1 << 31, 1 << 32, (1 << 32) + 1, 1 << 53, (1 << 53) + 1, Int64.max, .min] {
      values.append(.int(number))
      values.append(.double(Double(number)))
      values.append(.float(Float(number)))
      values.append(.decimal128(Decimal128(parsing: "\(number)")))
      values.append(.decimal128(Decimal128(parsing: "\(number).0")))
      values.append(.decimal128(Decimal128(parsing: "\(number / 2).5")))
    }
    let reals = [
      0.1, 0.3, 1.5, -0.0, 6.999999999999999, 7.000000000000001, 0.9999999999999999, 1e300, .nan, .infinity, -.infinity,
      Double.leastNonzeroMagnitude, 16_777_217, 0x1p31, 0x1p53,
    ]
    for number in reals {
      values.append(.double(number))
      values.append(.float(Float(number)))
      values.append(.decimal128(Decimal128(comparing: .double(number))))
      values.append(.decimal128(Decimal128(comparing: .float(Float(number)))))
    }
    for text in ["a", "abc", "abcX", "abcd", "abcde", String(repeating: "long ", count: 60)] {
      values.append(.string(Array(text.utf8)))
      values.append(.data(Array(text.utf8)))
    }
    for seconds in [0, 1, 1 << 32, -1, 1_700_000_000] as [Int64] {
      values.append(.date(Timestamp(seconds: seconds, nanoseconds: 0)))
      values.append(.date(Timestamp(seconds: seconds, nanoseconds: seconds < 0 ? -5 : 5)))
    }
    values.append(.objectID(ObjectID(high: 1, low: 2)))
    values.append(.uuid(UniqueID(high: 0, low: 1)))
    values.append(.uuid(UniqueID(high: 0x6162_6364_6566_6768, low: 1)))
    values.append(.list([.int(1)]))
    values.append(.dictionary([]))
    return values
  }()

  @Test("equality and IN find the same with an index and without", arguments: 0..<seeds)
  func sameAsScan(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let writer = try RealmWriter(memory: MemoryStorage(name: "mixed"))
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let indexed = try transaction.addColumn(table, ColumnSpec("indexed", .mixed, isNullable: true))
    let plain = try transaction.addColumn(table, ColumnSpec("plain", .mixed, isNullable: true))
    try transaction.addIndex(table, indexed)
    var keys: [ObjKey] = []
    for _ in 0..<1500 {
      let value = Self.values.randomElement(using: &random) ?? .null
      keys.append(try transaction.create(table, values: [(indexed, value), (plain, value)]))
    }
    for key in keys where Int.random(in: 0..<4, using: &random) == 0 {
      let value = Self.values.randomElement(using: &random) ?? .null
      try transaction.set(table, key, indexed, value)
      try transaction.set(table, key, plain, value)
    }
    _ = try transaction.commit()
    let snapshot = try writer.realm.latest(), items = try #require(try snapshot.table(table))
    func find(_ text: String, _ values: [Value]) throws -> (keys: [ObjKey], count: Int, usesIndex: Bool) {
      let query = try ObjectQuery([.bound(text, values)], of: items, in: snapshot)
      return (try query.keys(), try query.count(), query.usesIndex)
    }
    var isIndexUsed = false
    for value in Self.values {
      switch value {
      case .list, .dictionary: continue
      default: break
      }
      let found = try find("indexed == $0", [value]), expected = try find("plain == $0", [value])
      #expect(found.keys == expected.keys, "== \(value)")
      #expect(found.count == expected.count, "count of == \(value)")
      isIndexUsed = isIndexUsed || found.usesIndex
      #expect(try find("indexed != $0", [value]).keys == find("plain != $0", [value]).keys, "!= \(value)")
      let other = Self.values.prefix(30).randomElement(using: &random) ?? .null
      #expect(
        try find("indexed IN {$0, $1}", [value, other]).keys == find("plain IN {$0, $1}", [value, other]).keys,
        "IN \(value), \(other)"
      )
    }
    #expect(isIndexUsed)
    let hits = try #require(try items.objectKeys(where: 0, is: .int(7)))
    #expect(!hits.isEmpty, "the index itself finds numbers")
  }
}
