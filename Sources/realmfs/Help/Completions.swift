// Shell completions from the option table. The output is in completions/; a test compares it.

/// Renders the completions of one shell.
enum Completions {
  static let shells = ["bash", "zsh", "fish"]

  /// Returns the completion script for a shell of `shells`.
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
        local cur=$2 prev=${COMP_WORDS[COMP_CWORD-1]} command=${COMP_WORDS[1]} kind
        COMPREPLY=()
        if [ "$COMP_CWORD" -eq 1 ]; then
          COMPREPLY=($(compgen -W "\(commandWords) --help --version" -- "$cur"))
          return
        fi
        [ "$prev" = = ] && prev=${COMP_WORDS[COMP_CWORD-2]}
        case $command:$prev in

      """
    for command in Options.commands {
      for option in Options.options(of: command.name) where option.value != nil {
        guard let words = bashWords(option, command.name) else { continue }
        let pattern = flags(option).map { "\(command.name.rawValue):\($0)" }.joined(separator: "|")
        script += "    \(pattern)) COMPREPLY=($(compgen -W \"\(words)\" -- \"$cur\")); return ;;\n"
      }
    }
    script += "  esac\n  case $command:$cur in\n"
    for command in Options.commands {
      let words = Options.options(of: command.name).flatMap(flags).joined(separator: " ")
      script += "    \(command.name.rawValue):-*) COMPREPLY=($(compgen -W \"\(words)\" -- \"$cur\")); return ;;\n"
    }
    script += "    help:*) COMPREPLY=($(compgen -W \"\(commandWords)\" -- \"$cur\")); return ;;\n"
    // The program quotes its output for the context at the cursor; bash must not quote it again.
    return script + """
        esac
        {
          IFS= read -r -d '' kind && mapfile -d '' -t COMPREPLY
        } < <(command realmfs \(Completer.command) bash "$cur" "${COMP_LINE:0:COMP_POINT}" 2>/dev/null)
        case $kind in
          files) compopt -o default ;;
          directories) compopt -o dirnames ;;
          names) [[ ${#COMPREPLY[@]} -eq 1 && ${COMPREPLY[0]} == *[=/] ]] && compopt -o nospace ;;
        esac
        return 0
      }
      complete -F _realmfs realmfs

      """
  }

  /// Returns the words that bash offers for the value of an option; nil if bash must run the program.
  private static func bashWords(_ option: OptionSpec, _ command: CommandName) -> String? {
    if option.name == .options { return mountOptionWords(command).joined(separator: " ") }
    guard case .words(let words) = option.completion else { return nil }
    return words.joined(separator: " ")
  }

  // MARK: zsh

  private static func zsh() -> String {
    // Keep all words, because _arguments sees only the words after the command.
    var script = """
      _realmfs_names() {
        local kind current=$PREFIX
        [[ -n $compstate[quote] ]] || current=${(Q)PREFIX}
        local -a answer
        answer=("${(@0)$(command realmfs \(Completer.command) words "${(@Q)typed}" "$IPREFIX$current" 2>/dev/null)}")
        kind=$answer[1]
        shift answer
        answer=(${answer:#})
        case $kind in
          files) _files ;;
          names)
            local -a open=(${(M)answer:#*[=/]})
            local -a whole=(${answer:#*[=/]})
            compadd -S '' -a open
            compadd -a whole
            ;;
        esac
      }
      local -a commands typed=("${(@)words[2,CURRENT-1]}")
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
        let place = argument.mayRepeat ? "*" : "\(position + 1)"
        let spec = "\(place):\(argument.name):\(zshAction(argument.completion))"
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
    case .names: "_realmfs_names"
    }
  }

  // MARK: fish

  private static func fish() -> String {
    var script = """
      function __realmfs_is
        set -l words (commandline -opc)
        test "$words[2]" = $argv[1]
      end
      function __realmfs_ask
        set -l words (commandline -opc)
        set -l current (commandline -ct)
        # The quotation mark that is open is closed for this.
        set -l value (string unescape -- $current; or string unescape -- "$current'";
          or string unescape -- "$current\\"")
        command realmfs \(Completer.command) words $words[2..-1] "$value" 2>/dev/null | string split0
      end
      function __realmfs_names
        set -l answer (__realmfs_ask)
        test "$answer[1]" = names; and printf '%s\\0' $answer[2..-1] | string split0
      end
      function __realmfs_files
        set -l answer (__realmfs_ask)
        test "$answer[1]" = files
      end
      complete -c realmfs -f

      """
    for command in Options.commands {
      script += "complete -c realmfs -n __fish_use_subcommand -a \(command.name.rawValue)"
      script += " -d \(quoted(command.summary))\n"
    }
    for command in Options.commands {
      let line = "complete -c realmfs -n '__realmfs_is \(command.name.rawValue)'"
      for argument in fishArguments(command) { script += line + argument + "\n" }
      for option in Options.options(of: command.name) {
        script += line + (option.short.map { " -s \($0)" } ?? "") + " -l \(option.name.rawValue)"
        script += fishValue(option, command.name) + " -d \(quoted(option.help))\n"
      }
    }
    return script
  }

  private static func fishArguments(_ command: CommandSpec) -> [String] {
    guard let first = command.arguments.first else { return [] }
    switch first.completion {
    case .directory: return [" -xa '(__fish_complete_directories)'"]
    case .command: return [" -xa '\(commandWords)'"]
    default: return [" -n __realmfs_files -F", " -a '(__realmfs_names)'"]
    }
  }

  private static func fishValue(_ option: OptionSpec, _ command: CommandName) -> String {
    if option.value == nil { return "" }
    if option.name == .options { return " -xa '\(mountOptionWords(command).joined(separator: " "))'" }
    return switch option.completion {
    case .file: " -rF"
    case .directory: " -xa '(__fish_complete_directories)'"
    case .words(let words): " -xa '\(words.joined(separator: " "))'"
    case .names: " -xa '(__realmfs_names)'"
    case .nothing, .command: " -x"
    }
  }

  /// Returns a word in single quotes. In all three shells, the quotation must be closed and reopened for an apostrophe.
  private static func quoted(_ text: String) -> String { "'\(text.replacing("'", with: "'\\''"))'" }
}
