// Leaves of every type, with the bytes that the vendor's engine wrote.

import Testing

@testable import RealmPages

@Suite("Leaves")
struct LeafTests {
  /// The values of a leaf of a column, as text.
  private func values(
    _ bytes: NodeBytes,
    _ ref: Int,
    _ element: ElementType,
    inTree: Bool = false,
    enumRef: Int = 0
  ) throws -> [String] {
    let arena = bytes.arena()
    let leaf = try ColumnLeaf(arena, ref, element, inTree: inTree, enumRef: enumRef)
    expectDamaged { try leaf.value(leaf.count, arena) }
    expectDamaged { try leaf.value(-2, arena) }
    return try (0..<leaf.count).map { try text(leaf.value($0, arena)) }
  }

  private func values(_ hex: String, _ type: ValueType, nullable: Bool = true) throws -> [String] {
    var bytes = NodeBytes()
    let ref = bytes.add(hex)
    return try values(bytes, ref, ElementType(type, isNullable: nullable))
  }

  @Test("nullable integer leaves store the value that represents null")
  func nullableInts() throws {
    #expect(try values("04 00 00 04 7f 05 7f fd", .int) == ["5", "null", "-3"])
    #expect(try values("00 00 00 03", .int) == ["null", "null"])
    expectDamaged { try values("00 00 00 00", .int) }
  }

  @Test("bools are 0 and 1, and 3 for null; 2 is invalid")
  func bools() throws {
    #expect(try values("02 00 00 03 31", .bool) == ["true", "false", "null"])
    expectDamaged { try values("02 00 00 01 02", .bool) }
  }

  @Test("floats and doubles represent null as one particular NaN")
  func floats() throws {
    #expect(
      try values("0b 00 00 03 00 00 c0 3f 00 00 00 c0 aa 00 c0 7f", .float) == ["float 1.5", "float -2.0", "null"]
    )
    #expect(try values("0b 00 00 01 00 00 c0 7f", .float) == ["float nan"])
    #expect(
      try values("0c 00 00 02 00 00 00 00 00 00 f8 3f aa 00 00 00 00 00 f8 7f", .double) == ["double 1.5", "null"]
    )
    expectDamaged { try values("0b 00 00 01 00 00 c0 3f", .double) }
  }

  @Test("short strings store their length in the last byte of the element")
  func shortStrings() throws {
    let hello = "68 65 6c 6c 6f 00 00 02", empty = "00 00 00 00 00 00 00 07", null = "00 00 00 00 00 00 00 08"
    #expect(try values("0c 00 00 03" + hello + empty + null, .string) == ["\"hello\"", "\"\"", "null"])
    #expect(try values("0b 00 00 01 66 6f 6f 00", .string) == ["\"foo\""])
    #expect(try values("09 00 00 02 00 01", .string) == ["\"\"", "null"])
    #expect(try values("08 00 00 02", .string) == ["null", "null"])
    expectDamaged { try values("0b 00 00 01 66 6f 6f 05", .string) }
  }

  @Test("small blobs store strings with a terminating zero")
  func smallStrings() throws {
    var bytes = NodeBytes()
    bytes.place("04 00 00 03 11 13 14", at: 488)
    bytes.place("11 00 00 14 73 69 78 74 65 65 6e 20 62 79 74 65 73 21 21 21 00 78 00 00", at: 504)
    bytes.place("01 00 00 03 00", at: 536)
    let root = bytes.place("45 00 00 03 e8 01 f8 01 18 02", at: 552)
    #expect(
      try values(bytes, root, ElementType(.string, isNullable: true)) == ["\"sixteen bytes!!!\"", "\"x\"", "\"\""]
    )
  }

  @Test("small blobs distinguish empty binaries from null")
  func smallBinaries() throws {
    var bytes = NodeBytes()
    let ends = bytes.add("02 00 00 03 3f"), blob = bytes.add("11 00 00 03 01 02 03"),
      nulls = bytes.add("01 00 00 03 04")
    let root = bytes.addRefs([.ref(ends), .ref(blob), .ref(nulls)])
    #expect(try values(bytes, root, ElementType(.data, isNullable: true)) == ["data [1, 2, 3]", "data []", "null"])
  }

  @Test("end offsets outside of the data are errors")
  func badEnds() throws {
    for end: Int64 in [.min, -1, 0, 4, .max] {
      var bytes = NodeBytes()
      let ends = bytes.add([end]), blob = bytes.add("11 00 00 03 01 02 00"), nulls = bytes.add("01 00 00 01 00")
      let root = bytes.addRefs([.ref(ends), .ref(blob), .ref(nulls)])
      expectDamaged { try values(bytes, root, ElementType(.string, isNullable: true)) }
    }
  }

  @Test("big blobs store each value in a node")
  func bigBlobs() throws {
    var bytes = NodeBytes()
    bytes.place("11 00 00 41" + String(repeating: "42", count: 64) + "00", at: 568)
    bytes.place("11 00 00 01 00", at: 648)
    let root = bytes.place("65 00 00 03 38 02 88 02 00 00", at: 664)
    let long = String(repeating: "B", count: 64)
    #expect(try values(bytes, root, ElementType(.string, isNullable: true)) == ["\"\(long)\"", "\"\"", "null"])
  }

  @Test("enumerated strings index the values of their column")
  func enumerated() throws {
    var bytes = NodeBytes()
    let list = bytes.add("0a 00 00 02 61 00 62 00"), leaf = bytes.add("01 00 00 03 05")
    #expect(
      try values(bytes, leaf, ElementType(.string, isNullable: true), enumRef: list) == ["\"b\"", "\"a\"", "\"b\""]
    )
    expectDamaged { try values(bytes, leaf, ElementType(.string, isNullable: true)) }
    let wrong = bytes.add("02 00 00 01 02")
    expectDamaged {
      try values(bytes, wrong, ElementType(.string, isNullable: true), enumRef: list)
    }
  }

  @Test("dates are seconds, with one value for null, and nanoseconds")
  func dates() throws {
    var bytes = NodeBytes()
    let seconds = bytes.add("06 00 00 04 ff ff ff 7f 00 f1 53 65 ff ff ff ff ff ff ff 7f")
    let nanoseconds = bytes.add("06 00 00 03 15 cd 5b 07 fb ff ff ff 00 00 00 00")
    let root = bytes.addRefs([.ref(seconds), .ref(nanoseconds)])
    #expect(
      try values(bytes, root, ElementType(.date, isNullable: true))
        == ["date 1700000000 123456789", "date -1 -5", "null"]
    )
    let wrong = bytes.add("06 00 00 03 00 ca 9a 3b fb ff ff ff 00 00 00 00")
    let bad = bytes.addRefs([.ref(seconds), .ref(wrong)])
    expectDamaged { try values(bytes, bad, ElementType(.date, isNullable: true)) }
  }

  @Test("decimals of any width keep exponent and coefficient")
  func decimals() throws {
    let eight = "0c 00 00 03 0f 00 00 00 00 00 a0 31 4e 61 bc 00 00 00 60 b1 aa 00 00 00 00 00 00 7c"
    // 1.5 has exponent -1, -12345.678 has exponent -3: 6176 - 1 = 0x181f, 6176 - 3 = 0x181d, shifted by 49.
    #expect(
      try values(eight, .decimal128) == ["decimal 303e000000000000 f", "decimal b03a000000000000 bc614e", "null"]
    )
    #expect(try values("08 00 00 02", .decimal128) == ["null", "null"])
    #expect(try values("28 00 00 01", .decimal128) == ["decimal 3040000000000000 0"])
    #expect(try values("0b 00 00 02 0f 00 00 32 aa 00 00 7c", .decimal128) == ["decimal 303e000000000000 f", "null"])
    #expect(
      try values("0d 00 00 01 aa 00 00 00 00 00 00 00 00 00 00 00 00 00 00 7c", .decimal128) == ["null"]
    )
  }

  @Test("ObjectIds are stored in blocks of eight after a byte of null flags")
  func objectIDs() throws {
    let first = "01 02 03 04 05 06 07 08 09 0a 0b 0c", null = "de ad de ad de ad de ad de ad de ad"
    let last = String(repeating: "ff", count: 12)
    #expect(
      try values("09 00 00 25 02" + first + null + last, .objectID)
        == ["objectId 102030405060708 90a0b0c", "null", "objectId ffffffffffffffff ffffffff"]
    )
    let nine = "09 00 00 6e 00" + (1...8).map { String(repeating: "0\($0)", count: 12) }.joined() + "01" + last
    #expect(try values(nine, .objectID).last == "null")
    expectDamaged { try values("09 00 00 05 02 01 02 03 04", .objectID) }
  }

  @Test("UUIDs are stored as sixteen bytes")
  func uuids() throws {
    let one = "00 11 22 33 44 55 66 77 88 99 aa bb cc dd ee ff"
    #expect(try values("09 00 00 11 00" + one, .uuid) == ["uuid 11223344556677 8899aabbccddeeff"])
  }

  @Test("link columns store the key plus one, collections of links the key itself")
  func links() throws {
    var bytes = NodeBytes()
    let column = bytes.add("01 00 00 03 05"),
      unresolved = bytes.add("27 00 00 02 7d c3 46 23 c8 6b 99 f9 01 00 00 00 00 00 00 00")
    let element = ElementType(.link, isNullable: true, target: TableKey(5))
    #expect(try values(bytes, column, element) == ["link 5 0", "null", "link 5 0"])
    #expect(try values(bytes, unresolved, element, inTree: true) == ["link 5 -461218979499293827", "link 5 1"])
  }

  @Test("a leaf of a tree has at most 1000 elements, even if they take no space")
  func largestLeaf() throws {
    var bytes = NodeBytes()
    let full = bytes.add("00 00 03 e8"), larger = bytes.add("00 00 03 e9"), huge = bytes.add("00 ff ff ff")
    let element = ElementType(.int, isNullable: false)
    #expect(try values(bytes, full, element, inTree: true).count == 1000)
    for ref in [larger, huge] {
      expectDamaged { try values(bytes, ref, element, inTree: true) }
    }
  }

  @Test("Mixed values: inline, in a payload, and nested")
  func mixed() throws {
    var bytes = NodeBytes()
    let root = bytes.place("45 00 00 06 b0 03 00 00 00 00 c0 03 60 04 70 04", at: 24)
    bytes.place("05 00 00 03 01 05 63 00 94 00", at: 0x3b0)
    bytes.place("0b 00 00 01 73 74 72 00", at: 0x3c0)
    bytes.place("45 00 00 06 b0 04 00 00 00 00 00 00 00 00 00 00", at: 1096)
    bytes.place("45 00 00 01 48 04", at: 0x460)
    bytes.place("05 00 00 03 00 00 00 00 5c bb", at: 0x470)
    bytes.place("05 00 00 02 01 01 00 00", at: 0x4b0)
    #expect(try values(bytes, root, .mixed) == ["5", "\"str\"", "[1, null]"])
    // Format 23 has no nested collections.
    let old = bytes.arena(format: 23)
    let leaf = try MixedLeaf(old, root)
    expectDamaged { try leaf.value(2, old) }
  }

  @Test("Mixed values that point outside of their payload are errors")
  func badMixed() throws {
    // Types int, float, string, date, decimal, link, list, dictionary with payloads that are not there, and type 31.
    for code: Int64 in [0, 9, 2, 4, 8, 11, 15, 16, 17, 19, 21, 30] {
      for index: Int64 in [0, 1, -1, 1 << 40, -1 << 54] {
        var bytes = NodeBytes()
        let composite = bytes.add([index << 8 | 1 << 5 | (code + 1)])
        let root = bytes.addRefs([.ref(composite), .ref(0), .ref(0), .ref(0), .ref(0), .ref(0)])
        expectDamaged { try values(bytes, root, .mixed) }
      }
    }
  }

  @Test("lists, sets and dictionaries of a column")
  func collections() throws {
    var bytes = NodeBytes()
    bytes.place("05 00 00 02 01 00 c8 00", at: 1176)
    bytes.place("0a 00 00 02 61 00 62 00", at: 1208)
    bytes.place("0b 00 00 02 6f 6e 65 00 74 77 6f 00", at: 1240)
    bytes.place("05 00 00 02 01 01 01 02", at: 1256)
    bytes.place("45 00 00 06 e8 04 00 00 00 00 00 00 00 00 00 00", at: 1272)
    bytes.place("45 00 00 02 d8 04 f8 04", at: 1296)
    let arena = bytes.arena()
    #expect(try text(.list(ListView(arena, 1176, ElementType(.int, isNullable: false)))) == "[1, 200]")
    #expect(try text(.set(ListView(arena, 1208, .string, isSet: true))) == "[\"a\", \"b\"]")
    #expect(try text(.dictionary(DictionaryView(arena, 1296, keyType: 2))) == "{one: 1, two: 2}")
    #expect(try text(.list(ListView(arena, 0, .string))) == "[]")
    #expect(try text(.dictionary(DictionaryView(arena, 0, keyType: 2))) == "{}")
    expectDamaged { try DictionaryView(arena, 1296, keyType: 0) }
  }
}
