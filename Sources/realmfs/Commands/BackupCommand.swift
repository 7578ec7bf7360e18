// `realmfs backup`: copies one committed version of a realm to a new file.
import RealmPages

/// The command `backup`.
enum BackupCommand {
  static func run(_ arguments: Arguments) throws -> ExitCode {
    let source = try RealmSource(toCopy: arguments), target = arguments.operands[1]
    let sizes = try source.copy(to: target, key: source.realm.configuration.encryptionKey, title: "copying")
    try CopyReport(path: target, sizes: sizes, isNew: true).print(arguments)
    return .done
  }
}

extension RealmSource {
  /// Opens the first operand as the source of a copy. If other programs have it open, joins their session so that they
  /// do not overwrite the version being copied. Otherwise creates no files beside it.
  init(toCopy arguments: Arguments) throws {
    let path = arguments.operands[0]
    let mode: Configuration.Mode = LockHolders.ofRealm(at: System.absolute(path)).isEmpty ? .immutable : .shared
    // Without the lock file, overwrites by other programs are detected and the copy is repeated.
    try self.init(Self.configuration(path: path, arguments, mode)) { _ in }
  }

  /// Copies the newest version to a new file. Starts over if another program overwrites that version during the copy.
  func copy(
    to target: String,
    key: EncryptionKey?,
    keepsHistory: Bool = true,
    verifies: Bool = false,
    title: String
  ) throws -> RealmCopy.Sizes {
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
