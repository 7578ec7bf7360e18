// `.where`, `.by`, `.count` and `.all.jsonl`: which objects they show, under which names and numbers.

import Foundation
import RealmJSON
import RealmNames
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("queries as directories")
struct SelectionTests {
  /// The name of a query in `.where`.
  private func name(_ query: String) -> String {
    query.replacing("%", with: "%25").replacing("/", with: "%2F")
  }

  private func child(_ tree: FileTree, _ path: [String]) throws -> FileAttributes {
    var attributes = try tree.attributes(.root)
    for name in path { attributes = try tree.lookup(attributes.inode, Array(name.utf8)) }
    return attributes
  }

  private func names(_ tree: FileTree, _ path: [String]) throws -> [String] {
    try tree.list(tree.openDirectory(child(tree, path).inode)).map(\.name).filter { $0 != "." && $0 != ".." }
  }

  private func text(_ tree: FileTree, _ path: [String]) throws -> String {
    let file = try tree.open(child(tree, path).inode)
    defer { tree.release(file) }
    guard let stream = file.stream else { return file.wholeText }
    var bytes: [UInt8] = []
    while true {
      let part = try stream.read(from: bytes.count, count: 1000)
      if part.isEmpty { return String(decoding: bytes, as: UTF8.self) }
      bytes += part
    }
  }

  @Test(
    "a query shows the objects that the engine finds, in its order, with their own inode numbers",
    arguments: Fixture.own.map(\.name)
  )
  func sameObjectsInDirectories(file: String) throws {
    let queries = ExpectedQuery.all.filter { $0.file == file && name($0.query).utf8.count <= 255 }
    if queries.isEmpty { return }
    let tree = try FileTree.of(file)
    var byKey: [String: [Int64: String]] = [:]
    for (index, expected) in queries.enumerated() {
      let className = NameEscaping.directory(of: expected.className)
      // Embedded classes have no directory.
      guard let home = try? child(tree, [className]) else { continue }
      if byKey[className] == nil {
        byKey[className] = Dictionary(
          uniqueKeysWithValues: try tree.list(tree.openDirectory(home.inode)).dropFirst(2)
            .map { (Int64($0.inode.packedObject?.key.value ?? -1), $0.name) }
        )
      }
      let path = [className, ".where", name(expected.query)]
      let found = try names(tree, path)
      #expect(found == expected.keys.map { byKey[className]?[$0] ?? "?" }, "\(expected)")
      if index % 10 != 0 { continue }
      #expect(try text(tree, path + [".count"]) == "\(expected.keys.count)\n")
      #expect(try text(tree, path + [".all.jsonl"]).split(separator: "\n").count == expected.keys.count)
      let inside = Set(found.map { Array($0.utf8) })
      for (key, object) in (byKey[className] ?? [:]).prefix(60) {
        if inside.contains(Array(object.utf8)) {
          #expect(try child(tree, path + [object]).inode == child(tree, [className, object]).inode)
        } else {
          #expect(failure { try child(tree, path + [object]) }?.kind == "notFound", "\(expected): \(key)")
        }
      }
    }
  }

  @Test(
    "the values of a property are those of its objects, each with the objects that have it",
    arguments: [
      "people", "all-types", "strings", "primary-keys", "nested", "embedded", "name-limits", "leaf-states",
    ]
  )
  func values(file: String) throws {
    let tree = try FileTree.of(file)
    let snapshot = try Fixture.named(file).snapshot()
    var checked = 0
    for key in try snapshot.tableKeys() {
      guard let table = try snapshot.table(key), let className = table.className, table.kind == .topLevel else {
        continue
      }
      let directory = NameEscaping.directory(of: className)
      let properties = try names(tree, [directory, ".by"])
      let named = table.columns.filter { ValueNaming.hasNames($0) }
      #expect(properties.count <= named.count)
      for property in properties {
        let values = try names(tree, [directory, ".by", property])
        // Texts that look alike but differ.
        #expect(Set(values.map { Array($0.utf8) }).count == values.count)
        if values.count > 200 { continue }
        var total = 0
        for value in values {
          let objects = try names(tree, [directory, ".by", property, value])
          // No NaN is equal to any other, in Realm too.
          #expect(!objects.isEmpty || value.lowercased() == "nan", "\(className).\(property) \(value)")
          total += objects.count
          checked += 1
        }
        #expect(total <= table.objectCount)
        if !values.contains(where: { $0.lowercased() == "nan" }) {
          #expect(total == table.objectCount, "\(className).\(property)")
        }
      }
    }
    #expect(checked > 0)
  }

  @Test("a search index gives the same values as a scan of all objects", arguments: Fixture.own.map(\.name))
  func indexedValues(file: String) throws {
    let snapshot = try Fixture.named(file).snapshot()
    for key in try snapshot.tableKeys() {
      guard let table = try snapshot.table(key) else { continue }
      for (index, column) in table.columns.enumerated() where ValueNaming.hasNames(column) {
        guard let some = table.objectsOfDistinctValues(of: index) else { continue }
        var all: [ObjKey] = []
        let cursor = ObjectCursor(table)
        while try cursor.next() { all.append(cursor.key) }
        #expect(some.count <= 64 + all.count / 8)
        let values = try PropertyValues(column, table, snapshot), never = ContinuousClock.now.advanced(by: .seconds(60))
        #expect(try values.names(of: some, until: never) == values.names(of: all, until: never), "\(column.name)")
      }
    }
  }

  @Test("a few values of many objects are found through the index, in order of value")
  func valuesThroughIndex() throws {
    let tree = try WritableTree("people"), long = String(repeating: "long", count: 60)
    let schema = #"""
      {"name": "Few", "primaryKey": "_id", "properties": {"_id": "int", "i": {"type": "int", "indexed": true},
       "n": {"type": "int", "optional": true, "indexed": true}, "s": {"type": "string", "indexed": true},
       "d": {"type": "date", "indexed": true}, "b": {"type": "bool", "indexed": true}}}
      """#
    #expect(tree.put(".realm/schema/Few.json", schema) == nil)
    var lines = ""
    for key in 0..<2000 {
      // Texts that differ beyond the length that an index compares, and some with a common start.
      let text = key < 12 ? [long, long + "1", long + "2"][key % 3] : ["", "a", "ab", "abcd", "abcde"][key % 5]
      let number = [-1, 0, 1, 256, -(1 << 62)][key % 5]
      lines += "{\"_id\":\(key),\"i\":\(number),\"n\":\(key % 3 == 0 ? "null" : "\(number)"),\"s\":\"\(text)\","
      lines += "\"d\":\"2024-05-0\(1 + key % 9)T00:00:00Z\",\"b\":\(key % 2 == 0)}\n"
    }
    #expect(tree.put("Few/.all.jsonl", lines) == nil)
    let latest = try tree.writer.realm.latest()
    let table = try #require(try latest.table(named: "class_Few"))
    for (index, column) in table.columns.enumerated() where column.index != nil {
      let some = try #require(table.objectsOfDistinctValues(of: index), "\(column.name)")
      // All objects whose texts an index cannot distinguish are compared.
      #expect(some.count <= (column.name == "s" ? 5 + 12 : 9))
    }
    func values(_ property: String) throws -> [String] { try names(tree.tree, ["Few", ".by", property]) }
    #expect(try values("i") == ["-4611686018427387904", "-1", "0", "1", "256"])
    #expect(try values("n") == ["%null", "-4611686018427387904", "-1", "0", "1", "256"])
    #expect(try values("s").count == 8)
    #expect(try values("d").count == 9)
    #expect(try values("b") == ["false", "true"])
  }

  @Test("conditions can be nested")
  func narrowed() throws {
    let tree = try FileTree.of("people")
    let both = try names(tree, ["Person", ".where", "age > 24", ".where", "age < 34"])
    #expect(try both == names(tree, ["Person", ".where", "age > 24 AND age < 34"]))
    #expect(!both.isEmpty)
    #expect(try names(tree, ["Person", ".where", "age > 24 SORT(age DESC) LIMIT(3)", ".where", "age < 37"]).count < 3)
    #expect(
      try names(tree, ["Person", ".by", "dog", "Fido", ".where", "age > 24"])
        == names(tree, ["Person", ".where", "dog.name == 'Fido' AND age > 24"])
    )
    #expect(try names(tree, ["Person", ".where", "age > 24", ".by", "dog"]).count > 1)
    #expect(
      try names(tree, ["Person", ".by", "email", "%null"]) == names(tree, ["Person", ".where", "email == null"])
    )
    #expect(try child(tree, ["Person", ".where", "age > 24 LIMIT(1)", both[0]]).kind == .file)
    #expect(failure { try child(tree, ["Person", ".where", "age > 24 LIMIT(1)", both[1]]) }?.kind == "notFound")
  }

  @Test("invalid queries are EINVAL with the column, and unknown names are ENOENT")
  func mistakes() throws {
    let tree = try WritableTree("people")
    for query in ["agee > 3", "age >", "nonsense", "age > 1" + String(repeating: "+1", count: 110)] {
      #expect(failure { try child(tree.tree, ["Person", ".where", query]) }?.kind == "refused invalid")
      #expect(try tree.errors().last?.contains("column") == true)
    }
    for path in [
      [".by", "friends"], [".by", "none"], [".by", "age", "x"], [".by", "age", "+4"], [".by", "dog", "Nobody"],
    ] {
      #expect(failure { try child(tree.tree, ["Person"] + path) }?.kind == "notFound", "\(path)")
    }
    #expect(failure { try child(tree.tree, ["Person", ".nothing"]) }?.kind == "notFound")
  }

  @Test("nothing can be created, removed or renamed in a query directory")
  func noHome() throws {
    let tree = try WritableTree("people")
    let before = try tree.texts()
    for directory in ["Person/.where/age > 3", "Person/.by/age/21"] {
      #expect(tree.put("\(directory)/new.json", "{}")?.hasSuffix("refused forbidden") == true)
      #expect(failure { try tree.unlink("\(directory)/4.json") }?.kind == "refused forbidden")
      #expect(failure { try tree.rename("\(directory)/4.json", to: "Person/x") }?.kind == "refused forbidden")
      #expect(tree.put("\(directory)/4.json", #"{"age": 21}"#) == nil, "saving an object is saving the object")
    }
    #expect(try tree.texts() == before)
  }

  @Test("a commit is visible when the directory is next opened; one listing shows one version")
  func commits() throws {
    let tree = try WritableTree("people")
    let path = ["Person", ".where", "age == 77"]
    let directory = try child(tree.tree, path).inode
    let before = try tree.tree.openDirectory(directory)
    #expect(tree.put("Person/4.json", #"{"age": 77}"#) == nil)
    #expect(try tree.tree.list(before).count == 2)
    #expect(try tree.tree.list(tree.tree.openDirectory(directory)).map(\.name) == [".", "..", "4.json"])
    #expect(try text(tree.tree, path + [".count"]) == "1\n")
    let all = try tree.tree.open(child(tree.tree, ["Person", ".all.jsonl"]).inode)
    defer { tree.tree.release(all) }
    #expect(tree.put("Person/4.json", #"{"age": 78}"#) == nil)
    let stream = try #require(all.stream)
    let text = String(decoding: try stream.read(from: 0, count: 1 << 20), as: UTF8.self)
    #expect(text.contains("\"age\":77") && !text.contains("\"age\":78"))
  }

  @Test("the text of all objects can be read in any order")
  func anyOrder() throws {
    let tree = try FileTree.of("items-10k")
    var className = "", whole: [UInt8] = []
    for name in try names(tree, []) {
      let all = Array(try text(tree, [name, ".all.jsonl"]).utf8)
      if all.count > whole.count { (className, whole) = (name, all) }
    }
    #expect(whole.count > 500_000)
    let file = try tree.open(child(tree, [className, ".all.jsonl"]).inode)
    defer { tree.release(file) }
    let stream = try #require(file.stream)
    var random = SplitMix64(seed: 7)
    for _ in 0..<300 {
      let offset = random.below(whole.count + 100), count = random.below(3000)
      let expected = offset < whole.count ? Array(whole[offset..<min(whole.count, offset + count)]) : []
      #expect(try stream.read(from: offset, count: count) == expected)
    }
  }

  @Test("a text whose version cannot be held fails permanently once that version is overwritten")
  func overtaken() throws {
    let writable = try WritableTree("items-10k")
    let tree = try writable.scratch.tree(TreeOptions(), .immutable)
    let className = try #require(try names(tree, []).first { try text(tree, [$0, ".count"]) == "10000\n" })
    let file = try tree.open(child(tree, [className, ".all.jsonl"]).inode)
    defer { tree.release(file) }
    let stream = try #require(file.stream)
    #expect(try stream.read(from: 0, count: 1000).count == 1000)
    let some = try #require(try names(writable.tree, [className]).first)
    #expect(writable.put("\(className)/\(some)", "{}") == nil)
    for price in 1...3 { #expect(writable.put("\(className)/\(some)", #"{"qty": \#(price)}"#) == nil) }
    stream.readAhead(from: 1000)
    for offset in [1 << 19, 1 << 20, 0, 1000] {
      #expect(failure { try stream.read(from: offset, count: 1000) }?.kind == "stale", "\(offset)")
    }
  }

  @Test("each line is saved once, even if the handle is closed or synchronized in between", arguments: ["I", "N"])
  func linesAreSavedOnce(className: String) throws {
    let tree = try WritableTree("primary-keys"), path = className + "/.all.jsonl"
    let key = className == "I" ? "k" : "v", count = try tree.tree.list(className).count
    let file = try tree.open(path), version = try tree.version
    var offset = 0
    func write(_ number: Int) throws {
      let line = "{\"\(key)\": \(number)}\n"
      try tree.write(file, line, at: offset)
      offset += line.utf8.count
    }
    try write(7001)
    try tree.tree.flush(file)
    try tree.tree.flush(file)
    if className == "I" { try tree.unlink("I/7001.json") }
    try write(7002)
    try tree.tree.synchronize(file)
    try write(7003)
    try tree.tree.flush(file)
    tree.tree.release(file)
    #expect(try tree.version == version + (className == "I" ? 4 : 3))
    #expect(try tree.tree.list(className).count == count + (className == "I" ? 2 : 3))
    // Bytes written over saved lines have to be saved again.
    let again = try tree.open(path)
    try tree.write(again, "{\"\(key)\": 7004}\n")
    try tree.tree.flush(again)
    try tree.write(again, "{\"\(key)\": 7005}\n")
    try tree.tree.flush(again)
    tree.tree.release(again)
    #expect(try tree.tree.list(className).count == count + (className == "I" ? 4 : 5))
  }

  @Test("lines that fill most of the memory are saved in one commit, and kept if they are refused")
  func manyLines() throws {
    let tree = try WritableTree("people") { $0.memoryLimit = 1 << 20 }
    var lines = ""
    for key in 1000..<8000 { lines += "{\"_id\":\(key),\"name\":\"\(String(repeating: "n", count: key % 150))\"}\n\n" }
    #expect(lines.utf8.count > 600_000)
    #expect(tree.put("Person/.all.jsonl", lines, piece: 4096) == nil)
    #expect(try text(tree.tree, ["Person", ".count"]) == "7019\n")
    let version = try tree.tree.text(".realm/version")
    #expect(
      tree.put("Person/.all.jsonl", lines + "{\"_id\":1000,\"age\":\"x\"}", piece: 4096) == "close: refused invalid"
    )
    #expect(try tree.errors().last?.contains("line 14001") == true)
    #expect(try tree.tree.text(".realm/version") == version)
    // There is no room for the text twice.
    let half = String(lines.prefix(400_000)) + "{"
    #expect(tree.put("Person/.all.jsonl", half, piece: 4096) == "close: refused invalid")
    #expect(try tree.tree.text(".realm/rejected/Person/.all.jsonl") == half)
  }

  @Test("lines beyond the memory limit are saved in one commit, and kept if something prevents it")
  func linesBesideTheRealm() throws {
    let tree = try WritableTree("people") { $0.memoryLimit = 5 << 20 }
    func line(_ key: Int, _ letter: String) -> String {
      "{\"_id\":\(key),\"name\":\"\(String(repeating: letter, count: 4000))\"}\n"
    }
    let length = line(1000, "a").utf8.count, keys = 1000..<3000
    do {
      let file = try tree.open("Person/.all.jsonl")
      try tree.write(file, keys.map { line($0, "a") }.joined(), piece: 128 << 10)
      #expect(file.size == keys.count * length && tree.tree.tree.parts.memory.usage < 5 << 20)
      // Bytes on disk are read and written like all others.
      for key in [1000, 1007, 2998] { try tree.write(file, line(key, "b"), at: (key - 1000) * length) }
      let middle = try file.read(from: 7 * length - 20, count: length + 20) { span in
        span.withUnsafeBytes { Array($0) }
      }
      #expect(String(decoding: middle, as: UTF8.self) == String(line(1006, "a").suffix(20)) + line(1007, "b"))
      var change = MetadataChange()
      change.size = (keys.count - 1) * length
      _ = try tree.tree.change(file.inode, file, change, by: WritableTree.me)
      #expect(file.size == (keys.count - 1) * length)
      try tree.tree.flush(file)
      tree.tree.release(file)
    }
    #expect(try text(tree.tree, ["Person", ".count"]) == "\(19 + keys.count - 1)\n")
    #expect(try tree.tree.text(".realm/version") == "6\n")
    for (key, letter) in [(1000, "b"), (1006, "a"), (1007, "b"), (2998, "b"), (2500, "a")] {
      #expect(try tree.tree.text("Person/\(key).json").contains("\"\(letter)\(letter)"), "\(key)")
    }
    // A refused text stays where it is.
    let refused = keys.map { line($0, "c") }.joined() + "{\"_id\":1,\"age\":\"x\"}\n"
    #expect(tree.put("Person/.all.jsonl", refused, piece: 128 << 10) == "close: refused invalid")
    #expect(try tree.errors().last?.contains("line \(keys.count + 1)") == true)
    #expect(try tree.tree.text(".realm/rejected/Person/.all.jsonl") == refused)
    #expect(try tree.tree.text(".realm/version") == "6\n")
  }

  @Test("any names of classes, properties, objects and values can be resolved", arguments: [1, 2, 3] as [UInt64])
  func anyNames(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    /// Up to `limit` bytes that are difficult in paths, escapes and JSON.
    func name(_ limit: Int) -> String {
      let parts = [
        "/", "%", "%2F", "\n", ".", "..", ".json", "\\", "\"", " ", "é", "犬", "a", "B", "%null", "-1", "~", "\u{1}",
      ]
      var name = ""
      for _ in 0...random.below(12) {
        let part = parts[random.below(parts.count)]
        if name.utf8.count + part.utf8.count <= limit { name += part }
      }
      return name.isEmpty ? "x" : name
    }
    func json(_ value: Any) throws -> String {
      String(decoding: try JSONSerialization.data(withJSONObject: value, options: .fragmentsAllowed), as: UTF8.self)
    }
    let tree = try WritableTree("empty")
    var classes: [String: [String]] = [:]
    for _ in 0..<3 { classes[name(57)] = Array(Set((0..<4).map { _ in name(63) }.filter { $0 != "_id" })) }
    let schema = classes.map { className, properties in
      [
        "name": className, "primaryKey": "_id",
        "properties": Dictionary(uniqueKeysWithValues: (properties + ["_id"]).map { ($0, "string") }),
      ] as [String: Any]
    }
    #expect(tree.put(".realm/schema.json", try json(["schemaVersion": 1, "schema": schema] as [String: Any])) == nil)
    for (className, properties) in classes {
      let home = NameEscaping.directory(of: className)
      var objects: [String: [String: String]] = [:], lines = ""
      for _ in 0..<15 {
        let key = name(300)
        objects[key] = Dictionary(uniqueKeysWithValues: properties.map { ($0, name(300)) })
      }
      for (key, values) in objects { lines += try json(values.merging(["_id": key]) { $1 }) + "\n" }
      #expect(tree.put(home + "/.all.jsonl", lines) == nil)
      #expect(try text(tree.tree, [home, ".count"]) == "\(objects.count)\n")
      for property in properties {
        let directory = NameEscaping.directory(of: property)
        var found = 0
        for value in try names(tree.tree, [home, ".by", directory]) {
          for object in try names(tree.tree, [home, ".by", directory, value]) {
            found += 1
            let field = [home, ".fields", String(object.dropLast(5)), directory]
            let key = try text(tree.tree, [home, ".fields", String(object.dropLast(5)), "_id"]).dropLast()
            #expect(try text(tree.tree, field).dropLast() == objects[String(key)]?[property].map { $0[...] })
          }
        }
        #expect(found == objects.count, "\(property)")
      }
    }
    #expect(try tree.problems().isEmpty)
  }

  @Test("names of values are bijective", arguments: [1, 2, 3] as [UInt64])
  func valueNames(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let out = OutputBuffer()
    for _ in 0..<3000 {
      let value: Value, type: ValueType
      switch random.below(8) {
      case 0: (value, type) = (.int(Int64(bitPattern: random.next() >> UInt64(random.below(64)))), .int)
      case 1: (value, type) = (.bool(random.below(2) == 0), .bool)
      case 2:
        let bytes: [UInt8] = (0..<random.below(240)).map { _ in
          [UInt8(ascii: "/"), UInt8(ascii: "%"), 0x0A, UInt8(ascii: "."), 0xFF, 0xC3, 0xA9, UInt8(ascii: "a")][
            random.below(8)
          ]
        }
        (value, type) = (.string(bytes), .string)
      case 3:
        let seconds = Int64(random.below(4_000_000_000)) - 1_000_000_000
        (value, type) = (.date(Timestamp(seconds: seconds, nanoseconds: 0)), .date)
      case 4: (value, type) = (.double(Double(bitPattern: random.next())), .double)
      case 5: (value, type) = (.float(Float(bitPattern: UInt32(truncatingIfNeeded: random.next()))), .float)
      case 6:
        (value, type) = (
          .decimal128(Decimal128(parsing: "\(random.below(100_000))E\(random.below(40) - 20)")), .decimal128
        )
      default: (value, type) = (.null, .string)
      }
      if case .double(let number) = value, number.isNaN { continue }
      if case .float(let number) = value, number.isNaN { continue }
      out.reset()
      let held = HeldValue(value)
      #expect(withExtendedLifetime(held) { ValueNaming.append(held.view, to: out) })
      let name = out.bytes
      #expect(name.count <= 255 && !name.contains(UInt8(ascii: "/")) && !name.contains(0) && name.first != 0x2E)
      switch ValueNaming.parse(name, type: type) {
      case .value(let parsed): #expect(parsed == value, "\(String(decoding: name, as: UTF8.self))")
      case .shortened: #expect(name.count > 200)
      default: Issue.record("\(value) has the name \(String(decoding: name, as: UTF8.self))")
      }
    }
  }
}
