// The error of sync: of addresses, connections, servers and mirrors.

package import RealmPages

/// Why something could not be synced. `description` says what, where and what to do.
public struct SyncError: Error, Sendable, CustomStringConvertible {
  /// The kinds that a program decides on.
  public enum Reason: Sendable, Hashable {
    /// The address or an option cannot be meant.
    case configuration
    /// The server cannot be reached, or the connection ended: trying again later may help.
    case offline
    /// The certificate of the server is not to be trusted, or another host's.
    case certificate
    /// The server wants another token.
    case token
    /// Not a server of this kind, or a service that only its vendor's clients can use.
    case unsupported
    /// The server does not know the identity or the progress of this client any more.
    case reset
    /// The server refused a change.
    case refused
    /// The server sent what the protocol does not allow, or what does not fit the mirror.
    case protocolBroken
    /// The mirror: another program's, another realm's, or changed by another program.
    case mirror
    /// The mirror could not be read or written; the errno where the system gave one.
    case file(Int32?)
    /// It took too long.
    case timeout
    /// The caller wanted no more.
    case cancelled
  }

  /// What a program decides on.
  public let reason: Reason
  /// What happened, where, what to do.
  public let description: String

  /// The engine's error where that is the reason.
  package let cause: EngineError?

  /// An error with its words.
  public init(_ reason: Reason, _ description: String) {
    (self.reason, self.description, cause) = (reason, description, nil)
  }

  /// An error of the engine, on the mirror.
  init(_ error: EngineError) {
    reason = if case .file(let code) = error.reason { .file(code) } else { .file(nil) }
    (description, cause) = (error.description, error)
  }

  /// Whether waiting and connecting anew can help.
  var isTransient: Bool { reason == .offline || reason == .timeout }
}
