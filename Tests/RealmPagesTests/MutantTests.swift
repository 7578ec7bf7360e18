// Damaged files: every fixture with random damage is opened, read and verified. Nothing may crash, hang or be read out
// of bounds; only typed errors are allowed.
//
// MUTANTS=n sets the number for each small file; SEED=n the first seed; FIXTURES=text,text keeps to files that have one
// of the texts in their names. A failing seed is repeated with MUTANTS=1.

import Foundation
import Synchronization
import TestSupport
import Testing

@testable import RealmPages

@Suite("Damaged files", .serialized)
struct MutantTests {
  private static let fixtures = MutantRun.chosen(Fixture.all)
  /// Time that one mutant may take: far more than any needs, far less than for ever.
  static let timeLimit = Duration.seconds(60)

  @Test("a damaged file is an error or a smaller realm, never a crash", arguments: fixtures)
  func mutants(fixture: Fixture) throws {
    let bytes = try fixture.bytes(), mutator = Mutator(bytes)
    // Large files take long in a debug build; all of them get some.
    let seeds = MutantRun.seeds(max(3, min(60, 2_000_000 / bytes.count)))
    let guardian = Watchdog(limit: Self.timeLimit)
    var opened = 0
    for seed in seeds {
      guardian.start("\(fixture), SEED=\(seed)")
      do throws(OpenError) {
        let snapshot = try open(mutator.mutant(seed: seed), fixture)
        opened += 1
        var walk = ObjectWalk(limit: bytes.count < 200_000 ? 20_000 : 2_000)
        walk.run(snapshot)
        let summary = Verifier(snapshot).run { _ in }
        let bounded = Verifier(snapshot, memory: .bounded).run { _ in }
        #expect(summary.isSound == bounded.isSound, "\(fixture), SEED=\(seed)")
      } catch {
        #expect(!error.description.isEmpty)
      }
    }
    guardian.stop()
    print("\(fixture): \(seeds.count) mutants from seed \(seeds.lowerBound) on, \(opened) opened")
  }

  private func open(_ bytes: [UInt8], _ fixture: Fixture) throws(OpenError) -> Snapshot {
    do {
      guard fixture.isEncrypted else { return try bytes.withUnsafeBytes { try Realm.snapshot(of: $0) } }
      return try withTemporaryFile(bytes) { path in
        try Realm(Configuration(path: path, encryptionKey: try Fixture.key())).latest()
      }
    } catch let error as OpenError {
      throw error
    } catch {
      Issue.record("not a typed error: \(error)")
      throw OpenError(.damaged, "\(error)")
    }
  }
}

/// Ends the process, with a word on what it was doing, when a step takes too long: a hang cannot be ended otherwise.
final class Watchdog: Sendable {
  private let step = Mutex<(name: String, start: ContinuousClock.Instant)?>(nil)
  private let isDone = Atomic<Bool>(false)

  init(limit: Duration) {
    Thread.detachNewThread { [self] in
      while !isDone.load(ordering: .relaxed) {
        usleep(200_000)
        let late = step.withLock { step in step.flatMap { ContinuousClock.now - $0.start > limit ? $0.name : nil } }
        if let late {
          FileHandle.standardError.write(Data("a mutant hangs: \(late)\n".utf8))
          exit(1)
        }
      }
    }
  }

  func start(_ name: String) { step.withLock { $0 = (name, .now) } }

  func stop() {
    step.withLock { $0 = nil }
    isDone.store(true, ordering: .relaxed)
  }
}
