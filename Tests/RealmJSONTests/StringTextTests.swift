// Strings as JSON text.

import RealmPages
import Testing

@testable import RealmJSON
@testable import RealmPages

/// Calls `body` with a view of `bytes`.
func withView(_ bytes: [UInt8], _ body: (ByteView) -> Void) {
  bytes.withUnsafeBytes { buffer in
    body(buffer.baseAddress.map { ByteView(base: $0, count: buffer.count) } ?? .empty)
  }
}

private func text(_ bytes: [UInt8]) -> String {
  let out = OutputBuffer()
  var writer = JSONWriter(out, .compact)
  withView(bytes) { writer.string($0) }
  return out.string
}

@Suite("strings")
struct StringTextTests {
  @Test(
    "a string is escaped as jq escapes it",
    arguments: [
      ("", #""""#), ("plain", #""plain""#), ("a\"b\\c/d", #""a\"b\\c/d""#), ("\n\r\t\u{8}\u{C}", #""\n\r\t\b\f""#),
      ("\0\u{1}\u{1F}\u{7F}", #""\u0000\u0001\u001f\u007f""#), ("日本語 ünï 🐕", "\"日本語 ünï 🐕\""),
      ("\u{80}\u{2028}\u{FFFE}", "\"\u{80}\u{2028}\u{FFFE}\""),
      (
        "seven7\"eight8\\\\ then plain text until the end of it",
        #""seven7\"eight8\\\\ then plain text until the end of it""#
      ),
    ]
  )
  func escapes(string: String, expected: String) {
    #expect(text(Array(string.utf8)) == expected)
  }

  @Test("every ASCII byte is escaped or not, at every offset in a word")
  func everyByteEverywhere() {
    for byte in UInt8(0)..<0x80 {
      let single = text([byte])
      for place in 0..<20 {
        var bytes = [UInt8](repeating: UInt8(ascii: "a"), count: 20)
        bytes[place] = byte
        let a = String(repeating: "a", count: 20)
        let expected = "\"" + a.prefix(place) + single.dropFirst().dropLast() + a.suffix(19 - place) + "\""
        if text(bytes) != expected { Issue.record("byte \(byte) at place \(place): \(text(bytes))") }
      }
    }
  }

  @Test(
    "terminal control characters are escaped, in messages also line breaks",
    arguments: [
      ("plain ünï 🐕 日本語", "plain ünï 🐕 日本語"), ("\u{1B}[2J\u{7}", #"\u001b[2J\u0007"#),
      ("\u{9B}31m\u{85}", #"\u009b31m\u0085"#), ("a\n\tb\r\0", #"a\u000a\u0009b\u000d\u0000"#),
      ("\u{202E}\u{2066}\u{200F}\u{61C}\u{2028}", #"\u202e\u2066\u200f\u061c\u2028"#),
      ("\u{7F}é\u{A0}", "\\u007fé\u{A0}"),
    ]
  )
  func printable(string: String, expected: String) {
    #expect(string.printable == expected)
    #expect(
      string.printableLines.filter { $0 != "\n" && $0 != "\t" }
        == expected.replacing(#"\u000a\u0009"#, with: "")
    )
  }

  @Test("every two-byte character and every invalid byte is printed or escaped")
  func everyCharacterIsShown() {
    for value in UInt32(0)..<0x800 {
      guard let scalar = Unicode.Scalar(value) else { continue }
      let isControl = value < 0x20 || (0x7F..<0xA0).contains(value) || value == 0x61C
      #expect(String(scalar).printable == (isControl ? "\\u" + hex(value) : String(scalar)))
    }
    for byte in UInt8(0x80)...0xFF {
      let out = OutputBuffer()
      out.append(printable: [byte, 0x61].span.bytes, keepingLines: true)
      #expect(out.string == "\\u" + hex(UInt32(byte)) + "a")
    }
  }

  private func hex(_ value: UInt32) -> String {
    let digits = String(value, radix: 16)
    return String(repeating: "0", count: 4 - digits.count) + digits
  }

  @Test(
    "bytes that are not UTF-8 are kept in base64",
    arguments: [
      ([0x80], "gA=="), ([0xC3], "ww=="), ([0x61, 0xC3, 0x28], "YcMo"), ([0xC0, 0xAF], "wK8="),
      ([0xED, 0xA0, 0x80], "7aCA"), ([0xF4, 0x90, 0x80, 0x80], "9JCAgA=="), ([0xF8, 0x88], "+Ig="),
      ([0xE0, 0x80, 0xAF], "4ICv"), ([0xE2, 0x82], "4oI="), ([0xF0, 0x9F, 0x90], "8J+Q"), ([0xFF], "/w=="),
    ] as [([UInt8], String)]
  )
  func invalid(bytes: [UInt8], base64: String) {
    #expect(text(bytes) == #"{"$invalidString":{"base64":"\#(base64)"}}"#)
  }

  @Test("UTF-8 validation agrees with the standard library")
  func validation() {
    var random = SystemRandomNumberGenerator()
    // Bytes near the boundaries of the definition, so that all rows of the table are tested.
    let bytes: [UInt8] = [
      0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xEC, 0xED, 0xEE, 0xEF,
      0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xFF,
    ]
    for _ in 0..<20_000 {
      let candidate = (0..<Int.random(in: 0...5, using: &random)).map { _ in bytes.randomElement(using: &random) ?? 0 }
      let isValid = String(validating: candidate, as: UTF8.self) != nil
      if UTF8Sequence.isValid(candidate.span.bytes) != isValid { Issue.record("wrong about \(candidate)") }
    }
  }
}
