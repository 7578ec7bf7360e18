// Texts that a query looks for through the bytes of whole leaves are those that hold them one by one.

import Foundation
import RealmPages
import RealmQuery
import TestSupport
import Testing

@Suite("Scans of texts")
struct TextScanTests {
  @Test(
    "texts of every form of leaf are found, none beside them",
    arguments: [3, 14, 40, 100],
    [1 as UInt64, 2, 3]
  )
  func forms(longest: Int, seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    // Of two letters, so that many parts are found, and many run from one text into the next.
    func text(_ length: Int) -> String { String((0..<length).map { _ in random.next() & 1 == 0 ? "a" : "b" }) }
    let texts = (0..<700).map { $0 % 11 == 5 ? nil : text(Int(random.next() % UInt64(longest + 1))) }
    let writer = try RealmWriter(memory: MemoryStorage(name: "texts"))
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let column = try transaction.addColumn(table, ColumnSpec("t", .string, isNullable: true))
    let keys = try texts.map { text in
      try transaction.create(table, values: [(column, text.map { .string(Array($0.utf8)) } ?? .null)])
    }
    _ = try transaction.commit()
    let snapshot = try writer.realm.latest()
    let items = try #require(try snapshot.table(table))
    func check(_ query: String, _ passes: (String) -> Bool) throws {
      let expected = zip(keys, texts).compactMap { key, text in text.map(passes) ?? false ? key : nil }
      #expect(try Query(query, of: items, in: snapshot).keys() == expected, "\(query)")
    }
    for length in 1...8 {
      let part = text(length), other = text(2)
      try check("t CONTAINS '\(part)'") { $0.contains(part) }
      try check("t BEGINSWITH '\(part)'") { $0.hasPrefix(part) }
      try check("t ENDSWITH '\(part)'") { $0.hasSuffix(part) }
      try check("t == '\(part)'") { $0 == part }
      try check("t LIKE '\(part)?*\(other)'") { $0.count > length + 2 && $0.hasPrefix(part) && $0.hasSuffix(other) }
    }
  }
}
