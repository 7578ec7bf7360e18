// The error of applying a changeset: it does not fit the realm, or the realm could not be written.

public import RealmPages

/// The reason that a changeset was not applied. The transaction must be rolled back.
public enum ApplyError: Error, Sendable, CustomStringConvertible {
  /// The changeset does not fit the content of the realm; the text includes the location.
  case unfit(String)
  /// The realm could not be read or written.
  case engine(EngineError)

  /// The problem and its location.
  public var description: String {
    switch self {
    case .unfit(let problem): "a changeset that does not fit the realm: \(problem)"
    case .engine(let error): error.description
    }
  }

  /// Converts an error of the engine; errors caused by a value, a name or an object of the changeset become `unfit`.
  init(_ error: EngineError) {
    switch error.reason {
    case .notFound, .wrongType, .duplicateKey, .forbidden, .overLimit, .badSchema: self = .unfit(error.description)
    default: self = .engine(error)
    }
  }
}
