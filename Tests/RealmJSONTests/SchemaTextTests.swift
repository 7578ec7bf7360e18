// Schemas as JSON text.

import RealmJSON
import RealmPages
import Testing

@Suite("schema")
struct SchemaTextTests {
  /// The schema of one class without white space, which no name here contains.
  private func schema(of name: String, in file: String) throws -> String {
    let snapshot = try FixtureTree.named(file).snapshot()
    let table = try #require(try snapshot.table(named: "class_" + name))
    let out = OutputBuffer()
    try SchemaRenderer.render(table, of: snapshot, into: out)
    return out.string.filter { !$0.isWhitespace }
  }

  @Test("a class shows its properties in schema order, with types, indexes and the primary key")
  func oneClass() throws {
    #expect(
      try schema(of: "Person", in: "people") == #"{"name":"Person","primaryKey":"_id","properties":{"#
        + #""_id":{"type":"int"},"name":{"type":"string","indexed":true},"age":{"type":"int","optional":true},"#
        + #""email":{"type":"string","optional":true},"#
        + #""dog":{"type":"object","objectType":"Dog","optional":true},"#
        + #""friends":{"type":"list","objectType":"Person"},"joined":{"type":"date"}}}"#
    )
  }

  @Test("embedded classes are marked, and links to them name them")
  func embedded() throws {
    #expect(
      try schema(of: "Address", in: "embedded") == #"{"name":"Address","embedded":true,"properties":{"#
        + #""street":{"type":"string","optional":true},"city":{"type":"string","optional":true},"#
        + #""geo":{"type":"object","objectType":"Geo","optional":true}}}"#
    )
    #expect(
      try schema(of: "Contact", in: "embedded").contains(
        #""offices":{"type":"list","objectType":"Address"},"#
          + #""byCity":{"type":"dictionary","objectType":"Address","optional":true}"#
      )
    )
  }

  @Test(
    "every type has a name, as a property and as an element",
    arguments: [
      ("int", "int"), ("bool", "bool"), ("string", "string"), ("data", "data"), ("date", "date"),
      ("float", "float"), ("double", "double"), ("objectId", "objectId"), ("decimal", "decimal128"),
      ("uuid", "uuid"),
    ]
  )
  func types(property: String, type: String) throws {
    let schema = try schema(of: "AllTypes", in: "all-types")
    #expect(schema.contains(#""\#(property)":{"type":"\#(type)"}"#))
    #expect(schema.contains(#""\#(property)Opt":{"type":"\#(type)","optional":true}"#))
    #expect(schema.contains(#""\#(property)List":{"type":"list","objectType":"\#(type)"}"#))
    #expect(schema.contains(#""\#(property)OptSet":{"type":"set","objectType":"\#(type)","optional":true}"#))
    #expect(schema.contains(#""\#(property)OptDict":{"type":"dictionary","objectType":"\#(type)","optional":true}"#))
  }

  @Test("a Mixed can always be null, and links name their class")
  func mixedAndLinks() throws {
    let schema = try schema(of: "AllTypes", in: "all-types")
    #expect(schema.contains(#""any":{"type":"mixed","optional":true}"#))
    #expect(schema.contains(#""anyList":{"type":"list","objectType":"mixed","optional":true}"#))
    #expect(schema.contains(#""link":{"type":"object","objectType":"AllTypes","optional":true}"#))
    #expect(schema.contains(#""linkSet":{"type":"set","objectType":"AllTypes"}"#))
    #expect(schema.contains(#""linkDict":{"type":"dictionary","objectType":"AllTypes","optional":true}"#))
  }

  @Test("the whole schema contains the schema version, or null if the file has none")
  func wholeSchema() throws {
    let out = OutputBuffer()
    try SchemaRenderer.render(FixtureTree.named("empty").snapshot(), into: out)
    #expect(out.string == "{\n  \"schemaVersion\": 0,\n  \"schema\": []\n}\n")

    var realm = TinyRealm()
    realm.addTable("class_Nothing", [], .init(keys: [], leaves: []))
    realm.addTable("hidden", [], .init(keys: [], leaves: []))
    out.reset()
    try SchemaRenderer.render(realm.snapshot(), into: out)
    #expect(
      out.string == """
        {
          "schemaVersion": null,
          "schema": [
            {
              "name": "Nothing",
              "properties": {}
            }
          ]
        }

        """
    )
  }
}
