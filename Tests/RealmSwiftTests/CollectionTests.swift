// The operations that all kinds of collections share.

import Foundation
import RealmSwift
import Testing

@Suite struct CollectionTests {
  private struct Colour: CustomPersistable, Hashable {
    typealias PersistedType = Int
    let number: Int
    init(persistedValue: Int) { number = persistedValue }
    var persistableValue: Int { number }
  }

  private class Palette: Object {
    @Persisted var colours: List<Colour>
    @Persisted var sizes: MutableSet<Size>
    @Persisted var words: Map<String, String>
    @Persisted var dogs: Map<String, Dog?>
    @Persisted var numbers: List<Int?>
  }

  private static func palette() throws -> (Realm, Palette) {
    let realm = try Realm(
      configuration: .init(
        inMemoryIdentifier: "collections \(UUID())",
        objectTypes: [Palette.self, Dog.self, Person.self, Address.self, Street.self]
      )
    )
    return (realm, try realm.write { realm.create(Palette.self) })
  }

  @Test("a reference to a collection stays valid when its object is added")
  func takenBeforeAdding() throws {
    let (realm, _) = try Self.palette()
    let palette = Palette(), person = Person(value: ["name": "Ann"])
    let (numbers, sizes, words) = (palette.numbers, palette.sizes, palette.words)
    let (dogs, addresses, places) = (person.dogs, person.addresses, person.places)
    numbers.append(1)
    addresses.append(Address(value: ["city": "Rome"]))
    try realm.write {
      realm.add([palette])
      realm.add(person)
      numbers.append(2)
      sizes.insert(.large)
      words["a"] = "one"
      dogs.append(Dog(value: ["name": "Rex"]))
      addresses.append(Address(value: ["city": "Oslo"]))
      places["home"] = Address(value: ["city": "Bern"])
    }
    #expect(Array(palette.numbers) == [1, 2] && palette.sizes.contains(.large) && palette.words["a"] == "one")
    let found = try #require(realm.object(ofType: Person.self, forPrimaryKey: "Ann"))
    #expect(found.dogs.map(\.name) == ["Rex"] && found.addresses.map(\.city) == ["Rome", "Oslo"])
    #expect(found.places["home"]??.city == "Bern")
    #expect(numbers.realm == realm && places.realm == realm)
    try realm.write { realm.delete(found) }
    #expect(dogs.isInvalidated)
  }

  @Test("a list shared by two unmanaged objects belongs to the first one that is added")
  func sharedBeforeAdding() throws {
    let (realm, _) = try Self.palette()
    let first = Palette(), second = Palette()
    first.numbers.append(1)
    second.numbers = first.numbers
    let shared = first.numbers
    try realm.write {
      realm.add([first, second])
      shared.append(2)
    }
    #expect(Array(first.numbers) == [1, 2] && Array(second.numbers) == [1])
  }

  @Test("an embedded object assigned to its own property is kept")
  func embeddedStays() throws {
    let (realm, _) = try Self.palette()
    let person = try realm.write {
      realm.create(
        Person.self,
        value: [
          "name": "Ann", "home": ["city": "Rome"], "addresses": [["city": "Oslo"]], "places": ["a": ["city": "Bern"]],
        ]
      )
    }
    let home = person.home
    try realm.write {
      person.home = person.home
      person.addresses[0] = person.addresses[0]
      person.places["a"] = person.places["a"]
    }
    #expect(home?.isInvalidated == false && person.home?.city == "Rome")
    #expect(person.addresses.map(\.city) == ["Oslo"] && person.places["a"]??.city == "Bern")
  }

  @Test("the values of a map as results")
  func mapValues() throws {
    let (realm, palette) = try Self.palette()
    try realm.write {
      palette.words.merge(["b": "two", "a": "one", "c": "two"], uniquingKeysWith: { $1 })
      for (name, age) in [("x", 3), ("y", 1), ("z", 2)] {
        palette.dogs[name] = .some(Dog(value: ["name": name, "age": age]))
      }
    }
    #expect(Array(palette.words.sorted(ascending: false)) == ["two", "two", "one"])
    #expect(palette.words.map(\.key) == ["a", "b", "c"])
    #expect(palette.dogs.sorted(by: \.age).map { $0?.name } == ["y", "z", "x"])
    #expect(palette.dogs.filter("age > %@", 1).count == 2)
    #expect(palette.dogs.where { $0.age > 1 }.count == 2)
    #expect(palette.dogs.sum(of: \.age) as Int == 6 && palette.dogs.max(ofProperty: "age") == 3)
    #expect(palette.dogs.contains { key, dog in key == "y" && dog?.age == 1 })
    try realm.write { palette.words.merge(["a": "!"], uniquingKeysWith: +) }
    #expect(palette.words["a"] == "one!")
  }

  @Test("sum and order of values of custom types")
  func aggregates() throws {
    let (realm, palette) = try Self.palette()
    try realm.write {
      palette.colours.append(objectsIn: [3, 1, 2].map { Colour(persistedValue: $0) })
      palette.numbers.append(objectsIn: [2, nil, 1, 2])
      palette.sizes.insert(objectsIn: [.small, .large])
    }
    #expect(palette.colours.max()?.number == 3 && palette.colours.sum().number == 6)
    #expect(palette.colours.sorted().map(\.number) == [1, 2, 3])
    #expect(palette.numbers.distinct().map { $0 } == [2, nil, 1])
    #expect(Array(palette.numbers.distinct().sorted(ascending: false)) == [2, 1, nil])
    #expect(palette.sizes.sorted().map(\.rawValue) == ["large", "small"])
  }

  @Test("a collection of any kind")
  func anyCollection() throws {
    let (realm, palette) = try Self.palette()
    try realm.write { palette.numbers.append(objectsIn: [1, nil]) }
    let collections = [AnyRealmCollection(palette.numbers), AnyRealmCollection(palette.numbers.sorted())]
    #expect(collections.map { Array($0) } == [[1, nil], [nil, 1]])
    let frozen = collections[0].freeze()
    try realm.write { palette.numbers.append(3) }
    #expect(frozen.count == 2 && frozen.isFrozen && frozen.thaw()?.count == 3)
    try realm.write { realm.delete(palette) }
    #expect(collections[0].isInvalidated)
  }

  @Test("notifications of maps name the entries")
  func mapNotifications() throws {
    let (realm, palette) = try Self.palette()
    try realm.write {
      palette.words.merge(["a": "one", "b": "two"], uniquingKeysWith: { $1 })
      palette.dogs["x"] = .some(Dog(value: ["name": "Rex"]))
    }
    let told = Told()
    let token = palette.words.observe { change in
      if case .update(_, let deletions, let insertions, let modifications) = change {
        told.say("-\(deletions) +\(insertions) *\(modifications)")
      }
    }
    let dogs = palette.dogs.observe(keyPaths: [\.name]) { change in
      if case .update(_, _, _, let modifications) = change { told.say("dogs \(modifications)") }
    }
    func elsewhere(_ body: @escaping (Palette) -> Void) throws {
      try onAnotherThread { [configuration = realm.configuration] in
        let realm = try Realm(configuration: configuration)
        guard let palette = realm.objects(Palette.self).first else { return }
        try realm.write { body(palette) }
      }
      #expect(realm.refresh())
    }
    // The first calls have the initial content.
    try elsewhere { $0.dogs["x"]??.age = 9 }
    try elsewhere { $0.dogs["x"]??.age = 10 }
    #expect(told.all.isEmpty)
    try elsewhere { palette in
      palette.words.removeObject(for: "a")
      palette.words["b"] = "2"
      palette.words["c"] = "three"
      palette.dogs["x"]??.name = "Max"
    }
    #expect(told.all == [#"-["a"] +["c"] *["b"]"#, #"dogs ["x"]"#])
    token.invalidate()
    dogs.invalidate()
  }

  @Test("names of properties by key paths")
  func names() {
    #expect(_name(for: \Person.favourite?.name) == "favourite.name")
  }

  @Test("queries over keys and values of maps, enumerations, custom types and strings")
  func queries() throws {
    let (realm, palette) = try Self.palette()
    try realm.write {
      palette.words.merge(["a": "one", "\\\"#": "odd"], uniquingKeysWith: { $1 })
      palette.dogs["x"] = .some(Dog(value: ["name": "Rex", "age": 3]))
      palette.colours.append(objectsIn: [1, 3].map { Colour(persistedValue: $0) })
      palette.sizes.insert(.large)
    }
    let palettes = realm.objects(Palette.self)
    func finds(_ condition: (Query<Palette>) -> Query<Bool>) -> Bool { palettes.where(condition).count == 1 }
    #expect(finds { $0.words.keys == "a" } && !finds { $0.words.keys == "one" })
    #expect(finds { $0.words["a"] == "one" } && !finds { $0.words["b"] == "one" })
    #expect(finds { $0.words["\\\"#"] == "odd" })
    #expect(finds { $0.words.values.starts(with: "on") } && !finds { $0.words.values == "a" })
    #expect(finds { $0.dogs.values.age > 2 } && !finds { $0.dogs.values.age > 3 })
    #expect(finds { $0.colours.contains(Colour(persistedValue: 3)) } && !finds { $0.colours.persistableValue == 2 })
    #expect(
      finds { $0.colours.persistableValue.contains(1...3) } && !finds { $0.colours.max > Colour(persistedValue: 3) }
    )
    #expect(finds { $0.sizes == .large } && !finds { $0.sizes.rawValue == "small" })
    #expect(finds { $0.words["a"] > "o" } && !finds { $0.words["a"] > "p" })
  }

  @Test("create copies objects of another realm, and embedded objects of other owners")
  func copies() throws {
    let (realm, _) = try Self.palette(), (other, _) = try Self.palette()
    let theirs = try other.write {
      other.create(Person.self, value: ["name": "Ada", "dogs": [["name": "Rex"]], "home": ["city": "Oslo"]])
    }
    let mine = try realm.write { realm.create(Person.self, value: theirs) }
    #expect(mine.realm == realm && mine.dogs.map(\.name) == ["Rex"] && mine.home?.city == "Oslo")
    #expect(theirs.realm == other && theirs.home?.realm == other && mine.dogs.first?._id == theirs.dogs.first?._id)
    let second = try realm.write {
      realm.create(Person.self, value: ["name": "Bob", "home": mine.home as Any, "odd": 1])
    }
    #expect(second.home?.city == "Oslo" && second.home != mine.home)
  }

  @Test("modifications by key paths over links")
  func linkedKeyPaths() throws {
    let (realm, palette) = try Self.palette()
    try realm.write {
      realm.create(Person.self, value: ["name": "Ada", "favourite": ["name": "Rex", "age": 3]])
      _ = palette
    }
    let told = Told()
    let token = realm.objects(Person.self).observe(keyPaths: [\.favourite?.age]) { change in
      if case .update(_, _, _, let modifications) = change { told.say("\(modifications)") }
    }
    func elsewhere(_ body: @escaping (Realm) throws -> Void) throws {
      try onAnotherThread { [configuration = realm.configuration] in
        let realm = try Realm(configuration: configuration)
        try realm.write { try body(realm) }
      }
      #expect(realm.refresh())
    }
    try elsewhere { $0.create(Dog.self) }
    try elsewhere { $0.objects(Dog.self).filter("name == 'Rex'").first?.weight = 9 }
    try elsewhere { $0.objects(Person.self).first?.age = 4 }
    #expect(told.all.isEmpty)
    try elsewhere { $0.objects(Dog.self).filter("name == 'Rex'").first?.age = 4 }
    #expect(told.all == ["[0]"])
    token.invalidate()
  }

  @Test("descriptions of objects and collections, with links and cycles, to a limited depth")
  func descriptions() {
    let person = Person(value: ["name": "Ada", "favourite": ["name": "Rex"], "dogs": [["name": "Max"]]])
    #expect(person.description.contains("\tfavourite = Dog {\n\t\t_id = "))
    #expect(person.description.contains("\t\t[0] Dog {\n\t\t\t_id = "))
    #expect(person.dogs.description.hasPrefix("List<Dog> <0x"))
    let circle = Everything()
    circle.link = circle
    #expect(circle.description.contains("link = <Maximum depth exceeded>;"))
  }

  @Test("aggregates of objects that no realm manages")
  func unmanagedAggregates() {
    let dogs = List<Dog>()
    dogs.append(objectsIn: [1, 2, 6].map { Dog(value: ["age": $0, "weight": Double($0) / 2]) })
    #expect(dogs.min(of: \.age) == 1 && dogs.max(ofProperty: "age") == 6 && dogs.sum(of: \.age) == 9)
    #expect(dogs.average(ofProperty: "weight") == 1.5)
  }

  @Test("null is an empty collection, and arrays of values skip linking objects")
  func nullValues() {
    let dog = Dog(value: [ObjectId.generate(), "Rex", 3, 4.5, false] as [Any])
    #expect(dog.name == "Rex" && !dog.isGood)
    #expect(Dog.sharedSchema()?.properties.map(\.name) == ["_id", "name", "age", "weight", "isGood"])
    #expect(Dog.sharedSchema()?.computedProperties.map(\.name) == ["owners"])
    let palette = Palette(value: ["numbers": NSNull(), "sizes": NSNull(), "words": NSNull()])
    #expect(palette.numbers.isEmpty && palette.sizes.isEmpty && palette.words.keys.isEmpty)
  }

  @Test("elements are moved and removed by position")
  func offsets() throws {
    let list = List<Int>()
    list.append(objectsIn: 0..<6)
    list.move(fromOffsets: [1, 2, 5], toOffset: 4)
    #expect(Array(list) == [0, 3, 1, 2, 5, 4])
    list.remove(atOffsets: [0, 4])
    #expect(Array(list) == [3, 1, 2, 4])
  }

  @Test("properties of linked objects by name, and aggregates as numbers of Foundation")
  func linkedProperties() throws {
    let (realm, _) = try Self.palette()
    try realm.write {
      let person = realm.create(Person.self, value: ["name": "Ada", "favourite": ["name": "Rex", "age": 3]])
      person.setValue(4, forKeyPath: "favourite.age")
      #expect(person.value(forKeyPath: "favourite.age") as? Int == 4)
    }
    #expect(realm.objects(Dog.self).sum(ofProperty: "age") as NSNumber == 4)
    #expect(realm.objects(Dog.self).average(of: \.age) == 4)
  }

  @Test("decimals support arithmetic and comparison")
  func decimals() {
    let half: Decimal128 = 0.5
    #expect([half, 2, -half].reduce(.zero, +) == 2 && (-half).magnitude == half && half * 4 / 2 == 1)
  }
}
