// Help pages for the program and its commands, rendered for 80 columns from the option table.

/// Renders help pages.
enum HelpText {
  /// Returns the page of `realmfs --help`.
  static func overview() -> String {
    var page = "realmfs shows Realm database files as directories of JSON files.\n\nUsage:\n"
    for command in Options.commands { page += "  \(synopsis(command))\n" }
    page += "\nCommands:\n"
    page += table(Options.commands.map { ($0.name.rawValue, $0.summary) })
    page += "\nExample:\n  realmfs mount people.realm /mnt/people && cat /mnt/people/Person/4.json\n"
    page += "\nSee 'realmfs help COMMAND' for help on a command, and realmfs(1) for more.\n"
    return page
  }

  /// Returns the page of `realmfs help COMMAND`.
  static func page(_ command: CommandSpec) -> String {
    var page = "Usage: \(synopsis(command))\n\n\(paragraph(sentence(command.summary)))"
    for text in command.description { page += "\n" + paragraph(text) }
    if !command.arguments.isEmpty {
      page += "\nArguments:\n" + table(command.arguments.map { ($0.name, $0.help) })
    }
    page += "\nOptions:\n" + table(Options.options(of: command.name).map { ($0.label, $0.help) })
    let mountOptions = Options.mountOptions(of: command.name)
    if !mountOptions.isEmpty {
      page += "\nMount options (-o):\n" + table(mountOptions.map { ($0.label, $0.help) })
    }
    if Options.options(of: command.name).contains(where: { $0.group == .key }) {
      page += "\n" + paragraph(keyForms)
    }
    if !command.examples.isEmpty { page += "\nExamples:\n" + command.examples.map { "  \($0)\n" }.joined() }
    return page
  }

  /// The accepted forms of a key; shared with the man page.
  static let keyForms = """
    A key has 64 bytes: raw, as 128 hexadecimal digits (optionally after 0x), in base64, or as an array of numbers \
    like [1, 254, -2]. The form is detected; white space around and between hexadecimal or base64 digits and a byte \
    order mark are ignored. Keys are never taken from the command line itself, where other users could see them, and \
    are wiped from memory after use.
    """

  /// Returns the synopsis of a command, such as `realmfs cat [OPTION]... FILE [CLASS[/NAME]]`.
  static func synopsis(_ command: CommandSpec) -> String {
    var words = ["realmfs", command.name.rawValue, "[OPTION]..."]
    for argument in command.arguments { words.append(argument.isOptional ? "[\(argument.name)]" : argument.name) }
    return words.joined(separator: " ")
  }

  /// Returns a summary as a sentence, with a capital letter and a full stop.
  static func sentence(_ summary: String) -> String {
    summary.prefix(1).uppercased() + summary.dropFirst() + "."
  }

  private static let columns = 80

  private static func paragraph(_ text: String) -> String {
    wrapped(text, width: columns).joined(separator: "\n") + "\n"
  }

  /// Renders two columns. A label too wide for the first column is put on a separate line.
  private static func table(_ lines: [(label: String, text: String)]) -> String {
    let indent = min(26, (lines.map(\.label.count).max() ?? 0) + 4)
    let margin = String(repeating: " ", count: indent)
    var page = ""
    for line in lines {
      let label = "  " + line.label
      let fits = label.count + 2 <= indent
      page += fits ? label + String(repeating: " ", count: indent - label.count) : label + "\n" + margin
      page += wrapped(line.text, width: columns - indent).joined(separator: "\n" + margin) + "\n"
    }
    return page
  }

  private static func wrapped(_ text: String, width: Int) -> [String] {
    var lines: [String] = []
    for word in text.split(separator: " ") {
      if let last = lines.last, last.count + 1 + word.count <= width {
        lines[lines.count - 1] += " " + word
      } else {
        lines.append(String(word))
      }
    }
    return lines
  }
}
