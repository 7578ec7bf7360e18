// Dates in queries: as objects show them, as days, and in the notations of the query language.

import Foundation
import RealmPages
import RealmQuery
import TestSupport
import Testing

@Suite("Dates in queries")
struct DateQueryTests {
  private func keys(_ text: String, _ className: String = "Person", in file: String = "people") throws -> [Int64] {
    let snapshot = try Fixture.named(file).snapshot()
    let table = try #require(try snapshot.table(named: "class_" + className))
    return try ObjectQuery(text, of: table, in: snapshot).keys().map(\.value)
  }

  @Test(
    "a date as shown in an object finds that object, with and without quotes",
    arguments: [("people", "Person", "joined"), ("all-types", "AllTypes", "date"), ("strings", "Note", "when")]
  )
  func asShown(file: String, className: String, property: String) throws {
    let url = Fixture.package.appendingPathComponent("Tests/Fixtures/\(file).tree.jsonl")
    var count = 0
    for line in try String(contentsOf: url, encoding: .utf8).split(separator: "\n") {
      let object = try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      guard let path = object?["path"] as? String, path.hasPrefix(className + "/"), path.hasSuffix(".json"),
        let date = (object?["value"] as? [String: Any])?[property] as? String
      else { continue }
      count += 1
      let found = try keys("\(property) == \(date)", className, in: file)
      #expect(!found.isEmpty, "\(date)")
      #expect(try keys("\(property) == '\(date)'", className, in: file) == found, "\(date)")
      #expect(try keys("\(property) IN {\(date), 'x', 2021-01-01}", className, in: file) == found, "\(date)")
      #expect(try keys("'\(date)' == \(property)", className, in: file) == found, "\(date)")
      if count == 50 { break }
    }
    #expect(count > 5)
  }

  @Test(
    "all notations of a point in time are equal",
    arguments: [
      ("2020-09-20T12:26:40.000007Z", "T1600604800:7000"), ("'2020-09-20T12:26:40.000007Z'", "T1600604800:7000"),
      ("2020-09-20T14:26:40.000007+02:00", "T1600604800:7000"), ("2020-09-20T07:26:40.000007-0500", "T1600604800:7000"),
      ("'2020-09-20 12:26:40.000007'", "T1600604800:7000"), ("2020-09-20T12:26:40.000007000", "T1600604800:7000"),
      ("2020-09-20T12:26:40:7000", "T1600604800:7000"), ("2020-09-20@12:26:40:7000", "T1600604800:7000"),
    ]
  )
  func moments(text: String, same: String) throws {
    #expect(try keys("joined == \(text)") == [7])
    #expect(try keys("joined == \(same)") == [7])
    for comparison in ["<", "<=", ">", ">=", "!="] {
      #expect(try keys("joined \(comparison) \(text)") == keys("joined \(comparison) \(same)"))
    }
  }

  @Test("in a comparison with a date, a day means its start")
  func days() throws {
    let expected = try keys("joined > 2020-09-20@00:00:00")
    for text in ["2020-09-20", "'2020-09-20'", "(2020-09-20)", "\"2020-09-20\""] {
      #expect(try keys("joined > \(text)") == expected, "\(text)")
      #expect(try keys("\(text) < joined") == expected, "\(text)")
    }
    #expect(
      try keys("joined BETWEEN {2020-09-15, 2020-09-20}")
        == keys("joined BETWEEN {2020-09-15@00:00:00, 2020-09-20@00:00:00}")
    )
    #expect(
      try keys("friends.joined < 2020-09-20 AND age > 3") == keys("friends.joined < 2020-09-20@00:00:00 AND age > 3")
    )
    #expect(try keys("friends.@min.joined < 2020-09-20") == keys("friends.@min.joined < 2020-09-20@00:00:00"))
  }

  @Test("elsewhere, the same tokens are a subtraction")
  func subtractions() throws {
    // 2020 - 9 - 20
    #expect(try keys("_id + 1970 < 2020-09-20") == keys("_id < 21"))
    #expect(try keys("_id + 1970 < 2020-09-20 + 1") == keys("_id < 22"))
    #expect(try keys("_id + 1970 < 2020-09-20 * 2") == keys("_id < 1"))
    #expect(try keys("_id + 1970 < (2020-09-20)") == keys("_id < 21"))
  }

  @Test("SORT without a direction is ascending")
  func sort() throws {
    #expect(try keys("age > 20 SORT(age)") == keys("age > 20 SORT(age ASC)"))
    #expect(try keys("age > 20 SORT(age, name DESC)") == keys("age > 20 SORT(age ASC, name DESC)"))
  }

  @Test("SORT, DISTINCT and LIMIT without a predicate apply to all objects")
  func orderingAlone() throws {
    #expect(try keys("SORT(age DESC) LIMIT(3)") == keys("TRUEPREDICATE SORT(age DESC) LIMIT(3)"))
    #expect(try keys("limit(2)").count == 2)
    #expect(try keys("DISTINCT(age)") == keys("TRUEPREDICATE DISTINCT(age)"))
  }
}
