// The one error that commands throw: an exit code and a line for the user. Errors of the layers below become one here.
import FileTree
import FuseBridge
import Glibc
import RealmPages

/// Ends a command.
///
/// The message says what happened, where, and what to do.
struct CommandFailure: Error {
  let code: ExitCode
  let message: String
  /// Lines that follow the message on a terminal.
  let more: [String]
  /// Whether the message says which processes have the realm open.
  private(set) var namesHolders = false
  /// Whether a directory was given as a realm.
  private(set) var isOfDirectory = false

  init(_ code: ExitCode, _ message: String, more: [String] = []) {
    self.code = code
    self.message = message
    self.more = more
  }

  /// The same failure with another message.
  func saying(_ message: String) -> CommandFailure {
    var failure = CommandFailure(code, message, more: more)
    failure.namesHolders = namesHolders
    return failure
  }

  init(_ error: OpenError) {
    self.init(ExitCode(error.reason), error.description)
    isOfDirectory = error.reason == .unreadable(EISDIR)
  }

  init(_ error: FormatError, reading path: String) {
    self.init(.damaged, "\(path): \(error)")
  }

  init(_ error: FileTreeError, path: String) {
    switch error {
    case .unavailable(let cause): self.init(cause)
    case .damaged: self.init(.damaged, "\(path): \(error)")
    case .busy: self.init(.inUse, "\(path): \(error)")
    default: self.init(.unreadable, "\(path): \(error)")
    }
  }

  init(_ error: TransactionError, path: String) {
    let code: ExitCode =
      switch error.reason {
      case .format: .damaged
      case .file(let code): ExitCode(errno: code)
      case .moved: .unreadable
      case .inUse, .busy, .tooManyVersions: .inUse
      case .open(let reason): ExitCode(reason)
      default: .failure
      }
    let text = error.description + Self.rights(error.reason.systemCode, path)
    self.init(code, text.hasPrefix(path) ? text : "\(path): \(text)")
  }

  /// What the user may not do with a realm that can be read, if that is why a change failed.
  private static func rights(_ code: Int32?, _ path: String) -> String {
    guard let code, [EACCES, EPERM, EROFS].contains(code), access(path, R_OK) == 0 else { return "" }
    if access(path, W_OK) != 0 { return "; you may read the file, but not write to it" }
    let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? "."
    return access(folder, W_OK) != 0 ? "; you may not make files in its folder, which changes need" : ""
  }

  init(_ error: CopyError, path: String) {
    switch error.reason {
    case .open(let reason): self.init(ExitCode(reason), error.description)
    case .damaged: self.init(.damaged, error.description)
    case .file(let code): self.init(ExitCode(errno: code), error.description + Self.rights(code, path))
    case .inUse: self.init(inUse: path, error.description)
    case .exists, .notApplicable, .cancelled: self.init(.failure, error.description)
    }
  }

  /// For what needs a realm that no other program has open. `reason` is what there is to say if no program is found.
  init(inUse path: String, _ reason: String) {
    let names = LockHolders.names(of: LockHolders.ofRealm(at: path)).joined(separator: ", ")
    self.init(.inUse, names.isEmpty ? reason : "\(path) is in use by \(names); it must be closed there first")
    namesHolders = !names.isEmpty
  }

  /// The same failure with what the directory is that was given as one of the files.
  func explaining(_ paths: [String]) -> CommandFailure {
    guard isOfDirectory, let path = paths.first(where: { System.isDirectory($0) }) else { return self }
    if let mount = MountTable.entry(at: System.realMountPoint(path)), mount.isOurs {
      let text = "\(path): a mount of \(mount.source); this command takes the file itself: \(mount.source)"
      return saying(text)
    }
    return saying("\(path): a directory; name a Realm file")
  }

  /// The same failure with the processes that have one of the realms open, if it says that one is in use.
  func naming(holdersOf paths: [String]) -> CommandFailure {
    guard code == .inUse, !namesHolders else { return self }
    let others = paths.flatMap { LockHolders.ofRealm(at: System.absolute($0)) }.filter { $0.processID != getpid() }
    let names = LockHolders.names(of: others).joined(separator: ", ")
    return names.isEmpty ? self : saying("\(message) (in use by \(names))")
  }

  init(_ error: FuseError) {
    let code: ExitCode =
      switch error {
      case .mountPoint: .mountPoint
      case .refused: .fuse
      case .badOption: .usage
      }
    self.init(code, error.description)
  }

  /// A mistake in the command line; points to the help of the command.
  static func usage(_ message: String, command: CommandName?) -> CommandFailure {
    let help = command.map { "realmfs \($0.rawValue) --help" } ?? "realmfs --help"
    return CommandFailure(.usage, "\(message)\(message.hasSuffix("?") ? " See" : "; see") '\(help)'")
  }
}

extension TransactionError.Reason {
  /// The errno of a system call that failed.
  fileprivate var systemCode: Int32? {
    switch self {
    case .file(let code), .open(.unreadable(let code)): code
    default: nil
    }
  }
}

extension ExitCode {
  /// The code for a system call that failed: what cannot be read, or what there is no room for.
  init(errno code: Int32) {
    self = [ENOSPC, EDQUOT, EFBIG].contains(code) ? .failure : .unreadable
  }

  /// The code for a realm that does not open.
  init(_ reason: OpenError.Reason) {
    self =
      switch reason {
      case .unreadable(let code): ExitCode(errno: code)
      case .moved: .unreadable
      case .notARealm, .damaged: .damaged
      case .keyNeeded: .keyNeeded
      case .wrongKey, .notEncrypted: .wrongKey
      case .unsupportedFormat: .upgradeNeeded
      case .inUse: .inUse
      case .untrusted: .failure
      case .contradictory: .usage
      }
  }
}
