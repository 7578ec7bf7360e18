// Names of classes and objects as file names: a bijection.

import Foundation
import RealmJSON
import RealmPages
import Testing

@testable import RealmNames

private func file(_ text: [UInt8]) -> [UInt8] { name(.string(text)) }

private func name(_ key: PrimaryKey) -> [UInt8] {
  let out = OutputBuffer()
  NameEscaping.append(fileOf: key, to: out)
  return out.bytes
}

private func parse(_ name: [UInt8], _ type: ValueType?) -> ObjectFileName? {
  NameEscaping.parse(file: name.span.bytes, primaryKey: type)
}

private func parse(_ name: String, _ type: ValueType?) -> ObjectFileName? { parse(Array(name.utf8), type) }

private func className(_ directory: String) -> String? {
  let bytes = Array(directory.utf8)
  return NameEscaping.className(ofDirectory: bytes.span.bytes)
}

private func digest(_ key: [UInt8]) -> UInt64 { NameEscaping.digest(of: key.span.bytes) }

/// A small generator with a seed, so that a failure can be repeated.
private struct SeededGenerator: RandomNumberGenerator {
  var state: UInt64
  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var z = state
    z = (z ^ (z >> 30)) &* 0xBF58_476D_1CE4_E5B9
    z = (z ^ (z >> 27)) &* 0x94D0_49BB_1331_11EB
    return z ^ (z >> 31)
  }
}

@Suite("file names")
struct NameEscapingTests {
  @Test(
    "a string key is its own file name where possible",
    arguments: [
      ("Fido", "Fido.json"), ("", "%empty.json"), (".", "%2E.json"), ("..", "%2E%2E.json"), (".x", "%2Ex.json"),
      ("a.b", "a.b.json"), ("Jr.", "Jr%2E.json"), ("a..b", "a.%2Eb.json"), ("wait...", "wait.%2E%2E.json"),
      ("a/b", "a%2Fb.json"), ("100%", "100%25.json"), ("%null", "%25null.json"),
      ("%empty", "%25empty.json"), ("%~", "%25~.json"), ("%2F", "%252F.json"), ("x.json", "x.json.json"),
      ("new\nline\u{7F}\0", "new%0Aline%7F%00.json"), ("key 61", "key 61.json"), ("日本 🐕", "日本 🐕.json"),
      ("~", "~.json"), ("-", "-.json"), ("\\", "\\.json"), ("CON", "CON.json"),
    ]
  )
  func strings(key: String, expected: String) {
    #expect(NameEscaping.file(of: .string(Array(key.utf8))) == expected)
    #expect(parse(expected, .string) == .key(.string(Array(key.utf8))))
  }

  @Test(
    "bytes that are not UTF-8 are escaped one by one",
    arguments: [
      ([0xFF], "%FF.json"), ([0x61, 0xC3, 0x28], "a%C3(.json"), ([0xED, 0xA0, 0x80], "%ED%A0%80.json"),
      ([0xC0, 0xAF], "%C0%AF.json"), ([0xE2, 0x82], "%E2%82.json"), ([0xF4, 0x90, 0x80, 0x80], "%F4%90%80%80.json"),
    ] as [([UInt8], String)]
  )
  func invalidUTF8(key: [UInt8], expected: String) {
    #expect(NameEscaping.file(of: .string(key)) == expected)
    #expect(parse(expected, .string) == .key(.string(key)))
  }

  @Test(
    "keys of other types have one text each",
    arguments: [
      (PrimaryKey.int(0), ValueType.int, "0.json"), (.int(-1), .int, "-1.json"),
      (.int(.min), .int, "-9223372036854775808.json"), (.int(.max), .int, "9223372036854775807.json"),
      (.null, .int, "%null.json"), (.null, .string, "%null.json"), (.null, .uuid, "%null.json"),
      (
        .objectID(ObjectID(high: 0x5f00_0000_0000_0000, low: 0x011b_8635)), .objectID,
        "5f00000000000000011b8635.json"
      ),
      (
        .uuid(UniqueID(high: 0x000A_AE59_1234_4ABC, low: 0x8DEF_0000_0000_0117)), .uuid,
        "000aae59-1234-4abc-8def-000000000117.json"
      ),
    ]
  )
  func otherTypes(key: PrimaryKey, type: ValueType, expected: String) {
    #expect(NameEscaping.file(of: key) == expected)
    #expect(parse(expected, type) == .key(key))
  }

  @Test("an object of a class without primary key is named by its object key")
  func objectKeys() {
    let out = OutputBuffer()
    NameEscaping.append(fileOf: ObjKey(65_552), to: out)
    #expect(out.string == "65552.json")
    #expect(parse("65552.json", nil) == .objectKey(ObjKey(65_552)))
    #expect(parse("-1.json", nil) == nil)
    #expect(parse("%null.json", nil) == nil)
  }

  @Test(
    "an object is found only by its canonical name",
    arguments: [
      ("007.json", ValueType.int), ("-0.json", .int), ("+1.json", .int), ("00.json", .int), ("-.json", .int),
      (" 1.json", .int), ("1 .json", .int), ("9223372036854775808.json", .int), ("1", .int), ("1.JSON", .int),
      ("1.json.json", .int), (".json", .int), ("", .int), ("%empty.json", .int), ("1.jso", .int), ("json", .int),
      ("%41.json", .string), ("%2f.json", .string), ("%.json", .string), ("%2.json", .string), ("%G0.json", .string),
      (".x.json", .string), (".json", .string), ("a%2Eb.json", .string), ("a..json", .string), ("a..b.json", .string),
      ("a", .string), ("a/b.json", .string),
      ("%C3%A9.json", .string), ("\u{7F}.json", .string), ("%~0123456789abcdef.json", .string),
      ("a%~0123456789abcdef.json", .string), ("%Null.json", .string), ("%emptyx.json", .string),
      ("5F00000000000000011b8635.json", .objectID), ("5f00000000000000011b863.json", .objectID),
      ("5f00000000000000011b86355.json", .objectID), ("5g00000000000000011b8635.json", .objectID),
      ("000AAE59-1234-4abc-8def-000000000117.json", .uuid), ("000aae59x1234-4abc-8def-000000000117.json", .uuid),
      ("000aae591234-4abc-8def-000000000117.json", .uuid), ("%empty.json", .uuid), ("4913", .string),
      ("x.json~", .string), (".x.json.swp", .string), ("1.json", .mixed),
    ] as [(String, ValueType)]
  )
  func notNames(name: String, type: ValueType) {
    #expect(parse(name, type) == nil)
  }

  @Test("a file name with an invalid UTF-8 byte matches no object")
  func rawInvalidBytes() {
    #expect(parse([0xFF] + Array(".json".utf8), .string) == nil)
    #expect(parse([0xC3] + Array(".json".utf8), .string) == nil)
  }

  @Test("a name longer than 255 bytes is shortened and made unique by a hash")
  func longNames() throws {
    let a = UInt8(ascii: "a")
    for length in 245...260 {
      let key = [UInt8](repeating: a, count: length)
      let name = file(key)
      #expect(name.count <= 255)
      if length <= 250 {
        #expect(name == key + Array(".json".utf8))
        #expect(parse(name, .string) == .key(.string(key)))
      } else {
        #expect(name.count == 255)
        #expect(
          parse(name, .string)
            == .hashed(
              prefix: [UInt8](repeating: a, count: 232),
              digest: digest(key)
            )
        )
      }
    }
    // A character that does not fit completely into 232 bytes is omitted.
    let dog = Array("🐕".utf8)
    for length in 228...232 {
      let start = [UInt8](repeating: a, count: length)
      let key = start + dog + [UInt8](repeating: a, count: 30)
      #expect(
        parse(file(key), .string)
          == .hashed(
            prefix: length == 228 ? start + dog : start,
            digest: digest(key)
          )
      )
    }
    // A truncated text does not end in a dot.
    let dotted = [UInt8](repeating: a, count: 231) + [UInt8](repeating: UInt8(ascii: "."), count: 60)
    #expect(parse(file(dotted), .string) == .hashed(prefix: Array(dotted.prefix(232)), digest: digest(dotted)))
    // An unescaped text of this length is not the name of its key: that one has a hash.
    #expect(parse([UInt8](repeating: a, count: 251) + Array(".json".utf8), .string) == nil)
    // Prefixes that are shorter or longer than need be.
    for length in [200, 228, 233] {
      #expect(parse([UInt8](repeating: a, count: length) + Array("%~0123456789abcdef.json".utf8), .string) == nil)
    }
    #expect(
      parse([UInt8](repeating: a, count: 232) + Array("%~0123456789ABCDEF.json".utf8), .string) == nil
    )
  }

  @Test("names and keys map to each other one to one, for random bytes")
  func bijection() {
    var random = SeededGenerator(state: 2)
    var seen: [[UInt8]: [UInt8]] = [:]
    let pieces: [[UInt8]] = [
      [0], [0x1F], [0x7F], Array("/".utf8), Array("%".utf8), Array(".".utf8), Array("..".utf8), Array("%null".utf8),
      Array("%empty".utf8), Array("%~".utf8), Array(".json".utf8), Array("é".utf8),
      Array("日".utf8), Array("🐕".utf8),
      [0xC3], [0xE6, 0x97], [0xF0, 0x9F, 0x90], [0xED, 0xA0, 0x80], [0xFF], [0x80], Array("2F".utf8), Array("a".utf8),
      Array("0123456789abcdef".utf8), Array("the quick brown fox jumps over".utf8),
    ]
    for round in 0..<6_000 {
      var key: [UInt8] = []
      if round % 2 == 0 {
        for _ in 0..<Int.random(in: 0...24, using: &random) { key += pieces.randomElement(using: &random) ?? [] }
      } else {
        for _ in 0..<Int.random(in: 0...300, using: &random) { key.append(.random(in: 0...255, using: &random)) }
      }
      let name = file(key)
      let isFileName =
        name.count <= 255 && !name.contains(0) && !name.contains(UInt8(ascii: "/")) && name.first != UInt8(ascii: ".")
        && String(validating: name, as: UTF8.self) != nil && !String(decoding: name, as: UTF8.self).contains("..")
      let leadsBack =
        switch parse(name, .string) {
        case .key(.string(let parsed)): parsed == key
        case .hashed(let prefix, let hash): key.starts(with: prefix) && hash == digest(key)
        default: false
        }
      let isAlone = seen.updateValue(key, forKey: name).map { $0 == key } ?? true
      // One check a round: thousands of recorded expectations take longer than the work.
      if !isFileName || !leadsBack || !isAlone {
        Issue.record("key \(key) has the name \(name): \(isFileName) \(leadsBack) \(isAlone)")
      }
    }
  }

  @Test("a random name either matches nothing or is exactly the name of its key")
  func randomNames() {
    var random = SeededGenerator(state: 3)
    let characters = Array("%%%0123456789abcdefABCDEFnul~.-/x".utf8) + [0xC3, 0xA9, 0xFF]
    var accepted = 0
    for _ in 0..<50_000 {
      var candidate: [UInt8] = []
      for _ in 0..<Int.random(in: 0...6, using: &random) {
        candidate.append(characters.randomElement(using: &random) ?? 0)
      }
      candidate += Array(".json".utf8)
      for type in [ValueType.int, .string, .objectID, .uuid] {
        guard case .key(let key)? = parse(candidate, type) else { continue }
        accepted += 1
        if name(key) != candidate { Issue.record("\(candidate) leads to a key of another name") }
      }
    }
    #expect(accepted > 1000)
  }

  @Test("the names in a real file match the keys that the reference engine reads")
  func goldenNames() throws {
    let fixtures = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .appendingPathComponent("Fixtures/primary-keys")
    struct Entry: Decodable { var path: String }
    var expected = try String(contentsOf: fixtures.appendingPathExtension("tree.jsonl"), encoding: .utf8)
      .split(separator: "\n").map { try JSONDecoder().decode(Entry.self, from: Data($0.utf8)).path }[...]
    let path = fixtures.appendingPathExtension("realm").path
    let snapshot = try Realm(Configuration(path: path, mode: .immutable)).latest()
    for table in try snapshot.tableKeys().compactMap({ try snapshot.table($0) }) {
      guard let className = table.className else { continue }
      let directory = NameEscaping.directory(of: className)
      #expect(expected.popFirst() == directory)
      let cursor = ObjectCursor(table)
      while try cursor.next() {
        let out = OutputBuffer()
        if let column = table.primaryKeyIndex {
          #expect(NameEscaping.append(fileOf: try cursor.value(column), to: out))
        } else {
          NameEscaping.append(fileOf: cursor.key, to: out)
        }
        #expect(expected.popFirst() == directory + "/" + out.string)
        let parsed = parse(out.bytes, table.primaryKey?.type)
        if case .key(let key)? = parsed {
          #expect(try table.objectKey(primaryKey: key) == cursor.key)
        } else if table.primaryKey == nil {
          #expect(parsed == .objectKey(cursor.key))
        }
      }
    }
    #expect(expected.isEmpty)
  }

  @Test(
    "class directories are escaped without .json",
    arguments: [
      ("Person", "Person"), (".realm", "%2Erealm"), ("a/b", "a%2Fb"), ("", "%empty"), ("x.json", "x.json"),
      ("Jr.", "Jr%2E"),
      ("ünï", "ünï"), ("100%", "100%25"),
    ]
  )
  func classes(name: String, expected: String) {
    #expect(NameEscaping.directory(of: name) == expected)
    #expect(className(expected) == name)
  }

  @Test(
    "a class is found only by its canonical name",
    arguments: [".realm", "%41", "%2f", "", ".", "..", "%", "%null"]
  )
  func notClasses(name: String) {
    #expect(className(name) == nil)
  }

  @Test(
    "SHA-256 agrees with its published examples",
    arguments: [
      ("", 0xe3b0_c442_98fc_1c14), ("abc", 0xba78_16bf_8f01_cfea),
      ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 0x248d_6a61_d206_38b8),
      (String(repeating: "a", count: 55), 0x9f43_90f8_d30c_2dd9),
      (String(repeating: "a", count: 56), 0xb354_39a4_ac6f_0948),
      (String(repeating: "a", count: 63), 0x7d3e_74a0_5d7d_b15b),
      (String(repeating: "a", count: 64), 0xffe0_54fe_7ae0_cb6d),
      (String(repeating: "a", count: 119), 0x31eb_a51c_313a_5c08),
      (String(repeating: "a", count: 120), 0x2f3d_3354_32c7_0b58),
      (String(repeating: "a", count: 1_000_000), 0xcdc7_6e5c_9914_fb92),
    ] as [(String, UInt64)]
  )
  func hashes(text: String, expected: UInt64) {
    #expect(digest(Array(text.utf8)) == expected)
  }
}
