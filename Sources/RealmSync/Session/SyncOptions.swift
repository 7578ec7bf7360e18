// The options of a sync session.

/// The settings of a client other than the address.
public struct SyncOptions: Sendable {
  /// Returns the token, once per connection. An error that it throws ends the attempt.
  public var token: @Sendable () throws(SyncError) -> String
  /// A file of trusted certificates in PEM form, instead of the system's.
  public var authorities: String?
  /// The timeout of one attempt to connect.
  public var connectTimeout = Duration.seconds(30)
  /// The maximum time for a change to reach the server and return. If it is nil, the mirror cannot be written.
  public var uploadTimeout: Duration?
  /// True if a session that has downloaded everything waits while the disk is full, instead of ending: for a mirror
  /// that is followed for a long time.
  public var waitsForSpace = false
  /// True if the mirror is replaced by a fresh download when the server no longer knows the client.
  var mayReplace = true
  /// The protocol versions to offer, in order of preference.
  package var versions = Array((2...14).reversed())
  /// The first delay before reconnecting; each further delay is twice as long, up to five minutes.
  package var firstWait = Duration.seconds(1)

  /// Creates options with a token; the open-source server does not check it.
  public init(token: @escaping @Sendable () throws(SyncError) -> String = { () throws(SyncError) in "" }) {
    self.token = token
  }
}
