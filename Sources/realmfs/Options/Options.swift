// The command line is declared once, in this directory: to add an option, add a row to `OptionRows` and use it in the
// command. Help, man pages, completions and the exclusive groups are derived from the row.
import RealmPages

/// Every command, option and mount option of the program.
enum Options {
  static let version = "0.1.0"

  static let commands: [CommandSpec] = commandsOfMounts + commandsOfObjects + commandsOfFiles + commandsOfPlaces
}

extension Options {
  /// The readable file formats, as in `2 to 11 and 20 to 24`.
  static var formatsInWords: String {
    var ranges: [ClosedRange<Int>] = []
    for format in Realm.readableFormats.sorted() {
      if let last = ranges.last, last.upperBound == format - 1 {
        ranges[ranges.count - 1] = last.lowerBound...format
      } else {
        ranges.append(format...format)
      }
    }
    return ranges.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound) to \($0.upperBound)" }
      .joined(separator: " and ")
  }

  static func command(_ name: CommandName) -> CommandSpec? { commands.first { $0.name == name } }

  /// Returns the visible options of a command, in table order.
  static func options(of command: CommandName) -> [OptionSpec] {
    options.filter { $0.commands.contains(command) && !$0.isHidden }
  }

  /// Returns the mount options of a command, in table order, without those it rejects.
  static func mountOptions(of command: CommandName) -> [MountOptionSpec] {
    mountOptions.filter { option in
      if case .refused = option.kind { return false }
      return option.commands.contains(command)
    }
  }
}
