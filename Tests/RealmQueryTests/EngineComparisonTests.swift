// Queries whose results the reference engine worked out: Tests/Fixtures/queries.tsv has the file, the class, the query
// and the keys of the objects, in the order of the results.

import Foundation
import RealmPages
import RealmQuery
import TestSupport
import Testing

/// One query and what it finds.
struct ExpectedQuery: Sendable, CustomStringConvertible {
  let file: String
  let className: String
  let query: String
  let keys: [Int64]

  var description: String { "\(file) \(className): \(query)" }

  static let all: [ExpectedQuery] = {
    let url = Fixture.package.appendingPathComponent("Tests/Fixtures/queries.tsv")
    // A file that cannot be read makes the test of the number of queries fail.
    let text = (try? String(contentsOf: url, encoding: .utf8)) ?? ""
    return text.split(separator: "\n").map { line in
      let fields = line.split(separator: "\t", omittingEmptySubsequences: false).map(String.init)
      return ExpectedQuery(
        file: fields[0],
        className: fields[1],
        query: fields[2],
        keys: fields[3].split(separator: ",").compactMap { Int64($0) }
      )
    }
  }()
}

@Suite("Queries against the reference engine")
struct EngineComparisonTests {
  @Test("there are hundreds of queries")
  func number() { #expect(ExpectedQuery.all.count > 900) }

  @Test("every query finds the objects that the engine finds, in its order", arguments: Fixture.own.map(\.name))
  func sameObjects(file: String) throws {
    let queries = ExpectedQuery.all.filter { $0.file == file }
    if queries.isEmpty { return }
    let snapshot = try Fixture.named(file).snapshot()
    for expected in queries {
      let table = try #require(try snapshot.table(named: "class_" + expected.className))
      do {
        let found = try Query(expected.query, of: table, in: snapshot).keys().map(\.value)
        #expect(found == expected.keys, "\(expected)")
      } catch {
        Issue.record("\(expected): \(error)")
      }
    }
  }
}
