// The grammar of JSON: accepted texts, refused texts, and the position of the error.

import TestSupport
import Testing
import RealmPages

@testable import RealmJSON

@Suite("JSON grammar")
struct JSONTextTests {
  private func read(_ text: String) throws -> JSONText { try JSONText(Array(text.utf8)) }

  @Test(
    "every form of JSON is taken",
    arguments: [
      "null", " true ", "\u{FEFF}false", "0", "-0", "1e5", "-12.50E-3", "\"\"", "[]", "{}", "[1,[2,{\"a\":[]}]]",
      "\r\n{\r\n\"a\" : 1\r\n}\r\n", "\"\\u0000\\\"\\\\\\/\\b\\f\\n\\r\\t\"", "\"\\ud83d\\ude00 \u{1F600}\"",
      "{\"a\":1,\"b\":2,\"c\":3,\"d\":4,\"e\":5,\"f\":6,\"g\":7,\"h\":8,\"i\":9,\"j\":10}",
    ]
  )
  func taken(_ text: String) throws { _ = try read(text) }

  @Test(
    "reading a text takes linear time",
    arguments: ["members", "numbers", "escapes", "nested arrays", "end without brackets", "classes"]
  )
  func growing(shape: String) throws {
    let growth = try growth(from: 5000) { count in
      switch shape {
      case "members": _ = try read("{" + (0..<count).map { "\"a\($0)\":0" }.joined(separator: ",") + "}")
      case "numbers": _ = try read("[" + String(repeating: "1,", count: count) + "1]")
      case "escapes": _ = try read("\"" + String(repeating: "\\u00e9", count: count) + "\"")
      case "nested arrays": _ = try read("[" + String(repeating: "[[[]]],", count: count) + "1]")
      case "classes":
        let classes = (0..<count / 10).map { "\"C\($0)\":{\"properties\":{\"a\":\"int\",\"b\":\"C\($0)\"}}" }
        _ = try? SchemaDescription(read("{" + classes.joined(separator: ",") + "}"))
      default:
        // The message has the line of the error.
        #expect(throws: InputError.self) { try read("[" + String(repeating: "1,\n", count: count)) }
      }
    }
    #expect(growth < largestGrowth)
  }

  @Test("escapes in strings are decoded, other bytes are unchanged")
  func strings() throws {
    let text = try read(#"["plain é","\u0041\n\ud83d\ude00\u0000",""]"#)
    let strings = text.elements(0).map { Array(text.content($0)) }
    #expect(strings == [Array("plain é".utf8), Array("A\n\u{1F600}\0".utf8), []])
  }

  @Test("numbers keep their text")
  func numbers() throws {
    let text = try read("[9007199254740993,1.10,-0.0e+99999999999999999999]")
    #expect(
      text.elements(0).map { text.shown($0) } == ["9007199254740993", "1.10", "-0.0e+99999999999999999999"]
    )
  }

  @Test("an unquoted date is refused with a hint")
  func datesWithoutQuotes() {
    for text in ["2024-05-01", "[2024-05-01T10:00:00Z]"] {
      let problem = inputError { _ = try read(text) }?.problem
      #expect(problem?.contains("is not a number; dates need quotes") == true, "\(text)")
    }
    #expect(inputError { _ = try read("2024-5") }?.problem.contains("quotes") == false)
  }

  @Test("a member without braces is refused with a reason that names the brace")
  func withoutBraces() throws {
    for text in [#""age": 5"#, #""age": 5}"#] {
      #expect(inputError { _ = try read(text) }?.problem == "an object begins with {", "\(text)")
    }
  }

  @Test(
    "invalid JSON is refused with its position",
    arguments: [
      ("", 1, 1), ("  ", 1, 3), ("{", 1, 2), ("[1", 1, 3), ("[1,]", 1, 4), ("{\"a\":1,}", 1, 8), ("{\"a\"}", 1, 5),
      ("{a:1}", 1, 2), ("{'a':1}", 1, 2), ("[1 2]", 1, 4), ("{\"a\":1 \"b\":2}", 1, 8), ("1 2", 1, 3), ("01", 1, 1),
      ("+1", 1, 1), (".5", 1, 1), ("1.", 1, 1), ("1e", 1, 1), ("-", 1, 1), ("0x10", 1, 1), ("NaN", 1, 1),
      ("[\n  Infinity]", 2, 3), ("-Infinity", 1, 1), ("True", 1, 1), ("nul", 1, 1), ("nulls", 1, 1), ("\"a", 1, 1),
      ("\"a\nb\"", 1, 3), ("\"a\tb\"", 1, 3), ("\"\\x\"", 1, 2), ("\"\\u12g4\"", 1, 2), ("\"\\ud800\"", 1, 2),
      ("\"\\udc00x\"", 1, 2), ("\"\\ud800\\u0041\"", 1, 2), ("{\"é\":1,\r\n \"ü\":x}", 2, 6), ("// x\n1", 1, 1),
      ("[1]]", 1, 4), ("}", 1, 1), ("{\"a\":}", 1, 6), ("[,1]", 1, 2), ("{\"a\":1}\u{0}", 1, 8), ("{\"a\"", 1, 5),
      ("{\"a\":", 1, 6), ("[1,", 1, 4), ("\"\\", 1, 2),
    ]
  )
  func refused(text: String, line: Int, column: Int) {
    let error = inputError { _ = try read(text) }
    guard case .syntax = error?.kind else {
      Issue.record("\(text): \(String(describing: error))")
      return
    }
    #expect(error?.line == line && error?.column == column, "\(text): \(String(describing: error))")
    #expect(error?.description.contains("\n") == false)
  }

  @Test("a duplicate member is refused, however many members there are and however it is escaped")
  func duplicates() throws {
    #expect(inputError { _ = try read(#"{"a":1,"\u0061":2}"#) }?.column == 8)
    let many = (0..<100).map { "\"k\($0)\":0" }.joined(separator: ",")
    _ = try read("{\(many)}")
    let error = inputError { _ = try read("{\(many),\n\"k7\":1}") }
    #expect(error?.line == 2 && error?.column == 1)
    #expect(error?.problem.contains("\"k7\"") == true)
    _ = try read(#"{"a":{"a":1},"b":{"a":2}}"#)
  }

  @Test("bytes that are not UTF-8 and other encodings are refused")
  func encodings() {
    for bytes: [UInt8] in [[0x22, 0xC3, 0x22], [0x22, 0xED, 0xA0, 0x80, 0x22], [0x80], [0xFF, 0xFE, 0x7B, 0]] {
      #expect(inputError { _ = try JSONText(bytes) } != nil)
    }
    #expect(inputError { _ = try JSONText([0xFF, 0xFE, 0x7B, 0]) }?.problem.contains("UTF-16") == true)
  }

  @Test("nesting is bounded, and no depth overflows the stack")
  func depth() throws {
    _ = try read(String(repeating: "[", count: 1000) + String(repeating: "]", count: 1000))
    let error = inputError { _ = try read(String(repeating: "[", count: 2_000_000)) }
    guard case .overLimit = error?.kind else {
      Issue.record("\(String(describing: error))")
      return
    }
  }

  @Test("lines of JSON are read one by one, and an error names its line")
  func lines() throws {
    var lines = JSONLines(Array("{\"a\":1}\r\n\n[2]\n{\"b\"\n3".utf8))
    #expect(try lines.next()?.count(0) == 1)
    #expect(try lines.next()?.kind(0) == .array)
    let error = inputError { _ = try lines.next() }
    #expect(error?.line == 4 && error?.column == 5)
    #expect(try lines.next()?.kind(0) == .number)
    #expect(try lines.next() == nil)
    #expect(lines.line == 5)
  }
}
