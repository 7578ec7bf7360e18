// Shell completions from the option table. completions/ holds the output; a test compares them.

/// Renders the completions of one shell.
enum Completions {
  static let shells = ["bash", "zsh", "fish"]

  /// The completion script for a shell of `shells`.
  static func text(for shell: String) -> String {
    let note = "# Written by 'realmfs help --completions \(shell)' from the program's option table; do not edit.\n"
    return switch shell {
    case "bash": note + bash()
    case "zsh": "#compdef realmfs\n" + note + zsh()
    default: note + fish()
    }
  }

  private static var commandWords: String { Options.commands.map(\.name.rawValue).joined(separator: " ") }

  private static func flags(_ option: OptionSpec) -> [String] {
    (option.short.map { ["-\($0)"] } ?? []) + ["--\(option.name.rawValue)"]
  }

  private static func mountOptionWords(_ command: CommandName) -> [String] {
    Options.mountOptions(of: command).map { $0.value == nil ? $0.name : $0.name + "=" }
  }

  // MARK: bash

  private static func bash() -> String {
    var script = """
      _realmfs() {
        local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]}
        COMPREPLY=()
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W "\(commandWords) --help --version" -- "$cur"))
          return
        fi
        case $command:$prev in

      """
    for command in Options.commands {
      for option in Options.options(of: command.name) where option.value != nil {
        let pattern = flags(option).map { "\(command.name.rawValue):\($0)" }.joined(separator: "|")
        script += "    \(pattern)) \(bashWords(option, command.name)); return ;;\n"
      }
    }
    script += "  esac\n  case $command:$cur in\n"
    for command in Options.commands {
      let words = Options.options(of: command.name).flatMap(flags).joined(separator: " ")
      script += "    \(command.name.rawValue):-*) COMPREPLY=($(compgen -W \"\(words)\" -- \"$cur\")); return ;;\n"
    }
    script += "  esac\n  case $command in\n"
    for command in Options.commands {
      guard let argument = command.arguments.last else { continue }
      let action =
        switch argument.completion {
        case .directory: "compgen -d -- \"$cur\""
        case .command: "compgen -W \"\(commandWords)\" -- \"$cur\""
        default: "compgen -f -- \"$cur\""
        }
      script += "    \(command.name.rawValue)) COMPREPLY=($(\(action))) ;;\n"
    }
    script += """
        esac
      }
      complete -o filenames -F _realmfs realmfs

      """
    return script
  }

  private static func bashWords(_ option: OptionSpec, _ command: CommandName) -> String {
    if option.name == .options {
      return "COMPREPLY=($(compgen -W \"\(mountOptionWords(command).joined(separator: " "))\" -- \"$cur\"))"
    }
    return switch option.completion {
    case .file: "COMPREPLY=($(compgen -f -- \"$cur\"))"
    case .directory: "COMPREPLY=($(compgen -d -- \"$cur\"))"
    case .words(let words): "COMPREPLY=($(compgen -W \"\(words.joined(separator: " "))\" -- \"$cur\"))"
    case .command, .nothing: ":"
    }
  }

  // MARK: zsh

  private static func zsh() -> String {
    var script = """
      local -a commands
      commands=(

      """
    for command in Options.commands { script += "  \(quoted("\(command.name.rawValue):\(command.summary)"))\n" }
    script += """
      )
      if (( CURRENT == 2 )); then
        _describe -t commands 'realmfs command' commands
        return
      fi
      local command=$words[2]
      shift words
      (( CURRENT-- ))
      case $command in

      """
    for command in Options.commands {
      script += "  \(command.name.rawValue))\n    _arguments -s"
      for option in Options.options(of: command.name) { script += " \\\n      \(zshOption(option, command.name))" }
      for (position, argument) in command.arguments.enumerated() {
        let spec = "\(position + 1):\(argument.name):\(zshAction(argument.completion))"
        script += " \\\n      \(quoted(spec))"
      }
      script += "\n    ;;\n"
    }
    return script + "esac\n"
  }

  private static func zshOption(_ option: OptionSpec, _ command: CommandName) -> String {
    let help = option.help.replacing("[", with: "(").replacing("]", with: ")").replacing(":", with: "\\:")
    var spec = "[\(help)]"
    let long = "--\(option.name.rawValue)" + (option.value == nil ? "" : "=")
    if let value = option.value {
      let action =
        option.name == .options
        ? "_values -s , option \(mountOptionWords(command).map { $0.replacing("=", with: "") }.joined(separator: " "))"
        : zshAction(option.completion)
      spec += ":\(value.replacing(":", with: "\\:")):\(action)"
    }
    guard let short = option.short else { return (option.mayRepeat ? "'*'" : "") + long + quoted(spec) }
    let repeats = option.mayRepeat ? "'*'" : "'(-\(short) --\(option.name.rawValue))'"
    let shortFlag = "-\(short)" + (option.value == nil ? "" : "+")
    return "\(repeats){\(shortFlag),\(long)}\(quoted(spec))"
  }

  private static func zshAction(_ completion: Completion) -> String {
    switch completion {
    case .nothing: ""
    case .file: "_files"
    case .directory: "_files -/"
    case .command: "(\(commandWords))"
    case .words(let words): "(\(words.joined(separator: " ")))"
    }
  }

  // MARK: fish

  private static func fish() -> String {
    var script = "complete -c realmfs -f\n"
    for command in Options.commands {
      script += "complete -c realmfs -n __fish_use_subcommand -a \(command.name.rawValue)"
      script += " -d \(quoted(command.summary))\n"
    }
    for command in Options.commands {
      let line = "complete -c realmfs -n '__fish_seen_subcommand_from \(command.name.rawValue)'"
      if let argument = command.arguments.first { script += line + fishArgument(argument) + "\n" }
      for option in Options.options(of: command.name) {
        script += line + (option.short.map { " -s \($0)" } ?? "") + " -l \(option.name.rawValue)"
        script += fishValue(option, command.name) + " -d \(quoted(option.help))\n"
      }
    }
    return script
  }

  private static func fishArgument(_ argument: ArgumentSpec) -> String {
    switch argument.completion {
    case .directory: " -xa '(__fish_complete_directories)'"
    case .command: " -xa '\(commandWords)'"
    default: " -F"
    }
  }

  private static func fishValue(_ option: OptionSpec, _ command: CommandName) -> String {
    if option.value == nil { return "" }
    if option.name == .options { return " -xa '\(mountOptionWords(command).joined(separator: " "))'" }
    return switch option.completion {
    case .file: " -rF"
    case .words(let words): " -xa '\(words.joined(separator: " "))'"
    default: " -x"
    }
  }

  /// A word in single quotes; all three shells end the quotation for an apostrophe.
  private static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "'\\''"))'" }
}
