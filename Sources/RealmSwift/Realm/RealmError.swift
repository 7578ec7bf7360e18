// Why a realm does not open, or a change is refused.

import RealmPages

extension Realm {
  /// Why a realm does not open, or a change is refused.
  public struct Error: Swift.Error, Sendable, CustomStringConvertible {
    /// The kinds that a program decides on.
    public enum Code: Sendable, Hashable {
      /// Something that has no kind of its own; see the description.
      case fail
      /// The file cannot be read or written.
      case fileAccess
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
    }

    /// What a program decides on.
    public let code: Code
    /// What happened, where, and what to do.
    public let description: String

    init(_ code: Code, _ description: String) { (self.code, self.description) = (code, description) }

    /// The same as `description`.
    public var localizedDescription: String { description }
  }
}

extension Realm.Error {
  init(_ error: EngineError) {
    let code: Code =
      switch error.reason {
      case .file(let errno): Self.code(of: errno)
      case .damaged, .notARealm, .keyNeeded, .wrongKey, .notEncrypted: .invalidDatabase
      case .unsupportedFormat, .readOnly: .unsupportedFileFormatVersion
      case .inUse: .incompatibleLockFile
      case .moved, .untrusted: .fileAccess
      case .contradictory: .invalidInput
      case .needsMigration, .oldSchema, .badSchema: .schemaMismatch
      default: .fail
      }
    self.init(code, error.description)
  }

  private static func code(of errno: Int32) -> Code {
    // ENOENT, EPERM, EACCES, EROFS, EEXIST
    switch errno {
    case 2: .fileNotFound
    case 1, 13, 30: .filePermissionDenied
    case 17: .fileExists
    default: .fileAccess
    }
  }

  /// Runs what the engine does; its errors become those of this library.
  static func translating<R>(_ body: () throws -> R) throws -> R {
    do { return try body() } catch let error as EngineError { throw Realm.Error(error) }
  }
}
