// Small JSON of the mount's own: facts and log lines.

/// JSON of nested objects, laid out as `jq .` does.
struct JSONLines {
  private var text = "{"
  private var level = 1
  private var isEmpty = true

  mutating func member(_ name: String, _ value: some CustomStringConvertible) { add(name, value.description) }
  mutating func member(_ name: String, string value: String) { add(name, Self.quoted(value)) }

  mutating func begin(_ name: String) {
    add(name, "{")
    level += 1
    isEmpty = true
  }

  mutating func end() {
    level -= 1
    if !isEmpty { breakLine() }
    text += "}"
    isEmpty = false
  }

  mutating func finished() -> String {
    end()
    return text + "\n"
  }

  /// A flat object on one line.
  mutating func onOneLine() -> String {
    finished().split(separator: "\n").map { $0.drop { $0 == " " } }.joined(separator: " ") + "\n"
  }

  private mutating func add(_ name: String, _ value: String) {
    if !isEmpty { text += "," }
    isEmpty = false
    breakLine()
    text += Self.quoted(name) + ": " + value
  }

  private mutating func breakLine() {
    text += "\n"
    for _ in 0..<level { text += "  " }
  }

  private static func quoted(_ value: String) -> String {
    var text = "\""
    for scalar in value.unicodeScalars {
      switch scalar {
      case "\"": text += "\\\""
      case "\\": text += "\\\\"
      case "\n": text += "\\n"
      case "\r": text += "\\r"
      case "\t": text += "\\t"
      case "\u{0}"..<" ", "\u{7f}":
        let digits = String(scalar.value, radix: 16)
        text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
      default: text.unicodeScalars.append(scalar)
      }
    }
    return text + "\""
  }
}
