// Writes that complete a text which cannot be saved fail at once, because shells do not look at what close returns.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("checked writes")
struct CheckedWriteTests {
  /// What is written, and the kind of the refusal.
  private static let texts: [(text: String, kind: String)] = [
    (#"{"age":"x"}"#, "invalid"), ("{\"age\":\"x\"}\n", "invalid"), ("\u{FEFF} {\"agee\": 1}", "invalid"),
    (#"{"age": 9223372036854775808}"#, "outOfRange"), (#"{"_id": 5}"#, "invalid"), (#"{"dog": "Nobody"}"#, "invalid"),
    (#"{"age": }"#, "invalid"), (#"{"age": ]"#, "invalid"), (#"{"age": 1, "age": 2}"#, "invalid"),
    (#"{"age": 1} {}"#, "invalid"), ("5", "invalid"), ("[]", "invalid"), (#""x""#, "invalid"), ("hello", "invalid"),
    ("null\n", "invalid"), ("\u{FF}", "invalid"), ("{\"name\": \"\u{7D}\", \"x\": {\"y\": [1, {}]}}", "invalid"),
  ]

  @Test("whatever saving would refuse fails in write, in any pieces, for objects that exist and new ones")
  func refusedWhenComplete() throws {
    let tree = try WritableTree("people")
    let version = try tree.version
    for (text, kind) in Self.texts {
      for piece in [1, 2, 7, .max] {
        for path in ["Person/4.json", "Person/4000.json"] {
          #expect(tree.put(path, text, piece: piece) == "write: refused \(kind)", "\(text) in pieces of \(piece)")
          #expect(try tree.errors().last?.contains(path) == true)
        }
      }
    }
    #expect(try tree.version == version, "nothing is committed")
    #expect(try !tree.texts().keys.contains("Person/4000.json"))
  }

  @Test("the refused write leaves the file as it was; close says it again, and the whole text is kept once")
  func refusalsAreKept() throws {
    let tree = try WritableTree("people")
    let file = try tree.open("Person/4.json")
    #expect(tree.failed("write") { try tree.write(file, "{\"age\":") } == nil)
    let errors = try tree.errors().count
    for _ in 0..<3 { #expect(tree.failed("write") { try tree.write(file, "true}\n", at: 7) } != nil) }
    #expect(file.size == 7 && file.wholeText == "{\"age\":")
    #expect(try tree.errors().count == errors + 1, "a program that tries again repeats nothing in the log")
    for _ in 0..<2 { #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid") }
    #expect(try tree.tree.text(".realm/rejected/Person/4.json") == "{\"age\":true}\n")
    #expect(
      try tree.tree.extendedAttribute(tree.tree.find("Person/4.json").inode, "user.realmfs.error").contains("age")
    )
    // A line end that the program writes all the same is no text.
    #expect(tree.failed("write") { try tree.write(file, "\n", at: 7) } == nil)
    #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid")
    #expect(try tree.tree.text(".realm/rejected/Person/4.json") == "{\"age\":true}\n")
    // The right text.
    #expect(tree.failed("write") { try tree.write(file, "{\"age\":77}") } == nil)
    #expect(tree.failed("close") { try tree.tree.flush(file) } == nil)
    tree.tree.release(file)
    #expect(try tree.tree.text("Person/4.json").contains("\"age\": 77"))
    #expect(failure { try tree.tree.find(".realm/rejected/Person/4.json") }?.kind == "notFound")
  }

  @Test("texts of many writes are judged by the last of them, valid or not")
  func longTexts() throws {
    let tree = try WritableTree("people")
    let long = String(repeating: "\\\"{[x", count: 100_000)
    for piece in [4096, 131_072] {
      #expect(tree.put("Person/4.json", "{\"name\": \"\(long)\"}", piece: piece) == nil)
      #expect(
        tree.put("Person/4.json", "{\"name\": \"\(long)\", \"age\": \"\"}", piece: piece) == "write: refused invalid"
      )
      #expect(
        tree.put("Person/4.json", "{\"age\": \"\", \"name\": \"\(long)\"}\n", piece: piece) == "write: refused invalid"
      )
    }
    #expect(try tree.tree.text(".realm/rejected/Person/4.json").hasSuffix("\"}\n"))
  }

  @Test("a text that is never complete, or is not written in order, is judged when it is closed")
  func judgedAtClose() throws {
    let tree = try WritableTree("people")
    for text in [#"{"age": 1"#, "{\"name\": \"x}", "\n"] {
      #expect(tree.put("Person/4.json", text) == "close: refused invalid", "\(text)")
    }
    // The end first, then a gap, then the start.
    let text = #"{"age": "x"}"#
    let file = try tree.open("Person/4.json")
    try tree.write(file, String(text.suffix(4)), at: 8)
    try tree.write(file, String(text.prefix(4)), at: 0)
    try tree.write(file, String(text.dropFirst(4).prefix(4)), at: 4)
    #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid")
    tree.tree.release(file)
    // Over an existing text that is longer, and cut afterwards.
    for (text, outcome) in [("{\"age\": 3}", nil), ("{\"age\": []}", "close: refused invalid")] {
      let file = try tree.open("Person/4.json", truncates: false)
      try tree.write(file, text, piece: 4)
      try tree.resize(file, to: text.utf8.count)
      #expect(tree.failed("close") { try tree.tree.flush(file) } == outcome)
      tree.tree.release(file)
    }
    #expect(try tree.tree.text("Person/4.json").contains("\"age\": 3"))
  }

  @Test("over the whole of an existing text the write is judged; a part that is exchanged is judged at close")
  func rewriting() throws {
    let tree = try WritableTree("people")
    let before = try tree.tree.text("Person/4.json"), age = try #require(before.range(of: "\"age\": 2"))
    let bad = before.replacingCharacters(in: age, with: "\"eag\": 2")
    for piece in [.max, 16] {
      let file = try tree.open("Person/4.json", truncates: false)
      #expect(tree.failed("write") { try tree.write(file, bad, piece: piece) } == "write: refused invalid")
      #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid")
      tree.tree.release(file)
    }
    let file = try tree.open("Person/4.json", truncates: false)
    #expect(tree.failed("write") { try tree.write(file, "{", at: 0) } == nil)
    #expect(
      tree.failed("write") {
        try tree.write(file, "eag", at: before.utf8.distance(from: before.startIndex, to: age.lowerBound) + 1)
      } == nil
    )
    #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid")
    tree.tree.release(file)
    #expect(try tree.tree.text("Person/4.json") == before)
  }

  @Test("appending to an object can only add white space")
  func appending() throws {
    let tree = try WritableTree("people")
    let before = try tree.tree.text("Person/4.json")
    for (text, outcome) in [
      ("\n\n", nil), ("{\"age\": 1}\n", "write: refused invalid"), (" x", "write: refused invalid"),
    ] {
      let file = try tree.open("Person/4.json", truncates: false, appends: true)
      #expect(tree.failed("write") { try tree.write(file, text) } == outcome)
      _ = tree.failed("close") { try tree.tree.flush(file) }
      tree.tree.release(file)
    }
    #expect(try tree.tree.text("Person/4.json") == before)
    let file = try tree.open("Person/5000.json", truncates: false, appends: true)
    #expect(tree.failed("write") { try tree.write(file, "{\"age\": ") } == nil)
    #expect(tree.failed("write") { try tree.write(file, "{}}") } == "write: refused invalid")
    #expect(tree.failed("write") { try tree.write(file, "5}") } == nil)
    #expect(tree.failed("close") { try tree.tree.flush(file) } == nil)
    tree.tree.release(file)
    #expect(try tree.tree.text("Person/5000.json").contains("\"age\": 5"))
  }

  @Test("scratch files take anything; schemas are checked, and nothing is changed by that")
  func otherFiles() throws {
    let tree = try WritableTree("people")
    for name in ["Person/.4.json.swp", "Person/4.json~", "Person/4913", "notes.txt", ".realm/x"] {
      #expect(tree.put(name, "hello") == nil)
    }
    let version = try tree.version
    #expect(tree.put(".realm/schema.json", "{\"schema\": 1}") == "write: refused invalid")
    #expect(tree.put(".realm/schema.json", "[]") == "write: refused invalid")
    let less = #"{"name": "Dog", "primaryKey": "name", "properties": {"name": "string"}}"#
    #expect(tree.put(".realm/schema/Dog.json", less) == "write: refused invalid")
    #expect(try tree.version == version)
  }

  @Test("what is good when it is written can be refused when it is closed, because another program changed the realm")
  func conflictsAtClose() throws {
    let tree = try WritableTree("people")
    let file = try tree.open("Person/4.json")
    try tree.write(file, #"{"dog": "Fido"}"#)
    try tree.unlink("Dog/Fido.json")
    #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid")
    tree.tree.release(file)
    #expect(try tree.tree.text(".realm/rejected/Person/4.json") == #"{"dog": "Fido"}"#)
  }

  @Test("a check waits for no writer and keeps none waiting")
  func checksWhileOthersWrite() throws {
    let tree = try WritableTree("people") { $0.lockTimeout = .milliseconds(200) }
    let other = try RealmWriter(Configuration(path: tree.path))
    let busy = try other.begin()
    #expect(tree.put("Person/4.json", #"{"age": "x"}"#) == "write: refused invalid")
    #expect(tree.put("Person/4.json", #"{"age": 1}"#) == "close: refused busy")
    busy.rollback()
  }
}
