// Users and configurations of synced realms, as samples have them.

import Foundation
import RealmSwift
import Testing

@Suite struct SyncConfigurationTests {
  private static let server = URL(string: "https://myinstance.cloud.realm.io")
  private static let problem = "current sync servers have no log-in"

  /// Logs in on a queue.
  private func logIn(_ credentials: SyncCredentials) async throws -> (user: SyncUser?, problem: String?) {
    let serverURL = try #require(Self.server)
    return await withCheckedContinuation { continuation in
      SyncUser.logIn(with: credentials, server: serverURL, callbackQueue: .global()) { user, error in
        continuation.resume(returning: (user, error.map { "\($0)" }))
      }
    }
  }

  private func user() async throws -> SyncUser {
    try #require(await logIn(.customRefreshToken("token", identity: "12345")).user)
  }

  @Test("a login that needs a server fails and says why")
  func loginThatNeedsServer() async throws {
    for credentials in [.usernamePassword(username: "a", password: "b"), .anonymous(), .jwt("x")] as [SyncCredentials] {
      let (user, problem) = try await logIn(credentials)
      #expect(user == nil)
      #expect(problem?.contains(Self.problem) ?? false)
    }
  }

  @Test("a user's configuration is that of the server's default realm, or of a URL")
  func configurations() async throws {
    let user = try await user()
    let standard = user.configuration()
    #expect(standard.syncConfiguration?.realmURL.absoluteString == "realms://myinstance.cloud.realm.io/default")
    #expect(standard.syncConfiguration?.fullSynchronization == true)
    let syncServerURL = try #require(URL(string: "realms://myinstance.cloud.realm.io/~/userRealm"))
    let config = user.configuration(realmURL: syncServerURL, fullSynchronization: true)
    #expect(config.syncConfiguration?.realmURL == syncServerURL && config.syncConfiguration?.user.identity == "12345")
    #expect(config.syncConfiguration?.fullSynchronization == true)
    #expect(config.fileURL == nil && config.inMemoryIdentifier == nil)
  }

  @Test("the file, the name in memory and the sync configuration reset each other")
  func exclusions() async throws {
    let sync = try await user().configuration().syncConfiguration
    var config = Realm.Configuration()
    #expect(config.syncConfiguration == nil)
    config.syncConfiguration = sync
    #expect(config.fileURL == nil && config.syncConfiguration != nil)
    config.fileURL = Realm.Configuration.defaultFileURL
    #expect(config.syncConfiguration == nil && config.fileURL != nil)
    config.syncConfiguration = sync
    config.inMemoryIdentifier = "name"
    #expect(config.syncConfiguration == nil && config.inMemoryIdentifier == "name")
    config.syncConfiguration = sync
    #expect(config.inMemoryIdentifier == nil && config.syncConfiguration != nil)
  }

  @Test("asyncOpen with a realm and an error gives the realm of a local configuration")
  func localRealm() async throws {
    let config = Realm.Configuration(inMemoryIdentifier: "local \(UUID())", objectTypes: [Street.self, Address.self])
    let isOpen = await withCheckedContinuation { continuation in
      Realm.asyncOpen(configuration: config, callbackQueue: DispatchQueue(label: "three")) { realm, error in
        if let realm {
          continuation.resume(returning: realm.isEmpty && error == nil)
        } else {
          continuation.resume(returning: false)
        }
      }
    }
    #expect(isOpen)
  }
}
