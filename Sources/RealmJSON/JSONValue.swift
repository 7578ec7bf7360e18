// Small reports as JSON: facts about a file, not objects of a realm.

/// A JSON value.
package indirect enum JSONValue: Sendable {
  case null
  case bool(Bool)
  case number(Int)
  case string(String)
  case array([JSONValue])
  case object([(String, JSONValue)])

  /// Laid out as `jq .` does, with a final newline.
  package var text: String { pretty(indent: "") + "\n" }

  /// On one line, with a final newline.
  package var line: String { flat + "\n" }

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
    // Reports are read in terminals too.
    return out.string.printable
  }
}
