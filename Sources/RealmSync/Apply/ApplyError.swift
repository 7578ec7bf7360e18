// Why a changeset could not be applied: it does not fit the realm, or the realm could not be written.

public import RealmPages

/// What stopped the application of a changeset. The transaction has to be rolled back.
public enum ApplyError: Error, Sendable, CustomStringConvertible {
  /// The changeset does not fit what the realm holds; the place is in the text.
  case unfit(String)
  /// The realm could not be read or written.
  case engine(EngineError)

  /// What happened, where.
  public var description: String {
    switch self {
    case .unfit(let problem): "a changeset that does not fit the realm: \(problem)"
    case .engine(let error): error.description
    }
  }

  /// An error of the engine: of the changeset where it refuses a value, a name or an object.
  init(_ error: EngineError) {
    switch error.reason {
    case .notFound, .wrongType, .duplicateKey, .forbidden, .overLimit, .badSchema: self = .unfit(error.description)
    default: self = .engine(error)
    }
  }
}
