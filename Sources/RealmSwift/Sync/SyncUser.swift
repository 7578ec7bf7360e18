// Users of sync servers. The open server knows none: an identity is part of a realm's address, and a token is for what
// stands before the server.

public import Dispatch
public import Foundation

/// What a user logs in with.
public struct SyncCredentials: Sendable {
  /// The user and the token, where no server needs to be asked.
  fileprivate var known: (identity: String, token: String)?

  /// A name and a password; `register` makes a new user.
  public static func usernamePassword(username: String, password: String, register: Bool = false) -> SyncCredentials {
    SyncCredentials()
  }

  /// A new user without a name.
  public static func anonymous() -> SyncCredentials { SyncCredentials() }

  /// A token that another service has signed.
  public static func jwt(_ token: String) -> SyncCredentials { SyncCredentials() }

  /// A token of a user who is known by an identity. No server is asked.
  public static func customRefreshToken(
    _ token: String,
    identity: String,
    isAdmin: Bool = false
  ) -> SyncCredentials { SyncCredentials(known: (identity, token)) }
}

/// A user of a sync server.
public final class SyncUser: Sendable {
  /// Called with the user who has logged in, or with why there is none.
  public typealias UserCompletionBlock = (SyncUser?, (any Error)?) -> Void

  /// What stands for `~` in the addresses of realms.
  public let identity: String?
  let token: @Sendable () throws -> String
  private let server: URL

  /// A user who is known by an identity. No server is asked. `token` gives the access token, anew for each connection,
  /// on a thread of the session; the open server checks none. `server` is where the default realm is.
  ///
  /// ```swift
  /// let user = SyncUser(identity: "anna", server: server) { try String(contentsOf: token, encoding: .utf8) }
  /// let configuration = user.configuration(realmURL: url)
  /// ```
  public init(identity: String, server: URL, token: @escaping @Sendable () throws -> String = { "" }) {
    (self.identity, self.server, self.token) = (identity, server, token)
  }

  /// Calls `completion` with the user of `customRefreshToken`. Other credentials need a service that gives tokens,
  /// which the open server does not have: `completion` gets an error.
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
          "\(authServerURL.absoluteString): sync servers of today have no log-in; use customRefreshToken, or "
            + "SyncUser(identity:server:token:)"
        )
      )
    }
  }

  /// The configuration of a realm of this user; without a URL, of the default one of the server.
  public func configuration(realmURL: URL? = nil, fullSynchronization: Bool = true) -> Realm.Configuration {
    Realm.Configuration(
      syncConfiguration: SyncConfiguration(
        user: self,
        realmURL: realmURL ?? defaultURL,
        fullSynchronization: fullSynchronization
      )
    )
  }

  /// The default realm of the server.
  private var defaultURL: URL {
    guard var parts = URLComponents(url: server, resolvingAgainstBaseURL: true) else { return server }
    parts.scheme = parts.scheme == "https" ? "realms" : "realm"
    parts.path = "/default"
    return parts.url ?? server
  }
}
