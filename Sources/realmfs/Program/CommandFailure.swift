// The one error type of commands: an exit code and a message for the user. Lower-level errors are converted to it here.
import FileTree
import FuseBridge
import Glibc
import RealmJSON
import RealmPages
import RealmSync
import RealmTransfer

/// An error that ends a command.
///
/// The message states what happened, where, and what to do.
struct CommandFailure: Error {
  let code: ExitCode
  let message: String
  /// Additional lines after the message.
  let more: [String]
  /// True if the message lists the processes that have the realm open.
  private(set) var namesHolders = false
  /// True if a directory was given instead of a realm file.
  private(set) var isOfDirectory = false

  init(_ code: ExitCode, _ message: String, more: [String] = []) {
    self.code = code
    self.message = message
    self.more = more
  }

  /// Returns this failure with another message.
  func saying(_ message: String) -> CommandFailure {
    var failure = CommandFailure(code, message, more: more)
    failure.namesHolders = namesHolders
    return failure
  }

  /// Converts an error of any layer; no other code chooses its exit code. `path` is the realm's path, which is used if
  /// the error does not contain the path of its file.
  init(_ error: any Error, path: String? = nil) {
    let message = path.map { "\($0): \(error)" } ?? "\(error)"
    switch error {
    case let failure as CommandFailure: self = failure
    case let error as EngineError: self.init(engine: error, path: path)
    case let error as FileTreeError:
      switch error {
      case .unavailable(let cause): self.init(engine: cause, path: nil)
      case .damaged: self.init(.damaged, message)
      case .busy: self.init(.inUse, message)
      default: self.init(.unreadable, message)
      }
    case let error as TransferError:
      switch error {
      case .damaged: self.init(.damaged, message)
      case .missingClass, .missingObject: self.init(.unreadable, message)
      case .file, .unsuitable: self.init(.failure, error.description)
      case .busy: self.init(.inUse, message)
      }
    case is RenderError: self.init(.damaged, message)
    case let error as SyncError: self.init(sync: error)
    case let error as FuseError: self.init(ExitCode(error), error.description)
    default: self.init(.failure, message)
    }
  }

  private init(engine error: EngineError, path: String?) {
    var located = path.map { error.at($0).description + Self.rights(error.code, $0) } ?? error.description
    if error.reason == .unreached { located += "; \(Self.remedyForUnreached)" }
    self.init(ExitCode(error.reason), located)
    isOfDirectory = error.code == EISDIR
  }

  /// Like `init(_:path:)`, but for an operation that rewrites the file at `path`, which no other program may have open.
  init(_ error: EngineError, rewriting path: String) {
    if error.reason == .inUse { self.init(inUse: path, error.description) } else { self.init(error, path: path) }
  }

  /// Advice for a file that only appears empty.
  private static let remedyForUnreached =
    "'realmfs recover' saves what is left to a new file; --as-empty opens it as an empty realm and overwrites the rest"

  /// Returns a clause about missing write permission if that is why changing a readable realm failed; otherwise "".
  private static func rights(_ code: Int32?, _ path: String) -> String {
    guard let code, [EACCES, EPERM, EROFS].contains(code), unsafe access(path, R_OK) == 0 else { return "" }
    if unsafe access(path, W_OK) != 0 { return "; you may read the file, but not write to it" }
    return unsafe access(System.folder(of: path), W_OK) != 0
      ? "; changes need permission to create files in its folder" : ""
  }

  /// Creates the failure of an operation that needs exclusive access to the realm. `reason` is the message if no
  /// process is found that has the realm open.
  init(inUse path: String, _ reason: String) {
    let names = LockHolders.names(of: LockHolders.ofRealm(at: path)).joined(separator: ", ")
    self.init(.inUse, names.isEmpty ? reason : "\(path) is in use by \(names); it must be closed there first")
    namesHolders = !names.isEmpty
  }

  /// Returns this failure with an explanation of the directory that was given as one of the files.
  func explaining(_ paths: [String]) -> CommandFailure {
    guard isOfDirectory, let path = paths.first(where: { System.isDirectory($0) }) else { return self }
    if let mount = MountTable.entry(at: System.realMountPoint(path)), mount.isOurs {
      let text = "\(path): a mount of \(mount.source); name the file itself: \(mount.source)"
      return saying(text)
    }
    return saying("\(path): a directory; name a Realm file")
  }

  /// Returns this failure with the processes that have one of the realms open, if it reports that a realm is in use.
  func naming(holdersOf paths: [String]) -> CommandFailure {
    guard code == .inUse, !namesHolders, !message.isEmpty else { return self }
    let others = paths.flatMap { LockHolders.ofRealm(at: System.absolute($0)) }.filter { $0.processID != getpid() }
    let names = LockHolders.names(of: others).joined(separator: ", ")
    return names.isEmpty ? self : saying("\(message) (in use by \(names))")
  }

  /// Returns the failure for a mistake in the command line, which refers to the help of the command.
  static func usage(_ message: String, command: CommandName?) -> CommandFailure {
    let help = command.map { "realmfs \($0.rawValue) --help" } ?? "realmfs --help"
    return CommandFailure(.usage, "\(message)\(message.hasSuffix("?") ? " See" : "; see") '\(help)'")
  }
}

/// Runs `body`. An error becomes a `CommandFailure` whose message contains the path of the realm.
func located<R: ~Copyable>(_ path: String, _ body: () throws -> R) throws -> R {
  do { return try body() } catch { throw CommandFailure(error, path: path) }
}

extension ExitCode {
  /// Creates the code for a failed mount.
  init(_ error: FuseError) {
    self =
      switch error {
      case .mountPoint: .mountPoint
      case .refused: .fuse
      case .badOption: .usage
      }
  }

  /// Creates the code for a failed system call: `failure` for lack of space or an existing file, otherwise
  /// `unreadable`.
  init(errno code: Int32) {
    self = [ENOSPC, EDQUOT, EFBIG, EEXIST].contains(code) ? .failure : .unreadable
  }

  /// Creates the code for an engine error.
  init(_ reason: EngineError.Reason) {
    self =
      switch reason {
      case .file(let code): ExitCode(errno: code)
      case .moved: .unreadable
      case .damaged, .notARealm, .unreached: .damaged
      case .keyNeeded: .keyNeeded
      case .wrongKey, .notEncrypted: .wrongKey
      case .unsupportedFormat: .upgradeNeeded
      case .contradictory: .usage
      case .inUse, .busy, .tooManyVersions: .inUse
      case .offline, .unacknowledged, .refusedByServer: .server
      case .untrusted, .needsMigration, .oldSchema, .migrationFailed, .readOnly, .notFound, .wrongType, .duplicateKey,
        .forbidden, .overLimit, .badSchema, .incompleteChange, .poisoned, .notApplicable, .cancelled:
        .failure
      }
  }
}
