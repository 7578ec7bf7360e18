// Queries: format strings, type-safe ones, order, aggregates, and that results follow the realm.

import Foundation
import RealmSwift
import Testing

@Suite struct ResultsTests {
  private let folder: RealmFolder
  private let realm: Realm

  init() throws {
    folder = try RealmFolder()
    realm = try Realm(configuration: folder.configuration(Dog.self, Person.self, Address.self, Street.self))
    try realm.write {
      let dogs = [("Rex", 3, 30.5), ("Fido", 7, nil), ("Bella", 5, 12), ("rocky", 3, 20)] as [(String, Int, Double?)]
      for (name, age, weight) in dogs {
        realm.add(Dog(value: ["name": name, "age": age, "weight": weight as Any, "isGood": age != 7]))
      }
      let ada = realm.create(Person.self, value: ["name": "Ada", "age": 36, "home": ["city": "Berlin"]])
      let bob = realm.create(Person.self, value: ["name": "Bob", "age": 20])
      for dog in realm.objects(Dog.self).filter("age == 3") { ada.dogs.append(dog) }
      bob.favourite = realm.objects(Dog.self).filter("name == 'Bella'").first
    }
  }

  private var dogs: Results<Dog> { realm.objects(Dog.self) }

  private func names(_ results: Results<Dog>) -> [String] { results.map(\.name) }

  @Test("format strings take values, property names and lists")
  func filter() throws {
    #expect(names(dogs.filter("age > %@ AND name BEGINSWITH %@", 2, "R")) == ["Rex"])
    #expect(names(dogs.filter("name BEGINSWITH[c] %@", "r")) == ["Rex", "rocky"])
    #expect(names(dogs.filter("%K == %@", "age", 5)) == ["Bella"])
    #expect(names(dogs.filter("age IN %@", [5, 7])) == ["Fido", "Bella"])
    #expect(names(dogs.filter("age BETWEEN %@", [4, 6])) == ["Bella"])
    #expect(names(dogs.filter("weight == nil")) == ["Fido"] && names(dogs.filter("weight == %@", NSNull())) == ["Fido"])
    #expect(names(dogs.filter("age == %d", 7)) == ["Fido"] && names(dogs.filter("age == $0", 7)) == ["Fido"])
    #expect(names(dogs.filter("name == %@", "a' OR TRUEPREDICATE OR name == 'b")) == [])
    let rex = try #require(dogs.filter("name == 'Rex'").first)
    #expect(names(dogs.filter("_id == %@", rex._id)) == ["Rex"])
    let people = realm.objects(Person.self)
    #expect(people.filter("ANY dogs.name == %@", "Rex").map(\.name) == ["Ada"])
    #expect(people.filter("ANY dogs == %@", rex).map(\.name) == ["Ada"])
    #expect(names(dogs.filter("owners.name == %@ AND owners.@count == 1", "Ada")) == ["Rex", "rocky"])
    #expect(people.filter("favourite == %@", rex).isEmpty && people.filter("home.city == 'Berlin'").count == 1)
    #expect(names(dogs.filter("age > 2").filter("age < 6").filter("isGood == true")).count == 3)
    #expect(names(people[0].dogs.filter("name ENDSWITH 'y'")) == ["rocky"])
  }

  @Test("where takes an expression over the properties of the class")
  func typeSafe() throws {
    #expect(names(dogs.where { $0.age > 3 }) == ["Fido", "Bella"])
    #expect(names(dogs.where { $0.age >= 3 && $0.name == "Rex" || $0.age == 7 }) == ["Rex", "Fido"])
    #expect(names(dogs.where { !($0.age == 3) && $0.isGood }) == ["Bella"] && dogs.where { $0.isGood }.count == 3)
    #expect(names(dogs.where { !$0.isGood }) == ["Fido"])
    #expect(names(dogs.where { $0.weight == nil }) == ["Fido"] && dogs.where { $0.weight > 12 }.count == 2)
    #expect(names(dogs.where { $0.name.contains("E", options: .caseInsensitive) }) == ["Rex", "Bella"])
    #expect(names(dogs.where { $0.name.starts(with: "Ré", options: .diacriticInsensitive) }) == ["Rex"])
    #expect(names(dogs.where { $0.name.equals("réX", options: [.caseInsensitive, .diacriticInsensitive]) }) == ["Rex"])
    #expect(names(dogs.filter("name ENDSWITH[cd] %@", "LÄ")) == ["Bella"])
    #expect(names(dogs.where { $0.name.starts(with: "R") }) == ["Rex"] && dogs.where { $0.name.like("*o*") }.count == 2)
    #expect(names(dogs.where { $0.name.ends(with: "o") }) == ["Fido"])
    #expect(names(dogs.where { $0.age.in([5, 7]) }) == ["Fido", "Bella"])
    #expect(dogs.where { $0.age.contains(3...5) }.count == 3 && dogs.where { $0.age.contains(3..<5) }.count == 2)
    let people = realm.objects(Person.self), rex = try #require(dogs.where { $0.name == "Rex" }.first)
    #expect(people.where { $0.dogs.count > 0 }.map(\.name) == ["Ada"])
    #expect(people.where { $0.dogs.contains(rex) }.map(\.name) == ["Ada"])
    #expect(people.where { $0.dogs.name == "rocky" }.map(\.name) == ["Ada"])
    #expect(people.where { $0.favourite.age == 5 }.map(\.name) == ["Bob"])
    #expect(people.where { $0.home.city == "Berlin" }.map(\.name) == ["Ada"])
    #expect(people.where { $0.favourite == nil }.map(\.name) == ["Ada"])
    #expect(names(dogs.where { $0.owners.name == "Ada" }) == ["Rex", "rocky"])
    // No link refers to an unmanaged object, nor does one that is null.
    #expect(people.where { $0.favourite == Dog() }.isEmpty && people.where { $0.favourite != Dog() }.count == 2)
    #expect(people.filter("favourite == %@", Dog()).isEmpty)
  }

  @Test("a condition can count the matching elements of a collection")
  func subqueries() {
    let people = realm.objects(Person.self)
    #expect(people.where { ($0.dogs.age == 3).count == 2 }.map(\.name) == ["Ada"])
    #expect(people.where { ($0.dogs.age == 3 && $0.dogs.name == "Rex").count == 1 }.map(\.name) == ["Ada"])
    #expect(people.where { ($0.dogs.age == 3 && !$0.dogs.isGood).count > 0 }.isEmpty)
    #expect(people.where { $0.dogs.isGood.count == 2 && $0.age > 30 }.map(\.name) == ["Ada"])
    #expect(people.where { ($0.dogs.age == 3).count == 0 || ($0.dogs.age == 3).count == 2 }.count == 2)
    #expect(names(dogs.where { ($0.owners.age > 30).count == 1 }) == ["Rex", "rocky"])
    #expect(names(dogs.where { ($0.owners.dogs.count == 2).count == 1 }) == ["Rex", "rocky"])
  }

  @Test("a condition in a subquery can count elements of the elements' collections")
  func nestedSubqueries() throws {
    let people = realm.objects(Person.self), rocky = try #require(dogs.filter("name == 'rocky'").first)
    try realm.write {
      let cid = realm.create(Person.self, value: ["name": "Cid", "age": 50, "dogs": [rocky]])
      cid.dogs.append(try #require(dogs.filter("name == 'Fido'").first))
    }
    func names(_ condition: (Query<Person>) -> Query<Bool>) -> [String] { people.where(condition).map(\.name).sorted() }
    #expect(names { ($0.dogs.age > 0 && ($0.dogs.owners.age > 30).count == 2).count == 1 } == ["Ada", "Cid"])
    #expect(names { ($0.dogs.age == 7 && ($0.dogs.owners.age > 30).count == 1).count == 1 } == ["Cid"])
    #expect(names { ($0.dogs.age == 7 && !(($0.dogs.owners.age > 30).count == 1)).count == 1 } == [])
    // Three of them: owners of rocky with a dog of seven years.
    let deep = names {
      ($0.dogs.isGood
        && ($0.dogs.owners.age > 30 && ($0.dogs.owners.dogs.age == 7 && $0.dogs.owners.dogs.isGood == false).count > 0)
          .count == 1)
        .count == 1
    }
    #expect(deep == ["Ada", "Cid"])
  }

  @Test("a condition on the same collection in a subquery refers to the elements' collection, as in the SDK")
  func subqueryOfElements() throws {
    let realm = try Realm(configuration: folder.configuration(Everything.self, named: "same"))
    try realm.write {
      let leaf = realm.create(Everything.self, value: ["id": 1])
      let middle = realm.create(Everything.self, value: ["id": 2, "links": [leaf]])
      realm.create(Everything.self, value: ["id": 3, "links": [middle]])
    }
    let all = realm.objects(Everything.self)
    #expect(all.where { ($0.links.id > 0 && ($0.links.id == 1).count == 1).count == 1 }.map(\.id) == [3])
    #expect(all.where { ($0.links.id > 0 && ($0.links.links.id == 1).count == 1).count == 1 }.map(\.id) == [3])
    #expect(all.where { ($0.links.id > 0 && ($0.links.id != 123).count > 0).count > 0 }.map(\.id) == [3])
  }

  @Test("values that are stored as embedded objects are compared by their properties, in collections by one element")
  func embeddedValues() throws {
    let realm = try Realm(configuration: folder.configuration(Route.self, Street.self, named: "routes"))
    let (a, b, c) = (Road(name: "A"), Road(name: "B"), Road(name: "C"))
    try realm.write {
      realm.create(Route.self, value: ["id": 1, "road": a, "roads": [a, b], "named": ["x": a, "y": b]])
      realm.create(Route.self, value: ["id": 2, "road": b, "roads": [b], "named": ["x": b]])
      realm.create(Route.self, value: ["id": 3])
    }
    func ids(_ condition: (Query<Route>) -> Query<Bool>) -> [Int] {
      realm.objects(Route.self).where(condition).map(\.id)
    }
    #expect(ids { $0.road == a } == [1] && ids { $0.road != a } == [2, 3] && ids { $0.road == nil } == [3])
    #expect(ids { $0.roads == b } == [1, 2] && ids { $0.roads.contains(a) } == [1] && ids { $0.roads == c } == [])
    #expect(ids { $0.roads != a } == [2] && ids { $0.roads != c } == [1, 2])
    #expect(ids { $0.named.values == b } == [1, 2] && ids { $0.named.contains(a) } == [1])
    #expect(ids { $0.named.values != a } == [2])
  }

  @Test("texts and bytes are compared with other properties and texts, and with each other by their order")
  func textColumns() throws {
    let realm = try Realm(configuration: folder.configuration(Everything.self, named: "texts"))
    try realm.write {
      realm.create(Everything.self, value: ["id": 1, "text": "b", "someText": "a", "data": Data("xyz".utf8)])
      realm.create(Everything.self, value: ["id": 2, "text": "b", "someText": "B", "data": Data("b".utf8)])
    }
    func ids(_ condition: (Query<Everything>) -> Query<Bool>) -> [Int] {
      realm.objects(Everything.self).where(condition).map(\.id)
    }
    #expect(ids { $0.size.rawValue > $0.text } == [1, 2] && ids { $0.size.rawValue <= $0.text } == [])
    #expect(ids { $0.text > "a" && $0.text.equals($0.someText, options: .caseInsensitive) } == [2])
    #expect(ids { $0.data.starts(with: Data("x".utf8)) } == [1] && ids { $0.data > Data("c".utf8) } == [1])
  }

  @Test("a subquery works for a list with a non-ASCII name")
  func subqueryOfUmlauts() throws {
    let realm = try Realm(configuration: folder.configuration(Kitchen.self, Owner.self, named: "kitchen"))
    try realm.write { realm.create(Kitchen.self, value: ["köche": [["name": "Ann"], ["name": "Bo"]]]) }
    #expect(realm.objects(Kitchen.self).where { ($0.köche.name == "Bo").count == 1 }.count == 1)
  }

  @Test("maps are queried by one key, by keys and by values")
  func maps() throws {
    let realm = try Realm(configuration: folder.configuration(Everything.self, named: "maps"))
    try realm.write {
      realm.create(Everything.self, value: ["id": 1, "prices": ["tea": 2.5, "co'f #e\"": 3]])
      realm.create(Everything.self, value: ["id": 2, "prices": ["tea": 4.0]])
      realm.create(Everything.self, value: ["id": 3])
    }
    func ids(_ condition: (Query<Everything>) -> Query<Bool>) -> [Int] {
      realm.objects(Everything.self).where(condition).map(\.id)
    }
    #expect(ids { $0.prices["tea"] == 2.5 } == [1] && ids { $0.prices["tea"] > 1 } == [1, 2])
    #expect(ids { $0.prices["co'f #e\""] == 3 } == [1] && ids { !($0.prices["tea"] < 3) } == [2, 3])
    #expect(ids { $0.prices.keys == "tea" } == [1, 2] && ids { $0.prices.keys.starts(with: "co") } == [1])
    #expect(ids { $0.prices.values >= 4 } == [2] && ids { $0.prices.values.in([3, 4]) } == [1, 2])
    #expect(ids { $0.prices.count == 0 } == [3] && ids { $0.prices.contains(2.5) } == [1])
    #expect(ids { $0.prices.max >= 3 && $0.prices.sum < 5 } == [2] && ids { $0.prices.avg > 3 } == [2])
    #expect(realm.objects(Everything.self).filter("prices[%@] == %@", "tea", 4).map(\.id) == [2])
  }

  @Test("results can be sorted, made distinct and aggregated")
  func order() {
    #expect(names(dogs.sorted(byKeyPath: "age", ascending: false)) == ["Fido", "Bella", "Rex", "rocky"])
    #expect(names(dogs.sorted(by: \.name)) == ["Bella", "Fido", "Rex", "rocky"])
    #expect(names(dogs.sorted(by: ["age", SortDescriptor(keyPath: \Dog.name, ascending: false)])).first == "rocky")
    #expect(dogs.distinct(by: ["age"]).count == 3 && dogs.distinct(by: [\Dog.age]).map(\.age) == [3, 7, 5])
    #expect(realm.objects(Person.self).sorted(by: \.favourite?.name).first?.name == "Bob")
    #expect(dogs.min(ofProperty: "age") == 3 && dogs.max(of: \.age) == 7 && dogs.sum(of: \.age) == 18)
    #expect(dogs.average(ofProperty: "age") == 4.5 && dogs.max(ofProperty: "weight") == 30.5)
    #expect(dogs.where { $0.age > 100 }.max(of: \.age) == nil && dogs.where { $0.age > 100 }.sum(of: \.age) == 0)
    #expect(dogs.index(matching: "name == 'Bella'") == 2 && dogs.index(of: dogs[2]) == 2)
    #expect(dogs.last?.name == "rocky" && dogs.reversed().first?.name == "rocky" && dogs[1...2].map(\.age) == [7, 5])
  }

  @Test("results are live, and a loop visits the elements of its start")
  func live() throws {
    let young = dogs.where { $0.age < 5 }, all = dogs
    #expect(young.count == 2 && all.count == 4)
    try realm.write {
      realm.add(Dog(value: ["name": "New", "age": 1]))
      #expect(young.count == 3 && all.count == 5)
      for dog in young { dog.age += 10 }
      #expect(young.isEmpty)
    }
    #expect(dogs.sum(of: \.age) == 49)
    try realm.write { realm.delete(dogs.where { $0.age > 10 }) }
    #expect(names(all) == ["Fido", "Bella"] && realm.objects(Person.self).first?.dogs.isEmpty == true)
    try realm.write { realm.deleteAll() }
    #expect(all.isEmpty && realm.isEmpty)
    #expect(try folder.problems() == [])
  }

  @Test("another thread sees a commit after refresh, and objects have the new values")
  func refresh() throws {
    let rex = try #require(dogs.where { $0.name == "Rex" }.first)
    let configuration = realm.configuration
    try onAnotherThread {
      let realm = try Realm(configuration: configuration)
      try realm.write { realm.objects(Dog.self).where { $0.name == "Rex" }.first?.age = 99 }
    }
    #expect(rex.age == 3)
    #expect(realm.refresh() && rex.age == 99 && !realm.refresh())
  }

  @Test("update policies: the values that are named change, the others stay, and all changes everything")
  func update() throws {
    let rex = try #require(dogs.where { $0.name == "Rex" }.first)
    try realm.write {
      realm.create(Dog.self, value: ["_id": rex._id, "age": 4], update: .modified)
      #expect(rex.name == "Rex" && rex.age == 4)
      realm.add(Dog(value: ["_id": rex._id, "name": "King"]), update: .all)
      #expect(rex.name == "King" && rex.age == 0 && rex.weight == nil)
      realm.create(Person.self, value: ["name": "Ada", "favourite": rex, "dogs": [rex]], update: .modified)
    }
    let ada = realm.object(ofType: Person.self, forPrimaryKey: "Ada")
    #expect(ada?.age == 36 && ada?.favourite == rex && ada?.dogs.count == 1 && ada?.home?.city == "Berlin")
    #expect(dogs.count == 4 && realm.object(ofType: Person.self, forPrimaryKey: "Eve") == nil)
  }

  @Test("a query that names no property ends the process and says so")
  func wrongQuery() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let configuration = Realm.Configuration(inMemoryIdentifier: "wrong \(UUID())", objectTypes: [Owner.self])
      _ = try Realm(configuration: configuration).objects(Owner.self).filter("colour == 'red'").count
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("colour"))
  }
}

class Route: Object {
  @Persisted(primaryKey: true) var id = 0
  @Persisted var road: Road?
  @Persisted var roads: List<Road>
  @Persisted var named: Map<String, Road>
}
class Owner: Object { @Persisted var name = "" }
class Kitchen: Object { @Persisted var köche: List<Owner> }

@Suite struct KeyPathValueTests {
  @Test("the values of a key path, and their sum")
  func values() throws {
    let types: [ObjectBase.Type] = [Dog.self, Person.self, Address.self, Street.self]
    let realm = try Realm(configuration: .init(inMemoryIdentifier: "values \(UUID())", objectTypes: types))
    try realm.write {
      realm.create(Person.self, value: ["name": "Ada", "age": 3, "favourite": ["name": "Rex"]])
      realm.create(Person.self, value: ["name": "Bob", "age": 5])
      realm.create(Person.self, value: ["name": "Cid", "age": 3])
    }
    let people = realm.objects(Person.self).sorted(byKeyPath: "name")
    #expect(people.value(forKeyPath: "name") as? [String] == ["Ada", "Bob", "Cid"])
    let dogs = try #require(people.value(forKeyPath: "favourite.name") as? [Any])
    #expect(dogs.count == 3 && dogs[0] as? String == "Rex" && dogs[1] as? String? == .some(nil))
    #expect(people.value(forKeyPath: "@count") as? Int == 3)
    #expect(people.value(forKeyPath: "@max.age") as? Int == 5)
    #expect(people.value(forKeyPath: "@min.age") as? Int == 3)
    #expect(people.value(forKeyPath: "@sum.age") as? Int == 11)
    #expect((people.value(forKeyPath: "@avg.age") as? Double).map { abs($0 - 11.0 / 3) < 1e-9 } == true)
    #expect(people.value(forKeyPath: "@unionOfObjects.favourite.name") as? [String] == ["Rex"])
    #expect(people.value(forKeyPath: "@distinctUnionOfObjects.age") as? [Int] == [3, 5])
  }

  @Test("names of key paths through lists, maps and linking objects")
  func names() {
    #expect(_name(for: \Person.dogs[0].name) == "dogs.name")
    #expect(_name(for: \Person.dogs[0].owners[0].age) == "dogs.owners.age")
    #expect(_name(for: \Person.places[""]??.street?.name) == "places.street.name")
    #expect(_name(for: \Everything.tags.count) == "tags")
  }

  @Test("a query for an unmanaged object matches nothing; an empty sum is zero; unmanaged maps can be summed")
  func corners() throws {
    let types: [ObjectBase.Type] = [Dog.self, Person.self, Address.self, Street.self]
    let realm = try Realm(configuration: .init(inMemoryIdentifier: "corners \(UUID())", objectTypes: types))
    try realm.write { _ = realm.create(Person.self, value: ["name": "Ada", "dogs": [["name": "Rex"]]]) }
    let people = realm.objects(Person.self)
    #expect(people.filter("ANY dogs == %@", Dog()).isEmpty)
    #expect(people.filter("ANY dogs == %@", people[0].dogs[0]).count == 1)
    #expect(List<AnyRealmValue>().sum() == .int(0))
    let everything = Everything()
    everything.linksByName["a"] = Everything(value: ["id": 1])
    everything.linksByName["b"] = Everything(value: ["id": 2])
    #expect(everything.linksByName.sum(of: \.id) == 3 && everything.linksByName.max(of: \.id) == 2)
  }

  @Test("the schema version of a file, open or not")
  func schemaVersion() throws {
    let folder = try RealmFolder()
    var configuration = folder.configuration(Street.self, Address.self)
    #expect(throws: Realm.Error(.fileNotFound)) { try schemaVersionAtURL(folder.url()) }
    configuration.schemaVersion = 7
    let realm = try Realm(configuration: configuration)
    #expect(try schemaVersionAtURL(folder.url()) == 7 && realm.isEmpty)
  }
}
