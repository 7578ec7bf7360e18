// The public view of a session: its state, its progress and its last error.

/// The state and progress of a session. Source of the numbers: docs/format/7-sync.md 7.12.
public struct SyncStatus: Hashable, Sendable {
  /// The state of a session.
  public enum State: String, Sendable {
    /// About to connect.
    case connecting
    /// Downloading what existed when the connection was made.
    case downloading
    /// Everything was downloaded; new changes arrive as they are made.
    case live
    /// No connection; the session tries again later.
    case offline
    /// No connection, because the program has suspended it.
    case suspended
    /// Ended with an error that does not resolve itself.
    case failed
    /// Stopped.
    case stopped
  }

  /// The state of the session.
  public var state = State.connecting
  /// The protocol version, if connected.
  public var protocolVersion: Int?
  /// The bytes of changesets that were received and applied since the session began, including those of a message that
  /// is being applied.
  public var downloaded: Int64 = 0
  /// The bytes still to come, as reported by the server.
  public var bytesLeft: Int64 = 0
  /// True if received changes are being applied to the mirror.
  public var isApplying = false
  /// The bytes being sent to the server.
  public var uploading: Int64 = 0
  /// The number of changes that the server has accepted since the session began.
  public var uploads = 0
  /// The version of the server's history that the mirror contains.
  public var version: Int64 = 0
  /// True if the mirror has ever contained everything that existed when a download began.
  public var isComplete = false
  /// The last round-trip time to the server, in milliseconds.
  public var latency: Int64?
  /// The last error; nil once it is resolved.
  public var error: String?
  /// The number of seconds until the next attempt, while offline.
  public var nextAttempt: Int64?
  /// True if changes can be sent: the server is connected and has acknowledged everything sent before.
  public var canUpload = false
  /// The number of the last MARK that the server returned.
  package var mark: Int64 = 0
  /// The number of connections made.
  public var connections = 0

  /// Adds applied bytes to the progress; a negative number reverts it.
  mutating func advance(by bytes: Int64) {
    downloaded += bytes
    bytesLeft = max(0, bytesLeft - bytes)
  }
}
