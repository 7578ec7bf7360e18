// How a realm is synced.

/// What a client needs besides the address.
public struct SyncOptions: Sendable {
  /// Gives the token, anew for each connection; what it throws ends the attempt.
  public var token: @Sendable () throws(SyncError) -> String
  /// A file of certificates in PEM form to be trusted instead of the system's.
  public var authorities: String?
  /// How long one attempt to connect may take.
  public var connectTimeout = Duration.seconds(30)
  /// Whether changes of the mirror's writer are sent to the server; nil: it cannot be written. How long a change may
  /// take to the server and back.
  public var uploadTimeout: Duration?
  /// Whether a full disk is waited out, once all was downloaded, instead of ending the session: for a mirror that is
  /// followed for long.
  public var waitsForSpace = false
  /// True if a server that does not know the client is downloaded from anew, beside the mirror.
  var mayReplace = true
  /// The versions of the protocol to offer, the best first.
  package var versions = Array((2...14).reversed())
  /// The first wait before connecting again; each further one is twice as long, up to five minutes.
  package var firstWait = Duration.seconds(1)

  /// Options with a token; the open server checks none.
  public init(token: @escaping @Sendable () throws(SyncError) -> String = { () throws(SyncError) in "" }) {
    self.token = token
  }
}
