// Splits lines of bash into words, and quotes names as single words for bash. zsh and fish do this themselves.
import Glibc

/// The words of a line of bash up to the cursor, without quoting.
struct ShellWords {
  /// The words. The last one ends at the cursor and is empty after a space.
  private(set) var words = [""]
  private var state = State.plain

  private enum State { case plain, single, double, escapes }

  init(_ line: String) {
    var rest = line[...], isWord = false
    while let character = rest.popFirst() {
      switch (state, character) {
      case (.plain, " "), (.plain, "\t"), (.plain, "\n"):
        if isWord { words.append("") }
        isWord = false
        continue
      case (.plain, "'"): state = .single
      case (.plain, "\""): state = .double
      case (.plain, "$") where rest.first == "'":
        rest.removeFirst()
        state = .escapes
      case (.single, "'"), (.double, "\""), (.escapes, "'"): state = .plain
      case (.plain, "\\"): if let next = rest.popFirst() { add(next) }
      case (.double, "\\"):
        guard let next = rest.first, "\"\\$`".contains(next) else {
          add("\\")
          break
        }
        rest.removeFirst()
        add(next)
      case (.escapes, "\\"): addEscape(&rest)
      default: add(character)
      }
      isWord = true
    }
  }

  private mutating func add(_ character: Character) { words[words.count - 1].append(character) }

  /// Adds the character of the escape sequence that follows a backslash within $'..'.
  private mutating func addEscape(_ rest: inout Substring) {
    guard let letter = rest.popFirst() else { return }
    let known: [Character: Character] = ["n": "\n", "t": "\t", "r": "\r"]
    if letter == "x", let code = UInt8(rest.prefix(2), radix: 16) {
      rest = rest.dropFirst(2)
      add(Character(UnicodeScalar(code)))
    } else {
      add(known[letter] ?? letter)
    }
  }

  /// Returns text that continues the last word, escaped for the quotation that is open there.
  func quoted(_ text: String) -> String {
    switch state {
    case .single: return text.replacing("'", with: "'\\''")
    case .double:
      var quoted = ""
      for character in text {
        // A backslash before `!` would remain in the word.
        quoted += character == "!" ? "\"\\!\"" : "\"\\$`".contains(character) ? "\\\(character)" : "\(character)"
      }
      return quoted
    case .escapes: return Self.escaped(text)
    case .plain:
      if text.unicodeScalars.contains(where: { $0.value < 0x20 || $0.value == 0x7F }) {
        return "$'\(Self.escaped(text))'"
      }
      return text.reduce(into: "") { quoted, character in
        let isPlain = !character.isASCII || character.isLetter || character.isNumber
        quoted += isPlain || "_-./=:,+@%".contains(character) ? "\(character)" : "\\\(character)"
      }
    }
  }

  /// Escapes a text for use within $'..'.
  private static func escaped(_ text: String) -> String {
    var escaped = ""
    for scalar in text.unicodeScalars {
      switch scalar {
      case "\n": escaped += "\\n"
      case "\t": escaped += "\\t"
      case "\r": escaped += "\\r"
      case "'", "\\": escaped += "\\\(scalar)"
      case _ where scalar.value < 0x20 || scalar.value == 0x7F:
        escaped += "\\x" + (scalar.value < 0x10 ? "0" : "") + String(scalar.value, radix: 16)
      default: escaped.unicodeScalars.append(scalar)
      }
    }
    return escaped
  }

  /// Returns a word with its leading variable, as in `$HOME/x` or `${HOME}/x`, replaced by its value.
  static func withVariable(_ word: String) -> String {
    guard word.hasPrefix("$") else { return word }
    let isBraced = word.hasPrefix("${")
    let name = word.dropFirst(isBraced ? 2 : 1).prefix { $0 == "_" || $0.isASCII && ($0.isLetter || $0.isNumber) }
    let rest = word.dropFirst(name.count + (isBraced ? 2 : 1))
    guard !isBraced || rest.hasPrefix("}"), let value = unsafe getenv(String(name)) else { return word }
    return unsafe String(cString: value) + rest.dropFirst(isBraced ? 1 : 0)
  }
}
