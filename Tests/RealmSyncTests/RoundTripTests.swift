// Changes converted to a changeset and back: random edits of a tree go through the builder, the bytes and the applier
// before they are in the realm, and the tree must equal its model.
//
//     SEED=n FIXTURES=people swift test --filter RoundTrip    # one run again
//     SYNC_EDITS=n makes so many edits of each file (40)

import Foundation
import RealmPages
import Synchronization
import TestSupport
import Testing
import Threads
import TreeSupport

@testable import RealmSync

/// A server that accepts every changeset unchanged and sends it back at once.
final class LoopUplink: Uplink {
  private let writer: RealmWriter
  let changesets = Mutex<[[UInt8]]>([])

  init(_ writer: RealmWriter) { self.writer = writer }

  func checkReadiness(until deadline: MonotonicTime) throws(EngineError) {}
  func enter(until deadline: MonotonicTime, reportsLater: Bool) throws(EngineError) {}
  func leave() {}

  func prepare(
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) -> (@Sendable () throws(EngineError) -> UInt64)? {
    let changeset = try ChangesetBuilder.changeset(of: transaction, writer: 9)
    if changeset.isEmpty { return nil }
    return { [self] () throws(EngineError) in
      changesets.withLock { $0.append(changeset) }
      let replay = try writer.beginReplaying()
      var applier = InstructionApplier()
      do { try applier.apply(changeset, to: replay) } catch {
        throw EngineError(.damaged, "\(error)")
      }
      return try replay.commit()
    }
  }
}

@Suite("From changes to changesets and back", .serialized)
struct RoundTripTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let count = environment["SYNC_EDITS"].flatMap(Int.init) ?? 40

  /// Realms in which every object is identified on the server by its primary key.
  private static let fixtures = MutantRun.chosen(Fixture.own).filter { fixture in
    !fixture.isEncrypted && fixture.format == 24 && !["items-10k", "queries"].contains(fixture.name)
  }

  @Test("the changesets of a synced realm describe exactly the edits", arguments: fixtures)
  func edit(fixture: Fixture) throws {
    let seed = Self.environment["SEED"].flatMap(UInt64.init) ?? 1
    try withTemporaryFile(try fixture.bytes()) { path in
      do {
        let writer = try RealmWriter(Configuration(path: path)), latest = try writer.realm.latest()
        if latest.historyType > 2 || latest.fileFormat != 24 { return }
        for key in try latest.tableKeys() {
          guard let table = try latest.table(key), table.className != nil else { continue }
          if table.kind == .topLevel, table.primaryKey == nil { return }
        }
        let uplink = LoopUplink(writer)
        writer.uplink = uplink
        let tree = try LibraryTree(writer)
        defer {
          tree.finish()
          writer.uplink = nil
        }
        var settings = RandomEdits.Settings()
        // New classes may have no primary key: the server names their objects by other keys than the file.
        settings.addsToSchema = false
        settings.objects = 60
        var edits = try RandomEdits(tree, seed: seed, settings)
        try edits.run(Self.count)
        try edits.compareAll()
        let problems = Verifier(try writer.realm.latest()).problems(limit: 3)
        if let first = problems.first { throw TreeModel.Disagreement("\(first)") }
        for changeset in uplink.changesets.withLock({ $0 }) {
          var again = ChangesetWriter()
          for instruction in try ChangesetReader.instructions(of: changeset) { again.append(instruction) }
          #expect(again.bytes == changeset)
        }
      } catch { Issue.record("\(fixture), SEED=\(seed): \(error)") }
    }
  }
}
