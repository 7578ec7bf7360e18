// The error of the engine: damaged files and failed system calls, and refusals to open, change, commit or copy a realm.

import CLinux
import Glibc

/// The reason why the engine refused an operation or an operation failed. `description` states what happened, where,
/// and what to do.
///
/// A refused change leaves the transaction unchanged unless the description states otherwise. A refused commit leaves
/// the file at the previous version. A failed copy leaves no partial file. Invalid bytes in a file never trap: they are
/// reported as `damaged`.
public struct EngineError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of errors that a program can distinguish.
  public enum Reason: Sendable, Hashable {
    /// Bytes of a file break a rule of the format.
    case damaged
    /// A system call failed with this errno.
    case file(Int32)

    // Opening.

    /// Not a Realm file.
    case notARealm
    /// The header leads to no version, but the file contains nodes. See `Configuration.opensUnreachedAsEmpty`.
    case unreached
    /// Encrypted (or not a realm at all), and no key was given.
    case keyNeeded
    /// Encrypted with another key.
    case wrongKey
    /// A key was given, but the file is not encrypted.
    case notEncrypted
    /// A format that this version does not read.
    case unsupportedFormat(Int)
    /// The configuration contradicts itself.
    case contradictory
    /// Root would share memory with programs of another user. See `Configuration.trustsOwner`.
    case untrusted
    /// Another program has the realm open in a way that excludes this one, or uses an incompatible form of sharing.
    case inUse
    /// The file is no longer at its path, or its content was replaced: it was moved, replaced, removed or overwritten.
    /// Pending changes were not committed.
    case moved
    /// A change of the schema would lose data, and there is no migration for it.
    case needsMigration
    /// The realm has a greater schema version than the requested one.
    case oldSchema
    /// The migration of the configuration failed.
    case migrationFailed

    // Changing.

    /// The file has sync history, which only a sync client may write, or an older format.
    case readOnly
    /// No such class, property, object or position.
    case notFound
    /// A value whose type is not that of the property, or null where it is not allowed.
    case wrongType
    /// A primary key that another object has.
    case duplicateKey
    /// A change that is not allowed, such as changing a primary key or an object of an asymmetric class.
    case forbidden
    /// A name, a value or a count beyond the limits of the format.
    case overLimit
    /// A schema that breaks a rule.
    case badSchema
    /// An earlier change of the transaction failed halfway: the transaction can only be rolled back.
    case incompleteChange

    // Committing.

    /// Another writer or process held a lock for longer than the timeout.
    case busy
    /// The number of versions in use has reached the limit of the configuration.
    case tooManyVersions
    /// The server of a synced realm cannot be reached; nothing was sent.
    case offline
    /// The server of a synced realm has not acknowledged the change; it may or may not have received it.
    case unacknowledged
    /// The server of a synced realm rejected the change.
    case refusedByServer
    /// An earlier write to disk failed: nothing can be trusted until the file is opened again.
    case poisoned

    // Copying.

    /// The operation does not apply to this kind of realm.
    case notApplicable
    /// The observer cancelled the operation.
    case cancelled
  }

  /// The kind of error.
  public let reason: Reason
  /// The message without the location: the problem, and the remedy if there is one.
  public private(set) var problem: String
  /// The byte offset of the damaged node; nil if there is none.
  public let ref: Int?
  /// The location of the error: a path, or a table, object or property; empty if unknown.
  public internal(set) var place: String
  /// True if earlier writes may or may not have reached the disk.
  private(set) var isFailedSync = false
  /// The location of a realm that can be read, but not shared with the programs that have it open; nil for other
  /// errors.
  let unsharedPlace: FileLocation.Place?

  /// Creates an error whose description includes its location.
  package init(_ reason: Reason, _ description: String, unsharedPlace: FileLocation.Place? = nil) {
    (self.reason, problem, ref, place, self.unsharedPlace) = (reason, description, nil, "", unsharedPlace)
  }

  private init(_ reason: Reason, _ problem: String, ref: Int?, place: String) {
    (self.reason, self.problem, self.ref, self.place, unsharedPlace) = (reason, problem, ref, place, nil)
  }

  /// Creates an error for bytes that break a rule of the format.
  package static func damaged(_ problem: String, ref: Int? = nil, place: String = "") -> EngineError {
    EngineError(.damaged, problem, ref: ref, place: place)
  }

  /// Creates an error for a system call on `path` that failed with `code`. `bytes` is the range of the file that the
  /// call was to read, write or allocate. `problem` replaces the system's text with what was found and what to do.
  package static func failed(
    _ call: String,
    _ path: String,
    _ code: Int32,
    bytes: Range<Int>? = nil,
    problem: String? = nil
  ) -> EngineError {
    var error = EngineError(.file(code), problem ?? Self.text(call, code, bytes), ref: nil, place: path)
    error.isFailedSync = call == syncCall
    return error
  }

  /// Creates an error for a file that could not be opened or created. In a directory that is encrypted and locked,
  /// names cannot be read and files seem to be missing; the error is then that the key is missing.
  package init(opening path: String, _ code: Int32) {
    let isLocked = unsafe code == ENOENT && clinux_folder_is_locked(FileHandle.folder(of: path))
    self = .failed("open", path, isLocked ? ENOKEY : code)
  }

  /// The call that completes a write barrier.
  package static let syncCall = "fdatasync"

  /// The call, the system's text for the errno, and a remedy if the text does not suggest one.
  private static func text(_ call: String, _ code: Int32, _ bytes: Range<Int>?) -> String {
    if code == EEXIST { return "the file exists: remove it first, or choose another name" }
    let detail = bytes.map { ", \(counted($0.count, "byte")) at \($0.lowerBound)" } ?? ""
    // The cause is the disk, not the call that failed.
    if code == ENOSPC || code == EDQUOT {
      return ErrnoText.of(code) + (detail.isEmpty ? "" : " (\(call)\(detail))")
    }
    let remedy =
      switch code {
      case ENOKEY: " (ENOKEY): the folder is encrypted and locked; unlock it, for example with 'fscrypt unlock'"
      case EXDEV: " (EXDEV): the folder is on another file system, or has another encryption policy"
      case EINVAL where call == "open": " (EINVAL): not a regular file"
      default: ""
      }
    return "\(call)\(detail): \(ErrnoText.of(code))\(remedy)"
  }

  /// The errno of the failed system call; nil for other errors.
  public var code: Int32? {
    if case .file(let code) = reason { code } else { nil }
  }

  /// The location, the node and the problem in one line.
  public var description: String {
    var text = place.isEmpty ? "" : place + ": "
    if let ref { text += "node at \(ref): " }
    return text + problem
  }

  /// Returns the error with `place` added. An error of a system call keeps its path.
  package func at(_ place: String) -> EngineError {
    if code != nil || description.hasPrefix(place) { return self }
    var error = self
    error.place = self.place.isEmpty ? place : place + ": " + self.place
    return error
  }

  /// Runs `body` and adds `place` to its error.
  static func locating<R>(
    at place: @autoclosure () -> String,
    _ body: () throws(EngineError) -> R
  ) throws(EngineError) -> R {
    do { return try body() } catch { throw error.at(place()) }
  }
}

extension EngineError {
  /// The error for a file that other programs have open, with a lock file that is not beside this path.
  init(underOtherName path: String) {
    self.init(
      .inUse,
      "\(path): in use under another name (a link, or the name that it had before): close it there, or use that name",
      unsharedPlace: .otherName
    )
  }

  /// The error for an encrypted file whose first page does not verify.
  init(encryptedFileIsDamaged: Bool, path: String) {
    if encryptedFileIsDamaged {
      self.init(
        .damaged,
        "\(path): the key is right, but the first page fails its HMAC check: it is damaged, or its entry in the table "
          + "of initialization vectors is: 'realmfs recover' saves what is left"
      )
    } else {
      self.init(
        .wrongKey,
        "\(path): wrong encryption key, or not an encrypted Realm file: no page passes its HMAC check"
      )
    }
  }
}

/// Periodically receives the number of bytes done and the approximate total. Returning false ends the operation with
/// `cancelled`.
public typealias CopyObserver = (_ done: Int, _ total: Int) -> Bool
