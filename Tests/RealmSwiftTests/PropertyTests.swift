// Properties of every type: unmanaged, managed, and after the realm was opened again.

import Foundation
import RealmSwift
import Testing

@Suite struct PropertyTests {
  private let folder: RealmFolder
  private let uuid = UUID(), objectId = ObjectId.generate()

  init() throws { folder = try RealmFolder() }

  private func changed() -> Everything {
    let object = Everything()
    object.id = 7
    object.flag = false
    (object.int8, object.int16, object.int32, object.int64) = (.max, .max, .max, .max)
    (object.float, object.double, object.text) = (-0.5, .pi, "日本")
    object.data = Data([1, 2, 3])
    object.date = Date(timeIntervalSince1970: 1_700_000_000.5)
    object.decimal = "-1.10"
    (object.objectId, object.uuid) = (objectId, uuid)
    object.any = .int(42)
    (object.size, object.level) = (.large, nil)
    (object.noInt, object.someText, object.noDate) = (5, nil, Date(timeIntervalSince1970: 0))
    object.link = object
    object.numbers.append(objectsIn: [3, 1, 2])
    object.optionals.append(objectsIn: ["a", nil])
    object.links.append(object)
    object.tags.insert(objectsIn: ["b", "a", "b"])
    object.prices["tea"] = 2.5
    object.prices["coffee"] = 3
    object.linksByName["self"] = .some(object)
    object.linksByName["none"] = .some(nil)
    return object
  }

  private func expectChanged(_ object: Everything) {
    #expect(object.id == 7 && !object.flag)
    #expect(object.int8 == .max && object.int16 == .max && object.int32 == .max && object.int64 == .max)
    #expect(object.float == -0.5 && object.double == .pi && object.text == "日本")
    #expect(object.data == Data([1, 2, 3]) && object.date == Date(timeIntervalSince1970: 1_700_000_000.5))
    #expect(object.decimal == Decimal128(-1.1) && object.decimal.description == "-1.10")
    #expect(object.objectId == objectId && object.uuid == uuid)
    #expect(object.any == .int(42) && object.any.intValue == 42 && object.any.stringValue == nil)
    #expect(object.size == .large && object.level == nil)
    #expect(object.noInt == 5 && object.someText == nil && object.noDate == Date(timeIntervalSince1970: 0))
    #expect(object.link == object)
    #expect(Array(object.numbers) == [3, 1, 2] && Array(object.optionals) == ["a", nil])
    #expect(object.links.count == 1 && object.links.first == object)
    #expect(object.tags.sorted() == ["a", "b"])
    #expect(
      object.prices.keys == ["coffee", "tea"] && object.prices.values == [3, 2.5] && object.prices["milk"] == nil
    )
    #expect(object.linksByName["self"] == .some(object) && object.linksByName["none"] == .some(nil))
  }

  @Test("an unmanaged object has its declared defaults, and a generated default stays the same")
  func defaults() {
    let object = Everything()
    #expect(object.flag && object.int8 == -8 && object.int64 == .min && object.float == 1.5 && object.text == "ä")
    #expect(object.date == Date(timeIntervalSince1970: -1.25) && object.decimal.description == "123456789.000000001")
    #expect(object.any == .string("mixed") && object.size == .small && object.level == .high)
    #expect(object.noInt == nil && object.someText == "some" && object.link == nil)
    #expect(object.numbers.isEmpty && object.tags.isEmpty && object.prices.count == 0 && object.backlinks.isEmpty)
    #expect(object.objectId == object.objectId && object.objectId != Everything().objectId)
    #expect(object.realm == nil && !object.isInvalidated && !object.isFrozen)
  }

  @Test("every property of an added object is stored, and read after reopening")
  func everyType() throws {
    let unmanaged = changed()
    expectChanged(unmanaged)
    try autoreleased {
      let realm = try Realm(configuration: folder.configuration(Everything.self))
      try realm.write { realm.add(unmanaged) }
      #expect(unmanaged.realm == realm)
      expectChanged(unmanaged)
      let found = try #require(realm.object(ofType: Everything.self, forPrimaryKey: 7))
      #expect(found == unmanaged && found !== unmanaged)
      #expect(found.backlinks.count == 1 && found.backlinks.first == found)
    }
    #expect(try folder.problems() == [])
    try onAnotherThread {
      let realm = try Realm(configuration: folder.configuration(Everything.self))
      expectChanged(try #require(realm.objects(Everything.self).first))
    }
  }

  @Test("every property of a managed object can be set in a transaction, and reads as set before the commit")
  func setting() throws {
    let realm = try Realm(configuration: folder.configuration(Everything.self))
    let object = Everything(value: ["id": 7])
    try realm.write {
      realm.add(object)
      #expect(object.flag && object.any == .string("mixed") && object.text == "ä" && object.level == .high)
      let other = changed()
      for property in object.objectSchema.properties
      where !["id", "link", "links", "linksByName", "backlinks"].contains(property.name) {
        object[property.name] = other[property.name]
      }
      object.link = object
      object.links.append(object)
      object.linksByName["self"] = .some(object)
      object.linksByName["none"] = .some(nil)
      expectChanged(object)
    }
    expectChanged(object)
    #expect(try folder.problems() == [])
  }

  @Test("a write that throws changes nothing")
  func rollback() throws {
    struct Stop: Error {}
    let realm = try Realm(configuration: folder.configuration(Dog.self, Person.self, Address.self, Street.self))
    let rex = Dog(value: ["name": "Rex", "age": 1])
    try realm.write { realm.add(rex) }
    #expect(throws: Stop.self) {
      try realm.write {
        rex.age = 2
        realm.add(Dog())
        throw Stop()
      }
    }
    #expect(rex.age == 1 && realm.objects(Dog.self).count == 1 && !realm.isInWriteTransaction)
    realm.beginWrite()
    rex.age = 3
    realm.cancelWrite()
    #expect(rex.age == 1)
    realm.beginWrite()
    rex.age = 4
    try realm.commitWrite()
    #expect(rex.age == 4)
    let name = try realm.write { rex.name }
    #expect(name == "Rex")
  }

  @Test("links, lists and embedded objects are added with the object that has them")
  func graph() throws {
    let realm = try Realm(configuration: folder.configuration(Dog.self, Person.self, Address.self, Street.self))
    let ada = Person(value: ["name": "Ada", "age": 36])
    let rex = Dog(value: ["name": "Rex"])
    ada.favourite = rex
    ada.dogs.append(objectsIn: [rex, Dog(value: ["name": "Fido"])])
    ada.home = Address(value: ["city": "Berlin", "street": ["name": "Elm", "number": 5]])
    ada.addresses.append(Address(value: ["city": "Oslo"]))
    ada.places["work"] = .some(Address(value: ["city": "Rome"]))
    try realm.write { realm.add(ada) }
    #expect(realm.objects(Dog.self).count == 2 && rex.realm == realm && rex.owners.first == ada)
    #expect(ada.home?.street?.name == "Elm" && ada.home?.street?.number == 5)
    #expect(ada.addresses.map(\.city) == ["Oslo"] && ada.places["work"]??.city == "Rome")
    let former = try #require(ada.home)
    try realm.write {
      ada.home = Address(value: ["city": "Paris"])
      ada.addresses[0].street = Street(value: ["name": "Oak"])
      ada.addresses.insert(Address(value: ["city": "Bern"]), at: 0)
    }
    #expect(former.isInvalidated && ada.home?.city == "Paris")
    #expect(ada.addresses.map(\.city) == ["Bern", "Oslo"] && ada.addresses[1].street?.name == "Oak")
    try realm.write { realm.delete(rex) }
    #expect(rex.isInvalidated && ada.favourite == nil && ada.dogs.map(\.name) == ["Fido"])
    try realm.write { realm.delete(ada) }
    #expect(realm.objects(Person.self).isEmpty && realm.objects(Dog.self).count == 1)
    #expect(try folder.problems() == [])
  }

  @Test("lists, sets and maps of managed objects behave like Swift's collections")
  func collections() throws {
    let realm = try Realm(configuration: folder.configuration(Everything.self))
    let object = Everything()
    try realm.write {
      realm.add(object)
      let list = object.numbers
      list.append(objectsIn: 0..<6)
      list.remove(at: 0)
      list.insert(9, at: 1)
      list[0] = 8
      list.move(from: 0, to: 2)
      list.swapAt(0, 3)
      #expect(Array(list) == [3, 2, 8, 9, 4, 5])
      list.removeAll { $0 > 8 }
      list.replaceSubrange(0..<2, with: [7, 7, 7])
      #expect(Array(list) == [7, 7, 7, 8, 4, 5] && list.firstIndex(of: 8) == 3 && list.last == 5)
      object.tags.insert(objectsIn: ["x", "y", "z"])
      object.tags.remove("y")
      #expect(object.tags.contains("x") && !object.tags.contains("y") && object.tags.count == 2)
      object.prices.merge(["a": 1.0, "b": 2.0], uniquingKeysWith: { $1 })
      object.prices["a"] = nil
      #expect(object.prices.keys == ["b"])
      object.numbers = object.numbers
      #expect(object.numbers.count == 6)
    }
    #expect(object.numbers.sum() == 38 && object.numbers.max() == 8)
    try realm.write { object.numbers.removeAll() }
    #expect(object.numbers.isEmpty)
    #expect(try folder.problems() == [])
  }

  @Test("custom types are stored as their persisted types")
  func customTypes() throws {
    let realm = try Realm(configuration: folder.configuration(Place.self, Street.self))
    let place = Place(value: ["point": "1,2"])
    place.marks.append(objectsIn: [Point(x: 3, y: 4), Point(x: 5, y: 6)])
    place.road = Road(name: "Elm")
    try realm.write { realm.add(place) }
    #expect(place.point == Point(x: 1, y: 2) && place.marks.map(\.x) == [3, 5] && place.road == Road(name: "Elm"))
    #expect(place.other == nil && place.objectSchema["point"]?.type == .string)
    try realm.write {
      place.other = Point(x: 7, y: 8)
      place.road = nil
    }
    #expect(place.other == Point(x: 7, y: 8) && place.road == nil && realm.objects(Place.self).first?.point.y == 2)
    #expect(realm.objects(Place.self).filter("point == '1,2'").count == 1)
    #expect(realm.objects(Place.self).where { $0.point == Point(x: 1, y: 2) && $0.other != nil }.count == 1)
    #expect(try folder.problems() == [])
  }
}

struct Point: Hashable, FailableCustomPersistable {
  var x = 0, y = 0
  typealias PersistedType = String
  init(x: Int, y: Int) { (self.x, self.y) = (x, y) }
  init?(persistedValue: String) {
    let parts = persistedValue.split(separator: ",").compactMap { Int($0) }
    guard parts.count == 2 else { return nil }
    self.init(x: parts[0], y: parts[1])
  }
  var persistableValue: String { "\(x),\(y)" }
}

struct Road: Hashable, CustomPersistable {
  var name: String
  init(name: String) { self.name = name }
  typealias PersistedType = Street
  init(persistedValue: Street) { name = persistedValue.name }
  var persistableValue: Street { Street(value: ["name": name]) }
}

class Place: Object {
  @Persisted var point = Point(x: 0, y: 0)
  @Persisted var other: Point?
  @Persisted var road: Road?
  @Persisted var marks: List<Point>
}
