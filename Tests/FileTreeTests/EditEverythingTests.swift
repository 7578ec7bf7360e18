// Random edits of every available realm file, through the tree as the kernel would call it: after each batch the tree
// equals its model, and the file is sound.
//
//     SEED=n FIXTURES=people swift test --filter EditEverything    # one run again
//     EDIT_SECONDS=n sets how long all files take together (10); EDIT_EDITS=n makes so many edits of each instead

import Foundation
import RealmPages
import TestSupport
import Testing
import TreeSupport

@Suite("Random edits of every fixture", .serialized)
struct EditEverythingTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let seconds = environment["EDIT_SECONDS"].flatMap(Double.init) ?? 10
  /// A short run always makes the same edits.
  private static let count =
    environment["EDIT_EDITS"].flatMap(Int.init) ?? (environment["EDIT_SECONDS"] == nil ? 40 : nil)
  private static let checker = Fixture.shared.appendingPathComponent("tools/realmcheck.py").path

  /// In a short run, large files would use up the time of all others.
  private static let fixtures = MutantRun.chosen(Fixture.own + Fixture.old + Fixture.sdk).filter { fixture in
    seconds > 60 || environment["EDIT_EDITS"] != nil
      || !["items-10k", "v23-kotlin-random_games"].contains(fixture.name)
  }

  @Test("random edits of any realm have the expected results, and the file stays valid", arguments: fixtures)
  func edit(fixture: Fixture) throws {
    let seed = Self.environment["SEED"].flatMap(UInt64.init) ?? 1
    try withTemporaryFolder { folder in
      let path = folder.appendingPathComponent("a.realm").path
      let key = fixture.isEncrypted ? try Fixture.key() : nil
      do {
        try Self.prepare(fixture, path, key)
        let writer = try RealmWriter(Configuration(path: path, encryptionKey: key)), tree = try LibraryTree(writer)
        var settings = RandomEdits.Settings()
        settings.objects = 60
        var edits = try RandomEdits(tree, seed: seed, settings)
        let end = Date(timeIntervalSinceNow: Self.seconds / Double(Self.fixtures.count))
        repeat {
          try edits.run(20)
          let problems = Verifier(try writer.realm.latest()).problems(limit: 3)
          if let first = problems.first {
            throw TreeModel.Disagreement("edit \(edits.edits) (\(edits.lastEdit)): \(first)")
          }
        } while Self.count.map { edits.edits < $0 } ?? (Date() < end)
        try edits.compareAll()
        tree.finish()
        try judge(path, of: fixture)
      } catch { Issue.record("\(fixture), SEED=\(seed): \(error)") }
    }
  }

  /// Puts a copy of a fixture that can be written at `path`: of the newest format, and without another's history.
  static func prepare(_ fixture: Fixture, _ path: String, _ key: EncryptionKey?) throws {
    let original = Configuration(path: fixture.url.path, encryptionKey: key, mode: .immutable)
    if try Realm(original).latest().historyType > 2 {
      _ = try RealmCopy.write(original, to: path, key: key, keepsHistory: false, isForWriting: true)
    } else {
      try Data(fixture.bytes()).write(to: URL(fileURLWithPath: path))
    }
    _ = try RealmUpgrade.run(Configuration(path: path, encryptionKey: key))
  }

  /// Asks a checker that shares no code with the engine, if it is available. It does not support sets with NaNs, so it
  /// is ignored if it rejects the unchanged fixture.
  private func judge(_ path: String, of fixture: Fixture) throws {
    let size = try Data(contentsOf: URL(fileURLWithPath: path)).count
    let isThere = FileManager.default.fileExists(atPath: Self.checker)
    guard isThere, !fixture.isEncrypted, Self.seconds > 60 || size < 100_000 else { return }
    let refusal = try refusal(path)
    if refusal == nil { return }
    let original = path + ".original"
    try Self.prepare(fixture, original, nil)
    if try self.refusal(original) == nil { throw TreeModel.Disagreement("realmcheck.py: \(refusal ?? "")") }
  }

  /// The faults that the checker reports for a file.
  private func refusal(_ path: String) throws -> String? {
    let process = Process(), output = Pipe()
    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    process.arguments = ["python3", Self.checker, "verify", path]
    process.standardOutput = output
    process.standardError = output
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    return process.terminationStatus == 0 ? nil : String(text.prefix(500))
  }
}
