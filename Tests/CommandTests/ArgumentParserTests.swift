// The command line as users type it: forms of options, refusals, and messages that help.

import FileTree
import RealmJSON
import Testing

@testable import realmfs

@Suite("Arguments")
struct ArgumentParserTests {
  private func message(_ command: CommandName, _ words: String...) -> String? {
    do {
      _ = try Arguments(command, words)
      return nil
    } catch {
      let error = CommandFailure(error)
      return error.code == .usage ? error.message : "exit code \(error.code)"
    }
  }

  @Test("options and operands come in any order")
  func anyOrder() throws {
    let arguments = try Arguments(.mount, ["-f", "a.realm", "--key-file", "k", "/mnt", "-o", "ro", "-v"])
    #expect(arguments.operands == ["a.realm", "/mnt"])
    #expect(arguments.has(.foreground) && arguments.has(.verbose))
    #expect(arguments.value(.keyFile) == "k")
  }

  @Test(
    "a value follows its option in every usual form",
    arguments: [["--limit", "7"], ["--limit=7"]]
  )
  func valueForms(words: [String]) throws {
    #expect(try Arguments(.check, words + ["f"]).value(.limit) == "7")
  }

  @Test(
    "short options cluster, and the last may take a value",
    arguments: [["-fdoro"], ["-fdo", "ro"], ["-f", "-do=ro"]]
  )
  func clusters(words: [String]) throws {
    let arguments = try? Arguments(.mount, words + ["f", "m"])  // the third form is refused
    if words.last == "-do=ro" {
      #expect(arguments == nil)
    } else {
      #expect(arguments?.has(.debug) == true && arguments?.mountOption(.readOnly) == "")
    }
  }

  @Test("arguments after -- are not options")
  func endOfOptions() throws {
    #expect(try Arguments(.info, ["--", "--json"]).operands == ["--json"])
  }

  @Test("a lone - is an operand")
  func dash() throws {
    #expect(try Arguments(.info, ["-"]).operands == ["-"])
  }

  @Test("mount options are split at commas, gather over several -o, and keep escaped commas")
  func mountOptions() throws {
    let arguments = try Arguments(
      .mount,
      ["-o", "uid=5,class=A:B", "-oallow_other", "-o", #"fsname=a\,b"#, "--class", #"C\,D,E"#, "f", "m"]
    )
    #expect(arguments.mountOption(.uid) == "5")
    #expect(arguments.shownClasses() == ["C,D", "E", "A", "B"])
    #expect(arguments.kernelOptions() == ["allow_other", "fsname=a,b"])
  }

  @Test("every usage error names what is wrong and where help is")
  func usageErrors() {
    let help = "; see 'realmfs mount --help'"
    #expect(message(.mount, "f", "m", "--colour") == "unknown option --colour" + help)
    #expect(message(.mount, "f", "m", "-x") == "unknown option -x" + help)
    #expect(message(.mount, "f", "m", "--json") == "unknown option --json" + help)
    #expect(message(.mount, "f") == "MOUNTPOINT is missing" + help)
    #expect(message(.mount, "f", "m", "n") == "unexpected argument 'n'" + help)
    #expect(message(.mount, "f", "m", "--key-file") == "option --key-file needs a value" + help)
    #expect(message(.mount, "f", "m", "-fo") == "option -o needs a value" + help)
    #expect(message(.mount, "f", "m", "--debug=1") == "option --debug takes no value" + help)
    #expect(message(.mount, "f", "m", "-ff") == "option --foreground is given twice" + help)
    #expect(message(.mount, "f", "m", "-o", "colour=red") == "unknown mount option -o colour" + help)
    #expect(message(.mount, "f", "m", "-o", "uid") == "mount option -o uid needs a value" + help)
    #expect(message(.mount, "f", "m", "-o", "ro=1") == "mount option -o ro takes no value" + help)
  }

  @Test("options that exclude each other are refused together")
  func exclusive() {
    #expect(
      message(.mount, "f", "m", "--read-only", "--immutable")
        == "options --read-only and --immutable exclude each other; see 'realmfs mount --help'"
    )
    let keys = ["--key-file", "--key-fd", "--key-command", "--key-env"]
    for first in keys {
      for second in keys where first != second {
        #expect(message(.info, "f", first, "1", second, "1")?.contains("exclude each other") == true)
      }
    }
  }

  @Test("a refused mount option is explained", arguments: ["subtype=x"])
  func refused(option: String) {
    #expect(message(.mount, "f", "m", "-o", option)?.contains("is refused: ") == true)
  }

  @Test("--help requires no other arguments")
  func help() throws {
    #expect(try Arguments(.mount, ["--help"]).has(.help))
  }

  @Test("--json-style and a different -o json= are refused")
  func jsonStyle() throws {
    #expect(try Arguments(.cat, ["-o", "json=ejson", "f", "c"]).jsonStyle() == .ejson)
    #expect(try Arguments(.cat, ["--json-style=canonical", "f", "c"]).jsonStyle() == .canonical)
    #expect(try Arguments(.cat, ["f", "c"]).jsonStyle() == .plain)
    #expect(throws: CommandFailure.self) {
      try Arguments(.cat, ["-o", "json=ejson", "--json-style=plain", "f", "c"]).jsonStyle()
    }
    #expect(throws: CommandFailure.self) { try Arguments(.cat, ["-o", "json=xml", "f", "c"]).jsonStyle() }
  }

  @Test("owners are numbers or names, and modes are octal")
  func treeOptions() throws {
    let options = try Arguments(.mount, ["-o", "uid=root,gid=7,umask=027,fmask=137,show_control", "f", "m"])
      .treeOptions()
    #expect(options.uid == 0 && options.gid == 7)
    #expect(options.umask == 0o27 && options.fmask == 0o137 && options.dmask == nil)
    #expect(options.showControl)
  }
}
