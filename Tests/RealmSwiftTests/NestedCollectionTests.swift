// Lists and dictionaries in properties of any type: read, changed, queried, observed, frozen, at any depth.

import Foundation
import RealmSwift
import Testing

class Jotting: Object {
  @Persisted(primaryKey: true) var id = 0
  @Persisted var extra: AnyRealmValue
  @Persisted var list: List<AnyRealmValue>
  @Persisted var map: Map<String, AnyRealmValue>

  override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite struct NestedCollectionTests {
  private let folder: RealmFolder
  private let realm: Realm

  init() throws {
    folder = try RealmFolder()
    realm = try Realm(
      configuration: folder.configuration(Jotting.self, Dog.self, Person.self, Address.self, Street.self)
    )
  }

  /// A value with everything nested in it.
  private func text(_ value: AnyRealmValue?) -> String {
    switch value {
    case .list(let list)?: "[\(list.map { text($0) }.joined(separator: " "))]"
    case .dictionary(let map)?: "{\(map.map { "\($0.key):\(text($0.value))" }.joined(separator: " "))}"
    case .object(let object)?: (object as? Dog)?.name ?? "?"
    case let value?: value._rlmAny.map { "\($0)" } ?? "none"
    case nil: "nil"
    }
  }

  private static var sample: AnyRealmValue {
    .fromDictionary([
      "numbers": .fromArray([.int(1), .double(2.5), .fromArray([.int(3), .fromDictionary(["deep": .bool(true)])])]),
      "empty": .fromArray([]),
      "none": .none,
    ])
  }
  private static let sampleText = "{empty:[] none:none numbers:[1 2.5 [3 {deep:true}]]}"

  private func note(_ id: Int = 0, _ extra: AnyRealmValue) throws -> Jotting {
    try realm.write { realm.create(Jotting.self, value: ["id": id, "extra": extra]) }
  }

  @Test("nested collections are stored in properties, lists and maps, and persist")
  func stored() throws {
    let note = Jotting(value: ["extra": Self.sample])
    #expect(text(note.extra) == Self.sampleText)
    note.list.append(objectsIn: [.int(0), Self.sample])
    note.map["a"] = Self.sample
    try realm.write { realm.add(note) }
    try onAnotherThread {
      let note = try #require(try Realm(configuration: realm.configuration).objects(Jotting.self).first)
      #expect(text(note.extra) == Self.sampleText)
      #expect(note.list.map { text($0) } == ["0", Self.sampleText])
      #expect(note.map.map { text($0.value) } == [Self.sampleText])
      #expect(
        note.list[1].dictionaryValue?["numbers"]?.listValue?[2].listValue?[1].dictionaryValue?["deep"] == .bool(true)
      )
    }
    #expect(try folder.problems() == [])
  }

  @Test("Swift arrays and dictionaries become collections, and objects in them are added")
  func created() throws {
    let rex = Dog(value: ["name": "Rex"])
    let value: [String: Any] = ["dogs": [rex, ["name": "no class", "age": 1]] as [Any], "count": 2]
    try realm.write {
      realm.create(Jotting.self, value: ["extra": value, "list": [[1, [2, "x"] as [Any]] as [Any]]])
    }
    let note = try #require(realm.objects(Jotting.self).first)
    #expect(text(note.extra) == "{count:2 dogs:[Rex {age:1 name:no class}]}")
    #expect(text(note.list[0]) == "[1 [2 x]]")
    #expect(realm.objects(Dog.self).map(\.name) == ["Rex"])
    try realm.write { realm.delete(realm.objects(Dog.self)) }
    #expect(text(note.extra) == "{count:2 dogs:[{age:1 name:no class}]}")
    #expect(try folder.problems() == [])
  }

  @Test("nested collections of a managed object are changed in place, those of an unmanaged one too")
  func changed() throws {
    func change(_ note: Jotting) {
      let numbers = note.extra.dictionaryValue?["numbers"]?.listValue
      numbers?[2].listValue?[1].dictionaryValue?["deep"] = .fromArray([.string("new")])
      numbers?.append(.fromDictionary(["x": .int(1)]))
      numbers?.remove(at: 1)
      numbers?.insert(.string("first"), at: 0)
      numbers?.move(from: 3, to: 1)
      note.extra.dictionaryValue?["none"] = nil
      note.extra.dictionaryValue?["empty"]?.listValue?.append(objectsIn: [.int(7), .none])
      note.list[0].listValue?.removeAll()
      note.map["m"]?.dictionaryValue?.updateValue(.bool(false), forKey: "y")
    }
    func values() -> [String: Any] {
      ["extra": Self.sample, "list": [[1, 2]], "map": ["m": [String: Any]()]]
    }
    let note = Jotting(value: values())
    change(note)
    let expected = "{empty:[7 none] numbers:[first {x:1} 1 [3 {deep:[new]}]]} [[]] {m:{y:false}}"
    func all(_ note: Jotting) -> String {
      "\(text(note.extra)) \(text(.list(note.list))) \(text(.dictionary(note.map)))"
    }
    #expect(all(note) == expected)
    let managed = try realm.write { realm.create(Jotting.self, value: ["id": 1].merging(values()) { $1 }) }
    try realm.write { change(managed) }
    #expect(all(managed) == expected)
    try realm.write { managed.extra = .fromArray([managed.extra, .int(1)]) }
    #expect(text(managed.extra) == "[{empty:[7 none] numbers:[first {x:1} 1 [3 {deep:[new]}]]} 1]")
    #expect(try folder.problems() == [])
  }

  @Test("a nested list follows its element when others are inserted, removed or moved before it")
  func followed() throws {
    let note = try note(0, .fromArray([.int(0), .fromArray([.string("a")]), .fromArray([.string("b")])]))
    let outer = try #require(note.extra.listValue)
    let a = try #require(outer[1].listValue), b = try #require(outer[2].listValue)
    try realm.write {
      outer.insert(.fromArray([.string("other")]), at: 0)
      a.append(.int(1))
      outer.move(from: 3, to: 0)
      b.append(.int(2))
    }
    #expect(text(note.extra) == "[[b 2] [other] 0 [a 1]]")
    #expect(a.count == 2 && b[1] == .int(2))
    try realm.write { outer.remove(at: 3) }
    #expect(a.isInvalidated && !b.isInvalidated && b.count == 2)
    try realm.write { note.extra = .int(1) }
    #expect(b.isInvalidated && outer.isInvalidated)
  }

  @Test("collections are equal if identical or, when unmanaged, if their elements are equal")
  func equality() throws {
    #expect(Self.sample == Self.sample && Self.sample.hashValue == Self.sample.hashValue)
    #expect(Self.sample != .fromDictionary([:]) && AnyRealmValue.fromArray([]) != .fromDictionary([:]))
    let one = try note(1, Self.sample), other = try note(2, Self.sample)
    #expect(one.extra == one.extra && one.extra != other.extra && one.extra != Self.sample)
    let deep = one.extra.dictionaryValue?["numbers"]?.listValue?[2]
    #expect(deep == one.extra.dictionaryValue?["numbers"]?.listValue?[2])
    #expect(deep != other.extra.dictionaryValue?["numbers"]?.listValue?[2])
  }

  @Test("where and filter query elements and entries of nested collections")
  func queried() throws {
    for id in 0..<3 {
      _ = try note(
        id,
        .fromDictionary(["tags": .fromArray([.string("t\(id)"), .int(id)]), "in": .fromDictionary(["n": .int(id)])])
      )
    }
    let notes = realm.objects(Jotting.self)
    func ids(_ isIncluded: (Query<Jotting>) -> Query<Bool>) -> [Int] { notes.where(isIncluded).map(\.id) }
    #expect(ids { $0.extra["in"]["n"] > .int(0) } == [1, 2])
    #expect(ids { $0.extra["tags"][0] == .string("t1") } == [1])
    #expect(ids { $0.extra["tags"].any == .string("t2") } == [2])
    #expect(ids { $0.extra.any.any == .int(0) } == [0])
    #expect(notes.filter("extra['tags'][1] == 2").map(\.id) == [2])
    let rex = try realm.write { realm.create(Dog.self, value: ["name": "Rex"]) }
    _ = try note(3, .object(rex))
    _ = try note(4, .fromArray([.object(rex), .none]))
    _ = try note(5, .none)
    #expect(ids { $0.extra == .object(rex) } == [3] && ids { $0.extra.any == .object(rex) } == [4])
    #expect(ids { $0.extra == .fromArray([.object(rex), .none]) } == [4] && ids { $0.extra == .object(Dog()) } == [])
    #expect(notes.filter("extra == %@", rex).map(\.id) == [3])
  }

  @Test("where compares lists and dictionaries as a whole")
  func comparedAsWhole() throws {
    let values: [AnyRealmValue] = [
      .int(1), .fromArray([.int(1)]), .fromArray([.int(1), .none]), .fromArray([]), .fromDictionary([:]), Self.sample,
      .fromDictionary(["a'": .fromArray([.string("x")])]),
    ]
    for (id, value) in values.enumerated() { _ = try note(id, value) }
    let notes = realm.objects(Jotting.self)
    for (id, value) in values.enumerated() {
      #expect(notes.where { $0.extra == value }.map(\.id) == [id])
      #expect(notes.where { $0.extra != value }.map(\.id) == values.indices.filter { $0 != id })
    }
    #expect(notes.where { $0.extra["a'"] == .fromArray([.string("x")]) }.map(\.id) == [6])
    #expect(notes.where { $0.extra == .fromArray([.int(1), .none, .none]) }.isEmpty)
    #expect(notes.where { $0.extra == .fromDictionary(["a'": .fromArray([.string("y")])]) }.isEmpty)
    #expect(notes.filter("extra[%K] == %@", "#any", AnyRealmValue.int(1)).map(\.id) == [1, 2])
    #expect(notes.filter("extra[%@][%K] == %@", "a'", "#any", "x").map(\.id) == [6])
  }

  @Test("nested collections can be frozen, thawed and passed to threads, and are invalid in versions without them")
  func versions() throws {
    let note = try note(0, Self.sample)
    let numbers = try #require(note.extra.dictionaryValue?["numbers"]?.listValue)
    let frozen = numbers.freeze(), inner = try #require(frozen[2].listValue)
    let reference = ThreadSafeReference(to: numbers)
    try onAnotherThread {
      #expect(text(.list(frozen)) == "[1 2.5 [3 {deep:true}]]" && inner.isFrozen && inner[0] == .int(3))
      let realm = try Realm(configuration: realm.configuration)
      let numbers = try #require(realm.resolve(reference))
      try realm.write { numbers[2].listValue?.append(.string("there")) }
    }
    realm.refresh()
    #expect(text(.list(numbers)) == "[1 2.5 [3 {deep:true} there]]" && inner.count == 2)
    #expect(inner.thaw()?.count == 3)
    try realm.write { numbers.remove(at: 2) }
    #expect(inner.thaw() == nil && inner.count == 2)
  }

  @Test("observers of nested collections and of their object are notified of each change")
  func observed() throws {
    let note = try note(0, Self.sample)
    let map = try #require(note.extra.dictionaryValue), numbers = try #require(map["numbers"]?.listValue)
    var told: [String] = []
    let tokens = [
      numbers.observe { change in
        if case .update(_, let deletions, let insertions, let modifications) = change {
          told.append("list -\(deletions) +\(insertions) ~\(modifications)")
        }
      },
      map.observe { change in
        if case .update(_, let deletions, let insertions, let modifications) = change {
          told.append("map -\(deletions) +\(insertions) ~\(modifications)")
        }
      },
      note.observe { change in
        if case .change(_, let properties) = change { told.append("note \(properties.map(\.name))") }
      },
    ]
    /// The observers' report of a change.
    func changes(_ body: () -> Void) throws -> [String] {
      told = []
      try realm.write(body)
      realm.refresh()
      // The realm of this thread has read its own commit, so a further one has its observers called.
      try realm.write { realm.create(Jotting.self, value: ["id": 1_000_000 + realm.objects(Jotting.self).count]) }
      return told.sorted()
    }
    _ = try changes {}
    #expect(
      try changes { numbers[0] = .string("one") }
        == ["list -[] +[] ~[0]", "map -[] +[] ~[\"numbers\"]", "note [\"extra\"]"]
    )
    #expect(
      try changes { numbers[2].listValue?.append(.none) }
        == ["list -[] +[] ~[2]", "map -[] +[] ~[\"numbers\"]", "note [\"extra\"]"]
    )
    #expect(
      try changes {
        numbers.remove(at: 0)
        numbers.append(.int(9))
      } == ["list -[0] +[2] ~[]", "map -[] +[] ~[\"numbers\"]", "note [\"extra\"]"]
    )
    #expect(try changes { map["new"] = .fromArray([]) } == ["map -[] +[\"new\"] ~[]", "note [\"extra\"]"])
    #expect(
      try changes { map["numbers"] = nil }
        == ["list -[0, 1, 2] +[] ~[]", "map -[\"numbers\"] +[] ~[]", "note [\"extra\"]"]
    )
    #expect(
      try changes { note.extra = .int(1) } == ["map -[\"empty\", \"new\", \"none\"] +[] ~[]", "note [\"extra\"]"]
    )
    #expect(
      try changes { note.extra = .fromDictionary(["numbers": .fromArray([.int(5)])]) }
        == ["list -[] +[0] ~[]", "map -[] +[\"numbers\"] ~[]", "note [\"extra\"]"]
    )
    tokens.forEach { $0.invalidate() }
  }

  @Test("a migration reads nested collections as lists and maps, and writes arrays and dictionaries")
  func migrated() throws {
    let configuration = folder.configuration(Jotting.self, named: "old")
    try autoreleased {
      let realm = try Realm(configuration: configuration)
      try realm.write { realm.add(Jotting(value: ["extra": Self.sample])) }
    }
    var next = configuration
    next.schemaVersion = 1
    next.migrationBlock = { migration, _ in
      migration.enumerateObjects(ofType: "Jotting") { old, new in
        let numbers = (old?["extra"] as? Map<String, AnyRealmValue>)?["numbers"]?.listValue
        new?["extra"] = [numbers?.first ?? .int(0), ["a": [true]] as [String: Any]] as [Any]
      }
    }
    let note = try #require(try Realm(configuration: next).objects(Jotting.self).first)
    #expect(text(note.extra) == "[1 {a:[true]}]")
  }
}
