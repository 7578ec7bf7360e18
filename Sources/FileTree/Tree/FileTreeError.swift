// The error of this layer. `ErrnoTable` maps it to an errno.

import Glibc
import RealmJSON
public import RealmPages

/// The kinds of refused changes, each with its own errno.
public enum Refusal: Sendable, Hashable {
  /// The text or name is not valid for the class: not JSON, a wrong type, a link to a missing object.
  case invalid
  /// A number beyond the range of its type.
  case outOfRange
  /// The object, class or file already exists.
  case exists
  /// A string, binary value or file exceeds a limit.
  case tooLarge
  /// A name exceeds a limit.
  case nameTooLong
  /// The target is computed, reserved or immutable.
  case forbidden
  /// The directory is not empty.
  case notEmpty
  /// No space on the disk or for files in memory.
  case noSpace
  /// Other programs prevent the change for now, such as a writer that did not finish in time.
  case busy
  /// The realm file was moved or replaced.
  case moved
  /// Another program has changed the data in the meantime.
  case conflict
  /// The rename is from one tree into another.
  case otherTree
  /// Other programs have the realm open.
  case inUse
  /// The system denies access to this process.
  case noAccess
  /// The realm file cannot be read or written, as after a disk error or with a wrong key.
  case inputOutput
  /// The file does not support the operation.
  case unsupported
  /// The operation takes too long.
  case timedOut
  /// The server of a synced realm cannot be reached.
  case offline
  /// The realm accepts no changes, or none from this program.
  case readOnly
}

/// The reason why an operation on the tree failed.
public enum FileTreeError: Error, Sendable, CustomStringConvertible {
  /// The name does not exist.
  case notFound
  /// The inode was valid once, but its object or class was deleted. A new lookup of its name shows the current state.
  case stale
  /// A directory is needed, but this is not one.
  case notADirectory
  /// A file is needed, but this is a directory.
  case isADirectory
  /// The tree is read-only.
  case readOnly
  /// The file has no such extended attribute.
  case noSuchAttribute
  /// The namespace of the attribute is not supported.
  case unsupportedAttribute
  /// Commits arrived faster than the read could finish; the file is not damaged.
  case busy
  /// Bytes of the realm violate the format. `place` is a path in the tree, `problem` describes the damage.
  case damaged(place: String, problem: String)
  /// The realm file can no longer be read.
  case unavailable(EngineError)
  /// A refused change with the reason, in one line for the user.
  case refused(Refusal, String)
  /// The options name a class that does not exist in the file.
  case noSuchClass(String, available: [String])

  /// The problem and its place.
  public var description: String {
    switch self {
    case .notFound: "no such file or directory"
    case .stale: "the object or class no longer exists"
    case .notADirectory: "not a directory"
    case .isADirectory: "is a directory"
    case .readOnly: "the tree is read-only"
    case .noSuchAttribute: "no such extended attribute"
    case .unsupportedAttribute: "only extended attributes of namespace user exist here"
    case .busy: "other programs commit faster than this could be read; try again"
    case .damaged(let place, let problem): "\(place): \(problem); `realmfs check` shows how much is damaged"
    case .unavailable(let error): error.description
    case .refused(_, let reason): reason
    case .noSuchClass(let name, let available):
      "no class \(name) in this realm; \(KnownNames(available).hint(for: name))"
    }
  }

  /// The error without values from the text: only its position and kind.
  var withoutValues: String {
    guard case .refused(let refusal, let reason) = self else { return description }
    let problem: String
    switch refusal {
    case .invalid, .exists, .forbidden, .conflict: problem = "the text was refused"
    case .outOfRange: problem = "a value is out of range"
    case .tooLarge, .nameTooLong: problem = "a value or name is too long"
    case .notEmpty, .noSpace, .busy, .moved, .otherTree, .inUse, .noAccess, .inputOutput, .unsupported, .timedOut,
      .offline, .readOnly:
      return reason
    }
    let words = reason.split(separator: " ", maxSplits: 4, omittingEmptySubsequences: false)
    let isPlaced = words.count > 4 && words[0] == "line" && words[2] == "column"
    let numbers = isPlaced ? [words[1].filter(\.isNumber), words[3].filter(\.isNumber)] : []
    let place = isPlaced ? "line \(numbers[0]), column \(numbers[1]): " : ""
    return place + problem + "; the user who wrote it can read the whole reason"
  }

  /// True if this process has no access to the realm: because of the mode or encryption of a directory, or because the
  /// file belongs to an untrusted user.
  public var isLockedOut: Bool {
    guard case .unavailable(let error) = self else { return false }
    return [.file(EACCES), .file(EPERM), .file(ENOKEY), .untrusted].contains(error.reason)
  }

  /// True if writing a complete text already fails with this error, because many programs ignore errors from `close`.
  /// These are errors of the text, or an unreachable server. Other states of the realm or the system are reported by
  /// `close`.
  var endsWrite: Bool {
    switch self {
    case .refused(.busy, _), .refused(.inUse, _), .refused(.noSpace, _), .refused(.noAccess, _),
      .refused(.inputOutput, _), .refused(.timedOut, _):
      false
    case .refused, .stale, .readOnly: true
    default: false
    }
  }

  /// True if the realm file is encrypted and the mount has no key.
  public var needsKey: Bool {
    if case .unavailable(let error) = self { error.reason == .keyNeeded } else { false }
  }

  /// True if the realm file is encrypted with a key other than the mount's.
  public var hasOtherKey: Bool {
    if case .unavailable(let error) = self { error.reason == .wrongKey } else { false }
  }

  /// A format error found at `place`.
  static func damaged(_ place: String, _ error: EngineError) -> FileTreeError {
    .damaged(place: place, problem: error.description)
  }
}

extension FileTreeError {
  /// The error for a refused text. If a link has no target, the reason also explains how to save files that link to
  /// each other.
  init(_ error: InputError, _ links: MissingLinks) {
    guard case .linkTargetMissing = error.kind, links == .refuse else {
      self.init(error)
      return
    }
    self = .refused(
      .invalid,
      error.description
        + "; for files that link to each other use 'realmfs tx MOUNTPOINT -- tar xf FILE' or 'realmfs import FILE DIR'"
    )
  }

  /// The error for a text that cannot be applied.
  init(_ error: InputError) {
    let refusal: Refusal
    switch error.kind {
    case .outOfRange: refusal = .outOfRange
    case .overLimit: refusal = .tooLarge
    case .duplicate: refusal = .exists
    case .missingObject:
      self = .stale
      return
    case .engine(let error):
      self.init(error)
      return
    default: refusal = .invalid
    }
    self = .refused(refusal, error.description)
  }
}

extension FileTreeError {
  /// The error for a refused change or a failed commit.
  init(_ error: EngineError) {
    let refusal: Refusal
    switch error.reason {
    case .damaged, .notARealm, .unreached:
      self = .damaged(place: "the realm", problem: error.description)
      return
    case .file(ENOSPC), .file(EDQUOT): refusal = .noSpace
    case .file(EFBIG), .overLimit: refusal = .tooLarge
    case .file(EACCES), .file(EPERM), .file(EROFS), .file(ENOKEY), .untrusted: refusal = .noAccess
    case .file, .poisoned, .incompleteChange, .keyNeeded, .wrongKey, .notEncrypted, .unsupportedFormat, .contradictory,
      .cancelled:
      refusal = .inputOutput
    case .notFound, .wrongType, .badSchema, .needsMigration, .oldSchema, .migrationFailed: refusal = .invalid
    case .moved: refusal = .moved
    case .offline: refusal = .offline
    case .readOnly: refusal = .readOnly
    case .unacknowledged: refusal = .timedOut
    case .duplicateKey: refusal = .exists
    case .forbidden, .refusedByServer: refusal = .forbidden
    case .inUse, .busy, .tooManyVersions: refusal = .busy
    case .notApplicable: refusal = .unsupported
    }
    self = .refused(refusal, error.description)
  }
}
