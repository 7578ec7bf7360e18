// The building blocks of man pages, in the man(7) format. Text is escaped here, so that no word is interpreted as a
// request.

/// Renders parts of man pages.
enum Roff {
  /// Returns the first lines of a page.
  static func title(_ name: String, _ section: Int, group: String, summary: String) -> String {
    let shown = name.uppercased().map { $0 == "-" ? "\\-" : "\($0)" }.joined()
    return """
      .\\" Written by 'realmfs help --man' from the program's option table; do not edit.
      .TH \(shown) \(section) "" "realmfs \(Options.version)" "\(group)"
      .SH NAME
      \(escaped(name)) \\- \(escaped(summary))

      """
  }

  /// Returns the entry of a long option.
  static func option(_ option: OptionSpec) -> String {
    let short = option.short.map { bold("-\($0)") + ", " } ?? ""
    let value = option.value.map { " \\fI\(escaped($0))\\fR" } ?? ""
    return ".TP\n\(short)\(bold("--\(option.name.rawValue)"))\(value)\n\(sentence(option.help))\n"
  }

  /// Returns the entry of a mount option.
  static func option(_ option: MountOptionSpec) -> String {
    let value = option.value.map { "=\\fI\(escaped($0))\\fR" } ?? ""
    return ".TP\n\(bold(option.name))\(value)\n\(sentence(option.help))\n"
  }

  /// Returns an example: its description, and its lines as they are typed.
  static func example(_ what: String, _ lines: String) -> String {
    ".PP\n\(sentence(what))\n.PP\n.EX\n\(escaped(lines))\n.EE\n"
  }

  /// Returns the list of related pages.
  static func seeAlso(_ pages: [(name: String, section: Int)]) -> String {
    let lines = pages.map { ".BR \(escaped($0.name)) (\($0.section))" }
    return ".SH SEE ALSO\n" + lines.joined(separator: ",\n") + "\n"
  }

  /// The paragraphs about the files of a mounted realm.
  static let files = [
    "\\fIMOUNTPOINT\\fR/\\fICLASS\\fR/\\fIKEY\\fR.json is an object. "
      + "\\fIMOUNTPOINT\\fR/.realm contains the schema, the version and statistics; it is listed only with "
      + "\\fB\\-o show_control\\fR.",
    "\\fIFILE\\fR.lock, \\fIFILE\\fR.management and \\fIFILE\\fR.note are shared by the programs that have the realm "
      + "open: the participants, the versions being read, and the writer lock. They may remain when no program has it "
      + "open.",
  ]

  /// Returns a section with its paragraphs.
  static func section(_ title: String, _ paragraphs: [String]) -> String {
    ".SH \(title)\n" + paragraphs.joined(separator: "\n.PP\n") + (paragraphs.isEmpty ? "" : "\n")
  }

  /// Returns a summary as an escaped sentence.
  static func sentence(_ text: String) -> String { escaped(HelpText.sentence(text)) }

  /// Returns a word in bold, as it is typed.
  static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

  /// Escapes text: hyphens stay as typed, backslashes are shown, and no line begins with a control character.
  static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "-": result += "\\-"
      case "\\": result += "\\e"
      case "`": result += "\\(ga"
      case ".", "'": result += result.isEmpty || result.last == "\n" ? "\\&\(character)" : String(character)
      default: result.append(character)
      }
    }
    return result
  }
}
