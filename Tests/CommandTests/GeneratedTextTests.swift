// Help, man pages and completions follow from the option table, and the committed files are the program's output.

import Testing

@testable import realmfs

@Suite("Generated texts")
struct GeneratedTextTests {
  @Test("the committed man pages match the generated ones")
  func manPage() throws {
    #expect(try Place.text("man/realmfs.1") == ManPage.text(), "run 'make man'")
    #expect(try Place.text("man/realmfs-mount.8") == MountManPage.text(), "run 'make man'")
  }

  @Test(
    "the committed completions match the generated ones",
    arguments: [("bash", "realmfs.bash"), ("zsh", "_realmfs"), ("fish", "realmfs.fish")]
  )
  func completions(shell: String, file: String) throws {
    #expect(try Place.text("completions/" + file) == Completions.text(for: shell), "run 'make completions'")
  }

  @Test("the documents name the formats that are read", arguments: ["README.md", "CHANGELOG.md"])
  func formats(document: String) throws {
    #expect(try Place.text(document).contains("formats \(Options.formatsInWords)"))
  }

  @Test("help, man page and completions know every command and every option")
  func complete() {
    let manPage = ManPage.text()
    for command in Options.commands {
      #expect(HelpText.overview().contains("  \(command.name.rawValue) "))
      #expect(manPage.contains(".SS \(command.name.rawValue)\n"))
      let page = HelpText.page(command)
      for option in Options.options(of: command.name) {
        #expect(page.contains("--\(option.name.rawValue)"))
        for shell in Completions.shells { #expect(Completions.text(for: shell).contains(option.name.rawValue)) }
      }
    }
    let mountPage = MountManPage.text()
    for option in Options.options(of: .mount) { #expect(mountPage.contains("--\(option.name.rawValue)".escaped)) }
    for option in Options.mountOptions(of: .mount) {
      #expect(mountPage.contains("\\fB\(option.name.escaped)\\fR"))
      #expect(HelpText.page(Options.commands[0]).contains("  \(option.name)"))
    }
    for code in ExitCode.allCases { #expect(manPage.contains(".B \(code.rawValue)\n")) }
  }

  @Test("every command is in the table, and every option belongs to one")
  func table() {
    #expect(Options.commands.map(\.name) == CommandName.allCases)
    for name in OptionName.allCases {
      let commands = Options.options.filter { $0.name == name }.flatMap(\.commands)
      #expect(!commands.isEmpty && Set(commands).count == commands.count, "\(name) means one thing in a command")
    }
    for name in MountOptionName.allCases {
      #expect(Options.mountOptions.filter { $0.kind == .own(name) }.count == 1)
    }
    for command in CommandName.allCases {
      let letters = Options.options(of: command).compactMap(\.short)
      #expect(Set(letters).count == letters.count, "a letter means one thing")
    }
  }

  @Test("help fits a terminal of 80 columns", arguments: Options.commands)
  func width(command: CommandSpec) {
    for line in (HelpText.page(command) + HelpText.overview()).split(separator: "\n") { #expect(line.count <= 80) }
  }

  @Test("no line of the man page starts with a dot or an apostrophe by accident")
  func controlCharacters() {
    let known = [
      ".\\\"", ".TH", ".SH", ".SS", ".B", ".I", ".RI", ".RB", ".IR", ".BR", ".br", ".PP", ".TP", ".EX", ".EE",
    ]
    let pages = ManPage.text() + MountManPage.text()
    for line in pages.split(separator: "\n") where line.hasPrefix(".") || line.hasPrefix("'") {
      #expect(known.contains { line == $0 || line.hasPrefix($0 + " ") })
    }
  }
}

extension String {
  /// The text as in a man page: hyphens escaped.
  fileprivate var escaped: String { Roff.escaped(self) }
}
