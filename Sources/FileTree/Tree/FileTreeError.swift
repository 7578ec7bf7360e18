// The error of this layer. One table elsewhere maps it to an errno.

import Glibc
import RealmJSON
public import RealmPages

/// The kinds of refused changes, each with an errno of its own.
public enum Refusal: Sendable, Hashable {
  /// The text or name does not say what the class can hold: not JSON, a wrong type, a link to nothing.
  case invalid
  /// A number beyond the range of its type.
  case outOfRange
  /// The object, class or file exists already.
  case exists
  /// A string, binary or file beyond a limit.
  case tooLarge
  /// A name beyond a limit.
  case nameTooLong
  /// Something that is computed, reserved, or never changes.
  case forbidden
  /// A directory that holds something.
  case notEmpty
  /// No space, on the disk or for files in memory.
  case noSpace
  /// Another writer did not end in time.
  case busy
  /// The realm file is not where it was, or is another one now.
  case moved
  /// Another program changed it since.
  case conflict
  /// A rename from one tree into another.
  case otherTree
  /// Other programs have the realm open.
  case inUse
  /// The system does not let this process do it.
  case noAccess
  /// The disk failed.
  case inputOutput
  /// A feature that files here do not have.
  case unsupported
  /// More work than one call may be.
  case timedOut
  /// The server of a synced realm cannot be reached.
  case offline
  /// The realm takes no changes, or none of this program.
  case readOnly
}

/// Why an operation on the tree failed.
public enum FileTreeError: Error, Sendable, CustomStringConvertible {
  /// No such name.
  case notFound
  /// The inode was valid once, but its object or class is gone. A new lookup of its name tells what is there now.
  case stale
  /// A directory is needed, and this is none.
  case notADirectory
  /// A file is needed, and this is a directory.
  case isADirectory
  /// The tree shows data; it does not change it.
  case readOnly
  /// The file has no such extended attribute.
  case noSuchAttribute
  /// Attributes of this namespace do not exist here.
  case unsupportedAttribute
  /// Commits came faster than the read could be made; nothing is wrong with the file.
  case busy
  /// Bytes of the realm break the format. `place` is a path of the tree, `problem` says what was found.
  case damaged(place: String, problem: String)
  /// The realm file cannot be read any more.
  case unavailable(EngineError)
  /// A change that is not made, and why, in one line for the user.
  case refused(Refusal, String)
  /// The mount was asked to show a class that the file does not have.
  case noSuchClass(String, available: [String])

  /// What happened and where.
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

  /// The error without anything that a text said: where it was, and of which kind it is.
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

  /// Whether the system keeps this process away from the realm: by the mode of a folder, or by its encryption.
  public var isLockedOut: Bool {
    guard case .unavailable(let error) = self else { return false }
    return [.file(EACCES), .file(EPERM), .file(ENOKEY), .untrusted].contains(error.reason)
  }

  /// Whether the write of a whole text fails with this already, because many programs do not look at what closing says:
  /// it is about the text, or no server is there to take it. Other states of the realm or the system are left to close.
  var endsWrite: Bool {
    switch self {
    case .refused(.busy, _), .refused(.inUse, _), .refused(.noSpace, _), .refused(.noAccess, _),
      .refused(.inputOutput, _), .refused(.timedOut, _):
      false
    case .refused, .stale, .readOnly: true
    default: false
    }
  }

  /// Whether the realm file is encrypted, with a key that the mount does not have.
  public var needsKey: Bool {
    if case .unavailable(let error) = self { error.reason == .keyNeeded } else { false }
  }

  /// Whether the realm file is encrypted with another key than the one that the mount has.
  public var hasOtherKey: Bool {
    if case .unavailable(let error) = self { error.reason == .wrongKey } else { false }
  }

  /// A format error met at `place`.
  static func damaged(_ place: String, _ error: EngineError) -> FileTreeError {
    .damaged(place: place, problem: error.description)
  }
}

extension FileTreeError {
  /// Why the text of a file is refused. Where a link leads to nothing, the reason also says how files are saved that
  /// link to each other.
  init(_ error: JSONInputError, _ links: MissingLinks) {
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

  /// What a text that cannot be taken is to the tree.
  init(_ error: JSONInputError) {
    let refusal: Refusal
    switch error.kind {
    case .outOfRange: refusal = .outOfRange
    case .overLimit: refusal = .tooLarge
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
  /// What a refused change or a failed commit is to the tree.
  init(_ error: EngineError) {
    let refusal: Refusal
    switch error.reason {
    case .damaged, .notARealm, .unreached:
      self = .damaged(place: "the realm", problem: error.description)
      return
    case .file(ENOSPC), .file(EDQUOT): refusal = .noSpace
    case .file(EFBIG), .overLimit: refusal = .tooLarge
    case .file(EACCES), .file(EPERM), .file(EROFS), .file(ENOKEY), .untrusted: refusal = .noAccess
    case .file, .poisoned, .halfDone, .keyNeeded, .wrongKey, .notEncrypted, .unsupportedFormat, .contradictory,
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
