// Renders realmfs(1) from the option table. A test compares man/realmfs.1 with this text. MountManPage.swift renders
// the page about mounts.

/// Renders the man page.
enum ManPage {
  /// Returns the page in man(7) format.
  static func text() -> String {
    var page = Roff.title(
      "realmfs",
      1,
      group: "User Commands",
      summary: "show Realm database files as directories of JSON files"
    )
    page += ".SH SYNOPSIS\n"
    for command in Options.commands {
      page += ".B realmfs \(command.name.rawValue)\n"
      page += ".RI [ OPTION ]...\n"
      for argument in command.arguments {
        page += argument.isOptional ? ".RI [ \(Roff.escaped(argument.name)) ]\n" : ".I \(Roff.escaped(argument.name))\n"
      }
      page += ".br\n"
    }
    page += Roff.section("DESCRIPTION", description)
    page += ".SH COMMANDS\n"
    for command in Options.commands { page += commandText(command) }
    page += ".SH OPTIONS\n"
    for option in Options.options where !option.isHidden { page += Roff.option(option) }
    page += Roff.section("JSON", json.map(Roff.escaped))
    page += Roff.section("KEYS", [Roff.escaped(HelpText.keyForms)])
    page += ".SH EXIT STATUS\n"
    for code in ExitCode.allCases { page += ".TP\n.B \(code.rawValue)\n\(Roff.sentence(code.meaning))\n" }
    page += ".PP\ndiff is the exception: it exits with 0 without differences and with 1 with differences.\n"
    page += Roff.section("FILES", Roff.files)
    page += Roff.section("EXAMPLES", []) + examples.map(Roff.example).joined()
    page += Roff.seeAlso([("realmfs-mount", 8), ("realm", 5), ("jq", 1), ("sqlite3", 1)])
    return page
  }

  private static var description: [String] {
    [
      """
      realmfs mounts a Realm database file: classes are directories, objects are JSON files, and every tool that works \
      on files works on the data. It reads plain and encrypted files of formats \(Options.formatsInWords) without \
      upgrading them. Reading never changes a byte or a timestamp of the file.
      """,
      "All commands except \\fBmount\\fR and \\fBumount\\fR work without FUSE. Mounts, saving and fstab are described "
        + "in realmfs\\-mount(8).",
    ]
  }

  private static let json = [
    """
    A file is one object with its properties in schema order. Integers beyond 2^53 are written as \
    {"$numberLong":"9007199254740993"}, dates as "2024-05-01T10:00:00Z", binaries in base64, decimals, object ids and \
    UUIDs as strings, links as the primary key of their target (its object key if the class has no primary key), \
    embedded objects nested, lists and sets as arrays, dictionaries as objects. Values of type mixed are relaxed \
    Extended JSON, because nothing else records their type.
    """,
    """
    All of these forms can be saved, and canonical and relaxed Extended JSON everywhere, with any white space and \
    order of properties. A text that would lose data is refused with line and column: a duplicate property, text after \
    the object, an unknown property, a number out of range, a string that is not UTF-8.
    """,
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
    var text = ".SS \(command.name.rawValue)\n\(Roff.sentence(command.summary))\n"
    // realmfs-mount(8) has the rest of the text on mounts.
    let paragraphs = command.name == .mount ? Array(command.description.prefix(1)) : command.description
    for paragraph in paragraphs { text += ".PP\n\(Roff.escaped(paragraph))\n" }
    let options = Options.options(of: command.name).map { Roff.bold("--\($0.name.rawValue)") }
    text += ".PP\nOptions: \(options.joined(separator: ", ")).\n"
    if !command.examples.isEmpty {
      text += ".PP\n.EX\n\(command.examples.map(Roff.escaped).joined(separator: "\n"))\n.EE\n"
    }
    return text
  }
}
