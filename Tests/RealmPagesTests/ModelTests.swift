// Random transactions against a plain model, and the history that a commit records for other programs. SEED=n tests one
// history, MODEL_SECONDS=n tests histories for that long instead of 8; MODEL_MODE=soak makes them longer and larger.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Random histories")
struct ModelTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let key = EncryptionKey([UInt8](repeating: 7, count: 64))

  /// One history of a new file.
  private func live(seed: UInt64) throws -> (commits: Int, operations: Int) {
    var settings = RandomHistory.Settings()
    if seed % 5 == 0 { settings.encryptionKey = Self.key }
    if seed % 3 == 0 { settings.heap = seed % 2 == 0 ? 0 : 4096 }
    if Self.environment["MODEL_MODE"] == "soak" {
      (settings.commits, settings.operations, settings.objects) =
        [(40, 30, 40), (20, 600, 1500), (300, 10, 20)][Int(seed % 3)]
    } else {
      settings.commits = 25
    }
    return try withTemporaryPath { path in
      var history = RandomHistory(seed: seed, path: path, settings)
      try check(&history, isStrict: true)
      return (history.commits, history.operations)
    }
  }

  /// Creates a history and checks it after every commit: the verifier finds it sound, it equals the model, and its
  /// changeset is correct.
  private func check(_ history: inout RandomHistory, isStrict: Bool) throws {
    try history.run { snapshot, before, after in
      let problems = Verifier(snapshot, isStrict: isStrict).problems(limit: 3)
      if let first = problems.first { throw RandomHistory.Disagreement(description: "\(first)") }
      if let difference = try after.difference(from: snapshot) {
        throw RandomHistory.Disagreement(description: difference)
      }
      let changeset = try ChangesetDecoder(Self.changeset(of: snapshot))
      if let omission = changeset.omission(before: before, after: after) {
        throw RandomHistory.Disagreement(description: "the changeset \(omission)")
      }
    }
  }

  /// The newest entry of the history.
  static func changeset(of snapshot: Snapshot) throws -> [UInt8] {
    let entries = try ElementReader(
      snapshot.arena,
      snapshot.top.historyRef,
      ElementType(.data, isNullable: false)
    )
    guard case .data(let bytes) = try entries.value(at: entries.count - 1) else { return [0xff] }
    return bytes.bytes
  }

  /// Files of the real engine that are small enough to model in a debug build.
  private static let engineFiles = Fixture.own.filter {
    $0.name != "synced" && !["items-10k", "strings", "all-types", "rare-states"].contains($0.name)
  }

  @Test("random transactions on a file of the reference engine have the expected results", arguments: engineFiles)
  func engineFile(fixture: Fixture) throws {
    let seed = Seeds.first
    var settings = RandomHistory.Settings()
    settings.commits = Self.environment["MODEL_MODE"] == "soak" ? 100 : 3
    if fixture.isEncrypted { settings.encryptionKey = try Fixture.key() }
    do {
      try withTemporaryFile(fixture.bytes()) { path in
        var history = try RandomHistory(seed: seed, continuing: path, settings)
        try check(&history, isStrict: false)
      }
    } catch { Issue.record("\(error)\nSEED=\(seed) repeats it") }
  }

  @Test("random transactions have the expected results")
  func histories() throws {
    if let seed = Seeds.only {
      _ = try live(seed: seed)
      return
    }
    let end = Self.environment["MODEL_SECONDS"].flatMap(Double.init).map { Date(timeIntervalSinceNow: $0) }
    let first = Seeds.first
    var seed = first, commits = 0, operations = 0
    while end.map({ Date() < $0 }) ?? (seed < first + 8) {
      do {
        let done = try live(seed: seed)
        commits += done.commits
        operations += done.operations
      } catch {
        Issue.record("\(error)\nSEED=\(seed) repeats it")
        return
      }
      seed += 1
    }
    print("seeds \(first)..<\(seed): \(commits) commits, \(operations) operations")
    #expect(commits > 0)
  }
}
