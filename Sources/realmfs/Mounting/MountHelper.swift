// `mount.fuse.realmfs` and `umount.fuse.realmfs`: the names under which mount(8) and umount(8), also for fstab and
// systemd, call this program. Their arguments are translated to those of `realmfs mount` and `realmfs umount`, options
// meant for other programs are dropped, and the exit status is that of mount(8).
import Glibc

/// A helper of mount(8) or umount(8), identified by its name.
enum MountHelper: String {
  case mount = "mount.fuse.realmfs"
  case umount = "umount.fuse.realmfs"

  /// Selects the helper by the program's name, with or without its directory; nil if the name is not that of a helper.
  init?(program: String) {
    self.init(rawValue: program.split(separator: "/").last.map(String.init) ?? program)
  }

  /// Runs the helper with the words after its name. Returns an exit status as mount(8) defines it.
  func run(_ words: ArraySlice<String>) -> Int32 {
    do {
      let call = try HelperCall(self, words)
      let arguments = try Arguments(self == .mount ? .mount : .umount, call.words)
      if call.isFake { return 0 }
      switch self {
      case .mount: return Self.status(of: try MountCommand.run(arguments))
      case .umount: return Self.status(of: try UmountCommand.run(arguments, mayRefuse: false))
      }
    } catch {
      let failure = CommandFailure(error)
      Log.error(failure.message)
      return Self.status(of: failure.code)
    }
  }

  /// Returns the exit status for mount(8): 0 success, 1 incorrect invocation, 32 mount failure.
  static func status(of code: ExitCode) -> Int32 {
    switch code {
    case .done: 0
    case .usage: 1
    default: 32
    }
  }

  /// The long options of `realmfs mount` that fstab may contain, with `-` or `_` between their words.
  static let longOptions: [OptionName] = [
    .readOnly, .immutable, .upgrade, .compactOnLaunch, .keyFile, .keyCommand, .jsonStyle, .singleThread,
    .trustOwner, .trash,
  ]

  /// Options of fstab that mount(8), systemd or other file systems of the kernel handle, or that always apply here.
  static let foreignOptions: Set<String> = [
    "defaults", "auto", "noauto", "nofail", "_netdev", "user", "nouser", "users", "nousers", "owner", "noowner",
    "group", "nogroup", "relatime", "norelatime", "strictatime", "nostrictatime", "diratime", "nodiratime", "lazytime",
    "nolazytime", "sync", "async", "dirsync", "iversion", "noiversion", "mand", "nomand", "silent", "loud",
  ]

  /// True if an option of fstab is not one of ours, such as `noauto` or `x-systemd.automount`.
  static func isForeign(_ option: String) -> Bool {
    let name = String(option.prefix { $0 != "=" })
    return foreignOptions.contains(name) || name.hasPrefix("x-") || name.hasPrefix("X-")
      || ["uhelper", "helper", "comment"].contains(name)
  }
}

/// The request of mount(8) or umount(8) as arguments of `realmfs mount` or `realmfs umount`.
struct HelperCall {
  private(set) var words: [String] = []
  /// `-f` of mount: do everything except the mount itself.
  private(set) var isFake = false

  /// Parses `SOURCE DIR [-sfnv] [-N NAMESPACE] [-o OPTIONS] [-t TYPE]`, or for umount `DIR [-flnrv] ..`.
  init(_ helper: MountHelper, _ given: ArraySlice<String>) throws {
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
            throw CommandFailure.usage("\(helper.rawValue): option -\(letter) needs a value", command: command)
          }
          letters = ""
          if letter == "o" { options += options.isEmpty ? value : ",\(value)" }
        case ("v", _): if helper == .mount { words.append("--verbose") }
        case ("s", .mount): isSloppy = true
        case ("f", .mount): isFake = true
        case ("f", .umount), ("l", .umount): if !words.contains("--lazy") { words.append("--lazy") }
        // No /etc/mtab is written, and a failed unmount does not fall back to a read-only remount.
        case ("n", _), ("r", .umount): break
        default: throw CommandFailure.usage("\(helper.rawValue): unknown option -\(letter)", command: command)
        }
      }
    }
    if helper == .mount {
      for option in Self.split(options) { try take(option, isSloppy: isSloppy) }
    }
    words += ["--"] + operands
  }

  private mutating func take(_ option: String, isSloppy: Bool) throws {
    let parts = option.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
    let name = String(parts[0])
    if name == "remount" {
      throw CommandFailure.usage(
        "a mount of realmfs cannot be changed by remounting; unmount it and mount it again",
        command: .mount
      )
    }
    if Options.mountOptions.contains(where: { $0.name == name && $0.commands.contains(.mount) }) {
      words += ["-o", option.replacing(",", with: "\\,")]
    } else if let long = MountHelper.longOptions.first(where: { $0.rawValue == name.replacing("_", with: "-") }) {
      words.append("--\(long.rawValue)" + (parts.count > 1 ? "=\(parts[1])" : ""))
    } else if !MountHelper.isForeign(option), !isSloppy {
      throw CommandFailure.usage("unknown mount option -o \(name)", command: .mount)
    }
  }

  /// Splits at commas that are neither escaped by a backslash nor inside quotation marks. mount(8) passes quotation
  /// marks unchanged; they are removed here.
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
