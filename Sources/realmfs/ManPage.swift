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
    page += section("SAVING", saving.map(escaped))
    page += section("JSON", json.map(escaped))
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

  private static let saving = [
    """
    Closing a file that was written, and fsync, save it: one transaction, on disk when the call returns. Saving an \
    object changes only what differs; properties that the text does not name keep their values, null clears one. A \
    text that says what is stored makes no commit.
    """,
    """
    A new file makes an object. Its name gives the primary key; in a class without one a number gives the object key, \
    and any other name leads to the new object until the mount ends. Properties that are not named take their \
    defaults. Removing the file deletes the object: links to it become null or vanish, embedded objects go too.
    """,
    """
    Editors may save in their own way: by truncating, by renaming a new file over the old one, by moving the old one \
    away first, by unlinking it. The object keeps its key and the links to it. Names that no object of the class can \
    have are scratch files: they are in memory, and gone when the mount ends.
    """,
    """
    Making a directory adds a class, removing an empty one removes it. Writing .realm/schema.json changes the schema.
    """,
    """
    Refusals: EINVAL for a text that is not JSON, has a wrong type, an unknown property, another key than the name, or \
    a link to nothing; ERANGE for a number that the type cannot hold; EFBIG and ENAMETOOLONG beyond limits; EEXIST \
    for a \
    key that is taken; EPERM for what is computed or never changes, such as the name of an object; EROFS; EAGAIN while \
    somebody else writes; ENOSPC without space, after which the former version is intact and the mount goes on.
    """,
  ]

  private static let json = [
    """
    A file is one object with its properties in the order of the schema. Integers beyond 2^53 are written as \
    {"$numberLong":"9007199254740993"}, dates as "2024-05-01T10:00:00Z", binaries in base64, decimals, object ids and \
    UUIDs as strings, links as the primary key of their target (its object key, if the class has none), embedded \
    objects nested, lists and sets as arrays, dictionaries as objects. Values of type mixed are relaxed Extended \
    JSON, because \
    nothing else tells their type.
    """,
    """
    All of that is read back, and canonical and relaxed Extended JSON everywhere, with any white space and order of \
    properties. What would lose data is refused with line and column: a property twice, text after the object, an \
    unknown property, a number out of range, a string that is not UTF-8.
    """,
  ]

  private static let files = [
    "\\fIMOUNTPOINT\\fR/\\fICLASS\\fR/\\fIKEY\\fR.json is an object. "
      + "\\fIMOUNTPOINT\\fR/.realm holds the schema, the version and figures; it is hidden unless \\fBshow_control\\fR "
      + "is given.",
    "\\fIFILE\\fR.lock, \\fIFILE\\fR.management and \\fIFILE\\fR.note are what the programs that have the realm open "
      + "share: who is there, which versions are read, whose turn it is to write. They may stay when nobody is there.",
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
