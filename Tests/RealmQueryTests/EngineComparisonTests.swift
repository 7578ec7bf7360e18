// Queries compared with the results of the reference engine.

import RealmPages
import RealmQuery
import TestSupport
import Testing

@Suite("Queries against the reference engine")
struct EngineComparisonTests {
  private static let files = Set(ExpectedQuery.all.map(\.file)).sorted()

  @Test("there are more than two thousand queries")
  func number() { #expect(ExpectedQuery.all.count > 2000) }

  @Test("every query finds the same objects as the engine, in the same order", arguments: files)
  func sameObjects(file: String) throws {
    let queries = ExpectedQuery.all.filter { $0.file == file }
    let snapshot = try Fixture.named(file).snapshot()
    for expected in queries {
      let table = try #require(try snapshot.table(named: "class_" + expected.className))
      do {
        let found = try ObjectQuery(expected.query, of: table, in: snapshot).keys().map(\.value)
        #expect(found == expected.keys, "\(expected)")
      } catch {
        Issue.record("\(expected): \(error)")
      }
    }
  }
}
