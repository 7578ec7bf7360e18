// A text search that scans the bytes of whole leaves finds the same objects as one that reads each text.

import Foundation
import RealmPages
import RealmQuery
import TestSupport
import Testing

@Suite("Scans of texts")
struct TextScanTests {
  @Test(
    "strings in every kind of leaf are found, and no others",
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
      #expect(try ObjectQuery(query, of: items, in: snapshot).keys() == expected, "\(query)")
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

  private static let cafés = [
    "café", "cafe\u{301}", "CAFÉ", "cafe", "cafes", "Ωμέγα", "йод", "हिन्दी", "ø", "e",
  ]

  @Test(
    "[d] ignores diacritics of Latin, Greek and Cyrillic letters, in any Unicode normalization",
    arguments: [
      ("t == 'café'", [0]), ("t ==[d] 'cafe'", [0, 1, 3]), ("t ==[d] 'CAFÉ'", [2]),
      ("t ==[cd] 'cafè'", [0, 1, 2, 3]), ("t ==[dc] 'CAFE'", [0, 1, 2, 3]), ("t !=[cd] 'cafe'", [4, 5, 6, 7, 8, 9]),
      ("t CONTAINS[d] 'fe'", [0, 1, 3, 4]), ("t CONTAINS[cd] 'ÁF'", [0, 1, 2, 3, 4]),
      ("t BEGINSWITH[d] 'çafe\u{301}s'", [4]), ("t ENDSWITH[cd] 'É'", [0, 1, 2, 3, 9]),
      ("t ==[d] 'Ωμεγα'", [5]), ("t ==[cd] 'ωΜεγα'", [5]), ("t ==[d] 'иод'", [6]),
      // Vowels of Devanagari are marks, but not diacritics; the stroke of ø is not a mark.
      ("t ==[d] 'हनद'", []), ("t ==[d] 'o'", []), ("t IN[d] {'ё', 'é'}", [9]),
    ] as [(String, [Int])]
  )
  func diacritics(query: String, found: [Int]) throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "marks"))
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let column = try transaction.addColumn(table, ColumnSpec("t", .string, isNullable: true))
    try transaction.addIndex(table, column)
    for text in Self.cafés { _ = try transaction.create(table, values: [(column, .text(text))]) }
    _ = try transaction.commit()
    let snapshot = try writer.realm.latest()
    let items = try #require(try snapshot.table(table))
    #expect(try ObjectQuery(query, of: items, in: snapshot).keys().map { Int($0.value) } == found)
  }

  @Test(
    "the position of a substring, ignoring case",
    arguments: [
      ("abcABC", "bca", 1), ("ÄÖÜ", "öü", 2), ("abc", "", 0), ("", "a", nil), ("abc", "abcd", nil),
      ("aab", "ab", 1),
      ("xyz", "Z", 2), ("×", "÷", nil),
    ]
  )
  func places(_ text: String, _ part: String, _ place: Int?) {
    let held = HeldValue(.text(text))
    guard case .string(let bytes) = held.view else { return #expect(Bool(false)) }
    #expect(TextSearch(part).first(in: bytes)?.lowerBound == place)
  }
}
