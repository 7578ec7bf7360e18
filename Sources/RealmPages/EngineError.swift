// The error of the engine: of its files, of the format, of opening, changing, committing and copying realms.

import CLinux
import Glibc

/// Why the engine did not do something. `description` says what, where and what to do.
///
/// A refused change leaves the transaction as it was unless the description says otherwise; a refused commit leaves the
/// file at the former version; a copy that was not made leaves no part of a new file. Bytes from a file never trap:
/// they end here, as `damaged`.
public struct EngineError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds that a program decides on.
  public enum Reason: Sendable, Hashable {
    /// Bytes of a file break a rule of the format.
    case damaged
    /// A system call failed; its errno.
    case file(Int32)

    // Opening.

    /// Not a Realm file.
    case notARealm
    /// The header leads to no version, but the file holds nodes. See `Configuration.opensUnreachedAsEmpty`.
    case unreached
    /// Encrypted (or not a realm at all), and no key was given.
    case keyNeeded
    /// Encrypted with another key.
    case wrongKey
    /// A key was given, but the file is not encrypted.
    case notEncrypted
    /// A format that this version does not read.
    case unsupportedFormat(Int)
    /// The configuration asks for what cannot be together.
    case contradictory
    /// Root would share memory with programs of another user. See `Configuration.trustsOwner`.
    case untrusted
    /// Another program has the realm open in a way that excludes us, or shares what we cannot understand.
    case inUse
    /// The file is not at its path any more, or holds something else there: it was moved, replaced, removed or
    /// overwritten. What was to be committed is not.
    case moved
    /// A change of the schema would lose data, and there is no migration for it.
    case needsMigration
    /// The realm has a greater schema version than the one that was asked for.
    case oldSchema
    /// What the configuration does in a migration failed.
    case migrationFailed

    // Changing.

    /// The file has sync history, which only a sync client may write, or an older format.
    case readOnly
    /// No such class, property, object or position.
    case notFound
    /// A value of another type than the property's, or null where it cannot be.
    case wrongType
    /// A primary key that another object has.
    case duplicateKey
    /// Something that may not be changed: a primary key, an object of an asymmetric class.
    case forbidden
    /// A name, text or number of things beyond the limits of the format.
    case overLimit
    /// A schema that breaks a rule.
    case badSchema
    /// An earlier change of the transaction ended in the middle: it can only be rolled back.
    case halfDone

    // Committing.

    /// Another writer or process held a lock for longer than the timeout.
    case busy
    /// As many versions are in use as the configuration allows.
    case tooManyVersions
    /// The server of a synced realm cannot be reached; nothing was sent.
    case offline
    /// The server of a synced realm has not said that it has the change; it may have it.
    case unacknowledged
    /// The server of a synced realm refuses the change.
    case refusedByServer
    /// An earlier failure to write to disk: nothing can be trusted until the file is opened again.
    case poisoned

    // Copying.

    /// The realm is not of the kind that the operation is for.
    case notApplicable
    /// The observer wanted no more.
    case cancelled
  }

  /// What a program decides on.
  public let reason: Reason
  /// What happened and what to do, in words, without the place.
  public private(set) var problem: String
  /// The byte offset of the damaged node, or nil.
  public let ref: Int?
  /// Where: a path, or a table, object or property; empty when unknown.
  public internal(set) var place: String
  /// Whether it is unknown what reached the disk of all that was written before.
  private(set) var isFailedSync = false
  /// Where a realm is that can be read, but not together with the programs that have it open; nil for other errors.
  let apart: Standing.Place?

  /// An error whose description names its place itself.
  package init(_ reason: Reason, _ description: String, apart: Standing.Place? = nil) {
    (self.reason, problem, ref, place, self.apart) = (reason, description, nil, "", apart)
  }

  private init(_ reason: Reason, _ problem: String, ref: Int?, place: String) {
    (self.reason, self.problem, self.ref, self.place, apart) = (reason, problem, ref, place, nil)
  }

  /// Bytes that break a rule of the format.
  package static func damaged(_ problem: String, ref: Int? = nil, place: String = "") -> EngineError {
    EngineError(.damaged, problem, ref: ref, place: place)
  }

  /// A system call on `path` that failed with `code`; `problem` says what was found instead of what was expected, and
  /// what to do, where the system's words do not.
  package static func failed(_ call: String, _ path: String, _ code: Int32, problem: String? = nil) -> EngineError {
    var error = EngineError(.file(code), problem ?? Self.text(call, code), ref: nil, place: path)
    error.isFailedSync = call == syncCall
    return error
  }

  /// A file that could not be opened or made. In a folder that is encrypted and locked names cannot be read, so what is
  /// there seems not to be: then the error is that the key is not there.
  package init(opening path: String, _ code: Int32) {
    let isLocked = unsafe code == ENOENT && clinux_folder_is_locked(FileHandle.folder(of: path))
    self = .failed("open", path, isLocked ? ENOKEY : code)
  }

  /// The call that ends a barrier.
  package static let syncCall = "fdatasync"

  /// The call, the system's words for the errno, and a remedy where the words do not suggest one.
  private static func text(_ call: String, _ code: Int32) -> String {
    if code == EEXIST { return "the file exists: remove it first, or name another" }
    // The reason is the disk, not the call that met it.
    if code == ENOSPC || code == EDQUOT { return ErrnoText.of(code) }
    let remedy =
      switch code {
      case ENOKEY: " (ENOKEY): the folder is encrypted and locked; unlock it, for example with 'fscrypt unlock'"
      case EXDEV: " (EXDEV): the folder is on another file system, or has another encryption policy"
      case EINVAL where call == "open": " (EINVAL): not a regular file"
      default: ""
      }
    return "\(call): \(ErrnoText.of(code))\(remedy)"
  }

  /// The errno of the system call that failed, or nil.
  public var code: Int32? {
    if case .file(let code) = reason { code } else { nil }
  }

  /// The place, the node and the problem in one line.
  public var description: String {
    var text = place.isEmpty ? "" : place + ": "
    if let ref { text += "node at \(ref): " }
    return text + problem
  }

  /// The same error, met at `place`. The path of a file that a call failed on stays.
  package func at(_ place: String) -> EngineError {
    if code != nil || description.hasPrefix(place) { return self }
    var error = self
    error.place = self.place.isEmpty ? place : place + ": " + self.place
    return error
  }

  /// Runs `body`; its error is met at `place`.
  static func locating<R>(
    at place: @autoclosure () -> String,
    _ body: () throws(EngineError) -> R
  ) throws(EngineError) -> R {
    do throws(EngineError) { return try body() } catch { throw error.at(place()) }
  }
}

extension EngineError {
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

/// Receives from time to time how many bytes of about how many are done; false ends the operation with `cancelled`.
public typealias CopyObserver = (_ done: Int, _ total: Int) -> Bool
