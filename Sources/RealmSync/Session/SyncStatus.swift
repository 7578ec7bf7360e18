// What others see of a session: its state, its progress, its last error.

/// The state and progress of a session. Source of the numbers: docs/format/7-sync.md 7.12.
public struct SyncStatus: Hashable, Sendable {
  /// What a session does.
  public enum State: String, Sendable {
    /// It is about to connect.
    case connecting
    /// It downloads what was there when it connected.
    case downloading
    /// Everything that was there is here; changes come as they are made.
    case live
    /// No connection; it tries again later.
    case offline
    /// No connection, because the program wants none.
    case suspended
    /// It has ended with an error that waiting does not mend.
    case failed
    /// It was stopped.
    case stopped
  }

  /// What it does.
  public var state = State.connecting
  /// The version of the protocol, when connected.
  public var protocolVersion: Int?
  /// The bytes of changesets that arrived and were applied since the session began, those of a message that is being
  /// applied included.
  public var downloaded: Int64 = 0
  /// The bytes that are still to come, as far as the server has said.
  public var bytesLeft: Int64 = 0
  /// Whether changes that have arrived are being made in the mirror.
  public var isApplying = false
  /// Bytes on their way to the server.
  public var uploading: Int64 = 0
  /// The changes that the server has taken since the session began.
  public var uploads = 0
  /// The version of the server's history that the mirror holds.
  public var version: Int64 = 0
  /// Whether the mirror has, or had, everything that was there when a download began.
  public var isComplete = false
  /// The last round trip to the server in milliseconds.
  public var latency: Int64?
  /// The last error, while it matters.
  public var error: String?
  /// When the next attempt is made: seconds from now, while offline.
  public var nextAttempt: Int64?
  /// Whether changes can be sent: the server is there, and has everything that was sent before.
  public var canUpload = false
  /// The number of the last MARK that came back.
  package var mark: Int64 = 0
  /// How often a connection was made.
  public var connections = 0

  /// Notes so many bytes more that were applied; fewer, if they were taken back.
  mutating func advance(by bytes: Int64) {
    downloaded += bytes
    bytesLeft = max(0, bytesLeft - bytes)
  }
}
