// realmfs(1), written from the option table. man/realmfs.1 is this text; a test compares them.

/// Renders the man page.
enum ManPage {
  /// The page in man(7) form.
  static func text() -> String {
    var page = """
      .\\" Written by 'realmfs help --man' from the program's option table; do not edit.
      .TH REALMFS 1 "" "realmfs \(Options.version)" "User Commands"
      .SH NAME
      realmfs \\- show Realm database files as directories of JSON files
      .SH SYNOPSIS

      """
    for command in Options.commands {
      page += ".B realmfs \(command.name.rawValue)\n"
      page += ".RI [ OPTION ]...\n"
      for argument in command.arguments {
        page += argument.isOptional ? ".RI [ \(escaped(argument.name)) ]\n" : ".I \(escaped(argument.name))\n"
      }
      page += ".br\n"
    }
    page += section("DESCRIPTION", description)
    page += ".SH COMMANDS\n"
    for command in Options.commands { page += commandText(command) }
    page += ".SH OPTIONS\n"
    for option in Options.options where !option.isHidden { page += optionText(option) }
    page += section("MOUNT OPTIONS", ["These are given to mount as \\fB-o\\fR \\fINAME\\fR[=\\fIVALUE\\fR],..."])
    for option in Options.mountOptions(of: .mount) {
      page +=
        ".TP\n\(bold(option.name))\(option.value.map { "=\\fI\(escaped($0))\\fR" } ?? "")\n\(sentence(option.help))\n"
    }
    page += section("KEYS", [escaped(HelpText.keyForms)])
    page += ".SH EXIT STATUS\n"
    for code in ExitCode.allCases { page += ".TP\n.B \(code.rawValue)\n\(sentence(code.meaning))\n" }
    page += section("FILES", files)
    page += section("EXAMPLES", [])
    for example in examples { page += ".PP\n\(sentence(example.what))\n.PP\n.EX\n\(escaped(example.command))\n.EE\n" }
    page += ".SH SEE ALSO\n.BR jq (1),\n.BR fusermount3 (1),\n.BR mount.fuse3 (8)\n"
    return page
  }

  private static var description: [String] {
    [
      """
      realmfs mounts a Realm database file: classes are directories, objects are JSON files, and every tool that works \
      on files works on the data. File formats \(Options.formatsInWords) are read, plain and encrypted, without \
      upgrading the file. Reading never changes a byte or a time of the file.
      """,
      "All commands but \\fBmount\\fR and \\fBumount\\fR work without FUSE.",
    ]
  }

  private static let files = [
    "\\fIMOUNTPOINT\\fR/\\fICLASS\\fR/\\fIKEY\\fR.json is an object. "
      + "\\fIMOUNTPOINT\\fR/.realm holds the schema, the version and figures; it is hidden unless \\fBshow_control\\fR "
      + "is given.",
    "\\fIFILE\\fR.lock is the lock file of the programs that use the realm. realmfs reads in /proc/locks who holds it, "
      + "and neither opens nor locks it.",
  ]

  private static let examples = [
    (
      what: "mount a file, look at an object, unmount",
      command: """
      realmfs mount people.realm /mnt/people
      jq .name /mnt/people/Person/4.json
      realmfs umount /mnt/people
      """
    ),
    (
      what: "count the objects of an encrypted file by a property, without a mount",
      command: """
      realmfs cat --key-file key.hex shop.realm Order | jq -r .state | sort | uniq -c
      """
    ),
  ]

  private static func commandText(_ command: CommandSpec) -> String {
    var text = ".SS \(command.name.rawValue)\n\(sentence(command.summary))\n"
    for paragraph in command.description { text += ".PP\n\(escaped(paragraph))\n" }
    let options = Options.options(of: command.name).map { bold("--\($0.name.rawValue)") }
    return text + ".PP\nOptions: \(options.joined(separator: ", ")).\n"
  }

  private static func optionText(_ option: OptionSpec) -> String {
    let short = option.short.map { bold("-\($0)") + ", " } ?? ""
    let value = option.value.map { " \\fI\(escaped($0))\\fR" } ?? ""
    return ".TP\n\(short)\(bold("--\(option.name.rawValue)"))\(value)\n\(sentence(option.help))\n"
  }

  private static func section(_ title: String, _ paragraphs: [String]) -> String {
    ".SH \(title)\n" + paragraphs.joined(separator: "\n.PP\n") + (paragraphs.isEmpty ? "" : "\n")
  }

  private static func sentence(_ text: String) -> String { escaped(HelpText.sentence(text)) }

  private static func bold(_ text: String) -> String { "\\fB\(escaped(text))\\fR" }

  /// Hyphens as typed, backslashes shown, and no line that begins with a control character.
  private static func escaped(_ text: String) -> String {
    var result = ""
    for character in text {
      switch character {
      case "-": result += "\\-"
      case "\\": result += "\\e"
      case ".", "'": result += result.isEmpty || result.last == "\n" ? "\\&\(character)" : String(character)
      default: result.append(character)
      }
    }
    return result
  }
}
