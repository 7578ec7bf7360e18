// Arguments of queries, and properties whose names are not words of the language.

import RealmPages
import RealmQuery
import TestSupport
import Testing

@Suite("Arguments and names in queries")
struct ArgumentTests {
  private func count(
    _ text: String,
    _ arguments: [String],
    of className: String = "Person",
    in file: String = "people"
  ) throws -> Int {
    let snapshot = try Fixture.named(file).snapshot()
    let table = try #require(try snapshot.table(named: "class_" + className))
    return try ObjectQuery([.given(text, texts: arguments)], of: table, in: snapshot).count()
  }

  @Test(
    "a string argument takes the type of the other operand",
    arguments: [
      ("age == $0", ["30"], "age == 30"), ("age > $0 AND age < $1", ["20", "25"], "age > 20 AND age < 25"),
      ("$0 < age", ["30"], "30 < age"), ("age == $0", ["null"], "age == NULL"),
      ("name == $0", ["Person 1"], "name == 'Person 1'"), ("name == $0", ["30"], "name == '30'"),
      ("name == $0", ["' OR name != '"], "FALSEPREDICATE"),
      ("name IN {$0, $1}", ["Person 1", "x"], "name == 'Person 1'"),
      ("name CONTAINS[c] $0", ["person"], "name CONTAINS[c] 'person'"),
      ("joined > $0", ["2020-09-20"], "joined > 2020-09-20"),
      ("joined BETWEEN {$0, $1}", ["2020-09-14", "2020-09-16"], "joined BETWEEN {2020-09-14, 2020-09-16}"),
      ("dog == $0", ["Rex"], "dog == obj('Dog', 'Rex')"), ("dog == $0", ["null"], "dog == NULL"),
      ("friends == $0", ["18"], "friends == obj('Person', 18)"), ("dog.weight > $0", ["4.5"], "dog.weight > 4.5"),
      ("dog.good == $0", ["true"], "dog.good == true"), ("friends.@count > $0", ["0"], "friends.@count > 0"),
      ("friends[$0].age > 30", ["0"], "friends[0].age > 30"), ("$K0 > $1", ["dog.weight", "5"], "dog.weight > 5"),
      ("age + $0 > 40", ["10"], "age + 10 > 40"),
      (
        "SUBQUERY(friends, $x, $x.age == $0).@count > 0", ["21"],
        "SUBQUERY(friends, $x, $x.age == 21).@count > 0"
      ),
      ("age == $1", ["", "30"], "age == 30"), ("age == 30.0", [], "age == 30"),
    ]
  )
  func argumentTypes(_ text: String, _ arguments: [String], _ same: String) throws {
    #expect(try count(text, arguments) == count(same, []))
  }

  @Test(
    "compared with a Mixed, an argument is parsed as a literal, or else taken as a string",
    arguments: [
      ("body == $0", ["plain"], "body == 'plain'"), ("body.a == $0", ["3"], "body.a == 3"),
      ("body[0][0] == $0", ["true"], "body[0][0] == true"), ("body.b == $0", ["null"], "body.b == NULL"),
      ("body.@type == $0", ["list"], "body.@type == 'list'"), ("meta[$0][0] == $1", ["l", "e"], "meta['l'][0] == 'e'"),
    ]
  )
  func argumentsOfMixed(_ text: String, _ arguments: [String], _ same: String) throws {
    let expected = try count(same, [], of: "Doc", in: "nested")
    #expect(expected > 0)
    #expect(try count(text, arguments, of: "Doc", in: "nested") == expected)
  }

  @Test(
    "an argument of the wrong type is an error",
    arguments: [
      ("age == $0", ["many"], 8, "argument 'many' is not an integer"), ("dog.good == $0", ["yes"], 13, "is not a bool"),
      ("joined > $0", ["maybe"], 10, "is not a date"),
      ("age == $2", ["1", "2"], 8, "argument $2 has no value here (2 given)"),
      ("body.@type == $0", ["lists"], 0, ""), ("age == $0", [], 8, "write the value"),
    ] as [(String, [String], Int, String)]
  )
  func unfitArguments(text: String, arguments: [String], column: Int, problem: String) throws {
    let error = #expect(throws: InputError.self) { try count(text, arguments) }
    guard column > 0 else { return }
    #expect(error?.column == column)
    #expect(error?.problem.contains(problem) ?? false, "\(String(describing: error))")
  }

  @Test("a property with any name can be asked for")
  func namesInBackquotes() throws {
    let names = ["null", "true", "not", "odd: name!", "tick`", "a.b", "ANY", "1st", "@x"]
    let writer = try RealmWriter(memory: MemoryStorage(name: "names"))
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let columns = try names.map { name in try transaction.addColumn(table, ColumnSpec(name, .int, isNullable: true)) }
    for column in columns { _ = try transaction.create(table, values: [(column, .int(7))]) }
    _ = try transaction.commit()
    let snapshot = try writer.realm.latest(), items = try #require(try snapshot.table(table))
    for (index, name) in names.enumerated() {
      let quoted = "`" + name.replacing("`", with: "``") + "`"
      let found = try ObjectQuery("\(quoted) == 7 SORT(\(quoted) ASC)", of: items, in: snapshot).keys()
      #expect(found.map(\.value) == [Int64(index)], "\(name)")
    }
    let found = try ObjectQuery([.given("$K0 == $1", texts: ["true", "7"])], of: items, in: snapshot).keys()
    #expect(found.map(\.value) == [1])
    for text in ["`null == 7", "`` == 7"] {
      #expect(throws: InputError.self) { try ObjectQuery(text, of: items, in: snapshot) }
    }
  }

  @Test("SQL wildcards in LIKE cause a note")
  func notes() {
    #expect(QueryCondition.query("name LIKE '%x'").notes.count == 1)
    #expect(QueryCondition.query("age > 3 OR NOT name LIKE '50%'").notes.count == 1)
    for text in ["name LIKE '*%'", "name LIKE 'x?'", "name CONTAINS '%'", "name LIKE"] {
      #expect(QueryCondition.query(text).notes.isEmpty, "\(text)")
    }
  }
}
