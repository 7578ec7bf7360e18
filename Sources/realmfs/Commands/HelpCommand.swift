// `realmfs help`: prints the pages, man pages and completions generated from the option table.

/// The command `help`, and `--help` of all other commands.
enum HelpCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    if arguments.has(.man) {
      return try show(arguments.operands.first == CommandName.mount.rawValue ? MountManPage.text() : ManPage.text())
    }
    if let shell = arguments.value(.completions) { return try show(Completions.text(for: shell)) }
    guard let word = arguments.operands.first else { return try overview() }
    guard let command = CommandName(rawValue: word) else {
      throw CommandFailure.usage(Program.unknown(word), command: nil)
    }
    return try explain(command)
  }

  /// Prints the page of the program.
  static func overview() throws -> ExitCode { try show(HelpText.overview()) }

  /// Prints the page of one command.
  static func explain(_ command: CommandName) throws -> ExitCode {
    try show(Options.command(command).map(HelpText.page) ?? "")
  }

  private static func show(_ text: String) throws -> ExitCode {
    let output = StandardOutput()
    output.print(text)
    try output.flush()
    return .done
  }
}
