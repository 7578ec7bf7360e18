// Random histories with changes of schema, followed commit by commit: after each the replica equals the realm. SEED=n
// tests one history, HISTORIES=n that many.

import Foundation
import RealmPages
import RealmTransfer
import TestSupport
import Testing

@testable import RealmReplica

@Suite("Replicas of random histories", .serialized)
struct HistoryTests {
  private static let count = ProcessInfo.processInfo.environment["HISTORIES"].flatMap { UInt64($0) } ?? 4

  /// Runs passes until there is nothing to do.
  static func settle(_ replicator: Replicator) throws -> [ReplicaPass] {
    var passes: [ReplicaPass] = []
    for _ in 0..<8 {
      do {
        guard let pass = try replicator.run() else { return passes }
        passes.append(pass)
      } catch {
        // Such as a deadlock with an abandoned connection, which the server has not noticed yet.
        if (error as? ReplicaError)?.isTemporary != true { throw error }
      }
    }
    throw RandomHistory.Disagreement(description: "the replica does not come to an end")
  }

  static func check(_ realm: Realm, _ place: ReplicaPlace, _ address: PostgresAddress) throws {
    var result: ExportVerification?
    // The end of a connection does not mean that the replica is wrong.
    for _ in 0..<3 where result == nil {
      do { result = try ReplicaVerifier(address).run(realm, place) } catch {
        if (error as? ReplicaError)?.isTemporary != true { throw error }
      }
    }
    guard let result else { throw RandomHistory.Disagreement(description: "the server cannot be asked") }
    if result.isSame { return }
    let names = result.classes.filter { !$0.isSame }.map { "\($0.name): \($0.exported) \($0.stored)" }
    throw RandomHistory.Disagreement(description: "the replica differs: \(names.joined(separator: "; "))")
  }

  @Test("a replica follows each commit, and continues after a restart", arguments: Seeds.first..<Seeds.first + count)
  func follows(seed: UInt64) throws {
    if let only = Seeds.only, only != seed { return }
    let server = try PostgresServer.shared.get(), address = try server.address
    let schema = PostgresServer.newSchema()
    // A replica of many realms keeps columns that this realm lacks.
    let place = ReplicaPlace(schema: schema, realm: seed % 3 == 0 ? "r'\"; x" : nil)
    try withTemporaryPath { path in
      var settings = RandomHistory.Settings()
      settings.commits = 25
      settings.encryptionKey = seed % 5 == 0 ? try Fixture.key() : nil
      var history = RandomHistory(seed: seed, path: path, settings)
      var random = SplitMix64(seed: seed), replicator: Replicator?
      try history.run { _, _, _ in
        // Commits that arrive together are one transaction.
        if random.below(3) == 0 { return }
        let configuration = Configuration(path: path, encryptionKey: settings.encryptionKey)
        let realm = try replicator?.window.realm ?? Realm(configuration)
        if random.below(6) == 0 { replicator = nil }
        if random.below(8) == 0, let replicator { try replicator.reconnect() }
        let current = try replicator ?? Replicator(realm, place, address)
        replicator = current
        var complaints: [String] = []
        current.onComplaint = { complaints.append($0) }
        _ = try Self.settle(current)
        if !complaints.isEmpty { throw RandomHistory.Disagreement(description: complaints.joined(separator: "; ")) }
        try Self.check(realm, place, address)
      }
    }
    try server.query("DROP SCHEMA \(schema.quotedForSQL) CASCADE")
  }
}
