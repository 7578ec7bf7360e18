// `realmfs create`: creates a realm with the classes of a schema. The file is created completely or not at all.
import RealmJSON
import RealmPages

/// The command `create`.
enum CreateCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let path = arguments.operands[0]
    let schema = try arguments.schema(.schemaFile)
    let key = try KeySource(arguments).map { source in
      try source.read(verbose: arguments.has(.verbose))
    }
    let staging = try Staging(for: path)
    do {
      try make(Configuration(path: staging.anchoredPath, encryptionKey: key), schema, shownPath: path)
    } catch { throw staging.named(CommandFailure(error)) }
    // The staged file is removed unless it is published.
    if arguments.has(.dryRun) {
      Log.notice("\(path): \(Options.dryRunLead)\(counted(schema?.classes.count ?? 0, "class", "classes")) created")
      return .done
    }
    try staging.publishFile()
    return .done
  }

  /// Creates a realm with the classes of `schema`. Messages call it `shownPath`.
  static func make(
    _ configuration: Configuration,
    _ schema: SchemaDescription?,
    shownPath: String
  ) throws {
    try located(shownPath) {
      let transaction = try RealmWriter(configuration, create: true).begin()
      if let schema {
        do { try SchemaChange(to: schema, in: transaction).apply(transaction) } catch {
          throw CommandFailure(.failure, "\(shownPath): cannot create the schema: \(error)")
        }
      }
      _ = try transaction.commit()
    }
  }
}
