// The state of an incomplete text, whatever the pieces in which it arrives.

import RealmJSON
import TestSupport
import Testing

@Suite("outlines of texts")
struct JSONOutlineTests {
  private func verdict(
    _ bytes: [UInt8],
    piece: Int = .max,
    _ kind: JSONOutline.Kind = .object
  ) -> JSONOutline.Verdict {
    outline(bytes, piece: piece, kind).verdict
  }

  private func outline(_ bytes: [UInt8], piece: Int, _ kind: JSONOutline.Kind) -> JSONOutline {
    var outline = JSONOutline(kind), start = 0
    while start < bytes.count {
      let end = start + min(piece, bytes.count - start)
      outline.read(bytes[start..<end].span.bytes)
      start = end
    }
    return outline
  }

  @Test(
    "objects are complete at their last bracket, and invalid if anything but white space surrounds them",
    arguments: [
      ("", .blank), (" \r\n\t", .blank), ("\u{FEFF}", .blank), ("\u{FEFF}\n", .blank), ("{", .open),
      (" {\"a\": [", .open),
      ("{}", .complete), ("\u{FEFF}{}", .complete), (" { } \n", .complete), ("{\"}\": \"{[\\\"}\"", .open),
      ("{\"}\": \"{[\\\"}\"}", .complete), ("{\"\\\\\"}", .complete), ("{\"\\\\\\\"}", .open), ("{[}]", .complete),
      ("{}}", .invalid), ("{} {", .invalid), ("{}\u{FEFF}", .invalid), ("5", .invalid), ("[]", .invalid),
      ("\"{}\"", .invalid), ("}", .invalid), (" \u{FEFF}{}", .invalid), ("\0{}", .invalid),
      ("{\"\n\":1}", .complete),
    ] as [(String, JSONOutline.Verdict)]
  )
  func verdicts(_ text: String, _ expected: JSONOutline.Verdict) {
    for piece in [1, 2, 3, .max] { #expect(verdict(Array(text.utf8), piece: piece) == expected) }
  }

  @Test(
    "values of any kind are complete at their ends, words and numbers where they can end",
    arguments: [
      ("", .blank), (" \n", .blank), ("\u{FEFF}", .blank), ("[", .open), ("[1, [2], \"]\"", .open), ("[1]", .complete),
      (" [1]\n", .complete), ("[1] 2", .invalid), ("{\"a\": [", .open), ("{}", .complete), ("\"", .open),
      ("\"a", .open), ("\"a\\\"", .open), ("\"a\"", .complete), ("\"a\" \n", .complete), ("\"a\" b", .invalid),
      ("\"\"", .complete), ("1", .complete), ("12", .complete), ("-", .open), ("-1", .complete), ("1.", .open),
      ("1.5", .complete), ("1e", .open), ("1e+", .open), ("1e+7", .complete), ("12 ", .complete), ("12 3", .invalid),
      ("t", .open), ("tru", .open), ("true", .complete), ("true\n", .complete), ("nul", .open), ("null", .complete),
      ("fals", .open), ("false", .complete), ("trux", .complete), ("garbage", .complete), ("tr\n", .complete),
      ("-\n", .complete), ("21\ngarbage", .invalid), ("\u{FEFF}7", .complete),
    ] as [(String, JSONOutline.Verdict)]
  )
  func valueVerdicts(_ text: String, _ expected: JSONOutline.Verdict) {
    for piece in [1, 2, 3, .max] { #expect(verdict(Array(text.utf8), piece: piece, .value) == expected) }
  }

  @Test("a number that continues is checked again, white space after it is not")
  func decisions() {
    var outline = JSONOutline(.value)
    for (text, count) in [("4", 1), ("2", 2), (".", 2), ("5", 3), (" ", 3), ("\n", 3), ("x", 4), ("y", 4)] {
      outline.read(Array(text.utf8).span.bytes)
      #expect(outline.decisions == count, "\(text)")
    }
    outline = JSONOutline(.value)
    for (text, count) in [("[1", 0), (", 2", 0), ("]", 1), ("\n", 1)] {
      outline.read(Array(text.utf8).span.bytes)
      #expect(outline.decisions == count, "\(text)")
    }
  }

  @Test("checking a number digit by digit costs only a few times as much as reading it")
  func longNumbers() {
    var outline = JSONOutline(.value), judged = 0, decisions = 0
    for length in 1...100_000 {
      outline.read(Array("7".utf8).span.bytes)
      if outline.decisions > decisions { judged += length }
      decisions = outline.decisions
    }
    #expect(judged < 4 * 100_000)
    // Its end is another text to check.
    outline.read(Array("\n".utf8).span.bytes)
    #expect(outline.decisions == decisions + 1 && outline.verdict == .complete)
    outline.read(Array("\n".utf8).span.bytes)
    #expect(outline.decisions == decisions + 1)
  }

  @Test("an incomplete byte order mark is not white space")
  func shortMarks() {
    #expect(verdict([0xEF, 0xBB]) == .blank)
    #expect(verdict([0xEF, 0x20]) == .invalid)
    #expect(verdict([0xEF, 0xBB, 0x7B]) == .invalid)
    #expect(verdict([0xFF, 0xFE]) == .invalid)
  }

  @Test(
    "every object that JSONText accepts is complete, and none of its prefixes is complete or invalid",
    arguments: 0..<20
  )
  func agreesWithTheGrammar(_ seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    func value(_ depth: Int) -> String {
      switch Int.random(in: 0..<(depth > 3 ? 3 : 5), using: &random) {
      case 0: return ["1", "true", "null", "-1.5e3"].randomElement(using: &random) ?? ""
      case 1, 2: return ["\"\"", "\"{\"", "\"]\\\"\"", "\"\\\\\"", "\"\\u007b\""].randomElement(using: &random) ?? ""
      case 3: return "[" + (0..<2).map { _ in value(depth + 1) }.joined(separator: ", ") + "]"
      default: return "{\"a}\\\"\": \(value(depth + 1)), \"\": \(value(depth + 1))}"
      }
    }
    let text = Array(" {\"x\": \(value(0)), \"y\": [\(value(0))]}\n".utf8)
    _ = try JSONText(text)
    let piece = Int.random(in: 1...9, using: &random)
    #expect(verdict(text, piece: piece) == .complete)
    for count in 0..<text.count - 1 {
      let found = verdict(Array(text[..<count]), piece: piece)
      #expect(found == .open || found == .blank && count < 2)
    }
  }
}
