// Writes that complete a text that cannot be saved fail at once, because shells ignore errors of `close`.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("checked writes")
struct CheckedWriteTests {
  /// A text that is written, and the kind of its refusal.
  private static let texts: [(text: String, kind: String)] = [
    (#"{"age":"x"}"#, "invalid"), ("{\"age\":\"x\"}\n", "invalid"), ("\u{FEFF} {\"agee\": 1}", "invalid"),
    (#"{"age": 9223372036854775808}"#, "outOfRange"), (#"{"_id": 5}"#, "invalid"), (#"{"dog": "Nobody"}"#, "invalid"),
    (#"{"age": }"#, "invalid"), (#"{"age": ]"#, "invalid"), (#"{"age": 1, "age": 2}"#, "invalid"),
    (#"{"age": 1} {}"#, "invalid"), ("5", "invalid"), ("[]", "invalid"), (#""x""#, "invalid"), ("hello", "invalid"),
    ("null\n", "invalid"), ("\u{FF}", "invalid"), ("{\"name\": \"\u{7D}\", \"x\": {\"y\": [1, {}]}}", "invalid"),
  ]

  @Test("an invalid text fails in write, in pieces of any size, for existing and new objects")
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

  @Test("a rejected draft fails in each write and close until it is truncated; its text is kept once")
  func refusalsAreKept() throws {
    let tree = try WritableTree("people")
    let before = try tree.tree.text("Person/4.json"), file = try tree.open("Person/4.json")
    #expect(tree.failed("write") { try tree.write(file, "{\"age\":") } == nil)
    let errors = try tree.errors().count
    for text in ["true}\n", "7}", "\n"] {
      #expect(tree.failed("write") { try tree.write(file, text, at: 7) } == "write: refused invalid")
    }
    #expect(file.wholeText == "{\"age\":true}\n")
    #expect(try tree.errors().count == errors + 1, "a program that tries again repeats nothing in the log")
    for _ in 0..<2 { #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid") }
    #expect(try tree.tree.text(".realm/rejected/Person/4.json") == "{\"age\":true}\n")
    #expect(
      try tree.tree.extendedAttribute(tree.tree.find("Person/4.json").inode, "user.realmfs.error").contains("age")
    )
    // The right text, over the wrong one and as a new one.
    #expect(tree.failed("write") { try tree.write(file, "{\"age\":77 }") } == "write: refused invalid")
    #expect(try tree.tree.text("Person/4.json") == before)
    try tree.resize(file, to: 0)
    #expect(tree.failed("write") { try tree.write(file, "{\"age\":77}") } == nil)
    #expect(tree.failed("close") { try tree.tree.flush(file) } == nil)
    tree.tree.release(file)
    #expect(try tree.tree.text("Person/4.json").contains("\"age\": 77"))
    #expect(failure { try tree.tree.find(".realm/rejected/Person/4.json") }?.kind == "notFound")
  }

  @Test("after a refusal, the first removal of the file fails and the second deletes the object; the text is kept")
  func clearingUp() throws {
    let tree = try WritableTree("people")
    let before = try tree.texts()
    #expect(tree.put("Person/4.json", #"{"age": "x"}"#) != nil)
    #expect(failure { try tree.unlink("Person/4.json") }?.kind == "refused forbidden")
    #expect(try tree.errors().last?.contains("remove it again") == true)
    #expect(try tree.texts() == before)
    #expect(failure { try tree.unlink("Person/4.json") } == nil)
    #expect(failure { try tree.unlink("Person/4.json") }?.kind == "notFound")
    #expect(try tree.tree.text(".realm/rejected/Person/4.json") == #"{"age": "x"}"#)
    // A valid text replaces the refused one, and a new file that was refused does not exist.
    #expect(tree.put("Person/11.json", #"{"age": "x"}"#) != nil)
    #expect(tree.put("Person/11.json", #"{"age": 5}"#) == nil)
    #expect(failure { try tree.unlink("Person/11.json") } == nil)
    #expect(tree.put("Person/4000.json", #"{"age": "x"}"#) != nil)
    #expect(failure { try tree.unlink("Person/4000.json") }?.kind == "notFound")
  }

  @Test("an incomplete text at close can be completed by the next write, but not later")
  func completedAfterClose() throws {
    let tree = try WritableTree("people")
    let file = try tree.open("Person/4.json")
    try tree.write(file, "{\"age\": ")
    for _ in 0..<2 { #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid") }
    #expect(tree.failed("sync") { try tree.tree.synchronize(file) } == "sync: refused invalid")
    #expect(failure { try tree.tree.find(".realm/rejected/Person/4.json") }?.kind == "notFound")
    try tree.write(file, "5}", at: 8)
    #expect(tree.failed("close") { try tree.tree.flush(file) } == nil)
    tree.tree.release(file)
    #expect(try tree.tree.text("Person/4.json").contains("\"age\": 5"))
    #expect(tree.put("Person/4.json", "{\"age\": ") == "close: refused invalid")
    #expect(try tree.tree.text(".realm/rejected/Person/4.json") == "{\"age\": ")
    #expect(tree.log.last?.contains("could not be saved when it was closed") == true)
  }

  @Test("complete lines are checked in write, partial ones when another process closes the file, each once")
  func lines() throws {
    let tree = try WritableTree("people"), path = "Person/.all.jsonl", version = try tree.version
    let other = Caller(user: 0, group: 0, process: getppid())
    let good = "{\"_id\": 4, \"age\": 5}\n", bad = "{\"_id\": 4, \"age\": \"x\"}\n"
    for (texts, outcome) in [
      ([good, good, bad], "write: refused invalid"), ([good + bad], "write: refused invalid"),
      ([good, "{\"_id\": 4, ", "\"age\": \"x\"}\n"], "close: refused invalid"),
      (["{\"_id\": 4, ", "\"age\": 5}\n", bad], "close: refused invalid"),
    ] {
      let file = try tree.open(path, truncates: false, appends: true)
      let found =
        tree.failed("write") { for text in texts { try tree.write(file, text) } }
        ?? tree.failed("close") { try tree.tree.flush(file, by: other) }
      #expect(found == outcome, "\(texts)")
      #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid")
      tree.tree.release(file)
      let number = texts.joined().split(separator: "\n").count
      #expect(try tree.errors().last?.contains("line \(number), ") == true, "\(texts)")
      #expect(try tree.tree.text(".realm/rejected/Person/.all.jsonl") == texts.joined())
    }
    #expect(try tree.version == version)
    let file = try tree.open(path, truncates: false, appends: true)
    try tree.write(file, good)
    try tree.tree.flush(file, by: other)
    #expect(try tree.version == version, "a check saves nothing")
    try tree.tree.flush(file)
    #expect(try tree.version == version + 1)
    #expect(tree.failed("write") { try tree.write(file, bad) } == "write: refused invalid")
    tree.tree.release(file)
    #expect(try tree.tree.text("Person/4.json").contains("\"age\": 5"))
  }

  @Test("a new file with an incomplete text is refused when the last handle is closed")
  func lastReader() throws {
    let tree = try WritableTree("people")
    let file = try tree.open("Person/4000.json")
    try tree.write(file, "{\"age\": ")
    let reader = try tree.tree.open(tree.tree.find("Person/4000.json").inode)
    #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid")
    tree.tree.release(file)
    #expect(try tree.tree.text("Person/4000.json") == "{\"age\": ", "another handle could complete it")
    tree.tree.release(reader)
    #expect(failure { try tree.tree.find("Person/4000.json") }?.kind == "notFound")
    #expect(try tree.tree.text(".realm/rejected/Person/4000.json") == "{\"age\": ")
  }

  @Test("a close by a process that did not open the file saves nothing while the opener runs")
  func closedByOthers() throws {
    let tree = try WritableTree("people")
    let other = Caller(user: 0, group: 0, process: getppid())
    let file = try tree.open("Person/4.json"), version = try tree.version
    try tree.write(file, #"{"age": 5}"#)
    try tree.tree.flush(file, by: other)
    #expect(try tree.version == version)
    try tree.tree.flush(file, by: WritableTree.me)
    #expect(try tree.version == version + 1)
    try tree.write(file, " ", at: 10)
    try tree.tree.flush(file, by: other)
    tree.tree.release(file)
    // Opened by a process that has ended.
    let child = Process()
    child.executableURL = URL(fileURLWithPath: "/bin/true")
    try child.run()
    child.waitUntilExit()
    var access = OpenAccess()
    (access.writes, access.truncates) = (true, true)
    let gone = Caller(user: 0, group: 0, process: child.processIdentifier)
    let left = try tree.tree.open(tree.tree.find("Person/4.json").inode, access, by: gone)
    try tree.write(left, #"{"age": 6}"#)
    try tree.tree.flush(left, by: other)
    #expect(try tree.tree.text("Person/4.json").contains("\"age\": 6"))
    tree.tree.release(left)
  }

  @Test("a text written in many pieces is accepted or refused at the last one")
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

  @Test("a text that is incomplete or written out of order is checked when it is closed")
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

  @Test("a rewrite of a whole text is checked in write; a partial overwrite is checked at close")
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
    #expect(tree.failed("write") { try tree.write(file, "5}") } == "write: refused invalid")
    tree.tree.release(file)
    #expect(try tree.texts()["Person/5000.json"] == nil)
  }

  @Test("scratch files accept anything; schemas are checked without being changed")
  func otherFiles() throws {
    let tree = try WritableTree("people")
    for name in ["Person/.4.json.swp", "Person/4.json~", "Person/4913", ".realm/x"] {
      #expect(tree.put(name, "hello") == nil)
    }
    let version = try tree.version
    #expect(tree.put(".realm/schema.json", "{\"schema\": 1}") == "write: refused invalid")
    #expect(tree.put(".realm/schema.json", "[]") == "write: refused invalid")
    let less = #"{"name": "Dog", "primaryKey": "name", "properties": {"name": "string"}}"#
    #expect(tree.put(".realm/schema/Dog.json", less) == "write: refused invalid")
    #expect(try tree.version == version)
  }

  @Test("a text that was valid in write can be refused at close, because another program changed the realm")
  func conflictsAtClose() throws {
    let tree = try WritableTree("people")
    let file = try tree.open("Person/4.json")
    try tree.write(file, #"{"dog": "Fido"}"#)
    try tree.unlink("Dog/Fido.json")
    #expect(tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid")
    tree.tree.release(file)
    #expect(try tree.tree.text(".realm/rejected/Person/4.json") == #"{"dog": "Fido"}"#)
  }

  @Test("a check neither waits for writers nor blocks them")
  func checksWhileOthersWrite() throws {
    let tree = try WritableTree("people") { $0.lockTimeout = .milliseconds(200) }
    let other = try RealmWriter(Configuration(path: tree.path))
    let busy = try other.begin()
    #expect(tree.put("Person/4.json", #"{"age": "x"}"#) == "write: refused invalid")
    #expect(tree.put("Person/4.json", #"{"age": 1}"#) == "close: refused busy")
    busy.rollback()
  }
}
