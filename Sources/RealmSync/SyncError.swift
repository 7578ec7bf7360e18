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
  public init(_ reason: Reason, _ description: String) {
    (self.reason, self.description, cause) = (reason, description, nil)
  }

  /// Converts an error of the engine about the mirror.
  init(_ error: EngineError) {
    reason = if case .file(let code) = error.reason { .file(code) } else { .file(nil) }
    (description, cause) = (error.description, error)
  }

  /// True if a new connection may succeed later.
  var isTransient: Bool { reason == .offline || reason == .timeout }
}
