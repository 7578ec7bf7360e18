// `.fields`: objects as directories of their properties.

import Foundation
import RealmJSON
import RealmNames
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("objects as directories")
struct FieldTests {
  private func names(_ tree: FileTree, _ path: String) throws -> [String] {
    try tree.list(path).map(\.name).filter { $0 != "." && $0 != ".." }
  }

  private func destination(_ tree: FileTree, _ path: String) throws -> String {
    String(decoding: try tree.destination(tree.find(path).inode), as: UTF8.self)
  }

  /// The target of the symbolic link at `path`.
  private func followed(_ tree: FileTree, _ path: String) throws -> String {
    var parts = path.split(separator: "/").dropLast().map(String.init)
    for part in try destination(tree, path).split(separator: "/") {
      if part == ".." { parts.removeLast() } else { parts.append(String(part)) }
    }
    return parts.joined(separator: "/")
  }

  @Test(
    "every property has its value, and links and backlinks lead to objects",
    arguments: [
      "people", "all-types", "embedded", "nested", "primary-keys", "empty-classes", "name-limits",
    ]
  )
  func shows(file: String) throws {
    let tree = try FileTree.of(file), snapshot = try Fixture.named(file).snapshot()
    let renderer = ObjectRenderer(snapshot), out = OutputBuffer()
    var fields = 0
    for key in try snapshot.tableKeys() {
      guard let table = try snapshot.table(key), let className = table.className, table.kind == .topLevel else {
        continue
      }
      let home = NameEscaping.directory(of: className), cursor = ObjectCursor(table)
      var objects = 0
      while try cursor.next(), objects < 40 {
        objects += 1
        out.reset()
        try NameEscaping.append(fileOf: cursor, column: table.primaryKeyIndex, to: out)
        let object = String(out.string.dropLast(5)), directory = home + "/.fields/" + object
        var expected: [String] = []
        for (index, column) in table.columns.enumerated() {
          let value = try cursor.value(index), name = NameEscaping.directory(of: column.name)
          if case .null = value { continue }
          expected.append(name)
          fields += 1
          let path = directory + "/" + name
          let attributes = try tree.find(path)
          switch (value, attributes.kind) {
          case (.string(let bytes), .file) where column.type == .string:
            #expect(try tree.text(path) == String(decoding: Array(bytes.unsafeBytes), as: UTF8.self) + "\n")
            #expect(attributes.size == bytes.count + 1)
          case (.data(let bytes), .file) where column.type == .data:
            #expect(try tree.text(path) == String(decoding: Array(bytes.unsafeBytes), as: UTF8.self))
            #expect(attributes.size == bytes.count)
          case (_, .file):
            out.reset()
            try renderer.render(property: index, of: cursor, into: out)
            #expect(try tree.text(path) == out.string + "\n")
            #expect(attributes.size == out.count + 1)
          case (.link, .symbolicLink):
            let target = try followed(tree, path)
            #expect(try tree.find(target).kind == .file)
            #expect(attributes.size == (try destination(tree, path)).utf8.count)
            let stem = target.replacing("/", with: "/.fields/").dropLast(5)
            let source =
              NameEscaping.directory(of: className).replacing(".", with: "%2E") + "."
              + name.replacing(".", with: "%2E")
            let back = "\(stem)/.backlinks/\(source)/\(object).json"
            #expect(try followed(tree, back) == "\(home)/\(object).json")
          case (.list(let list), .directory), (.set(let list), .directory):
            let elements = try names(tree, path)
            #expect(elements == (0..<list.count).map(String.init))
            for element in elements.prefix(3) {
              #expect(try tree.find(followed(tree, path + "/" + element)).kind == .file)
            }
            #expect(failure { try tree.find("\(path)/\(list.count)") }?.kind == "notFound")
            #expect(failure { try tree.find("\(path)/00") }?.kind == "notFound")
          default: Issue.record("\(path): \(attributes.kind)")
          }
        }
        #expect(try names(tree, directory) == expected)
      }
    }
    #expect(fields > 0 || file == "empty-classes")
  }

  @Test("writing a property changes it and no other")
  func writes() throws {
    let tree = try WritableTree("people")
    let before = try tree.texts()["Person/4.json"]
    #expect(tree.put("Person/.fields/4/name", "two\nlines") == nil)
    #expect(tree.put("Person/.fields/4/age", "42\n") == nil)
    #expect(tree.put("Person/.fields/4/email", "") == nil)
    let text = try tree.tree.text("Person/4.json")
    #expect(text.contains(#""name": "two\nlines""#) && text.contains(#""age": 42"#) && text.contains(#""email": """#))
    #expect(text.contains(#""dog": "Fido""#))
    #expect(try tree.tree.text("Person/.fields/4/email") == "\n")
    #expect(failure { try tree.unlink("Person/.fields/4/email") } == nil)
    #expect(failure { try tree.unlink("Person/.fields/4/email") }?.kind == "notFound")
    #expect(failure { try tree.tree.find("Person/.fields/4/email") }?.kind == "notFound")
    #expect(tree.put("Person/.fields/4/email", "again") == nil, "a property that is null is made")
    #expect(try tree.tree.text("Person/4.json").contains(#""email": "again""#))
    // As sed -i and editors do.
    #expect(tree.put("Person/.fields/4/sedAbC123", "by renaming") == nil)
    #expect(failure { try tree.rename("Person/.fields/4/sedAbC123", to: "Person/.fields/4/email") } == nil)
    #expect(try tree.tree.text("Person/.fields/4/email") == "by renaming\n")
    #expect(failure { try tree.unlink("Person/.fields/4/dog") } == nil, "a link becomes null")
    #expect(try tree.tree.text("Person/4.json").contains(#""dog": null"#))
    for (path, text) in [("name", "Person 1"), ("age", "21"), ("email", "p1@example.com")] {
      #expect(tree.put("Person/.fields/4/\(path)", text) == nil)
    }
    #expect(tree.put("Person/4.json", #"{"dog": "Fido"}"#) == nil)
    #expect(try tree.texts()["Person/4.json"] == before)
    #expect(try tree.problems().isEmpty)
  }

  @Test("an invalid value is refused with its position, and nothing changes")
  func refusals() throws {
    let tree = try WritableTree("people")
    let before = try tree.texts()
    for (path, text, problem) in [
      ("age", "\"x\"", "line 1, column 1, age"), ("age", "{\n\"a\": 1}", "age"), ("age", "1 2", "line 1"),
      ("_id", "5", "primary key"), ("joined", "\"no day\"", "joined"), ("dog", "Rex", "link"),
      ("friends", "[]", "link"),
    ] {
      #expect(tree.put("Person/.fields/4/\(path)", text) != nil, "\(path)")
      if path != "dog" && path != "friends" {
        #expect(try tree.errors().last?.contains(problem) == true, "\(path)")
        #expect(try tree.errors().last?.contains("Person/.fields/4/\(path)") == true)
      }
    }
    for path in ["_id", "friends"] {
      #expect(failure { try tree.unlink("Person/.fields/4/\(path)") }?.kind == "refused forbidden")
    }
    #expect(try tree.texts() == before)
    #expect(try tree.tree.text(".realm/rejected/Person/4.age") == "1 2")
  }

  @Test("removing a required property's file resets it to the default, and it accepts the next text")
  func removedRequired() throws {
    let tree = try WritableTree("people")
    let schema = """
      {"name": "Bag", "primaryKey": "_id", "properties": {"_id": "int", "ns": "int[]", "text": "string", "n": "int",
        "words": "string{}", "at": "date"}}
      """
    #expect(tree.put(".realm/schema/Bag.json", schema) == nil)
    let text = #"{"ns": [1, 2], "text": "a", "n": 7, "words": {"k": "v"}, "at": "2024-05-01T00:00:00Z"}"#
    #expect(tree.put("Bag/1.json", text) == nil)
    let before = try tree.tree.text("Bag/1.json")
    for (name, new, bad) in [
      ("ns", "[3]", "[\"x\"]"), ("text", "b", "\u{0}"), ("n", "8", "x"), ("words", #"{"l": "w"}"#, "[]"),
      ("at", "\"2025-05-01T00:00:00Z\"", "1"),
    ] {
      let path = "Bag/.fields/1/" + name, shown = new.filter { !$0.isWhitespace }
      let former = try tree.tree.text(path)
      try tree.unlink(path)
      #expect(failure { try tree.tree.find(path) }?.kind == "notFound", "\(name)")
      #expect(try !names(tree.tree, "Bag/.fields/1").contains(name))
      #expect(failure { try tree.unlink(path) }?.kind == "notFound")
      #expect(try !tree.tree.text("Bag/1.json").isEmpty)
      #expect(tree.put(path, new) == nil)
      #expect(try tree.tree.text(path).filter { !$0.isWhitespace } == shown, "\(name)")
      // The value is restored if the new text is refused.
      if name != "text" {
        try tree.unlink(path)
        #expect(tree.put(path, bad) != nil, "\(name)")
        #expect(try tree.tree.text(path).filter { !$0.isWhitespace } == shown, "\(name)")
      }
      #expect(tree.put(path, former) == nil)
    }
    #expect(try tree.tree.text("Bag/1.json") == before)
    // The default itself is a text like any other, and another program's value shows.
    try tree.unlink("Bag/.fields/1/text")
    #expect(tree.put("Bag/.fields/1/text", "") == nil)
    try tree.unlink("Bag/.fields/1/n")
    #expect(tree.put("Bag/1.json", #"{"n": 9}"#) == nil)
    #expect(try tree.tree.text("Bag/.fields/1/n") == "9\n")
    #expect(try names(tree.tree, "Bag/.fields/1").contains("n"))
    #expect(try tree.problems().isEmpty)
  }

  @Test("an unknown property is refused with the names of the existing ones; editor files are not")
  func unknownProperties() throws {
    let tree = try WritableTree("people")
    for name in ["nmae", "names", "name2", "x", "name_old"] {
      #expect(tree.put("Person/.fields/4/\(name)", "x") == "open: refused invalid", "\(name)")
      let line = try #require(try tree.errors().last)
      #expect(line.contains("Person/.fields/4/\(name)") && line.contains("has no property"), "\(line)")
    }
    for name in [
      ".name.swp", "name~", "4913", "name.1234", "tmp", "tmpa1b2", "sedAbC123", "#name#", "name.bak",
      "name___jb_tmp___",
      ".goutputstream-AB12", "name-new",
    ] {
      #expect(tree.put("Person/.fields/4/\(name)", "scratch") == nil, "\(name)")
      #expect(failure { try tree.rename("Person/.fields/4/\(name)", to: "Person/.fields/4/name") } == nil, "\(name)")
      #expect(try tree.tree.text("Person/.fields/4/name") == "scratch\n")
      #expect(tree.put("Person/.fields/4/name", "Person 1") == nil)
    }
    // mkstemp(3) chooses any name.
    var access = OpenAccess()
    access.writes = true
    let home = try tree.tree.find("Person/.fields/4").inode
    let made = try tree.tree.create(
      home,
      Array("XyZ1aB2c".utf8),
      permissions: 0o600,
      access,
      isExclusive: true,
      by: WritableTree.me
    )
    try tree.write(made.file, "made")
    try tree.tree.flush(made.file)
    tree.tree.release(made.file)
    #expect(failure { try tree.rename("Person/.fields/4/XyZ1aB2c", to: "Person/.fields/4/name") } == nil)
    #expect(try tree.tree.text("Person/.fields/4/name") == "made\n")
  }

  @Test("the text of a property is a single JSON value, and errors refer only to it")
  func oneValue() throws {
    let tree = try WritableTree("people")
    let before = try tree.texts()
    for text in ["1 2", "1}", #"1, "name": "x""#, #"1}, {"a": 2"#, " \n", "[1"] {
      #expect(tree.put("Person/.fields/4/age", text) != nil, "\(text)")
      let line = try #require(try tree.errors().last)
      #expect(!line.contains("comma or }") && !line.contains("JSON object"), "\(line)")
    }
    #expect(try tree.texts() == before)
  }

  @Test("texts can be written in pieces of any size: partial characters, numbers and lists are not refused")
  func pieces() throws {
    let tree = try WritableTree("people")
    let text = String(repeating: "añ€😀", count: 40)
    for piece in [1, 2, 3, 5, 7, .max] {
      #expect(tree.put("Person/.fields/4/name", text, piece: piece) == nil)
      #expect(try tree.tree.text("Person/.fields/4/name") == text + "\n")
      #expect(tree.put("Person/.fields/4/age", "-12\n", piece: piece) == nil)
      #expect(try tree.tree.text("Person/.fields/4/age") == "-12\n")
      #expect(tree.put("Person/.fields/4/joined", "\"2020-09-14T12:26:40Z\"\n", piece: piece) == nil)
    }
    let schema = #"{"name": "Bag", "primaryKey": "_id", "properties": {"_id": "int", "ns": "int[]", "any": "mixed"}}"#
    #expect(tree.put(".realm/schema/Bag.json", schema) == nil)
    #expect(tree.put("Bag/1.json", "{}") == nil)
    for piece in [1, 2, 3, .max] {
      #expect(tree.put("Bag/.fields/1/ns", "[\n1, 2,\n 3]\n", piece: piece) == nil)
      #expect(tree.put("Bag/.fields/1/any", #"{"a": [true, null]}"#, piece: piece) == nil)
      #expect(tree.put("Bag/.fields/1/any", "true", piece: piece) == nil)
      #expect(try tree.tree.text("Bag/.fields/1/ns").filter { !$0.isWhitespace } == "[1,2,3]")
    }
    #expect(try tree.problems().isEmpty)
  }

  @Test("bytes that complete an invalid text are refused in write, even appended; a text with gaps is not saved")
  func refusedInWrite() throws {
    let tree = try WritableTree("people")
    let before = try tree.texts()
    let notUTF8: [UInt8] = [0x61, 0xFF]
    for (path, bytes) in [
      ("age", Array("x".utf8)), ("age", Array("[1]".utf8)), ("age", Array("1 2".utf8)),
      ("joined", Array("\"no day\"".utf8)), ("name", notUTF8),
    ] {
      let file = try tree.open("Person/.fields/4/\(path)")
      #expect(tree.failed("write") { try tree.tree.write(file, bytes, at: 0) } == "write: refused invalid", "\(path)")
      #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid")
      tree.tree.release(file)
    }
    let file = try tree.open("Person/.fields/4/age", truncates: false, appends: true)
    #expect(tree.failed("write") { try tree.write(file, "garbage\n") } == "write: refused invalid")
    tree.tree.release(file)
    #expect(try tree.texts() == before)
  }

  @Test("a removed value is restored when its replacement is refused")
  func takenBack() throws {
    let tree = try WritableTree("people")
    let before = try tree.texts()
    for (path, bytes) in [
      ("age", Array("x".utf8)), ("joined", Array("{".utf8)), ("email", [0xFF]),
    ] {
      try tree.unlink("Person/.fields/4/\(path)")
      let file = try tree.open("Person/.fields/4/\(path)")
      _ = failure { try tree.tree.write(file, bytes, at: 0) }
      #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid")
      tree.tree.release(file)
      #expect(try tree.texts() == before, "\(path)")
      #expect(try names(tree.tree, "Person/.fields/4").contains(path))
    }
    // A value that was removed permanently, and one that has changed since, are not restored.
    for path in ["age", "email"] {
      let removed = failure { try tree.unlink("Person/.fields/4/\(path)") }
      #expect(removed?.kind == "refused forbidden", "the first removal after a refusal")
    }
    try tree.unlink("Person/.fields/4/age")
    #expect(tree.put("Person/4.json", #"{"age": 7}"#) == nil)
    #expect(tree.put("Person/.fields/4/age", "x") != nil)
    #expect(try tree.tree.text("Person/.fields/4/age") == "7\n")
    try tree.unlink("Person/.fields/4/email")
    #expect(tree.put("Person/.fields/4/email", "again") == nil)
    try tree.unlink("Person/.fields/4/email")
    #expect(try !names(tree.tree, "Person/.fields/4").contains("email"))
    #expect(try tree.problems().isEmpty)
  }

  @Test("a null property accepts all writes, however often the handle is closed in between")
  func madeInPieces() throws {
    let tree = try WritableTree("people")
    for isSynchronized in [false, true] {
      try tree.unlink("Person/.fields/4/email")
      let file = try tree.open("Person/.fields/4/email")
      for (number, text) in ["one\n", "two\n", "three\n"].enumerated() {
        try tree.write(file, text, at: [0, 4, 8][number])
        if isSynchronized { try tree.tree.synchronize(file) } else { try tree.tree.flush(file) }
      }
      tree.tree.release(file)
      #expect(try tree.tree.text("Person/.fields/4/email") == "one\ntwo\nthree\n")
    }
    #expect(try tree.problems().isEmpty)
  }

  @Test("the file of a string ends with a newline that is not part of it: what is read can be written back")
  func lineEnds() throws {
    let tree = try WritableTree("people"), path = "Person/.fields/4/name"
    for value in ["", "Bob", "Bob\n", "\n", "two\nlines", "\r\n", " "] {
      let object = String(decoding: try JSONEncoder().encode(["name": value]), as: UTF8.self)
      #expect(tree.put("Person/4.json", object) == nil)
      let text = try tree.tree.text(path), version = try tree.version
      #expect(text == value + "\n")
      #expect(tree.put(path, text) == nil)
      #expect(try tree.version == version, "nothing has changed")
      #expect(try tree.tree.find(path).size == text.utf8.count)
    }
    // As echo and printf write.
    for text in ["Ann\n", "Ann"] {
      #expect(tree.put(path, text) == nil)
      #expect(try tree.tree.text("Person/4.json").contains(#""name": "Ann""#))
    }
  }

  @Test("saving an unchanged property commits nothing")
  func unchanged() throws {
    let tree = try WritableTree("people"), version = try tree.version
    for name in ["name", "age", "email", "joined"] {
      #expect(tree.put("Person/.fields/4/\(name)", try tree.tree.text("Person/.fields/4/\(name)")) == nil)
    }
    #expect(try tree.version == version)
  }

  @Test("after a rejected string is truncated, a new one is saved; one that grows too large is refused in write")
  func refusedThenGood() throws {
    let tree = try WritableTree("people")
    let file = try tree.open("Person/.fields/4/email")
    #expect(failure { try tree.tree.write(file, [0xFF, 0xFE], at: 0) } != nil)
    #expect(failure { try tree.write(file, "bad") } != nil)
    try tree.resize(file, to: 0)
    try tree.write(file, "good")
    #expect(failure { try tree.tree.flush(file) } == nil)
    tree.tree.release(file)
    #expect(try tree.tree.text("Person/.fields/4/email") == "good\n")
    let large = String(repeating: "x", count: 16_777_199)
    #expect(tree.put("Person/.fields/4/email", large, piece: 1 << 20) == nil)
    #expect(tree.put("Person/.fields/4/email", large + "x", piece: 1 << 20)?.hasPrefix("write: ") == true)
  }

  @Test("links can be removed after a refused save")
  func removedLink() throws {
    let tree = try WritableTree("people")
    #expect(tree.put("Person/.fields/4/age", "x") != nil)
    #expect(failure { try tree.unlink("Person/.fields/4/dog") } == nil)
    #expect(try tree.tree.text("Person/4.json").contains(#""dog": null"#))
  }

  @Test(
    "a truncated string is saved as empty at the last close; a shell that then writes commits only once"
  )
  func emptied() throws {
    let tree = try WritableTree("people")
    let version = try tree.version
    // As a shell: opened, closed once, written, closed again.
    let file = try tree.open("Person/.fields/4/name")
    #expect(failure { try tree.tree.flush(file) } == nil)
    try tree.tree.write(file, Array("shell".utf8), at: 0)
    #expect(failure { try tree.tree.flush(file) } == nil)
    tree.tree.release(file)
    #expect(try tree.version == version + 1)
    let other = try tree.open("Person/.fields/4/name")
    #expect(failure { try tree.tree.flush(other) } == nil)
    #expect(try tree.tree.text("Person/.fields/4/name") == "shell\n")
    tree.tree.release(other)
    #expect(try tree.tree.text("Person/.fields/4/name") == "\n")
    #expect(try tree.version == version + 2)
    let last = try tree.open("Person/.fields/4/name")
    tree.tree.release(last)
    #expect(try tree.tree.text("Person/.fields/4/name") == "\n")
  }
}
