// The users of sync servers. The open-source server does not manage users: an identity is part of a realm's address,
// and a token serves a proxy in front of the server.

public import Dispatch
public import Foundation

/// The credentials that a user logs in with.
public struct SyncCredentials: Sendable {
  /// The identity and the token, if no server needs to be contacted.
  fileprivate var known: (identity: String, token: String)?

  /// A user name and a password; `register` creates a new user.
  public static func usernamePassword(username: String, password: String, register: Bool = false) -> SyncCredentials {
    SyncCredentials()
  }

  /// A new anonymous user.
  public static func anonymous() -> SyncCredentials { SyncCredentials() }

  /// A token signed by another service.
  public static func jwt(_ token: String) -> SyncCredentials { SyncCredentials() }

  /// A token and the identity of its user. No server is contacted.
  public static func customRefreshToken(
    _ token: String,
    identity: String,
    isAdmin: Bool = false
  ) -> SyncCredentials { SyncCredentials(known: (identity, token)) }
}

/// A user of a sync server.
public final class SyncUser: Sendable {
  /// A block that is called with the user who has logged in, or with an error.
  public typealias UserCompletionBlock = (SyncUser?, (any Error)?) -> Void

  /// The text that replaces `~` in realm addresses.
  public let identity: String?
  let token: @Sendable () throws -> String
  private let server: URL

  /// Creates a user with a known identity. No server is contacted. `token` returns the access token; it is called for
  /// each connection, on a thread of the session. The open-source server does not check tokens. `server` is the server
  /// of the default realm.
  ///
  /// ```swift
  /// let user = SyncUser(identity: "anna", server: server) { try String(contentsOf: token, encoding: .utf8) }
  /// let configuration = user.configuration(realmURL: url)
  /// ```
  public init(identity: String, server: URL, token: @escaping @Sendable () throws -> String = { "" }) {
    (self.identity, self.server, self.token) = (identity, server, token)
  }

  /// Calls `completion` with a user for `customRefreshToken`. Other credentials need an authentication service, which
  /// the open-source server does not have: `completion` receives an error.
  public static func logIn(
    with credentials: SyncCredentials,
    server authServerURL: URL,
    timeout: TimeInterval = 30,
    callbackQueue queue: DispatchQueue = .main,
    onCompletion completion: @escaping UserCompletionBlock
  ) {
    // Safe: called once, on the queue.
    @safe nonisolated(unsafe) let completion = completion
    queue.async {
      if let (identity, token) = credentials.known {
        return completion(SyncUser(identity: identity, server: authServerURL) { token }, nil)
      }
      completion(
        nil,
        Realm.Error(
          .invalidInput,
          "\(authServerURL.absoluteString): current sync servers have no log-in; use customRefreshToken, or "
            + "SyncUser(identity:server:token:)"
        )
      )
    }
  }

  /// Returns the configuration of a realm of this user; without a URL, of the server's default realm.
  public func configuration(realmURL: URL? = nil, fullSynchronization: Bool = true) -> Realm.Configuration {
    Realm.Configuration(
      syncConfiguration: SyncConfiguration(
        user: self,
        realmURL: realmURL ?? defaultURL,
        fullSynchronization: fullSynchronization
      )
    )
  }

  /// The URL of the server's default realm.
  private var defaultURL: URL {
    guard var parts = URLComponents(url: server, resolvingAgainstBaseURL: true) else { return server }
    parts.scheme = parts.scheme == "https" ? "realms" : "realm"
    parts.path = "/default"
    return parts.url ?? server
  }
}
