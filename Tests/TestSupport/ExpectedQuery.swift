// Queries whose results were computed by the reference engine: Tests/Fixtures/queries.tsv contains the file, the class,
// the query and the keys of the objects in result order.

import Foundation

/// One query and its expected result.
public struct ExpectedQuery: Sendable, CustomStringConvertible {
  /// The name of the fixture.
  public let file: String
  /// The class that is queried.
  public let className: String
  /// The query.
  public let query: String
  /// The keys of the objects that the engine found, in its order.
  public let keys: [Int64]

  /// The query with its file and class.
  public var description: String { "\(file) \(className): \(query)" }

  /// All queries of the file.
  public static let all: [ExpectedQuery] = {
    let url = Fixture.package.appendingPathComponent("Tests/Fixtures/queries.tsv")
    // If the file cannot be read, the test that counts the queries fails.
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
