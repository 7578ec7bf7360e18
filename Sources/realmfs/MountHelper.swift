// `mount.fuse.realmfs` and `umount.fuse.realmfs`: the names by which mount(8), umount(8), fstab and systemd call this
// program. Their words become those of `realmfs mount` and `realmfs umount`; options that are meant for others are left
// out, and the exit status is one of mount(8)'s.
import Glibc

/// A helper of mount(8) or umount(8), by its name.
enum MountHelper: String {
  case mount = "mount.fuse.realmfs"
  case umount = "umount.fuse.realmfs"

  /// The helper that a program called `program`, with or without folders, is; nil for the program itself.
  init?(program: String) {
    self.init(rawValue: program.split(separator: "/").last.map(String.init) ?? program)
  }

  /// Runs the helper with the words behind its name; the result is an exit status as mount(8) defines them.
  func run(_ words: ArraySlice<String>) -> Int32 {
    do throws(CommandFailure) {
      let call = try HelperCall(self, words)
      let arguments = try Arguments(self == .mount ? .mount : .umount, call.words)
      if call.isFake { return 0 }
      switch self {
      case .mount: return Self.status(of: try MountCommand.run(arguments))
      case .umount: return Self.status(of: try UmountCommand.run(arguments, mayRefuse: false))
      }
    } catch {
      Log.error(error.message)
      return Self.status(of: error.code)
    }
  }

  /// mount(8): 0 success, 1 incorrect invocation, 32 mount failure.
  static func status(of code: ExitCode) -> Int32 {
    switch code {
    case .done: 0
    case .usage: 1
    default: 32
    }
  }

  /// The long options of `realmfs mount` that fstab may name, with `-` or `_` between their words.
  static let longOptions: [OptionName] = [
    .readOnly, .immutable, .upgrade, .compactOnLaunch, .keyFile, .keyCommand, .jsonStyle, .singleThread,
    .trustOwner, .trash,
  ]

  /// Options of fstab that mount(8), systemd or the kernel's other file systems obey, or that are always so here.
  static let foreignOptions: Set<String> = [
    "defaults", "auto", "noauto", "nofail", "_netdev", "user", "nouser", "users", "nousers", "owner", "noowner",
    "group", "nogroup", "relatime", "norelatime", "strictatime", "nostrictatime", "diratime", "nodiratime", "lazytime",
    "nolazytime", "sync", "async", "dirsync", "iversion", "noiversion", "mand", "nomand", "silent", "loud",
  ]

  /// Whether an option of fstab is none of ours, such as `noauto` or `x-systemd.automount`.
  static func isForeign(_ option: String) -> Bool {
    let name = String(option.prefix { $0 != "=" })
    return foreignOptions.contains(name) || name.hasPrefix("x-") || name.hasPrefix("X-")
      || ["uhelper", "helper", "comment"].contains(name)
  }
}

/// What mount(8) or umount(8) asked for, in the words of `realmfs mount` and `realmfs umount`.
struct HelperCall {
  private(set) var words: [String] = []
  /// `-f` of mount: do everything but the mount itself.
  private(set) var isFake = false

  /// Takes `SOURCE DIR [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE]`, or for umount `DIR [-flnrv] ..`.
  init(_ helper: MountHelper, _ given: ArraySlice<String>) throws(CommandFailure) {
    let command: CommandName = helper == .mount ? .mount : .umount
    var operands: [String] = []
    var options = ""
    var isSloppy = false
    var rest = given
    while let word = rest.popFirst() {
      guard word.hasPrefix("-"), word.count > 1 else {
        operands.append(word)
        continue
      }
      var letters = word.dropFirst()
      while let letter = letters.popFirst() {
        switch (letter, helper) {
        case ("o", _), ("t", _), ("N", _):
          guard let value = letters.isEmpty ? rest.popFirst() : String(letters) else {
            throw .usage("\(helper.rawValue): option -\(letter) needs a value", command: command)
          }
          letters = ""
          if letter == "o" { options += options.isEmpty ? value : ",\(value)" }
        case ("v", _): if helper == .mount { words.append("--verbose") }
        case ("s", .mount): isSloppy = true
        case ("f", .mount): isFake = true
        case ("f", .umount), ("l", .umount): if !words.contains("--lazy") { words.append("--lazy") }
        // There is no /etc/mtab, and nothing to remount.
        case ("n", _), ("r", .umount): break
        default: throw .usage("\(helper.rawValue): unknown option -\(letter)", command: command)
        }
      }
    }
    if helper == .mount {
      for option in Self.split(options) { try take(option, isSloppy: isSloppy) }
    }
    words += ["--"] + operands
  }

  private mutating func take(_ option: String, isSloppy: Bool) throws(CommandFailure) {
    let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    if name == "remount" {
      throw .usage("a mount of realmfs cannot be changed by remounting; unmount it and mount it again", command: .mount)
    }
    if Options.mountOptions.contains(where: { $0.name == name && $0.commands.contains(.mount) }) {
      words += ["-o", option.replacing(",", with: "\\,")]
    } else if let long = MountHelper.longOptions.first(where: { $0.rawValue == name.replacing("_", with: "-") }) {
      words.append("--\(long.rawValue)" + (parts.count > 1 ? "=\(parts[1])" : ""))
    } else if !MountHelper.isForeign(option), !isSloppy {
      throw .usage("unknown mount option -o \(name)", command: .mount)
    }
  }

  /// Splits at commas that stand neither behind a backslash nor between quotation marks, which are dropped: mount(8)
  /// passes them on.
  private static func split(_ options: String) -> [String] {
    var quoted = false
    var text = ""
    for character in options {
      if character == "\"" {
        quoted.toggle()
      } else if character == ",", quoted {
        text += "\\,"
      } else {
        text.append(character)
      }
    }
    return text.split(unescaped: ",")
  }
}
