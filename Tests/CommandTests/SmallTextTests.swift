// The small text helpers of the commands.

import Foundation
import RealmJSON
import RealmPages
import Testing

@testable import RealmTransfer
@testable import realmfs

@Suite("Small texts")
struct SmallTextTests {
  @Test(
    "lists are split at unescaped separators",
    arguments: [
      ("a,b", ["a", "b"]), (#"a\,b,c"#, ["a,b", "c"]), ("", []), (",a,,b,", ["a", "b"]),
      (#"a\:b,c\"#, [#"a\:b"#, #"c\"#]),
    ]
  )
  func split(text: String, parts: [String]) {
    #expect(text.split(unescaped: ",") == parts)
  }

  @Test("a quotation mark in a name is doubled, also before a mark that combines with it")
  func quotedForSQL() {
    #expect("a\"b".quotedForSQL == "\"a\"\"b\"")
    #expect(Array("\"\u{301}".quotedForSQL.utf8) == Array("\"\"\"\u{301}\"".utf8))
  }

  @Test("a leading combining mark in a name or value is separated from the preceding text")
  func combiningMarks() throws {
    let name = try #require(ObjectName("K/\u{301}x"))
    #expect(name.directory == "K" && Array(name.file.utf8) == Array("\u{301}x".utf8))
    #expect(ObjectName("K/") == nil && ObjectName("/x") == nil && ObjectName("K/a/b")?.file == "a/b")
    let assignment = try #require(Assignment("a=\u{301}"))
    #expect(assignment.property == "a" && Array(assignment.value.utf8) == Array("\u{301}".utf8))
  }

  @Test(
    "an unknown name suggests a similar existing one",
    arguments: [
      ("munt", "mount"), ("Mount", "mount"), ("mnut", "mount"), ("exprot", "export"), ("q", nil), ("", nil),
      ("umount", "umount"), ("colour", nil), ("inf", "info"), ("backpu", "backup"),
    ] as [(String, String?)]
  )
  func nearest(word: String, expected: String?) {
    #expect(KnownNames(CommandName.allCases.map(\.rawValue)).nearest(to: word) == expected)
  }

  @Test("an unknown name lists the existing names, up to a limit")
  func hint() {
    #expect(KnownNames([]).hint(for: "A") == "it has none")
    #expect(KnownNames(["Dog", "Person"]).hint(for: "Persn") == "did you mean Person? it has Dog, Person")
    #expect(KnownNames((0..<30).map { "Name\($0)" }).hint(for: "zzz").hasSuffix("Name19, .."))
  }

  @Test("reports are valid JSON, whatever they contain")
  func json() throws {
    let nasty = "\u{0}\u{1f}\u{7f}\"\\\n\r\tü😀"
    let text = JSONValue.object([
      ("text", .string(nasty)), ("list", .array([.number(-1), .null, .bool(true), .array([]), .object([])])),
    ]).text
    let parsed = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    #expect(parsed?["text"] as? String == nasty)
    #expect((parsed?["list"] as? [Any])?.count == 5)
    #expect(
      JSONValue.object([("a", .array([.number(1)])), ("b", .object([]))]).text
        == "{\n  \"a\": [\n    1\n  ],\n  \"b\": {}\n}\n"
    )
  }

  @Test("exit codes match the manual and are distinct")
  func exitCodes() {
    #expect(ExitCode.allCases.map(\.rawValue) == Array(0...12))
    #expect(Set(ExitCode.allCases.map(\.meaning)).count == 13)
  }
}
