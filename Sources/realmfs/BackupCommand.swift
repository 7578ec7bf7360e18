// `realmfs backup`: one committed version of a realm as a file of its own.
import RealmPages

/// The command `backup`.
enum BackupCommand {
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    let source = try RealmSource(arguments), target = arguments.operands[1]
    let sizes = try source.copy(to: target, key: source.realm.configuration.encryptionKey, title: "copying")
    try CopyReport(path: target, sizes: sizes).print(arguments)
    return .done
  }
}

extension RealmSource {
  /// Writes the newest version to a new file; again, if another program wrote over it meanwhile.
  func copy(
    to target: String,
    key: EncryptionKey?,
    keepsHistory: Bool = true,
    title: String
  ) throws(CommandFailure) -> RealmCopy.Sizes {
    try ProgressLine.during(title, path) { (observer) throws(CopyError) in
      try RealmCopy.write(realm, to: target, key: key, keepsHistory: keepsHistory, observer: observer)
    }
  }
}
