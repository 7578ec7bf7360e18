// `realmfs upgrade`: converts a file of an older format to the newest one.
import RealmJSON
import RealmPages

/// The command `upgrade`.
enum UpgradeCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    if arguments.has(.dryRun) { return try preview(arguments) }
    let source = try RealmSource(inPlace: arguments)
    let outcome = try ProgressLine.during("upgrading", source.path) { (observer) throws(EngineError) in
      try RealmUpgrade.run(
        source.realm.configuration,
        backupFolder: arguments.value(.backupFolder),
        verifies: !arguments.has(.noVerify),
        observer: observer
      )
    }
    var report = CopyReport(path: source.path, sizes: outcome.sizes, isNew: false)
    if let backup = outcome.backup {
      report.notes = ["upgraded from format \(outcome.from) to \(RealmUpgrade.format); the old file is \(backup)"]
    } else {
      report.notes = ["nothing to do: the file has format \(outcome.from)"]
    }
    report.notes += outcome.notes
    report.facts = [
      ("formatBefore", .number(outcome.from)), ("backup", outcome.backup.map { .string($0) } ?? .null),
      ("notes", .array(outcome.notes.map { .string($0) })),
    ]
    try report.print(arguments)
    return .done
  }

  /// Reports the formats before and after the upgrade.
  private static func preview(_ arguments: Arguments) throws -> ExitCode {
    let source = try RealmSource(arguments), format = try source.latest().fileFormat
    let output = StandardOutput()
    if arguments.has(.json) {
      let facts: [(String, JSONValue)] = [
        ("file", .string(source.path)), ("formatBefore", .number(format)),
        ("formatAfter", .number(RealmUpgrade.format)),
      ]
      output.print(JSONValue.object(facts).text)
    } else if format == RealmUpgrade.format {
      output.line("\(source.path): nothing to do: the file has format \(format)")
    } else {
      output.line("\(source.path): \(Options.dryRunLead)upgraded from format \(format) to \(RealmUpgrade.format)")
    }
    try output.flush()
    return .done
  }
}
