// How a synced realm is opened: which realm of which server, and where its local copy is.
// Source of the rules of addresses: docs/format/7-sync.md 7.1.

public import Foundation
import RealmPages
import RealmSync

/// Which realm of a server a configuration stands for. `SyncUser.configuration` makes it.
///
/// The realm is downloaded to a local file, the mirror, which `realmfs mount --sync` and this library share. One
/// process at a time keeps a mirror up to date.
public struct SyncConfiguration: Sendable {
  /// The user whose realm it is: a `~` in the path stands for the identity.
  public let user: SyncUser
  /// The realm: `realm://127.0.0.1:7800/~/settings`, or `realms://` with TLS.
  public let realmURL: URL
  /// Whether the whole realm is kept in step. The open server has no other way: `false` is refused when the realm is
  /// opened.
  public let fullSynchronization: Bool
  /// Where the mirror is; nil for a file below `realmfs/mirrors` in `$XDG_DATA_HOME`, or in `~/.local/share`.
  public var fileURL: URL?
  /// A file of certificates in PEM form that are trusted instead of the system's.
  public var trustedCertificates: URL?
  /// How many seconds the server may be silent: when the realm is downloaded, and when a change is sent to it.
  public var timeout: TimeInterval = 30

  /// The realm of a user.
  public init(user: SyncUser, realmURL: URL, fullSynchronization: Bool = true) {
    (self.user, self.realmURL, self.fullSynchronization) = (user, realmURL, fullSynchronization)
  }

  /// The address, if there can be such a realm.
  func address() throws -> SyncURL {
    if !fullSynchronization {
      throw Realm.Error(
        .invalidInput,
        "\(realmURL.absoluteString): query-based synchronization is gone from servers; open the realm with "
          + "fullSynchronization: true and choose its objects with a query"
      )
    }
    return try Realm.Error.translating { try SyncURL(realmURL.absoluteString, user: user.identity) }
  }

  /// The path of the mirror.
  func path() throws -> String { try fileURL?.path ?? Mirror.standardPath(of: address()) }

  /// The same for the client.
  func options(isReadOnly: Bool) throws -> SyncOptions {
    guard timeout > 0, timeout <= 86_400 else {
      throw Realm.Error(.invalidInput, "a time-out of \(timeout) s: it is from 0 to 86400 s")
    }
    let token = user.token
    var options = SyncOptions { () throws(SyncError) in
      do { return try token() } catch { throw SyncError(.token, "the token: \(error)") }
    }
    options.authorities = trustedCertificates?.path
    options.connectTimeout = .seconds(min(timeout, 120))
    if !isReadOnly { options.uploadTimeout = .seconds(timeout) }
    return options
  }
}
