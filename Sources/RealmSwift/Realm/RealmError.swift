// The errors of this library, and their translation from the engine's and the sync client's errors.

public import Foundation
import RealmPages
import RealmSync

extension Realm {
  /// An error from opening or changing a realm.
  public struct Error: Swift.Error, Sendable, CustomStringConvertible {
    /// The error codes that a program can distinguish.
    public enum Code: Sendable, Hashable {
      /// An error without a more specific code; see the description.
      case fail
      /// The file cannot be read or written.
      case fileAccess
      /// A system call on the file failed.
      case fileOperationFailed
      /// The file permissions do not allow the operation.
      case filePermissionDenied
      /// The file already exists.
      case fileExists
      /// The file does not exist.
      case fileNotFound
      /// Another program has the file open in a way that excludes this one.
      case incompatibleLockFile
      /// The file has an older format. This library reports `unsupportedFileFormatVersion` instead.
      case fileFormatUpgradeRequired
      /// The file is damaged, is not a realm, or does not match the encryption key.
      case invalidDatabase
      /// The models are invalid, or the realm's schema differs from them and cannot be changed at this schema version.
      case schemaMismatch
      /// The realm is open in this process with another configuration.
      case alreadyOpen
      /// The file has a format that is not supported, or has sync history or an older format and can only be read.
      case unsupportedFileFormatVersion
      /// The configuration is invalid: it combines options that exclude each other, or an option or argument has an
      /// invalid value.
      case invalidInput
      /// The sync server cannot be reached. Nothing was changed.
      case offline
      /// The sync server did not answer in time. It may have received the change, which is sent again, once, when it
      /// answers.
      case timedOut
      /// The sync server refused the change. Nothing was changed.
      case refusedByServer
      /// The realm cannot be synced because of the certificate, the token or a response of the server.
      case syncFailed
    }

    /// The error code.
    public let code: Code
    /// A message that states what happened, where, and what to do.
    public let description: String
    /// The file that could not be opened; nil for other errors.
    public internal(set) var fileURL: URL?

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    /// Creates an error with a code, for tests.
    public init(_ code: Code) { self.init(code, "\(code)") }

    /// Equal to `description`.
    public var localizedDescription: String { description }
  }
}

extension Realm.Error: Equatable {
  /// Returns true if both errors have the same code.
  public static func == (a: Realm.Error, b: Realm.Error) -> Bool { a.code == b.code }
}

extension Realm.Error {
  /// The code as a pattern: `catch Realm.Error.fileNotFound`.
  public static var fail: Code { .fail }
  /// The code as a pattern.
  public static var fileAccess: Code { .fileAccess }
  /// The code as a pattern.
  public static var fileOperationFailed: Code { .fileOperationFailed }
  /// The code as a pattern.
  public static var filePermissionDenied: Code { .filePermissionDenied }
  /// The code as a pattern.
  public static var fileExists: Code { .fileExists }
  /// The code as a pattern.
  public static var fileNotFound: Code { .fileNotFound }
  /// The code as a pattern.
  public static var incompatibleLockFile: Code { .incompatibleLockFile }
  /// The code as a pattern.
  public static var fileFormatUpgradeRequired: Code { .fileFormatUpgradeRequired }
  /// The code as a pattern.
  public static var invalidDatabase: Code { .invalidDatabase }
  /// The code as a pattern.
  public static var schemaMismatch: Code { .schemaMismatch }
  /// The code as a pattern.
  public static var alreadyOpen: Code { .alreadyOpen }
  /// The code as a pattern.
  public static var unsupportedFileFormatVersion: Code { .unsupportedFileFormatVersion }
  /// The code as a pattern.
  public static var offline: Code { .offline }
  /// The code as a pattern.
  public static var timedOut: Code { .timedOut }
  /// The code as a pattern.
  public static var refusedByServer: Code { .refusedByServer }
  /// The code as a pattern.
  public static var syncFailed: Code { .syncFailed }
}

/// Returns true if an error has the given code, as in `catch Realm.Error.fileNotFound`.
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

  /// Runs `body` and converts the engine's and the sync client's errors to errors of this library.
  static func translating<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as EngineError {
      throw Realm.Error(error)
    } catch let error as SyncError { throw Realm.Error(error) }
  }
}
