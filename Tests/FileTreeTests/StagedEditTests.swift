// Random edits of every available realm file within a transaction: its tree equals its model, the realm's own tree does
// not change before the commit, and equals the model after it.
//
//     SEED=n FIXTURES=people swift test --filter StagedEdit    # one run again
//     EDIT_EDITS=n makes so many edits of each file (10)

import Foundation
import RealmPages
import TestSupport
import Testing
import TreeSupport

@testable import FileTree

@Suite("Edits within transactions", .serialized)
struct StagedEditTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let count = environment["EDIT_EDITS"].flatMap(Int.init) ?? 10
  private static let fixtures = MutantRun.chosen(Fixture.own + Fixture.old + Fixture.sdk).filter { fixture in
    environment["EDIT_EDITS"] != nil || !["items-10k", "v23-kotlin-random_games"].contains(fixture.name)
  }

  @Test(
    "edits in a transaction are visible there, and everywhere after the commit, in any realm",
    arguments: fixtures
  )
  func edit(fixture: Fixture) throws {
    let seed = Self.environment["SEED"].flatMap(UInt64.init) ?? 1
    try withTemporaryFolder { folder in
      let path = folder.appendingPathComponent("a.realm").path
      let key = fixture.isEncrypted ? try Fixture.key() : nil
      do {
        try EditEverythingTests.prepare(fixture, path, key)
        let writer = try RealmWriter(Configuration(path: path, encryptionKey: key)), tree = try LibraryTree(writer)
        defer { tree.finish() }
        let version = try writer.realm.latest().version
        for round in 0..<2 {
          try tree.makeDirectory(".realm/tx/t")
          tree.root = ".realm/tx/t"
          var settings = RandomEdits.Settings()
          settings.objects = 60
          var edits = try RandomEdits(tree, seed: seed + UInt64(round), settings)
          try edits.run(Self.count)
          try edits.compareAll()
          let before = try writer.realm.latest()
          #expect(before.version == version + UInt64(round))
          try removeRefusals(tree)
          do { try tree.save(Array("1\n".utf8), to: ".commit") } catch {
            let log = String(decoding: try tree.text(of: ".log"), as: UTF8.self)
            throw TreeModel.Disagreement("\(edits.lastEdit): \(error)\n\(log)")
          }
          tree.root = ""
          try edits.compareAll()
          let problems = Verifier(try writer.realm.latest()).problems(limit: 3)
          if let first = problems.first { throw TreeModel.Disagreement("\(first)") }
        }
      } catch { Issue.record("\(fixture), SEED=\(seed): \(error)") }
    }
  }

  /// A refused text must not remain.
  private func removeRefusals(_ tree: LibraryTree) throws {
    let rejected = ".realm/rejected"
    for name in try tree.names(in: rejected) {
      if name.hasSuffix(".json") {
        try tree.remove("\(rejected)/\(name)")
      } else {
        for file in try tree.names(in: "\(rejected)/\(name)") { try tree.remove("\(rejected)/\(name)/\(file)") }
      }
    }
  }
}
