// Damaged files: every fixture with random damage is opened, read and verified. Nothing may crash, hang or be read out
// of bounds; only typed errors are allowed.
//
// MUTANTS=n sets the number for each small file; SEED=n the first seed; FIXTURES=text,text keeps to files that have one
// of the texts in their names. A failing seed is repeated with MUTANTS=1.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Damaged files", .serialized)
struct MutantTests {
  private static let fixtures = MutantRun.chosen(Fixture.all)

  @Test("a damaged file causes an error or reads as a smaller realm, but never crashes", arguments: fixtures)
  func mutants(fixture: Fixture) throws {
    let bytes = try fixture.bytes(), mutator = Mutator(bytes)
    // Large files take long in a debug build, so each gets fewer.
    let seeds = MutantRun.seeds(max(3, min(60, 2_000_000 / bytes.count)))
    let guardian = Watchdog()
    var opened = 0
    for seed in seeds {
      guardian.start("\(fixture), SEED=\(seed)")
      do throws(EngineError) {
        let snapshot = try open(mutator.mutant(seed: seed), fixture)
        opened += 1
        var walk = ObjectWalk(limit: bytes.count < 200_000 ? 20_000 : 2_000)
        walk.run(snapshot)
        let summary = Verifier(snapshot).run { _ in }
        let bounded = Verifier(snapshot, memory: .bounded).run { _ in }
        let isSame = summary.problems == bounded.problems && summary.leftovers == bounded.leftovers
        #expect(isSame, "\(fixture), SEED=\(seed)")
        try deletedObjects(snapshot)
      } catch {
        #expect(!error.description.isEmpty)
      }
    }
    guardian.stop()
    print("\(fixture): \(seeds.count) mutants from seed \(seeds.lowerBound) on, \(opened) opened")
  }

  /// Reads all former states of objects.
  private func deletedObjects(_ snapshot: Snapshot) throws(EngineError) {
    if snapshot.fileFormat < 10 { return }
    try DeletedObjects(in: snapshot, former: true).forEach { object in
      object.recordingNodes {
        let cursor = ObjectCursor(object.table)
        guard (try? cursor.seek(object.key)) == true else { return false }
        // Damaged values are errors.
        for index in object.table.columns.indices { _ = try? cursor.value(index) }
        return true
      }.result
    }
  }

  private func open(_ bytes: [UInt8], _ fixture: Fixture) throws(EngineError) -> Snapshot {
    do {
      guard fixture.isEncrypted else { return try bytes.withUnsafeBytes { try Realm.snapshot(of: $0) } }
      return try withTemporaryFile(bytes) { path in
        try Realm(Configuration(path: path, encryptionKey: try Fixture.key())).latest()
      }
    } catch let error as EngineError {
      throw error
    } catch {
      Issue.record("not a typed error: \(error)")
      throw EngineError(.damaged, "\(error)")
    }
  }
}
