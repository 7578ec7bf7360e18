// The messages for queries that cannot be run, and the queries that use an index.

import RealmPages
import RealmQuery
import TestSupport
import Testing

@Suite("Errors in queries")
struct QueryErrorTests {
  private func query(_ text: String, _ className: String = "Person", in file: String = "people") throws -> ObjectQuery {
    let snapshot = try Fixture.named(file).snapshot()
    let table = try #require(try snapshot.table(named: "class_" + className))
    return try ObjectQuery(text, of: table, in: snapshot)
  }

  @Test(
    "an error points at the column",
    arguments: [
      ("", 1, "expected a property"), ("age", 4, "expected a comparison"), ("age >", 6, "expected a property"),
      ("agee > 3", 1, "no property agee; did you mean age? it has _id, name, age"),
      ("dog.nam == 'x'", 5, "Dog has no property nam"),
      ("age > 3 AND", 12, "expected a property"), ("age > 'x", 7, "unterminated"), ("age == 3 3", 10, "expected AND"),
      ("(age > 3", 9, "expected ')'"), ("age > true", 5, "cannot be compared"), ("1 == 2", 3, "two constants"),
      ("name > 3", 6, "a string cannot be compared with an integer"), ("age BEGINSWITH 'x'", 5, "cannot be compared"),
      ("age IN 3", 5, "IN needs a list"), ("age IN (1, 2", 13, "expected ')'"), ("age IN [1, 2", 13, "expected ']'"),
      ("age IN (1, dog)", 12, "lists hold no properties"), ("age IN (dog)", 5, "IN needs a list"),
      ("dog == 'Rex'", 5, "with a string; compare a property of what it leads to, such as dog.name"),
      ("3 < dog", 3, "such as dog.name"), ("age BETWEEN {1}", 5, "two bounds"), ("ALL age == 3", 9, "need a list"),
      ("dog > obj('Dog', 'Rex')", 5, "links can only be compared"), ("dog == obj('Cat', 'Rex')", 8, "no class Cat"),
      ("name.x == 3", 6, "is not a link"), ("age.@count == 3", 1, "has no size"),
      ("friends.@sum.name == 1", 1, "it is not a number"),
      ("SUBQUERY(dog, $x, $x.age == 1).@count == 1", 1, "needs a list"),
      ("SUBQUERY(friends, $x, age == 1).@count == 1", 23, "properties are those of $x"),
      ("name == Rex", 9, "if it is a string, write it in quotes: 'Rex'"),
      ("name == Rex Smith", 13, "found 'Smith'; strings must be in quotes"),
      ("name IS NULL", 6, "found 'IS'; null is compared with =="),
      ("age > 3 ORDER BY name", 9, "found 'ORDER'; objects are sorted with SORT"),
      ("age > 3 group by name", 9, "found 'group'; the option --group-by"),
      ("name == name 3", 14, "strings must be in quotes"), ("dog == Rex", 8, "write it in quotes: 'Rex'"),
      ("age == $0", 8, "write the value"), ("TRUEPREDICATE SORT(age UP)", 24, "ASC or DESC"),
      ("TRUEPREDICATE SORT(friends.age ASC)", 20, "not by a list"), ("TRUEPREDICATE LIMIT(x)", 21, "a number"),
      ("犬 == 1", 1, "no property"), ("犬 == 1 # 2", 8, "unexpected"), ("age == 1 #", 10, "unexpected character '#'"),
      ("joined > 2020-13-01@00:00:00", 10, "not a date"),
      ("joined > 2020-02-30T00:00:00Z", 10, "not a date in the years"),
      ("joined > 2020-02-28T00:00:00.1234567891Z", 10, "not a date"),
      ("joined > 'maybe'", 8, "write it as 2024-05-01T10:00"),
      ("joined > 5", 8, "write it as"), ("joined > 2020-13-01", 8, "write it as"),
      ("joined > age", 8, "with an integer"), ("name TEXT 'x'", 6, "not supported"),
      ("dog GEOWITHIN 1", 15, "expected geoCircle, geoBox or geoPolygon"),
      ("name <[d] 'x'", 7, "[d] does not go with <"), ("name LIKE[cd] 'x'", 10, "[cd] does not go with LIKE"),
      ("age == 99999999999999999999", 8, "64 bits"), ("@links.Cat.dog.@count == 0", 8, "no class Cat"),
    ] as [(String, Int, String)]
  )
  func places(text: String, column: Int, problem: String) throws {
    do {
      _ = try query(text)
      Issue.record("'\(text)' was accepted")
    } catch let error as InputError {
      #expect(error.column == column, "\(error)")
      #expect(error.problem.contains(problem), "\(error)")
    }
  }

  @Test(
    "a query that cannot mean what it says is refused with a hint",
    arguments: [
      ("peers.next == null", 12, "holds no nulls; count its links with @count"),
      ("null != leaves", 6, "holds no nulls"),
      ("str.@type == 'string'", 1, "@type needs values of type mixed"),
      ("intList BETWEEN {1, 2}", 9, "BETWEEN needs ALL before a list"), ("ANY int == 3", 9, "need a list"),
      ("leaf == L0:3", 9, "the links lead to Leaf, not to the table with key 0"),
      ("leaf == next", 6, "a link to Leaf cannot be compared with one to Node"), ("leaf < null", 6, "links can only"),
      ("peers.@sum.intList > 1", 1, "intList is a collection; intList.@sum has one result for each object"),
      ("intDict[0] == 1", 9, "its entries have keys"), ("intDict.@values[0] == 1", 17, "nothing can follow @values"),
      ("anyList ==[c] 100", 9, "==[c] compares strings, not an integer"),
      ("`any` BEGINSWITH null", 7, "BEGINSWITH compares strings, not null"),
      ("peers IN {O1, 3}", 15, "an integer cannot be compared with a link"),
    ] as [(String, Int, String)]
  )
  func meaningless(text: String, column: Int, problem: String) throws {
    do {
      _ = try query(text, "Node", in: "queries/graph")
      Issue.record("'\(text)' was taken")
    } catch let error as InputError {
      #expect(error.column == column, "\(error)")
      #expect(error.problem.contains(problem), "\(error)")
    }
  }

  @Test(
    "lists after IN and BETWEEN accept the brackets of SQL and of JSON",
    arguments: [
      ("age IN {20, 21}", "age IN (20, 21)"), ("age IN {20, 21}", "age IN [20,21]"), ("age IN {20}", "age IN (20)"),
      ("age IN {}", "age IN ()"), ("age IN {}", "age IN []"), ("name IN {'Person 1'}", "name IN ('Person 1')"),
      ("age IN {-1, 20}", "age IN (-1, 20)"), ("age BETWEEN {20, 22}", "age BETWEEN (20, 22)"),
      ("age BETWEEN {20, 22}", "age BETWEEN [20, 22]"),
      ("age IN {20} AND (name != null)", "age IN (20) AND (name != null)"),
      ("21 IN friends.age", "21 IN (friends.age)"), ("NOT age IN {20, 21}", "NOT age IN (20, 21)"),
      ("age IN {20, 21} SORT(age ASC)", "(age IN (20,21)) SORT(age)"),
    ]
  )
  func brackets(_ braces: String, _ other: String) throws {
    let keys = try query(braces).keys()
    #expect(try query(other).keys() == keys)
  }

  @Test("deep nesting is refused without a crash")
  func depth() throws {
    #expect(throws: InputError.self) { try query(String(repeating: "(", count: 5000) + "age == 1") }
    #expect(throws: InputError.self) { try query(String(repeating: "NOT ", count: 5000) + "age == 1") }
    for sign in ["+", "-", "*", "/"] {
      let text = "age > 1" + String(repeating: sign + "1", count: 10_000)
      let error = #expect(throws: InputError.self) { try query(text) }
      #expect(error?.problem == "more than 100 operations in one expression")
      #expect(error?.column == 208)
    }
    #expect(throws: InputError.self) { try query(friends(5000, "age > 3")) }
  }

  /// A path with this many steps along `friends`.
  private func friends(_ count: Int, _ end: String) -> String { String(repeating: "friends.", count: count) + end }

  @Test(
    "a path with 2^60 routes evaluates each object once",
    arguments: ["age > 3", "@max.age > 3", "@min.age < 99", "@count > 0", "name BEGINSWITH 'P'", "age IN {24, 25}"]
  )
  func longPaths(end: String) throws {
    // Each of the five persons of a circle of friends is reached on each path of a length that reaches all of them.
    let far = try query(friends(60, end)).keys(), further = try query(friends(65, end)).keys()
    #expect(!far.isEmpty)
    #expect(far == further)
    #expect(try query("ANY " + friends(60, "age > 3")).keys() == query(friends(60, "age > 3")).keys())
  }

  @Test("every route counts in sums, list comparisons and columns, up to a million routes")
  func manyWays() throws {
    // The sum along two steps, computed from those along one.
    let snapshot = try Fixture.named("people").snapshot()
    let table = try #require(try snapshot.table(named: "class_Person"))
    let friends = try QueryPath("friends._id", of: table, in: snapshot)
    let once = try QueryPath("friends.@sum.age", of: table, in: snapshot)
    let twice = try QueryPath("friends.friends.@sum.age", of: table, in: snapshot)
    let cursor = ObjectCursor(table), friend = ObjectCursor(table)
    var persons = 0
    while try cursor.next() {
      guard case .many(let ids) = try friends.value(cursor), case .one(.int(let sum)) = try twice.value(cursor) else {
        Issue.record("no list and no sum")
        continue
      }
      var expected: Int64 = 0
      for case .int(let id) in ids {
        guard let key = try table.objectKey(primaryKey: .int(id)), try friend.seek(key),
          case .one(.int(let part)) = try once.value(friend)
        else {
          Issue.record("no friend \(id)")
          continue
        }
        expected += part
      }
      #expect(sum == expected)
      persons += 1
    }
    #expect(persons > 10)
    for text in [self.friends(60, "@sum.age > 3"), self.friends(60, "age == friends.age")] {
      let error = #expect(throws: QueryFailure.self) { try query(text).keys() }
      guard case .refused(let error) = error else {
        Issue.record("\(text): \(String(describing: error))")
        continue
      }
      #expect(error.problem == "more than 1000000 ways along this path from one object")
    }
  }

  @Test("a nested SUBQUERY evaluates each object once")
  func nestedSubqueries() throws {
    var text = "$x40.age > 3"
    for level in (1...40).reversed() {
      text = "SUBQUERY(\(level > 1 ? "$x\(level - 1)." : "")friends, $x\(level), \(text)).@count > 0"
    }
    #expect(try query(text).keys() == query(friends(40, "age > 3")).keys())
  }

  @Test(
    "primary keys and search indexes are used",
    arguments: [
      ("Person", "_id == 4", true), ("Person", "4 == _id", true), ("Person", "_id IN {4, 18} AND age > 3", true),
      ("Person", "_id == 4 OR _id == 18", true), ("Person", "_id == 4 OR age == 3", false),
      ("Person", "age > 3", false),
      ("Person", "NOT _id == 4", false), ("Dog", "name == 'Rex'", true), ("Dog", "name ==[c] 'Rex'", false),
    ]
  )
  func indexes(className: String, text: String, isUsed: Bool) throws {
    #expect(try query(text, className).usesIndex == isUsed)
  }

  @Test("a search index finds the same objects as a scan")
  func indexedValues() throws {
    for text in ["n == 5", "n IN {1, 2, NULL}", "n == NULL", "uid == NULL", "oid == NULL"] {
      let indexed = try query(text, "Note", in: "strings")
      #expect(indexed.usesIndex, "\(text)")
      // A double negation uses no index.
      let walked = try query("NOT (NOT (\(text)))", "Note", in: "strings")
      #expect(!walked.usesIndex)
      #expect(try indexed.keys() == walked.keys())
    }
  }

  @Test("an index behind links finds the same objects as a scan")
  func indexBehindLinks() throws {
    for text in ["dog.name == 'Rex'", "dog.name IN {'Rex', 'Fido', 'none'}", "dog.name == NULL"] {
      let indexed = try query(text, "Person"), walked = try query("NOT (NOT (\(text)))", "Person")
      #expect(indexed.usesIndex && !walked.usesIndex, "\(text)")
      let keys = try indexed.keys()
      #expect(try !keys.isEmpty && keys == walked.keys(), "\(text)")
    }
  }

  @Test("queries with random changes are refused or run, and never crash")
  func mutants() throws {
    let snapshot = try Fixture.named("people").snapshot()
    let table = try #require(try snapshot.table(named: "class_Person"))
    let queries = ExpectedQuery.all.filter { $0.className == "Person" }.map { Array($0.query.utf8) }
    var random = SplitMix64(seed: 7)
    var refused = 0
    for _ in 0..<3000 {
      var text = try #require(queries.randomElement(using: &random))
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let position = Int.random(in: 0...text.count, using: &random)
        let other = try #require(queries.randomElement(using: &random))
        switch Int.random(in: 0..<3, using: &random) {
        case 0: text.removeSubrange(position..<min(text.count, position + Int.random(in: 1...4, using: &random)))
        case 1: text.insert(contentsOf: other.suffix(Int.random(in: 1...8, using: &random)), at: position)
        default: text.insert(UInt8.random(in: 32...126, using: &random), at: position)
        }
      }
      do {
        _ = try ObjectQuery(String(decoding: text, as: UTF8.self), of: table, in: snapshot).keys()
      } catch is InputError {
        refused += 1
      }
    }
    #expect(refused > 100 && refused < 3000)
  }

  @Test(
    "parsing a query takes linear time",
    arguments: ["terms", "values", "text", "path", "sums"]
  )
  func growing(shape: String) throws {
    let growth = try growth(from: 2000) { count in
      switch shape {
      case "terms": _ = try query((0..<count).map { "age == \($0)" }.joined(separator: " OR "))
      case "values": _ = try query("age IN {" + (0..<count).map { "\($0)" }.joined(separator: ",") + "}")
      case "text": _ = try query("name == '" + String(repeating: "\\n", count: 10 * count) + "'")
      case "path": _ = try? query(String(repeating: "friends.", count: count) + "age == 1")
      default: _ = try? query("age == " + String(repeating: "1 + ", count: count) + "1")
      }
    }
    #expect(growth < largestGrowth)
  }
}
