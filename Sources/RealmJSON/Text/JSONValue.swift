// Small reports as JSON: facts about a file, as opposed to objects of a realm.

import RealmPages

/// A JSON value.
package indirect enum JSONValue: Sendable {
  case null
  case bool(Bool)
  case number(Int)
  case string(String)
  case array([JSONValue])
  case object([(String, JSONValue)])

  /// The value in the layout of `jq .`, with a final newline.
  package var text: String { pretty(indent: "") + "\n" }

  /// The value on one line, with a final newline.
  package var line: String { flat + "\n" }

  /// Parses a report; nil if the text is not JSON. Numbers that are not integers become null.
  package init?(report text: [UInt8]) {
    // Callers do not need the reason.
    guard let text = try? JSONText(text) else { return nil }
    self.init(text, JSONText.root)
  }

  private init(_ text: JSONText, _ node: Int) {
    let content = String(decoding: text.content(node), as: UTF8.self)
    self =
      switch text.kind(node) {
      case .null: .null
      case .true: .bool(true)
      case .false: .bool(false)
      case .number: Int(content).map { .number($0) } ?? .null
      case .plainString, .decodedString: .string(content)
      case .array: .array(text.elements(node).map { JSONValue(text, $0) })
      case .object:
        .object(
          text.members(node).map { member in
            (String(decoding: text.content(member.name), as: UTF8.self), JSONValue(text, member.value))
          }
        )
      }
  }

  /// The member of an object with this name.
  package subscript(name: String) -> JSONValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.0.isExactly(name) }?.1
  }

  /// The text, if the value is a string.
  package var string: String? { if case .string(let text) = self { text } else { nil } }

  /// The value, if it is a number.
  package var number: Int? { if case .number(let value) = self { value } else { nil } }

  private var flat: String {
    switch self {
    case .array(let elements): "[" + elements.map(\.flat).joined(separator: ", ") + "]"
    case .object(let members): "{" + members.map { Self.quoted($0.0) + ": " + $0.1.flat }.joined(separator: ", ") + "}"
    default: pretty(indent: "")
    }
  }

  private func pretty(indent: String) -> String {
    let inner = indent + "  "
    switch self {
    case .null: return "null"
    case .bool(let value): return value ? "true" : "false"
    case .number(let value): return String(value)
    case .string(let value): return Self.quoted(value)
    case .array(let elements):
      return Self.block("[", elements.map { $0.pretty(indent: inner) }, "]", indent)
    case .object(let members):
      return Self.block("{", members.map { Self.quoted($0.0) + ": " + $0.1.pretty(indent: inner) }, "}", indent)
    }
  }

  private static func block(_ open: String, _ items: [String], _ close: String, _ indent: String) -> String {
    if items.isEmpty { return open + close }
    return open + "\n" + items.map { "\(indent)  \($0)" }.joined(separator: ",\n") + "\n\(indent)\(close)"
  }

  private static func quoted(_ text: String) -> String {
    let out = OutputBuffer()
    out.append(quoted: text)
    // Reports are also read in terminals.
    return out.string.printable
  }
}
