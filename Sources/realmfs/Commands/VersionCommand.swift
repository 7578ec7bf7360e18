// `realmfs version`: prints the version of the program and the file formats that it reads.
import RealmJSON
import RealmPages

/// The command `version`.
enum VersionCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let output = StandardOutput()
    if arguments.has(.json) {
      output.print(
        JSONValue.object([
          ("version", .string(Options.version)),
          ("readableFormats", .array(Realm.readableFormats.sorted().map { .number($0) })),
        ]).text
      )
    } else {
      output.print("realmfs \(Options.version)\n")
      output.print("reads Realm file formats \(Options.formatsInWords)\n")
    }
    try output.flush()
    return .done
  }
}
