// Why a realm does not open, or a change is refused.

public import Foundation
import RealmPages
import RealmSync

extension Realm {
  /// Why a realm does not open, or a change is refused.
  public struct Error: Swift.Error, Sendable, CustomStringConvertible {
    /// The kinds that a program decides on.
    public enum Code: Sendable, Hashable {
      /// Something that has no kind of its own; see the description.
      case fail
      /// The file cannot be read or written.
      case fileAccess
      /// The system refused what was asked of the file.
      case fileOperationFailed
      /// The permissions of the file do not allow it.
      case filePermissionDenied
      /// There is a file where none may be.
      case fileExists
      /// There is no file.
      case fileNotFound
      /// Another program has the file open in a way that excludes this one.
      case incompatibleLockFile
      /// The file has an older format.
      case fileFormatUpgradeRequired
      /// The path leads into a file or has too many links.
      case invalidDatabase
      /// The realm has another schema, and the schema version is the same.
      case schemaMismatch
      /// The realm is open in this process with another configuration.
      case alreadyOpen
      /// The file has sync history or an older format, so that it is only read.
      case unsupportedFileFormatVersion
      /// The configuration asks for what cannot be together, or for what is not there.
      case invalidInput
      /// The sync server is not there: nothing was changed.
      case offline
      /// The sync server has not answered in time. A change may be with it, and is sent again, once, when it answers.
      case timedOut
      /// The sync server refused a change: nothing was changed.
      case refusedByServer
      /// The realm cannot be synced: the certificate, the token, or what the server says.
      case syncFailed
    }

    /// What a program decides on.
    public let code: Code
    /// What happened, where, and what to do.
    public let description: String
    /// The file that was to be opened; nil for other errors.
    public internal(set) var fileURL: URL?

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    /// An error of a kind, as programs that test themselves make them.
    public init(_ code: Code) { self.init(code, "\(code)") }

    /// The same as `description`.
    public var localizedDescription: String { description }
  }
}

extension Realm.Error: Equatable {
  /// Whether both are of a kind.
  public static func == (a: Realm.Error, b: Realm.Error) -> Bool { a.code == b.code }
}

extension Realm.Error {
  /// The kind as a pattern: `catch Realm.Error.fileNotFound`.
  public static var fail: Code { .fail }
  /// The kind as a pattern.
  public static var fileAccess: Code { .fileAccess }
  /// The kind as a pattern.
  public static var fileOperationFailed: Code { .fileOperationFailed }
  /// The kind as a pattern.
  public static var filePermissionDenied: Code { .filePermissionDenied }
  /// The kind as a pattern.
  public static var fileExists: Code { .fileExists }
  /// The kind as a pattern.
  public static var fileNotFound: Code { .fileNotFound }
  /// The kind as a pattern.
  public static var incompatibleLockFile: Code { .incompatibleLockFile }
  /// The kind as a pattern.
  public static var fileFormatUpgradeRequired: Code { .fileFormatUpgradeRequired }
  /// The kind as a pattern.
  public static var invalidDatabase: Code { .invalidDatabase }
  /// The kind as a pattern.
  public static var schemaMismatch: Code { .schemaMismatch }
  /// The kind as a pattern.
  public static var alreadyOpen: Code { .alreadyOpen }
  /// The kind as a pattern.
  public static var unsupportedFileFormatVersion: Code { .unsupportedFileFormatVersion }
  /// The kind as a pattern.
  public static var offline: Code { .offline }
  /// The kind as a pattern.
  public static var timedOut: Code { .timedOut }
  /// The kind as a pattern.
  public static var refusedByServer: Code { .refusedByServer }
  /// The kind as a pattern.
  public static var syncFailed: Code { .syncFailed }
}

/// Whether an error is of a kind, as in `catch Realm.Error.fileNotFound`.
public func ~= (code: Realm.Error.Code, error: any Error) -> Bool { (error as? Realm.Error)?.code == code }

extension Realm.Error {
  init(_ error: EngineError) {
    let code: Code =
      switch error.reason {
      case .file(let errno): Self.code(of: errno)
      case .damaged, .notARealm, .unreached, .keyNeeded, .wrongKey, .notEncrypted: .invalidDatabase
      case .unsupportedFormat, .readOnly: .unsupportedFileFormatVersion
      case .inUse: .incompatibleLockFile
      case .moved, .untrusted: .fileAccess
      case .contradictory: .invalidInput
      case .offline: .offline
      case .unacknowledged: .timedOut
      case .refusedByServer: .refusedByServer
      case .needsMigration, .oldSchema, .badSchema: .schemaMismatch
      default: .fail
      }
    self.init(code, error.description)
  }

  static func code(of errno: Int32) -> Code {
    // ENOENT, EPERM, EACCES, EROFS, EEXIST
    switch errno {
    case 2: .fileNotFound
    case 1, 13, 30: .filePermissionDenied
    case 17: .fileExists
    default: .fileOperationFailed
    }
  }

  /// Runs what the engine does; its errors become those of this library.
  static func translating<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as EngineError {
      throw Realm.Error(error)
    } catch let error as SyncError { throw Realm.Error(error) }
  }
}
