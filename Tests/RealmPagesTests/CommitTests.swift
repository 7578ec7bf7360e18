// The places to which a commit writes: few, and mostly the same ones.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Commits")
struct CommitTests {
  /// The result of many commits of one property each, in a class with two levels of clusters.
  private struct Outcome {
    /// The writes of nodes, commit by commit.
    var writes: [Int] = []
    var sizes: [Int] = []
    var freeRanges: [Int] = []
  }

  private func commits(_ count: Int, objects: Int) throws -> Outcome {
    try withTemporaryPath { path in
      var recording: RecordingStorage?
      let writer = try RealmWriter(Configuration(path: path), create: true) {
        let storage = RecordingStorage($0)
        recording = storage
        return storage
      }
      let storage = try #require(recording)
      var transaction = try writer.begin()
      let table = try transaction.addTable("class_Item")
      let score = try transaction.addColumn(table, ColumnSpec("score", .double))
      let name = try transaction.addColumn(table, ColumnSpec("name", .string))
      var keys: [ObjKey] = []
      for i in 0..<objects {
        let text = Array("number \(i)".utf8)
        keys.append(try transaction.create(table, values: [(score, .double(Double(i))), (name, .string(text))]))
      }
      _ = try transaction.commit()
      var outcome = Outcome(), random = SplitMix64(seed: 1)
      for i in 0..<count {
        let first = storage.events.count
        transaction = try writer.begin()
        try transaction.set(table, keys[random.below(keys.count)], score, .double(Double(i) / 3))
        _ = try transaction.commit()
        let nodes = storage.events[first...].prefix { if case .sync = $0 { false } else { true } }
        let snapshot = try writer.realm.latest()
        // The header is written before the first barrier, too.
        outcome.writes.append(
          nodes.count {
            if case .write(let offset, _) = $0 { offset >= Header.size } else { true }
          }
        )
        outcome.sizes.append(snapshot.logicalSize)
        outcome.freeRanges.append(try Committer.ranges(snapshot.arena, snapshot.top).count)
      }
      #expect(Verifier(try writer.realm.latest(), isStrict: true).problems(limit: 3) == [])
      return outcome
    }
  }

  @Test("apart from the leaf and its cluster, a small commit writes in one place")
  func places() throws {
    let outcome = try commits(60, objects: 5000)
    #expect(outcome.writes.dropFirst(10).allSatisfy { $0 <= 3 }, "\(outcome.writes)")
  }

  @Test("small commits reuse the same space without fragmenting it")
  func space() throws {
    let outcome = try commits(1000, objects: 40_000)
    #expect(outcome.sizes.last == outcome.sizes[10])
    #expect(try #require(outcome.freeRanges.last) <= outcome.freeRanges[10] + 20, "\(outcome.freeRanges)")
  }

  @Test("the space of a history without a type is freed")
  func historyWithoutType() throws {
    let file = Fixture.package.appendingPathComponent("Fuzz/corpus/realm/history-without-type")
    let memory = try MemoryStorage(name: "input"), bytes = try Data(contentsOf: file)
    try memory.grow(to: 4096)
    try bytes.withUnsafeBytes { try memory.write($0, at: 0) }
    let writer = try RealmWriter(memory: memory)
    // A name in this file contains a zero byte.
    func problems() throws -> [Verifier.Problem] {
      try Verifier(writer.realm.latest()).problems(limit: 3).filter { !"\($0)".contains("zero byte") }
    }
    #expect(try problems() == [])
    for _ in 0..<2 {
      let transaction = try writer.begin()
      _ = try transaction.addTable("class_New\(transaction.tableKeys().count)")
      _ = try transaction.commit()
      #expect(try problems() == [])
    }
  }
}
