// Why a realm does not open.

/// Why a realm does not open. `description` says what, where and what to do.
public struct OpenError: Error, Sendable, CustomStringConvertible {
  /// The kinds that a program decides on; each has an exit code of the command.
  public enum Reason: Sendable, Hashable {
    /// The file is missing or cannot be read; the errno of the call.
    case unreadable(Int32)
    /// Not a Realm file.
    case notARealm
    /// A Realm file whose header or top array is damaged, or that is cut short.
    case damaged
    /// Encrypted (or not a realm at all), and no key was given.
    case keyNeeded
    /// Encrypted with another key.
    case wrongKey
    /// A key was given, but the file is not encrypted.
    case notEncrypted
    /// A format that this version does not read.
    case unsupportedFormat(Int)
    /// The file is not at its path any more, or holds something else there: it was moved, replaced, removed or
    /// overwritten.
    case moved
    /// Other programs have it open in a way that excludes us, or we cannot understand what they share.
    case inUse
    /// Root would share memory with programs of another user. See `Configuration.trustsOwner`.
    case untrusted
    /// The configuration asks for what cannot be together.
    case contradictory
  }

  /// What a program decides on.
  public let reason: Reason
  /// What happened, where, and what to do.
  public let description: String
  /// Whether the state on disk is unknown.
  let isFailedSync: Bool
  /// Where a realm is that can be read, but not together with the programs that have it open; nil for other errors.
  let apart: Standing.Place?

  init(_ reason: Reason, _ description: String, isFailedSync: Bool = false, apart: Standing.Place? = nil) {
    self.reason = reason
    self.description = description
    self.isFailedSync = isFailedSync
    self.apart = apart
  }

  /// A failed system call.
  init(_ error: FileError) {
    self.init(.unreadable(error.code), error.description, isFailedSync: error.isFailedSync)
  }

  /// A file that programs use with a lock file that is not beside this path.
  init(underOtherName path: String) {
    self.init(
      .inUse,
      "\(path): in use under another name (a link, or the name that it had before): close it there, or use that name",
      apart: .otherName
    )
  }

  /// An encrypted file whose first page does not verify.
  init(encryptedFileIsDamaged: Bool, path: String) {
    if encryptedFileIsDamaged {
      self.init(.damaged, "\(path): the first page fails its HMAC check, others pass it: the file is damaged")
    } else {
      self.init(
        .wrongKey,
        "\(path): wrong encryption key, or not an encrypted Realm file: no page passes its HMAC check"
      )
    }
  }
}
