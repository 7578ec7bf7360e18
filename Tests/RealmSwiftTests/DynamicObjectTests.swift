// Objects by the names of their classes and properties.

import Foundation
import RealmSwift
import Testing

@Suite struct DynamicObjectTests {
  private let realm: Realm

  init() throws {
    let types: [ObjectBase.Type] = [Dog.self, Person.self, Address.self, Street.self]
    realm = try Realm(configuration: .init(inMemoryIdentifier: "dynamic \(UUID())", objectTypes: types))
  }

  @Test("objects are created, found, read and changed by property names")
  func names() throws {
    let ada = try realm.write {
      realm.dynamicCreate("Person", value: ["name": "Ada", "age": 3, "dogs": [["name": "Rex"]]])
    }
    #expect(ada.name as? String == "Ada" && ada["age"] as? Int == 3)
    let typed = try #require(realm.object(ofType: Person.self, forPrimaryKey: "Ada"))
    #expect(ada as ObjectBase == typed)
    try realm.write { ada.age = 4 }
    #expect(typed.age == 4)
    #expect(realm.dynamicObject(ofType: "Person", forPrimaryKey: "Ada") == ada)
    #expect(realm.dynamicObject(ofType: "Person", forPrimaryKey: "Bob") == nil)
    #expect(realm.dynamicObjects("Dog").map { $0.name as? String } == ["Rex"])
    #expect(realm.dynamicObjects("Person").filter("age == 4").count == 1)
    #expect(ada.objectSchema.className == "Person")
    // Each creates separate lists.
    func text(_ object: ObjectBase) -> String { object.description.replacing(#/<0x[0-9a-f]+>/#, with: "") }
    #expect(text(ada) == text(typed) && text(ada).contains("name = Rex;"))
  }

  @Test("collections of dynamic objects are live, frozen ones do not change")
  func collections() throws {
    let ada = try realm.write { realm.dynamicCreate("Person", value: ["name": "Ada", "dogs": [["name": "Rex"]]]) }
    let dogs = try #require(ada.dogs as? List<DynamicObject>), frozen = ada.freeze()
    #expect(dogs.first?.name as? String == "Rex")
    try realm.write {
      let fido = realm.dynamicCreate("Dog", value: ["name": "Fido"])
      ada.dogs = [fido]
      ada.favourite = fido
    }
    #expect(dogs.map { $0.name as? String } == ["Fido"])
    // The link refers to the same dog, and no new one was created.
    #expect((ada.favourite as? Dog) == dogs.first as ObjectBase? && realm.objects(Dog.self).count == 2)
    #expect(frozen.isFrozen && frozen.dynamicList("dogs").first?.name as? String == "Rex")
    let typed = try #require(realm.objects(Person.self).first)
    #expect(typed.dynamicList("dogs").first == dogs.first)
    let places: Map<String, DynamicObject?> = typed.dynamicMap("places")
    #expect(places.count == 0)
  }
}
