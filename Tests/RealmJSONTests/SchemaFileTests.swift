// Schema files: parsing, the effect of a change of schema, and its requirements.

import RealmJSON
import RealmPages
import TestSupport
import Testing

@Suite("schema files")
struct SchemaFileTests {
  private func read(_ text: String) throws -> SchemaDescription { try SchemaDescription(JSONText(Array(text.utf8))) }

  private func text(of snapshot: Snapshot) throws -> String {
    let out = OutputBuffer()
    try SchemaRenderer.render(snapshot, into: out)
    return out.string
  }

  // MARK: round trip

  @Test("applying a realm's own schema changes nothing, and recreates it in an empty realm", arguments: Fixture.all)
  func roundTrip(_ fixture: Fixture) throws {
    let snapshot = try fixture.snapshot()
    let text = try text(of: snapshot)
    let description = try read(text)
    #expect(try description == SchemaDescription(snapshot))
    #expect(try SchemaChange(from: SchemaDescription(snapshot), to: description).isEmpty)

    let copy = try RealmWriter(memory: MemoryStorage(name: "schema"))
    let transaction = try copy.begin()
    try SchemaChange(to: description, in: transaction).apply(transaction)
    _ = try transaction.commit()
    let made = try copy.realm.latest()
    #expect(try self.text(of: made) == text)
    #expect(Verifier(made).problems().isEmpty)
    let again = try copy.begin()
    let isEmpty = try SchemaChange(to: description, in: again).isEmpty
    #expect(isEmpty)
  }

  @Test("the file of each class equals its part of the whole schema", arguments: Fixture.own)
  func oneClass(_ fixture: Fixture) throws {
    let snapshot = try fixture.snapshot()
    let schema = try SchemaDescription(snapshot)
    for description in schema.classes {
      let out = OutputBuffer()
      try SchemaRenderer.render(
        #require(try snapshot.table(named: "class_" + description.name)),
        of: snapshot,
        into: out
      )
      let read = try ClassDescription(JSONText(out.bytes))
      #expect(read == description)
      #expect(try SchemaChange(from: schema, toClass: read).isEmpty)
    }
  }

  // MARK: reading

  @Test(
    "short forms are equivalent to full ones",
    arguments: [
      ("\"int\"", "{\"type\":\"int\"}"), ("\"int?\"", "{\"type\":\"int\",\"optional\":true}"),
      ("\"string[]\"", "{\"type\":\"list\",\"objectType\":\"string\"}"),
      ("\"string?[]\"", "{\"type\":\"list\",\"objectType\":\"string\",\"optional\":true}"),
      ("\"double{}\"", "{\"type\":\"dictionary\",\"objectType\":\"double\"}"),
      ("\"uuid<>\"", "{\"type\":\"set\",\"objectType\":\"uuid\"}"),
      ("\"A\"", "{\"type\":\"object\",\"objectType\":\"A\",\"optional\":true}"),
      ("\"A?\"", "{\"type\":\"object\",\"objectType\":\"A\"}"), ("\"A[]\"", "{\"type\":\"list\",\"objectType\":\"A\"}"),
      ("\"A{}\"", "{\"type\":\"dictionary\",\"objectType\":\"A\",\"optional\":true}"),
      ("\"mixed\"", "{\"type\":\"mixed\",\"optional\":true}"), ("\"mixed?\"", "{\"type\":\"mixed\"}"),
      ("\"{}\"", "{\"type\":\"dictionary\"}"), ("{\"type\":\"int?\"}", "{\"type\":\"int\",\"optional\":true}"),
      ("{\"type\":\"list\",\"objectType\":\"int?\"}", "\"int?[]\""),
      ("{\"type\":\"string\",\"indexed\":true}", "{\"type\":\"string\",\"indexed\":true,\"optional\":false}"),
    ]
  )
  func shortForms(short: String, full: String) throws {
    func description(_ type: String) throws -> SchemaDescription {
      let back = #"{"type":"linkingObjects","objectType":"A","property":"p"}"#
      return try read(#"{"schema":[{"name":"A","properties":{"p":\#(type),"back":\#(back)}}]}"#)
    }
    #expect(try description(short) == description(full))
    #expect(try description(short).classes[0].properties.count == 1)
  }

  @Test("a schema may be a plain array of classes, and the version may be omitted")
  func outerForms() throws {
    let classes = #"[{"name":"A","embedded":true,"properties":{}},{"name":"L","asymmetric":true,"properties":{}}]"#
    #expect(try read(classes) == read(#"{"schemaVersion":null,"schema":\#(classes)}"#))
    #expect(try read(#"{"schema":[],"schemaVersion":7}"#).version == 7)
    #expect(try read(classes).classes.map(\.kind) == [.embedded, .asymmetric])
  }

  @Test(
    "invalid schema texts are refused with their position",
    arguments: [
      ("7", 1), ("{}", 1), ("{\"schema\":[],\"x\":1}", 14), ("{\"schema\":[{}]}", 12),
      ("[{\"name\":\"A\"}]", 2), ("[{\"name\":\"A\",\"properties\":{\"p\":7}}]", 32),
      ("[{\"name\":\"A\",\"properties\":{\"p\":\"strin\"}}]", 32),
      ("[{\"name\":\"A\",\"properties\":{\"p\":\"list\"}}]", 32),
      ("[{\"name\":\"A\",\"properties\":{\"p\":{\"type\":\"list\"}}}]", 40),
      ("[{\"name\":\"A\",\"properties\":{\"p\":{\"type\":\"int\",\"mapTo\":\"q\"}}}]", 46),
      ("[{\"name\":\"A\",\"properties\":{\"p\":\"int[]?\"}}]", 32),
      ("[{\"name\":\"A\",\"properties\":{\"p\":\"A?[]\"}}]", 32),
      ("[{\"name\":\"A\",\"properties\":{\"p\":{\"type\":\"mixed\",\"optional\":false}}}]", 32),
      ("[{\"name\":\"A\",\"primaryKey\":\"q\",\"properties\":{\"p\":\"int\"}}]", 27),
      ("[{\"name\":\"A\",\"properties\":{}},{\"name\":\"A\",\"properties\":{}}]", 31),
      ("{\"schemaVersion\":-1,\"schema\":[]}", 18), ("{\"schemaVersion\":1.5,\"schema\":[]}", 18),
      ("[{\"name\":\"A\",\"embedded\":true,\"asymmetric\":true,\"properties\":{}}]", 2),
      ("[{\"name\":\"A\",\"properties\":{\"p\":{\"type\":\"int\",\"indexed\":\"yes\"}}}]", 56),
    ]
  )
  func refused(text: String, column: Int) {
    let error = inputError { _ = try read(text) }
    #expect(error?.column == column, "\(text): \(String(describing: error))")
  }

  // MARK: changing

  private static let base = """
    {"schemaVersion": 3, "schema": [
      {"name": "Person", "primaryKey": "_id", "properties": {
        "_id": "int", "name": {"type": "string", "indexed": true}, "bio": "string?", "dog": "Dog", "home": "Address"}},
      {"name": "Dog", "properties": {"name": "string", "owner": "Person", "toys": "int[]"}},
      {"name": "Address", "embedded": true, "properties": {"city": "string"}}]}
    """

  /// A realm with the schema `base` and some objects.
  private func realm() throws -> ScratchRealm {
    let realm = try ScratchRealm { (transaction) throws in
      try SchemaChange(to: read(Self.base), in: transaction).apply(transaction)
    }
    try realm.write(#"{"name":"Rex","toys":[1]}"#, to: .keyed(ObjKey(0)), of: "Dog")
    try realm.write(#"{"_id":1,"name":"Ann","dog":0,"home":{"city":"X"}}"#)
    try realm.write(#"{"_id":2,"name":"Bob"}"#)
    return realm
  }

  /// The schema `base` with some text replaced.
  private func changed(_ replacements: (String, String)...) throws -> SchemaDescription {
    var text = Self.base
    for (old, new) in replacements {
      let parts = text.split(separator: old, maxSplits: 1)
      try #require(parts.count == 2)
      text = parts[0] + new + parts[1]
    }
    return try read(text)
  }

  private func apply(_ schema: SchemaDescription, to realm: ScratchRealm) throws {
    let transaction = try realm.writer.begin()
    try SchemaChange(to: schema, in: transaction).apply(transaction)
    _ = try transaction.commit()
  }

  private func error(_ schema: SchemaDescription, _ realm: ScratchRealm) -> SchemaChangeError? {
    do {
      try apply(schema, to: realm)
      return nil
    } catch let error as SchemaChangeError {
      return error
    } catch {
      Issue.record("an error of another type: \(error)")
      return nil
    }
  }

  @Test("changes that lose no data are made at once, and objects keep their values")
  func additions() throws {
    let realm = try realm()
    let schema = try changed(
      (
        "\"bio\": \"string?\"",
        "\"bio\": {\"type\": \"string\", \"optional\": true, \"indexed\": \"full-text\"}, \"age\": \"int\""
      ),
      ("{\"type\": \"string\", \"indexed\": true}", "\"string\""),
      ("\"toys\": \"int[]\"", "\"toys\": \"int[]\", \"cats\": \"Cat{}\""),
      (
        "\"schema\": [",
        "\"schema\": [{\"name\":\"Cat\",\"primaryKey\":\"id\",\"properties\":{\"id\":\"uuid\",\"next\":\"Cat\"}},"
      )
    )
    try apply(schema, to: realm)
    #expect(
      try realm.text(ObjKey(0))
        == #"{"_id":1,"name":"Ann","bio":null,"dog":0,"home":{"city":"X"},"age":0}"#
    )
    let made = try SchemaDescription(realm.writer.realm.latest())
    #expect(made["Person"]?["bio"]?.index == .fullText && made["Person"]?["name"]?.index == nil)
    #expect(made["Cat"]?.primaryKey == "id" && made.version == 3)
    #expect(try realm.problems().isEmpty)
  }

  @Test(
    "changes that lose or convert data require a greater version, and the loss is reported",
    arguments: [
      (#""bio": "string?", "#, "", "removes Person.bio"), (#""name": "string", "#, "", "removes Dog.name"),
      (#""toys": "int[]""#, #""toys": "string[]""#, "changes Dog.toys from int[] to string[]"),
      (#""primaryKey": "_id", "#, "", "changes the primary key of Person from _id to none"),
      (#""primaryKey": "_id""#, #""primaryKey": "name""#, "changes the primary key of Person from _id to name"),
      (#""_id": "int""#, #""_id": "string""#, "changes Person._id from int to string"),
    ]
  )
  func losses(old: String, new: String, loss: String) throws {
    let realm = try realm()
    let before = try text(of: realm.writer.realm.latest())
    let schema = try changed((old, new))
    guard case .needsVersion(let reasons) = error(schema, realm)?.reason else {
      Issue.record("not refused")
      return
    }
    #expect(reasons.count == 1 && reasons[0].hasPrefix(loss), "\(reasons)")
    #expect(try text(of: realm.writer.realm.latest()) == before)

    var grown = schema
    grown.version = 4
    // A new primary key has the same value in both objects.
    if old == #""_id": "int""# {
      guard case .engine(let error) = error(grown, realm)?.reason else {
        Issue.record("not refused")
        return
      }
      #expect(error.reason == .duplicateKey)
      #expect(error.description.contains(#"Person._id cannot be the primary key: 2 objects have the value "" (_id "#))
      #expect(try text(of: realm.writer.realm.latest()) == before)
      return
    }
    try apply(grown, to: realm)
    let made = try SchemaDescription(realm.writer.realm.latest())
    #expect(made.version == 4)
    #expect(try SchemaChange(from: made, to: grown).isEmpty)
    #expect(try realm.problems().isEmpty)
  }

  @Test("a property becomes optional at once but required only with a greater version, and keeps its position")
  func optional() throws {
    let realm = try realm()
    let optional = try changed((#""bio": "string?""#, #""bio": "string""#), (#""toys": "int[]""#, #""toys": "int?[]""#))
    guard case .needsVersion(let reasons) = error(optional, realm)?.reason else {
      Issue.record("not refused")
      return
    }
    #expect(reasons == ["makes Person.bio required: null becomes the type's default"])
    var grown = optional
    grown.version = 4
    let before = try realm.text(ObjKey(0))
    try apply(grown, to: realm)
    #expect(try realm.text(ObjKey(0)) == before.replacing("\"bio\":null", with: "\"bio\":\"\""))
    let made = try SchemaDescription(realm.writer.realm.latest())
    #expect(made.classes.map(\.properties) == grown.classes.map(\.properties))
    #expect(try realm.problems().isEmpty)
  }

  @Test("classes that link to each other are removed together")
  func removals() throws {
    let realm = try realm()
    let schema = try read(
      #"{"schemaVersion":4,"schema":[{"name":"Address","embedded":true,"properties":{"city":"string"}}]}"#
    )
    var same = schema
    same.version = 3
    guard case .needsVersion(let reasons) = error(same, realm)?.reason else {
      Issue.record("not refused")
      return
    }
    #expect(reasons == ["removes class Person with its objects", "removes class Dog with its objects"])
    try apply(schema, to: realm)
    #expect(try SchemaDescription(realm.writer.realm.latest()).classes.map(\.name) == ["Address"])
    #expect(try realm.table("Address").objectCount == 0)
    #expect(try realm.problems().isEmpty)
  }

  @Test("a class without objects can be changed freely")
  func emptyClasses() throws {
    let realm = try realm()
    let cat = try ClassDescription(JSONText(Array(#"{"name":"Cat","properties":{"a":"int","b":"Dog"}}"#.utf8)))
    let other = try ClassDescription(
      JSONText(Array(#"{"name":"Cat","primaryKey":"a","properties":{"a":"string"}}"#.utf8))
    )
    for description in [cat, other] {
      let transaction = try realm.writer.begin()
      try SchemaChange(toClass: description, in: transaction).apply(transaction)
      _ = try transaction.commit()
      #expect(try SchemaDescription(realm.writer.realm.latest())["Cat"] == description)
    }
    #expect(try realm.problems().isEmpty)
  }

  @Test("versions only increase, and a version can be changed alone")
  func versions() throws {
    let realm = try realm()
    var schema = try read(Self.base)
    schema.version = 2
    guard case .oldVersion = error(schema, realm)?.reason else {
      Issue.record("an older version was taken")
      return
    }
    schema.version = 9
    try apply(schema, to: realm)
    #expect(try realm.writer.realm.latest().schemaVersion() == 9)
    schema.version = nil
    try apply(schema, to: realm)
    #expect(try realm.writer.realm.latest().schemaVersion() == 9)
  }

  @Test("impossible changes are refused with an explanation")
  func impossible() throws {
    let realm = try realm()
    guard case .unsupported = error(try changed((#""embedded": true, "#, ""), ("3", "4")), realm)?.reason else {
      Issue.record("a class changed its kind")
      return
    }
    let cat = try ClassDescription(JSONText(Array(#"{"name":"Cat","properties":{"b":"Bird"}}"#.utf8)))
    #expect(throws: SchemaChangeError.self) { try SchemaChange(from: read(Self.base), toClass: cat) }
    #expect(error(try changed((#""toys": "int[]""#, #""toys": "int[]", "x": "Address<>""#)), realm) != nil)
    let long = String(repeating: "x", count: 64)
    #expect(error(try changed((#""toys": "int[]""#, #""toys": "int[]", "\#(long)": "int""#)), realm) != nil)
    #expect(try SchemaDescription(realm.writer.realm.latest()) == read(Self.base))
  }
}
