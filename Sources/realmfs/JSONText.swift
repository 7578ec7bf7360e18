// JSON for `--json`: small reports of the commands, not objects of a realm.

/// A JSON value.
indirect enum JSONText: Sendable {
  case null
  case bool(Bool)
  case number(Int)
  case string(String)
  case array([JSONText])
  case object([(String, JSONText)])

  /// Laid out as `jq .` does, with a final newline.
  var text: String { pretty(indent: "") + "\n" }

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
    var result = "\""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\"": result += "\\\""
      case "\\": result += "\\\\"
      case "\n": result += "\\n"
      case "\r": result += "\\r"
      case "\t": result += "\\t"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        let digits = String(scalar.value, radix: 16)
        result += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: result.unicodeScalars.append(scalar)
      }
    }
    return result + "\""
  }
}
