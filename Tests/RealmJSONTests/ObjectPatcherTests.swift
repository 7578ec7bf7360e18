// Writing a text to an object changes what the text names and nothing else.

import RealmPages
import TestSupport
import Testing

@testable import RealmJSON

@Suite("writing objects")
struct ObjectPatcherTests {
  private let realm: ScratchRealm

  init() throws { realm = try ScratchRealm() }

  /// A member of a text that a test varies.
  private func json(_ id: Int, _ rest: String) -> String { "{\"_id\":\(id),\(rest)}" }

  // MARK: creating

  @Test("a new object has its defaults and the values in the text")
  func create() throws {
    let outcome = try realm.write(#"{"string":"x","_id":7,"scores":[3,1]}"#, to: .new())
    #expect(outcome.wasCreated && outcome.hasChanged)
    let text = try realm.text(outcome.object)
    #expect(text.hasPrefix(#"{"_id":7,"int":0,"bool":false,"string":"x","data":"","date":"1970-01-01T00:00:00Z","#))
    #expect(text.contains(#""intOpt":null"#))
    #expect(text.contains(#""scores":[3,1],"labels":[]"#))
    #expect(try realm.problems().isEmpty)
  }

  @Test("a new object reports the required properties that its text omits, embedded ones included")
  func defaulted() throws {
    func names(_ text: String, to target: PatchTarget, of className: String = "Person") throws -> [String] {
      let transaction = try realm.writer.begin()
      let table = try #require(try transaction.tableKey(named: "class_\(className)"))
      let outcome = try ObjectPatcher().apply(JSONText(Array(text.utf8)), to: target, of: table, in: transaction)
      var counts: [RequiredProperty: Int] = [:]
      for property in outcome.defaulted { counts[property, default: 0] += 1 }
      let found = try counts.named(in: transaction)
      transaction.rollback()
      return found.map { "\($0.name) \($0.objects) \($0.value)" }
    }
    #expect(try names("{}", to: .new(), of: "Dog") == ["Dog.name 1 \"\""])
    #expect(try names(#"{"name":"x"}"#, to: .new(), of: "Dog") == [])
    let scalars = try names(#"{"_id":1}"#, to: .new())
    #expect(scalars.contains("Person.date 1 \"1970-01-01T00:00:00Z\"") && scalars.contains("Person.int 1 0"))
    // Neither properties that can be null, nor collections, nor the primary key.
    #expect(scalars.allSatisfy { !$0.contains("Opt") && !$0.contains("_id") && !$0.contains("scores") })
    let offices = #"{"_id":1,"offices":[{"geo":{"lat":1.0}},{"geo":{}}]}"#
    #expect(try names(offices, to: .new()).filter { $0.hasPrefix("Geo") } == ["Geo.lat 1 0.0", "Geo.lon 2 0.0"])
    let person = try realm.write(#"{"_id":7}"#, to: .new()).object
    #expect(try names(#"{"int":1}"#, to: .object(person)) == [])
    #expect(try names(#"{"address":{"geo":{"lat":1.0}}}"#, to: .object(person)) == ["Geo.lon 1 0.0"])
  }

  @Test("the primary key comes from the text, from the name, or from both if they agree")
  func primaryKeys() throws {
    try realm.write("{}", to: .named(.int(1)))
    try realm.write(#"{"_id":2}"#, to: .named(.int(2)))
    try realm.write(#"{"_id":{"$numberLong":"3"}}"#, to: .new())
    #expect(try realm.table("Person").objectCount == 3)
    try realm.write("{}", to: .named(.null), of: "Cat")
    try realm.write(#"{"name":""}"#, to: .new(), of: "Cat")
    #expect(try realm.table("Cat").objectCount == 2)
    #expect(kind { try realm.write(#"{"_id":5}"#, to: .named(.int(4))) } == "keyMismatch")
    #expect(kind { try realm.write("{}", to: .new()) } == "keyMismatch")
    #expect(kind { try realm.write("{}", to: .keyed(ObjKey(4))) } == "keyMismatch")
    #expect(kind { try realm.write("{}", to: .named(.int(4)), of: "Dog") } == "keyMismatch")
    #expect(kind { try realm.write(#"{"_id":2}"#, to: .new()) } == "duplicate")
    #expect(kind { try realm.write(#"{"_id":null}"#, to: .new()) } == "wrongType")
    #expect(kind { try realm.write(#"{"_id":"2"}"#, to: .new()) } == "wrongType")
    #expect(try realm.table("Person").objectCount == 3)
  }

  @Test("in a class without primary key, the object key can be chosen")
  func objectKeys() throws {
    #expect(try realm.write("{}", to: .keyed(ObjKey(17)), of: "Dog").object == ObjKey(17))
    #expect(try realm.write("{}", to: .new(), of: "Dog").object != ObjKey(17))
    #expect(kind { try realm.write("{}", to: .keyed(ObjKey(17)), of: "Dog") } == "duplicate")
    #expect(kind { try realm.write("{}", to: .keyed(ObjKey(-2)), of: "Dog") } == "overLimit")
    #expect(kind { try realm.write("{}", to: .object(ObjKey(99)), of: "Dog") } == "missingObject")
  }

  @Test("objects of embedded and asymmetric classes cannot be written on their own")
  func kindsOfClasses() throws {
    #expect(kind { try realm.write("{}", to: .new(), of: "Address") } == "forbidden")
    let other = try ScratchRealm { (transaction) throws in _ = try transaction.addTable("class_Log", kind: .asymmetric)
    }
    #expect(kind { try other.write("{}", to: .new(), of: "Log") } == "forbidden")
  }

  // MARK: changing

  @Test("a patch keeps omitted properties, null clears, and equal text changes nothing")
  func patch() throws {
    let object = try realm.write(#"{"_id":1,"int":5,"intOpt":6,"string":"a","scores":[1,2],"labels":["x"]}"#).object
    #expect(try realm.changes(#"{"_id":1,"int":5,"scores":[1,2]}"#, to: object) == [])
    #expect(try !realm.write(realm.text(object)).hasChanged)
    #expect(
      try realm.changes(#"{"int":6,"intOpt":null,"scores":null}"#, to: object) == [
        "int put", "intOpt put", "scores clear",
      ]
    )
    let outcome = try realm.write(#"{"_id":1,"intOpt":null,"labels":null}"#)
    #expect(!outcome.wasCreated && outcome.object == object)
    #expect(try realm.value("intOpt", object) == "null")
    #expect(try realm.value("labels", object) == "[]")
    #expect(try realm.value("scores", object) == "[1,2]")
    #expect(kind { try realm.write(#"{"_id":1,"int":null}"#) } == "wrongType")
  }

  @Test("replace mode resets the properties that the text omits")
  func replace() throws {
    let object = try realm.write(
      #"{"_id":1,"int":5,"stringOpt":"a","scores":[1],"any":{"a":1},"address":{"city":"X"},"anyDict":{"k":1}}"#
    ).object
    #expect(
      try realm.changes(#"{"int":5}"#, to: object, mode: .replace)
        == ["stringOpt put", "any put", "anyDict clear", "scores clear", "address put"]
    )
    try realm.write(#"{"_id":1,"string":"b"}"#, mode: .replace)
    let fresh = try realm.write(#"{"_id":2,"string":"b"}"#).object
    #expect(try realm.text(object).dropFirst(8) == realm.text(fresh).dropFirst(8))
    #expect(try !realm.write(#"{"_id":1,"string":"b"}"#, mode: .replace).hasChanged)
    #expect(try realm.problems().isEmpty)
  }

  @Test("the primary key of an object cannot change")
  func primaryKeyStays() throws {
    let object = try realm.write(#"{"_id":1}"#).object
    #expect(kind { try realm.write(#"{"_id":2}"#, to: .object(object)) } == "keyMismatch")
    try realm.write(#"{"_id":1.0,"int":3}"#, to: .object(object))
    #expect(try realm.value("int", object) == "3")
  }

  @Test("only the differing elements of a list are written")
  func lists() throws {
    let object = try realm.write(#"{"_id":1,"scores":[1,2,3,4,5]}"#).object
    for (new, changes) in [
      ("[1,2,9,4,5]", ["[2] put"]), ("[1,2,4,5]", ["[2] remove"]), ("[1,2,3,7,4,5]", ["[3] insert"]),
      ("[0,1,2,3,4,5]", ["[0] insert"]), ("[1,2,3,4,5,6]", ["[5] insert"]),
      ("[1,5]", ["[3] remove", "[2] remove", "[1] remove"]),
      ("[1,8,9,10,11,12,5]", ["[1] put", "[2] put", "[3] put", "[4] insert", "[5] insert"]), ("[]", [" clear"]),
      ("[1,1,2,3,4,5]", ["[1] insert"]),
    ] {
      #expect(try realm.changes(#"{"scores":\#(new)}"#, to: object) == changes.map { "scores\($0)" }, "\(new)")
      try realm.write(#"{"_id":1,"scores":\#(new)}"#)
      #expect(try realm.value("scores", object) == new)
      try realm.write(#"{"_id":1,"scores":[1,2,3,4,5]}"#)
      #expect(try realm.value("scores", object) == "[1,2,3,4,5]")
    }
  }

  @Test("only the added and removed elements of a set are written, whatever the order of the text")
  func sets() throws {
    let object = try realm.write(#"{"_id":1,"labels":["c","a","b"]}"#).object
    #expect(try realm.changes(#"{"labels":["b","c","a"]}"#, to: object) == [])
    #expect(try realm.changes(#"{"labels":["b","d","a"]}"#, to: object) == ["labels discard", "labels add"])
    try realm.write(#"{"_id":1,"labels":["b","d","a","d"]}"#)
    #expect(try realm.value("labels", object) == #"["a","b","d"]"#)
    let nan = #"{"$numberDouble":"NaN"}"#
    try realm.write(json(1, "\"reals\":[1.5,\(nan),0.0]"))
    #expect(try !realm.write(json(1, "\"reals\":[\(nan),0.0,1.5]")).hasChanged)
    try realm.write(json(1, "\"reals\":[-0.0,1.5]"))
    #expect(try realm.value("reals", object) == "[-0.0,1.5]")
    try realm.write(json(1, #""anySet":[1,"a",{"$oid":"0123456789abcdef00112233"},null]"#))
    #expect(try !realm.write(realm.text(object)).hasChanged)
    #expect(kind { try realm.write(json(1, #""anySet":[[1]]"#)) } == "wrongType")
    #expect(kind { try realm.write(json(1, #""anySet":[{"a":1}]"#)) } == "wrongType")
    #expect(try realm.problems().isEmpty)
  }

  @Test("only the differing entries of a dictionary are written")
  func dictionaries() throws {
    let object = try realm.write(#"{"_id":1,"counts":{"b":2,"a":1,"d":null}}"#).object
    #expect(try realm.value("counts", object) == #"{"a":1,"b":2,"d":null}"#)
    #expect(
      try realm.changes(#"{"counts":{"d":4,"c":3,"a":1,"e":5}}"#, to: object)
        == ["counts.b remove", "counts.c put", "counts.d put", "counts.e put"]
    )
    #expect(try realm.changes(#"{"counts":{"$dictionary":[["b",2],["a",1],["d",null]]}}"#, to: object) == [])
    #expect(try realm.changes(#"{"counts":{}}"#, to: object) == ["counts clear"])
    #expect(kind { try realm.write(json(1, #""counts":{"$dictionary":[["b",2],["b",1]]}"#)) } == "syntax")
    #expect(kind { try realm.write(json(1, #""counts":{"$numberLong":"2"}"#)) } == "wrongType")
    #expect(kind { try realm.write(json(1, #""counts":[1]"#)) } == "wrongType")
  }

  @Test("collections in a Mixed are changed in place")
  func nested() throws {
    let object = try realm.write(#"{"_id":1,"any":{"a":[1,2,{"x":1,"y":[]}],"b":2}}"#).object
    #expect(try realm.changes(#"{"any":{"b":2,"a":[1,2,{"x":1,"y":[]}]}}"#, to: object) == [])
    #expect(
      try realm.changes(#"{"any":{"a":[1,5,{"x":2,"y":[7]},3],"c":[]}}"#, to: object)
        == ["any.b remove", "any.a[1] put", "any.a[2].x put", "any.a[2].y[0] insert", "any.a[3] insert", "any.c put"]
    )
    try realm.write(#"{"_id":1,"any":{"a":[1,5,{"x":2,"y":[7]},3],"c":[]}}"#)
    #expect(try realm.value("any", object) == #"{"a":[1,5,{"x":2,"y":[7]},3],"c":[]}"#)
    for value in [#"{"a":{"b":[[],{},[[1]]]}}"#, "[{}]", "7", #"{"$numberDouble":"7.0"}"#, "{}", "[]", "null"] {
      try realm.write(json(1, "\"any\":\(value)"))
      #expect(try realm.value("any", object) == value)
      #expect(try !realm.write(json(1, "\"any\":\(value)")).hasChanged)
    }
    try realm.write(json(1, #""anys":[[1],{"a":1},3],"anyDict":{"l":[1,2],"d":{"e":{}}}"#))
    #expect(
      try realm.changes(#"{"anys":[[1,2],{"a":2},3],"anyDict":{"l":[2],"d":{}}}"#, to: object)
        == ["anys[0][1] insert", "anys[1].a put", "anyDict.d clear", "anyDict.l[0] remove"]
    )
    #expect(try realm.problems().isEmpty)
  }

  @Test("a Mixed distinguishes types")
  func mixedTypes() throws {
    let object = try realm.write(#"{"_id":1}"#).object
    for value in [
      "1", #"{"$numberDouble":"1.0"}"#, "1.5", #"{"$numberFloat":"1.5"}"#, #"{"$numberDecimal":"1.50"}"#, #""1.5""#,
      #"{"$date":"2024-05-01T10:00:00Z"}"#, #""2024-05-01T10:00:00Z""#, #"{"$oid":"0123456789abcdef00112233"}"#,
      #"{"$uuid":"01234567-89ab-cdef-0011-223344556677"}"#, #"{"$binary":{"base64":"AA==","subType":"00"}}"#,
      #"{"$numberLong":"9007199254740993"}"#, #"{"$ref":"Person","$id":1}"#, "true", "null",
    ] {
      try realm.write(json(1, "\"any\":\(value)"))
      #expect(try realm.value("any", object) == value)
    }
    #expect(try realm.write(json(1, "\"any\":1e3")).hasChanged)
    #expect(try realm.value("any", object) == #"{"$numberDouble":"1000.0"}"#)
    #expect(kind { try realm.write(json(1, "\"any\":9223372036854775808")) } == "outOfRange")
    #expect(kind { try realm.write(json(1, #""any":{"$minKey":1}"#)) } == "wrongType")
    #expect(kind { try realm.write(json(1, #""any":{"a":1,"$b":2}"#)) } == "wrongType")
  }

  // MARK: links

  @Test("links name their targets by primary key, by class and key, or by object key")
  func links() throws {
    let dog = try realm.write(#"{"name":"Rex"}"#, to: .keyed(ObjKey(5)), of: "Dog").object
    try realm.write(#"{"name":"Tom"}"#, of: "Cat")
    try realm.write("{\"name\":null}", of: "Cat")
    try realm.write(#"{"_id":2}"#)
    let object = try realm.write(
      #"{"_id":1,"friend":1,"friends":[2,1,2],"friendSet":[2,1],"dog":5,"cat":"Tom","cats":{"a":"Tom","b":null}}"#
    ).object
    #expect(try realm.value("friend", object) == "1")
    #expect(try realm.value("friends", object) == "[2,1,2]")
    #expect(try realm.value("dog", object) == "\(dog)")
    #expect(try realm.value("cats", object) == #"{"a":"Tom","b":null}"#)
    let spelled = #"{"$ref":"Person","$id":{"$numberInt":"1"}}"#
    #expect(try realm.changes(#"{"friend":\#(spelled),"dog":{"$id":5,"$ref":"Dog"}}"#, to: object) == [])
    try realm.write(json(1, #""cat":{"$ref":"Cat","$id":null},"cats":{"a":{"$ref":"Cat","$id":null}}"#))
    #expect(try realm.value("cat", object) == #"{"$ref":"Cat","$id":null}"#)
    #expect(try !realm.write(realm.text(object)).hasChanged)
    #expect(try realm.problems().isEmpty)
  }

  @Test("links to nothing, or to another class, are refused")
  func badLinks() throws {
    try realm.write(#"{"_id":1}"#)
    for (text, expected) in [
      (#""friend":9"#, "linkTargetMissing"), (#""friends":[1,9]"#, "linkTargetMissing"),
      (#""dog":0"#, "linkTargetMissing"),
      (#""any":{"$ref":"Person","$id":9}"#, "linkTargetMissing"),
      (#""any":{"$ref":"Nobody","$id":1}"#, "linkTargetMissing"),
      (#""friend":"x""#, "wrongType"), (#""friend":{"$ref":"Dog","$id":1}"#, "wrongType"),
      (#""friends":[null]"#, "wrongType"),
      (#""any":{"$ref":"Address","$id":1}"#, "wrongType"), (#""dog":-3"#, "linkTargetMissing"),
    ] {
      #expect(kind { try realm.write(json(1, text)) } == expected, "\(text)")
    }
  }

  @Test("a new object may link to itself")
  func ownLinks() throws {
    let made = try realm.write(#"{"_id":5,"friend":5,"friends":[5,5],"any":{"$ref":"Person","$id":5}}"#)
    #expect(made.wasCreated && made.missingLinks == 0)
    #expect(try realm.value("friend", made.object) == "5")
    #expect(try realm.value("friends", made.object) == "[5,5]")
    #expect(try realm.problems().isEmpty)
  }

  @Test("one patcher accepts new and existing objects in any order")
  func newAndKnown() throws {
    let key = try realm.table("Person").key
    let transaction = try realm.writer.begin()
    let patcher = ObjectPatcher()
    var made: [Bool] = []
    for (id, city) in [(1, "A"), (2, "B"), (1, "C"), (3, "D"), (4, "E"), (2, "F")] {
      let text = #"{"_id":\#(id),"friends":[1],"address":{"city":"\#(city)"}}"#
      made.append(try patcher.apply(JSONText(Array(text.utf8)), to: .upsert, of: key, in: transaction).wasCreated)
    }
    #expect(made == [true, true, false, true, true, false])
    _ = try transaction.commit()
    #expect(try realm.table("Person").objectCount == 4)
    let second = try realm.write(#"{"_id":2}"#)
    #expect(!second.hasChanged)
    #expect(try realm.text(second.object).contains(#""city":"F""#))
    #expect(try realm.problems().isEmpty)
  }

  @Test("a value of a new object that the engine refuses is reported with its position")
  func refusedValue() throws {
    let long = String(repeating: "x", count: 16_777_200)
    let error = inputError { try realm.write(#"{"_id":1, "string":"\#(long)"}"#) }
    #expect(error?.line == 1 && error?.column == 20 && error?.path == "string")
  }

  @Test("links to later objects are skipped, counted, and set by applying the text again")
  func missingLinks() throws {
    let text =
      #"{"_id":1,"friend":9,"friends":[9,1,9],"friendSet":[9],"cats":{"a":"Tom"},"any":[{"$ref":"Person","$id":9}],"#
      + #""address":{"city":"X"}}"#
    let outcome = try realm.write(text, missingLinks: .leaveOut)
    #expect(outcome.missingLinks == 6)
    #expect(try realm.value("friends", outcome.object) == "[1]")
    #expect(try realm.value("any", outcome.object) == "[null]")
    try realm.write(#"{"_id":9}"#)
    try realm.write(#"{"name":"Tom"}"#, of: "Cat")
    #expect(
      try realm.changes(text, to: outcome.object) == [
        "friend put", "friends[0] put", "friends[1] insert", "friends[2] insert", "friendSet add", "cats.a put",
        "any[0] put",
      ]
    )
    #expect(try realm.write(text).missingLinks == 0)
    #expect(try realm.value("friends", outcome.object) == "[9,1,9]")
    #expect(try realm.value("any", outcome.object) == #"[{"$ref":"Person","$id":9}]"#)
    #expect(try realm.problems().isEmpty)
  }

  // MARK: embedded objects

  @Test("embedded objects are written nested, in every kind of property")
  func embedded() throws {
    let text =
      #"{"_id":1,"address":{"city":"X","geo":{"lat":1.5}},"offices":[{"city":"A"},{},{"geo":{"lon":2}}],"#
      + #""byCity":{"a":{"street":"S"},"b":null}}"#
    let object = try realm.write(text).object
    #expect(try realm.value("address", object) == #"{"street":null,"city":"X","geo":{"lat":1.5,"lon":0.0}}"#)
    #expect(try realm.value("byCity", object).hasSuffix(#""geo":null},"b":null}"#))
    #expect(try realm.changes(text, to: object) == [])
    #expect(try realm.table("Address").objectCount == 5)
    #expect(
      try realm.changes(#"{"address":{"city":"Y","geo":{"lat":1.5}}}"#, to: object) == ["city put"]
    )
    // Properties that the text of an embedded object omits get their defaults.
    #expect(try realm.changes(#"{"address":{"geo":{"lat":1.5}}}"#, to: object) == ["city put"])
    #expect(try realm.changes(#"{"address":{"city":"X"}}"#, to: object) == ["geo put"])
    try realm.write(json(1, #""address":null,"byCity":{"b":{"city":"B"}}"#))
    #expect(try realm.value("byCity", object) == #"{"b":{"street":null,"city":"B","geo":null}}"#)
    #expect(try realm.table("Address").objectCount == 4)
    #expect(try realm.table("Geo").objectCount == 1)
    #expect(try realm.problems().isEmpty)
  }

  @Test("the unchanged objects in a list of embedded objects are kept")
  func embeddedLists() throws {
    let object = try realm.write(json(1, #""offices":[{"city":"A"},{"city":"B"},{"city":"C"}]"#)).object
    for (new, changes) in [
      (#"[{"city":"A"},{"city":"C"}]"#, ["offices[1] remove"]),
      (#"[{"city":"A"},{"city":"N"},{"city":"B"},{"city":"C"}]"#, ["offices[1] embed"]),
      (#"[{"city":"A"},{"city":"N"},{"city":"C"}]"#, ["city put"]),
      ("[]", ["offices clear"]),
    ] {
      #expect(try realm.changes(#"{"offices":\#(new)}"#, to: object) == changes, "\(new)")
      try realm.write(json(1, "\"offices\":\(new)"))
      #expect(try !realm.write(json(1, "\"offices\":\(new)")).hasChanged)
      try realm.write(json(1, #""offices":[{"city":"A"},{"city":"B"},{"city":"C"}]"#))
    }
    #expect(try realm.table("Address").objectCount == 3)
    #expect(kind { try realm.write(json(1, #""offices":[null]"#)) } == "wrongType")
    #expect(kind { try realm.write(json(1, #""address":7"#)) } == "wrongType")
    #expect(try realm.problems().isEmpty)
  }

  // MARK: errors

  private func kind(_ body: () throws -> Void) -> String {
    "\(inputError(body).map { "\($0.kind)".prefix { $0 != "(" } } ?? "none")"
  }

  @Test(
    "an error names the line, the column and the property",
    arguments: [
      (
        "{\n  \"_id\": 1,\n  \"int\": \"x\"\n}",
        "line 3, column 10, int: expected a whole number, found the string \"x\""
      ),
      (
        "{\"_id\":1,\n\"scores\":[1,2.5]}",
        "line 2, column 13, scores[1]: expected a whole number, found the number 2.5"
      ),
      ("{\"_id\":1,\"nmae\":1}", "line 1, column 10, nmae: class Person has no property \"nmae\"; it has _id, int,"),
      (
        "{\"_id\":1,\"any\":{\"é\":[{\"a\":{\"$oid\":1}}]}}",
        "line 1, column 27, any.é[0].a: expected 24 hexadecimal digits, found {\"$oid\": ..}"
      ),
      (
        "{\"_id\":1,\"counts\":{\"$dictionary\":{\"$x\":true}}}",
        "line 1, column 40, counts: expected a whole number, found true"
      ),
      ("{\"_id\":1,\"address\":{\"geo\":{\"lat\":1e999}}}", "line 1, column 34, address.geo.lat: 1e999 is too large"),
      ("[1]", "line 1, column 1: expected an object with the properties of Person, found an array"),
      (
        "{\"_id\":1,\"friends\":[9]}",
        "line 1, column 21, friends[0]: there is no Person with the primary key \"9\"; create"
      ),
    ]
  )
  func places(text: String, expected: String) throws {
    let error = inputError { try realm.write(text) }
    #expect(error?.description.hasPrefix(expected) == true, "\(error?.description ?? "no error")")
  }

  @Test("values beyond a limit of the format are refused as such")
  func limits() throws {
    let long = String(repeating: "x", count: 16_777_200)
    #expect(kind { try realm.write(json(1, "\"string\":\"\(long)\"")) } == "overLimit")
    let deep = String(repeating: "[", count: 101) + String(repeating: "]", count: 101)
    #expect(kind { try realm.write(json(1, "\"any\":\(deep)")) } == "overLimit")
    let deeper = String(repeating: "[", count: 300) + String(repeating: "]", count: 300)
    #expect(kind { try realm.write(json(1, "\"any\":\(deeper)")) } == "overLimit")
    try realm.write(json(1, "\"any\":\(deep.dropFirst().dropLast())"))
    #expect(kind { try realm.write(json(1, #""counts":{"a.b":1}"#)) } == "wrongType")
    #expect(try realm.table("Person").objectCount == 1)
    #expect(try realm.problems().isEmpty)
  }
}
