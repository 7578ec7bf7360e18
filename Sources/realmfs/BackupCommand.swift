// `realmfs backup`: one committed version of a realm as a file of its own.
import RealmPages

/// The command `backup`.
enum BackupCommand {
  static func run(_ arguments: Arguments) throws(CommandFailure) -> ExitCode {
    let source = try RealmSource(toCopy: arguments), target = arguments.operands[1]
    let sizes = try source.copy(to: target, key: source.realm.configuration.encryptionKey, title: "copying")
    try CopyReport(path: target, sizes: sizes, isNew: true).print(arguments)
    return .done
  }
}

extension RealmSource {
  /// Opens the first operand to copy it. If others have it open, we take part, so that they leave alone what is being
  /// copied; if none has, nothing is touched.
  init(toCopy arguments: Arguments) throws(CommandFailure) {
    let path = arguments.operands[0]
    let mode: Configuration.Mode = LockHolders.ofRealm(at: System.absolute(path)).isEmpty ? .immutable : .shared
    // What others write over meanwhile is noticed, and copied again.
    try self.init(Self.configuration(path: path, arguments, mode)) { _ in }
  }

  /// Writes the newest version to a new file; again, if another program wrote over it meanwhile.
  func copy(
    to target: String,
    key: EncryptionKey?,
    keepsHistory: Bool = true,
    verifies: Bool = false,
    title: String
  ) throws(CommandFailure) -> RealmCopy.Sizes {
    try ProgressLine.during(title, path) { (observer) throws(EngineError) in
      try RealmCopy.write(
        realm.configuration,
        to: target,
        key: key,
        keepsHistory: keepsHistory,
        verifies: verifies,
        observer: observer
      )
    }
  }
}
