// Links, embedded objects and dictionaries in the cases that ordinary files do not show.

import RealmPages
import Testing

@testable import RealmJSON

/// The compact text of one object.
private func text(
  _ snapshot: Snapshot,
  _ table: String,
  _ key: Int64 = 0,
  style: JSONStyle = .plain,
  limits: ObjectRenderer.Limits? = nil
) throws -> String {
  let table = try #require(try snapshot.table(named: table))
  let out = OutputBuffer()
  let renderer = ObjectRenderer(
    snapshot,
    style: style,
    limits: limits ?? ObjectRenderer.Limits(fileSize: snapshot.logicalSize)
  )
  #expect(try renderer.render(table, ObjKey(key), layout: .compact, into: out))
  return String(out.string.dropLast())
}

/// Table 0: dogs "Fido", null, one whose name is not UTF-8, and the tombstone "Ghost" with object key -5.
///
/// Table 1: cats, without primary key.
private func kennel() -> TinyRealm {
  var realm = TinyRealm()
  let names = realm.strings([Array("Fido".utf8), nil, [0xFF]])
  let ghosts = realm.strings(["Ghost"])
  realm.addTable(
    "class_Dog",
    [.string("name")],
    primaryKey: 0,
    .init(keys: [0, 1, 2], leaves: [names]),
    tombstones: .init(keys: [-5], leaves: [ghosts])
  )
  let colours = realm.strings(["grey"])
  realm.addTable("class_Cat", [.string("colour")], .init(keys: [7], leaves: [colours]))
  return realm
}

@Suite("links and nesting")
struct LinkTextTests {
  @Test("a link is the target's primary key, or its object key where the class has none")
  func singleLinks() throws {
    var realm = kennel()
    let dogs = realm.ints([1, 2, 3, 0, -4])
    let cats = realm.ints([8, 8, 8, 8, 8])
    realm.addTable(
      "class_Owner",
      [.link("dog", to: 0), .link("cat", to: 1)],
      .init(keys: [0, 1, 2, 3, 4], leaves: [dogs, cats])
    )
    let snapshot = try realm.snapshot()
    #expect(try text(snapshot, "class_Owner", 0) == #"{"dog":"Fido","cat":7}"#)
    #expect(try text(snapshot, "class_Owner", 1) == #"{"dog":{"$ref":"Dog","$id":null},"cat":7}"#)
    #expect(try text(snapshot, "class_Owner", 2) == #"{"dog":{"$invalidString":{"base64":"/w=="}},"cat":7}"#)
    #expect(try text(snapshot, "class_Owner", 3) == #"{"dog":null,"cat":7}"#)
    // A link to a tombstone reads as null.
    #expect(try text(snapshot, "class_Owner", 4) == #"{"dog":null,"cat":7}"#)
    #expect(
      try text(snapshot, "class_Owner", 0, style: .ejson)
        == #"{"dog":{"$ref":"Dog","$id":"Fido"},"cat":{"$ref":"Cat","$id":7}}"#
    )
    #expect(
      try text(snapshot, "class_Owner", 0, style: .canonical)
        == #"{"dog":{"$ref":"Dog","$id":"Fido"},"cat":{"$ref":"Cat","$id":{"$numberLong":"7"}}}"#
    )
  }

  @Test("links to tombstones are left out of lists and null in dictionaries and Mixed lists")
  func unresolvedInCollections() throws {
    var realm = kennel()
    let list = realm.ints([-5, 0, -5, 1], flags: 0x20)
    let lists = realm.refs([list])
    let mixed = realm.mixedLinks([(0, -5), (0, 0), (1, 7), (0, 1)])
    let mixedLists = realm.refs([mixed])
    let keys = realm.strings(["a", "b"])
    let values = realm.mixedLinks([(0, -5), (0, 0)])
    let dictionary = realm.refs([keys, values])
    let dictionaries = realm.refs([dictionary])
    realm.addTable(
      "class_Owner",
      [
        .link("list", TinyRealm.list, to: 0), .mixed("any", TinyRealm.list),
        .link("map", TinyRealm.dictionary | TinyRealm.nullable, to: 0),
      ],
      .init(keys: [0], leaves: [lists, mixedLists, dictionaries])
    )
    let snapshot = try realm.snapshot()
    #expect(
      try text(snapshot, "class_Owner") == #"{"list":["Fido",{"$ref":"Dog","$id":null}],"#
        + #""any":[null,{"$ref":"Dog","$id":"Fido"},{"$ref":"Cat","$id":7},{"$ref":"Dog","$id":null}],"#
        + #""map":{"a":null,"b":"Fido"}}"#
    )
  }

  @Test("a dangling link is an error of that object alone, with its location")
  func danglingLink() throws {
    var realm = kennel()
    let dogs = realm.ints([100, 1])
    realm.addTable("class_Owner", [.link("dog", to: 0)], .init(keys: [0, 1], leaves: [dogs]))
    let snapshot = try realm.snapshot()
    let error = #expect(throws: RenderError.self) { try text(snapshot, "class_Owner", 0) }
    #expect(error?.reason == .missingTarget(table: "Dog", key: ObjKey(99)))
    #expect(error?.description == "Owner/0, property dog: links to Dog/99, which does not exist")
    #expect(try text(snapshot, "class_Owner", 1) == #"{"dog":"Fido"}"#)
  }

  @Test("an object that cannot be rendered leaves nothing in the buffer")
  func bufferAfterError() throws {
    var realm = kennel()
    let dogs = realm.ints([100])
    realm.addTable("class_Owner", [.link("dog", to: 0)], .init(keys: [0], leaves: [dogs]))
    let snapshot = try realm.snapshot()
    let table = try #require(try snapshot.table(named: "class_Owner"))
    let out = OutputBuffer()
    out.append("before")
    #expect(throws: RenderError.self) {
      try ObjectRenderer(snapshot).render(table, ObjKey(0), layout: .pretty, into: out)
    }
    #expect(out.string == "before")
  }

  @Test("a dictionary with a key that looks like a type is wrapped")
  func dollarKeys() throws {
    var realm = TinyRealm()
    let keys = realm.strings(["!", "$oid"])
    let values = realm.mixedInts([1, 2])
    let dictionary = realm.refs([keys, values])
    let dictionaries = realm.refs([dictionary])
    realm.addTable(
      "class_Any",
      [.mixed("map", TinyRealm.dictionary)],
      .init(keys: [0], leaves: [dictionaries])
    )
    let snapshot = try realm.snapshot()
    #expect(try text(snapshot, "class_Any") == #"{"map":{"$dictionary":{"!":1,"$oid":2}}}"#)
  }

  @Test("a dictionary with a key that is not UTF-8 is written as pairs")
  func invalidKeys() throws {
    var realm = TinyRealm()
    let keys = realm.strings([Array("a".utf8), [0xFF]])
    let values = realm.mixedInts([1, 2])
    let dictionary = realm.refs([keys, values])
    let dictionaries = realm.refs([dictionary])
    realm.addTable(
      "class_Any",
      [.mixed("map", TinyRealm.dictionary)],
      .init(keys: [0], leaves: [dictionaries])
    )
    let snapshot = try realm.snapshot()
    #expect(
      try text(snapshot, "class_Any")
        == #"{"map":{"$dictionary":[["a",1],[{"$invalidString":{"base64":"/w=="}},2]]}}"#
    )
  }

  @Test("embedded objects are nested, also in objects of their own class")
  func embedded() throws {
    var realm = TinyRealm()
    let names = realm.strings(["outer", "inner"])
    let children = realm.ints([2, 0])
    realm.addTable(
      "class_Part",
      kind: 1,
      [.string("name"), .link("part", to: 0)],
      .init(keys: [0, 1], leaves: [names, children])
    )
    let parts = realm.ints([1])
    realm.addTable("class_Whole", [.link("part", to: 0)], .init(keys: [0], leaves: [parts]))
    let snapshot = try realm.snapshot()
    for style in JSONStyle.allCases {
      #expect(
        try text(snapshot, "class_Whole", style: style)
          == #"{"part":{"name":"outer","part":{"name":"inner","part":null}}}"#
      )
    }
  }

  @Test("cyclic embedded objects cause an error, not a crash")
  func cycle() throws {
    var realm = TinyRealm()
    let children = realm.ints([1])
    realm.addTable("class_Part", kind: 1, [.link("part", to: 0)], .init(keys: [0], leaves: [children]))
    let parts = realm.ints([1])
    realm.addTable("class_Whole", [.link("part", to: 0)], .init(keys: [0], leaves: [parts]))
    let snapshot = try realm.snapshot()
    let error = #expect(throws: RenderError.self) { try text(snapshot, "class_Whole") }
    #expect(error?.reason == .tooDeep)
  }

  @Test("exponential nesting hits the limit of the file's size or of the text's length")
  func explosion() throws {
    var realm = TinyRealm()
    // Object i holds object i + 1 twice: 2^60 objects in all. Links to a tombstone print nothing, but count.
    let levels = Int64(60)
    let lists = (1...levels).map { realm.ints([$0, $0, -5]) }
    let leaf = realm.refs(lists + [0])
    let ghosts = realm.refs([0])
    realm.addTable(
      "class_Part",
      kind: 1,
      [.link("parts", TinyRealm.list, to: 0)],
      .init(keys: Array(0...levels), leaves: [leaf]),
      tombstones: .init(keys: [-5], leaves: [ghosts])
    )
    let snapshot = try realm.snapshot()
    var limits = ObjectRenderer.Limits(fileSize: snapshot.logicalSize)
    var error = #expect(throws: RenderError.self) { try text(snapshot, "class_Part", limits: limits) }
    #expect("\(error.map { "\($0)" } ?? "")".contains("more than the file has room for"))
    limits.length = 1000
    error = #expect(throws: RenderError.self) { try text(snapshot, "class_Part", limits: limits) }
    #expect(error?.reason == .tooLarge)
  }
}
