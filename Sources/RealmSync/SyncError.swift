// The error of synchronization: of addresses, connections, servers and mirrors.

package import RealmPages

/// The reason that synchronization failed. `description` contains the problem, its location and the remedy.
public struct SyncError: Error, Sendable, CustomStringConvertible {
  /// The kinds of error that a program distinguishes.
  public enum Reason: Sendable, Hashable {
    /// The address or an option is not valid.
    case configuration
    /// The server cannot be reached, or the connection ended; a later retry may succeed.
    case offline
    /// The certificate of the server is not trusted, or belongs to another host.
    case certificate
    /// The server requires a different token.
    case token
    /// Not a server of this kind, or a service that is limited to its vendor's clients.
    case unsupported
    /// The server no longer knows the identity or the progress of this client.
    case reset
    /// The server rejected a change.
    case refused
    /// The server violated the protocol, or sent changes that do not fit the mirror.
    case protocolBroken
    /// The mirror is in use by another program, belongs to another realm, or was changed by another program.
    case mirror
    /// The mirror could not be read or written; with the errno if there is one.
    case file(Int32?)
    /// The operation timed out.
    case timeout
    /// The caller cancelled the operation.
    case cancelled
  }

  /// The kind of error, for programs.
  public let reason: Reason
  /// The problem, its location and the remedy.
  public let description: String

  /// The engine's error, if it caused this one.
  package let cause: EngineError?

  /// Creates an error.
  public init(_ reason: Reason, _ description: String) { self.init(reason, description, cause: nil) }

  private init(_ reason: Reason, _ description: String, cause: EngineError?) {
    (self.reason, self.description, self.cause) = (reason, description, cause)
  }

  /// Converts an error of the engine about the mirror.
  init(_ error: EngineError) {
    reason = if case .file(let code) = error.reason { .file(code) } else { .file(nil) }
    (description, cause) = (error.description, error)
  }

  /// The error of a changeset that does not fit the content of the realm.
  static func unfit(_ problem: String) -> SyncError { SyncError(.protocolBroken, problem) }

  /// Returns `error` with its position in the changeset. Errors of the engine that a value, a name or an
  /// object of the changeset caused become `protocolBroken`; others are returned unchanged.
  static func unfit(at place: String, _ error: any Error) -> any Error {
    switch error {
    case let error as SyncError where error.reason == .protocolBroken:
      return SyncError(.protocolBroken, "\(place): \(error.description)", cause: error.cause)
    case let error as ChangesetError: return unfit("\(place): \(error.description)")
    case let error as EngineError where Self.isCausedByContent(error):
      return SyncError(.protocolBroken, "\(place): \(error.description)", cause: error)
    default: return error
    }
  }

  private static func isCausedByContent(_ error: EngineError) -> Bool {
    switch error.reason {
    case .notFound, .wrongType, .duplicateKey, .forbidden, .overLimit, .badSchema: true
    default: false
    }
  }

  /// Converts an error of the mirror at `path`: of the engine, or of a changeset that does not fit.
  init(_ error: any Error, ofMirror path: String) {
    switch error {
    case let error as EngineError: self.init(error)
    case let error as SyncError where error.reason == .protocolBroken:
      let text = "\(path): a changeset that does not fit the realm: \(error.description)"
      self.init(.protocolBroken, text, cause: error.cause)
    case let error as SyncError: self = error
    default: self.init(.protocolBroken, "\(path): \(error)", cause: nil)
    }
  }

  /// True if a new connection may succeed later.
  var isTransient: Bool { reason == .offline || reason == .timeout }
}
