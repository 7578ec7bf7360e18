// `realmfs encrypt`, `decrypt` and `rekey`: rewrite a file with another key and the same content.
import RealmPages

/// The commands that change how a file is encrypted.
enum RewriteCommand {
  static func encrypt(_ arguments: Arguments) throws -> ExitCode {
    let key = try key(arguments, isNew: false, "encrypt needs a key for the file")
    do { return try run(arguments, from: nil, to: key, "encrypting") } catch {
      let error = CommandFailure(error)
      guard error.code == .keyNeeded else { throw error }
      let path = arguments.operands[0]
      // Any error here means that this key does not open the file.
      let isSame = (try? RealmSource(Configuration(path: path, encryptionKey: key, mode: .immutable))) != nil
      throw CommandFailure(
        .failure,
        isSame
          ? "\(path) is already encrypted, with this key"
          : "\(path) looks already encrypted: 'realmfs rekey' changes its key"
      )
    }
  }

  static func decrypt(_ arguments: Arguments) throws -> ExitCode {
    let key = try key(arguments, isNew: false, "decrypt needs the key of the file")
    do { return try run(arguments, from: key, to: nil, "decrypting") } catch {
      let error = CommandFailure(error), path = arguments.operands[0]
      // Any error here means that the file cannot be read without a key.
      guard error.code == .wrongKey, (try? RealmSource(Configuration(path: path, mode: .immutable))) != nil else {
        throw error
      }
      throw CommandFailure(error.code, "\(path) is not encrypted")
    }
  }

  static func rekey(_ arguments: Arguments) throws -> ExitCode {
    let old = try key(arguments, isNew: false, "rekey needs the current key of the file")
    let new = try key(arguments, isNew: true, "rekey needs the new key of the file")
    return try run(arguments, from: old, to: new, "encrypting")
  }

  private static func key(
    _ arguments: Arguments,
    isNew: Bool,
    _ complaint: String
  ) throws -> EncryptionKey {
    guard let source = try KeySource(arguments, isNew: isNew) else {
      throw CommandFailure(.keyNeeded, "\(complaint), for example --\(isNew ? "new-" : "")key-file KEYFILE")
    }
    return try source.read(verbose: arguments.has(.verbose))
  }

  private static func run(
    _ arguments: Arguments,
    from old: EncryptionKey?,
    to new: EncryptionKey?,
    _ title: String
  ) throws -> ExitCode {
    let path = arguments.operands[0]
    var configuration = Configuration(path: path, encryptionKey: old)
    configuration.opensUnreachedAsEmpty = arguments.has(.asEmpty)
    if arguments.operands.count > 1 {
      let target = arguments.operands[1]
      configuration.mode = .immutable
      let source = try RealmSource(configuration)
      let sizes = try source.copy(to: target, key: new, verifies: !arguments.has(.noVerify), title: title)
      try CopyReport(path: target, sizes: sizes, isNew: true).print(arguments)
      return .done
    }
    let sizes = try ProgressLine.during(title, configuration.path) { (observer) throws(EngineError) in
      try RealmCopy.rewrite(configuration, key: new, verifies: !arguments.has(.noVerify), observer: observer)
    }
    if let sizes { try CopyReport(path: path, sizes: sizes, isNew: false).print(arguments) }
    return .done
  }
}
