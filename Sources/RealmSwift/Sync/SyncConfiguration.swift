// The configuration of a synced realm: its server, its path and its local copy.
// Source of the address rules: docs/format/7-sync.md 7.1.

public import Foundation
import RealmPages
import RealmSync

/// Identifies a realm on a sync server. Created by `SyncUser.configuration`.
///
/// The realm is downloaded to a local file, the mirror, which `realmfs mount --sync` and this library share. Only one
/// process at a time keeps a mirror up to date.
public struct SyncConfiguration: Sendable {
  /// The user who owns the realm. A `~` in the path represents the user's identity.
  public let user: SyncUser
  /// The URL of the realm: `realm://127.0.0.1:7800/~/settings`, or `realms://` with TLS.
  public let realmURL: URL
  /// True to sync the whole realm. The open-source server supports nothing else: opening a realm with `false` fails.
  public let fullSynchronization: Bool
  /// The path of the mirror; nil for a file below `realmfs/mirrors` in `$XDG_DATA_HOME`, or in `~/.local/share`.
  public var fileURL: URL?
  /// A file of PEM certificates that are trusted instead of the system's.
  public var trustedCertificates: URL?
  /// How long the server may be silent during a download or an upload, in seconds.
  public var timeout: TimeInterval = 30

  /// Creates the configuration of a user's realm.
  public init(user: SyncUser, realmURL: URL, fullSynchronization: Bool = true) {
    (self.user, self.realmURL, self.fullSynchronization) = (user, realmURL, fullSynchronization)
  }

  /// Returns the address of the realm. Throws if the configuration is not supported or the URL is invalid.
  func address() throws -> SyncURL {
    if !fullSynchronization {
      throw Realm.Error(
        .invalidInput,
        "\(realmURL.absoluteString): servers no longer support query-based synchronization; open the realm with "
          + "fullSynchronization: true and choose its objects with a query"
      )
    }
    return try Realm.Error.translating { try SyncURL(realmURL.absoluteString, user: user.identity) }
  }

  /// Returns the path of the mirror.
  func path() throws -> String { try fileURL?.path ?? Mirror.standardPath(of: address()) }

  /// Returns the options of the sync client for this configuration.
  func options(isReadOnly: Bool) throws -> SyncOptions {
    guard timeout > 0, timeout <= 86_400 else {
      throw Realm.Error(.invalidInput, "a timeout of \(timeout) s; it must be greater than 0 and at most 86400 s")
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
