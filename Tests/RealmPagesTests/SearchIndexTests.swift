// Search indexes: index keys, words of full-text indexes, and a small index as the vendor's engine wrote it.

import Testing

@testable import RealmPages

@Suite("Search indexes")
struct SearchIndexTests {
  @Test("index keys are four bytes, big-endian and signed; X marks the end of a value")
  func words() {
    let hello = Array("hello".utf8)
    #expect(SearchIndex.word(hello, 0) == 0x6865_6c6c)
    #expect(SearchIndex.word(hello, 4) == 0x6f58_0000)
    #expect(SearchIndex.word(hello, 8) == 0)
    #expect(SearchIndex.word([], 0) == 0x5800_0000)
    #expect(SearchIndex.word(nil, 0) == 0)
    #expect(SearchIndex.word(Array("four".utf8), 4) == 0x5800_0000)
    #expect(SearchIndex.word([0xff, 0xff, 0xff, 0xff], 0) == -1)
  }

  @Test("both writers of index keys agree, for every primary key type")
  func data() {
    let keys: [PrimaryKey] = [
      .null, .int(7), .int(-1), .int(.min), .string(Array("hello".utf8)), .string([]),
      .objectID(ObjectID(high: 0x0102_0304_0506_0708, low: 0x090a_0b0c)), .uuid(UniqueID(high: 1, low: .max)),
    ]
    for key in keys {
      let value: ValueView =
        switch key {
        case .null: .null
        case .int(let value): .int(value)
        case .string(let bytes):
          bytes.withUnsafeBytes { .string($0.baseAddress.map { ByteView(base: $0, count: bytes.count) } ?? .empty) }
        case .objectID(let id): .objectID(id)
        case .uuid(let id): .uuid(id)
        }
      let data = IndexData(value)
      for offset in stride(from: 0, through: 24, by: 4) {
        #expect(data.key(offset) == SearchIndex.word(key.indexData, offset))
      }
    }
  }

  @Test("numbers that are equal share an entry, whatever their type")
  func numbers() {
    let seven = IndexData(.int(7)).key(0)
    #expect(IndexData(.double(7)).key(0) == seven)
    #expect(IndexData(.float(7)).key(0) == seven)
    #expect(IndexData(.decimal128(Decimal128(low: 7, high: 0x3040 << 48))).key(0) == seven)
    // 70 with exponent -1.
    #expect(IndexData(.decimal128(Decimal128(low: 70, high: 0x303e << 48))).key(0) == seven)
    #expect(IndexData(.double(7.5)).count == 8)
    #expect(IndexData(.float(7.5)).count == 4)
    #expect(IndexData(.decimal128(Decimal128(low: 75, high: 0x303e << 48))).count == 16)
    #expect(IndexData(.decimal128(Decimal128(low: .max, high: .max))).count == 16)
    #expect(IndexData(.double(.nan)).count == 8)
  }

  @Test("an index leads to the object, and says when there is none")
  func lookup() throws {
    // A column of the values 7, -1 and 300.
    var bytes = NodeBytes()
    bytes.place("06 00 00 03 ff ff ff ff 00 00 00 07 00 00 01 2c", at: 1424)
    let root = bytes.place("65 00 00 04 90 05 03 00 01 00 05 00", at: 1448)
    let index = SearchIndex(arena: bytes.arena(), rootRef: root)
    let found = { (value: Int64) in try index.first(.int(value)) { _ in true }?.value }
    #expect(try found(7) == 0)
    #expect(try found(-1) == 1)
    #expect(try found(300) == 2)
    #expect(try found(8) == nil)
    #expect(try index.first(.int(7)) { _ in false } == nil)
  }

  @Test("null and the empty string are different entries, null with a list of objects")
  func nullAndEmpty() throws {
    var bytes = NodeBytes()
    bytes.place("06 00 00 03 00 00 00 00 00 00 00 58 6c 6c 65 68", at: 1464)
    bytes.place("02 00 00 01 2a", at: 1488)
    let root = bytes.place("65 00 00 04 b8 05 d0 05 03 00 01 00", at: 1504)
    let index = SearchIndex(arena: bytes.arena(), rootRef: root)
    #expect(try index.first(.null) { _ in true }?.value == 2)
    #expect(try index.first(.string([])) { _ in true }?.value == 1)
    #expect(try index.first(.string(Array("hello".utf8))) { _ in true }?.value == 0)
    #expect(try index.first(.string(Array("help".utf8))) { _ in true } == nil)
  }

  private static let texts: [(String, Set<String>)] = [
    ("Hello, World 42!", ["hello", "world", "42"]), ("", []), ("  ", []), ("don't", ["don", "t"]),
    ("Älter ÉTÉ", ["alter", "ete"]),
    ("Århus Ænima Øre Þing Straße", ["århus", "ænima", "øre", "þing", "straße"]),
    ("a×b", ["ab"]), ("naïve naive", ["naive"]), ("日本 x", ["x"]), ("ÿ", []), ("x😀y", ["x", "y"]),
  ]

  @Test("texts fall into words of ASCII and Latin-1 letters and digits, most without accents", arguments: texts)
  func fullTextWords(text: String, words: Set<String>) {
    var text = text
    let found = text.withUTF8 { FullTextWords.words(in: UnsafeRawBufferPointer($0)) }
    #expect(Set(found.map { String(decoding: $0, as: UTF8.self) }) == words)
  }

  @Test("a word is cut after 64 bytes, and what follows belongs to it still")
  func longWords() {
    let long = [UInt8](repeating: 0x61, count: 100) + Array(" b".utf8)
    let found = long.withUnsafeBytes { FullTextWords.words(in: $0) }
    #expect(found == [[UInt8](repeating: 0x61, count: 64), Array("b".utf8)])
  }

  @Test("bytes that are not UTF-8 are no reason to read beyond the text")
  func brokenText() {
    for text: [UInt8] in [[0xc3], [0xe2, 0x82], [0xf0, 0x9f], [0x61, 0xc3], [0xff, 0xfe]] {
      let found = text.withUnsafeBytes { FullTextWords.words(in: $0) }
      #expect(found.count <= 1)
    }
  }
}
