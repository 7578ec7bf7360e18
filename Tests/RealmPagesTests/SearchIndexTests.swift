// Search indexes: index keys, words of full-text indexes, and a small index as the vendor's engine wrote it.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Search indexes")
struct SearchIndexTests {
  @Test("index keys are four bytes, big-endian and signed; X marks the end of a value")
  func words() {
    func key(_ text: String?, _ offset: Int) -> Int32 { key(bytes: text.map { Array($0.utf8) }, offset) }
    func key(bytes: [UInt8]?, _ offset: Int) -> Int32 {
      guard let bytes else { return IndexData(word: nil).key(offset) }
      return bytes.withView { IndexData(word: $0).key(offset) }
    }
    #expect(key("hello", 0) == 0x6865_6c6c)
    #expect(key("hello", 4) == 0x6f58_0000)
    #expect(key("hello", 8) == 0)
    #expect(key("", 0) == 0x5800_0000)
    #expect(key(nil, 0) == 0)
    #expect(key("four", 4) == 0x5800_0000)
    #expect(key(bytes: [0xff, 0xff, 0xff, 0xff], 0) == -1)
  }

  @Test(
    "of two strings with the same index keys, one can be removed",
    arguments: [("abc", "abcX"), ("ab", "abX\0"), ("abcd", "abcdX\0\0\0"), ("", "X\0\0\0"), ("XXX", "XXXX")]
  )
  func sharedEntries(_ first: String, _ second: String) throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "words \(UInt64.random(in: 0...UInt64.max))"))
    var transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let words = try transaction.addColumn(table, ColumnSpec("words", .string, collection: .list, isNullable: true))
    try transaction.addIndex(table, words)
    let values: [Value] = [first, second].map { .string(Array($0.utf8)) }
    let objects = try (0..<3).map { _ in try transaction.create(table, values: [(words, .list(values + [.null]))]) }
    _ = try transaction.commit()
    for step in [0, 1, 2] {
      let snapshot = try writer.realm.latest()
      #expect(Verifier(snapshot, isStrict: true).problems(limit: 3) == [], "before step \(step)")
      transaction = try writer.begin()
      // The second word of the first object, the first of the next, then its other one.
      try transaction.remove(table, objects[step / 2 + step % 2], words, at: step == 0 ? 1 : 0)
      _ = try transaction.commit()
    }
    #expect(Verifier(try writer.realm.latest(), isStrict: true).problems(limit: 3) == [])
  }

  @Test(
    "long primary keys with a common prefix are found, in any order of creation",
    arguments: [196, 200, 204, 300]
  )
  func longKeys(length: Int) throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "long \(UInt64.random(in: 0...UInt64.max))"))
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Page")
    let address = try transaction.addColumn(table, ColumnSpec("address", .string))
    let beginning = String(repeating: "u", count: length)
    // 7 and 50 have no common divisor, so all numbers occur. The object keys are in another order than the values, as
    // in files of apps; those of objects created with a primary key would follow from it.
    let texts = (0..<50).map { Array("\(beginning)\($0 * 7 % 50)".utf8) }
    let objects = try texts.map { try transaction.create(table, values: [(address, .string($0))]) }
    try transaction.setPrimaryKey(table, address)
    for (text, object) in zip(texts, objects) {
      #expect(try transaction.objectKey(table, primaryKey: .string(text)) == object)
    }
    _ = try transaction.commit()
    let stored = try #require(try writer.realm.latest().table(named: "class_Page"))
    for (text, object) in zip(texts, objects) {
      #expect(try stored.objectKey(primaryKey: .string(text)) == object)
    }
    #expect(try stored.objectKey(primaryKey: .string(Array("\(beginning)51".utf8))) == nil)
    #expect(Verifier(try writer.realm.latest(), isStrict: true).problems(limit: 3) == [])
  }

  @Test("different numbers that share an entry of a Mixed index are added and removed independently")
  func numbersOfOneEntry() throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "numbers \(UInt64.random(in: 0...UInt64.max))"))
    var transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let value = try transaction.addColumn(table, ColumnSpec("value", .mixed))
    try transaction.addIndex(table, value)
    func decimal(_ tenths: UInt64) -> Value { .decimal128(Decimal128(low: tenths, high: 0x303e << 48)) }
    let values: [Value] = [.int(7), decimal(75), .double(7), decimal(71), decimal(70), decimal(75), .int(7)]
    let objects = try values.map { try transaction.create(table, values: [(value, $0)]) }
    _ = try transaction.commit()
    for object in [objects[1], objects[0], objects[6]] {
      #expect(Verifier(try writer.realm.latest(), isStrict: true).problems(limit: 3) == [])
      transaction = try writer.begin()
      try transaction.delete(table, object)
      _ = try transaction.commit()
    }
    let snapshot = try writer.realm.latest(), found = try #require(try snapshot.table(table))
    #expect(Verifier(snapshot, isStrict: true).problems(limit: 3) == [])
    #expect(found.objectCount == 4)
  }

  @Test("the index keys of numbers, identifiers and dates are their bytes in order")
  func data() {
    func keys(_ value: ValueView) -> [Int32] { stride(from: 0, through: 20, by: 4).map { IndexData(value).key($0) } }
    #expect(keys(.int(7)) == [0x0700_0000, 0, 0x5800_0000, 0, 0, 0])
    #expect(keys(.int(-1)) == [-1, -1, 0x5800_0000, 0, 0, 0])
    #expect(keys(.bool(true)) == keys(.int(1)))
    let id = ObjectID(high: 0x0102_0304_0506_0708, low: 0x090a_0b0c)
    #expect(keys(.objectID(id)) == [0x0102_0304, 0x0506_0708, 0x090a_0b0c, 0x5800_0000, 0, 0])
    #expect(keys(.uuid(UniqueID(high: 1, low: .max))) == [0, 1, -1, -1, 0x5800_0000, 0])
    let date = Timestamp(seconds: 1, nanoseconds: 2)
    #expect(keys(.date(date)) == [0x0100_0000, 0, 0x0200_0000, 0x5800_0000, 0, 0])
    #expect(keys(.null) == [0, 0, 0, 0, 0, 0])
    #expect(IndexData(.string(.empty)).isEqual(IndexData(word: ByteView.empty)))
    #expect(!IndexData(.string(.empty)).isEqual(IndexData(.null)))
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
    // 7.5, truncated as realm-core does, and values that are not an Int64: infinity, 2^63; but -2^63 is one.
    #expect(IndexData(.decimal128(Decimal128(low: 75, high: 0x303e << 48))).key(0) == seven)
    #expect(IndexData(.decimal128(Decimal128(low: 0, high: 0x7800 << 48))).count == 16)
    #expect(IndexData(.decimal128(Decimal128(low: 1 << 63, high: 0x3040 << 48))).count == 16)
    #expect(IndexData(.decimal128(Decimal128(low: 1 << 63, high: 0xb040 << 48))).isEqual(IndexData(.int(.min))))
    #expect(IndexData(.decimal128(Decimal128(low: .max, high: .max))).count == 16)
    #expect(IndexData(.double(.nan)).count == 8)
  }

  @Test("an index finds the object, and reports when there is none")
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

  @Test("null and the empty string have different entries; that of null can list objects")
  func nullAndEmpty() throws {
    var bytes = NodeBytes()
    bytes.place("06 00 00 03 00 00 00 00 00 00 00 58 6c 6c 65 68", at: 1464)
    bytes.place("02 00 00 01 2a", at: 1488)
    let root = bytes.place("65 00 00 04 b8 05 d0 05 03 00 01 00", at: 1504)
    let index = SearchIndex(arena: bytes.arena(), rootRef: root)
    #expect(try index.first(.null) { _ in true }?.value == 2)
    func first(_ text: String) throws -> Int64? {
      try PrimaryKey.string(Array(text.utf8)).withView { (value) throws(EngineError) in
        try index.first(value) { _ in true }?.value
      }
    }
    #expect(try first("") == 1)
    #expect(try first("hello") == 0)
    #expect(try first("help") == nil)
  }

  private static let texts: [(String, Set<String>)] = [
    ("Hello, World 42!", ["hello", "world", "42"]), ("", []), ("  ", []), ("don't", ["don", "t"]),
    ("Älter ÉTÉ", ["alter", "ete"]),
    ("Århus Ænima Øre Þing Straße", ["århus", "ænima", "øre", "þing", "straße"]),
    ("a×b", ["ab"]), ("naïve naive", ["naive"]), ("日本 x", ["x"]), ("ÿ", []), ("x😀y", ["x", "y"]),
  ]

  @Test("text is split into words of ASCII and Latin-1 letters and digits, most without accents", arguments: texts)
  func fullTextWords(text: String, words: Set<String>) {
    var text = text
    let found = text.withUTF8 { FullTextWords.words(in: UnsafeRawBufferPointer($0)) }
    #expect(Set(found.map { String(decoding: $0, as: UTF8.self) }) == words)
  }

  @Test("a word is truncated to 64 bytes, and the rest of it is skipped")
  func longWords() {
    let long = [UInt8](repeating: 0x61, count: 100) + Array(" b".utf8)
    let found = long.withUnsafeBytes { FullTextWords.words(in: $0) }
    #expect(found == [[UInt8](repeating: 0x61, count: 64), Array("b".utf8)])
  }

  @Test("invalid UTF-8 does not cause reads beyond the end of the text")
  func brokenText() {
    for text: [UInt8] in [[0xc3], [0xe2, 0x82], [0xf0, 0x9f], [0x61, 0xc3], [0xff, 0xfe]] {
      let found = text.withUnsafeBytes { FullTextWords.words(in: $0) }
      #expect(found.count <= 1)
    }
  }
}
