// Realms that a sync client keeps in step with a server, as programs configure them. This library has no such client:
// configurations can be made and passed on, and opening one throws.

public import Dispatch
public import Foundation

/// Which realm of a server a configuration stands for. `SyncUser.configuration` makes it.
public struct SyncConfiguration: Sendable {
  /// The user whose realm it is.
  public let user: SyncUser
  /// The realm: `realms://example.com/~/settings`.
  public let realmURL: URL
  /// Whether the whole realm is kept in step, and not only what is subscribed to.
  public let fullSynchronization: Bool

  /// Why a realm of this configuration does not open.
  var refusal: Realm.Error {
    Realm.Error(
      .invalidInput,
      "\(realmURL.absoluteString): this library has no sync client and does not open synced realms; "
        + "set fileURL to open a local one"
    )
  }
}

/// What a user logs in with.
public struct SyncCredentials: Sendable {
  /// The user, where no server needs to say who it is.
  fileprivate var identity: String?

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
  ) -> SyncCredentials { SyncCredentials(identity: identity) }
}

/// A user of a sync server.
public final class SyncUser: Sendable {
  /// Called with the user who has logged in, or with why there is none.
  public typealias UserCompletionBlock = (SyncUser?, (any Error)?) -> Void

  /// What the server knows the user by.
  public let identity: String?
  private let server: URL

  private init(_ identity: String, _ server: URL) { (self.identity, self.server) = (identity, server) }

  /// Calls `completion` with the user of `customRefreshToken`. Other credentials need a client of the server, which
  /// this library does not have: `completion` gets an error.
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
      if let identity = credentials.identity { return completion(SyncUser(identity, authServerURL), nil) }
      let problem = "\(authServerURL.absoluteString): this library has no sync client and cannot log in"
      completion(nil, Realm.Error(.invalidInput, "\(problem); open a local realm instead"))
    }
  }

  /// The configuration of a realm of this user; without a URL, of the default one of the server.
  public func configuration(realmURL: URL? = nil, fullSynchronization: Bool = false) -> Realm.Configuration {
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
