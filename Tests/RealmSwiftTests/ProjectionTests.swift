// Projections: views of objects with some of their properties.

import Foundation
import RealmSwift
import Testing

private class PersonView: Projection<Person> {
  @Projected(\Person.name) var name
  @Projected(\Person.age) var years
  @Projected(\Person.name.localizedUppercase) var loudName
  @Projected(\Person.home?.street?.number) var number
  @Projected(\Person.dogs.projectTo.name) var dogNames: ProjectedCollection<String>
  @Projected(\Person.dogs.count) var dogCount
}

@Suite struct ProjectionTests {
  private let realm: Realm

  init() throws {
    let types: [ObjectBase.Type] = [Dog.self, Person.self, Address.self, Street.self]
    realm = try Realm(configuration: .init(inMemoryIdentifier: "projections \(UUID())", objectTypes: types))
    try realm.write {
      realm.create(Person.self, value: ["name": "Ada", "age": 36])
      let bob = realm.create(Person.self, value: ["name": "Bob", "dogs": [["name": "Rex"], ["name": "Fido"]]])
      bob.home = Address(value: ["street": ["number": 7]])
    }
  }

  @Test("results of projections are filtered and sorted by the object's properties")
  func results() throws {
    let people = realm.objects(PersonView.self).sorted(byKeyPath: "name", ascending: false)
    #expect(people.map(\.name) == ["Bob", "Ada"])
    let bob = people[0]
    #expect(bob.loudName == "BOB" && bob.number == 7 && bob.dogCount == 2)
    #expect(Array(bob.dogNames) == ["Rex", "Fido"])
    #expect(people[1].number == nil)
    #expect(realm.objects(PersonView.self).filter("age > 30").map(\.years) == [36])
    #expect(realm.objects(PersonView.self).sectioned(by: \.loudName).allKeys == ["ADA", "BOB"])
    let person = try #require(realm.object(ofType: Person.self, forPrimaryKey: "Bob"))
    #expect(PersonView(projecting: person) == bob)
    #expect(people[1] != bob)
    #expect(bob.description.contains("years(\\.age) = 0;"))
  }

  @Test("setting a projected property sets that of the object; frozen projections do not change")
  func writing() throws {
    let bob = try #require(realm.objects(PersonView.self).filter("name == 'Bob'").first), frozen = bob.freeze()
    try realm.write { bob.years = 5 }
    #expect(bob.rootObject.age == 5 && frozen.years == 0 && frozen.isFrozen)
    #expect(try #require(frozen.thaw()).years == 5)
    let reference = ThreadSafeReference(to: bob), configuration = realm.configuration
    try onAnotherThread {
      let realm = try Realm(configuration: configuration)
      #expect(try #require(realm.resolve(reference)).years == 5)
      try realm.write { realm.deleteAll() }
    }
    realm.refresh()
    #expect(bob.isInvalidated)
    #expect(frozen.thaw() == nil)
  }

  @Test("observers get projected properties by name, with their former values")
  func observing() throws {
    let bob = try #require(realm.objects(PersonView.self).filter("name == 'Bob'").first)
    var told: [String] = [], ofNumber: [String] = []
    func text(_ change: ObjectChange<PersonView>) -> String {
      guard case .change(_, let properties) = change else { return "\(change)" }
      return properties.map { "\($0.name) \($0.oldValue ?? "") \($0.newValue ?? "")" }.joined(separator: ", ")
    }
    let tokens = [
      bob.observe { told.append(text($0)) }, bob.observe(keyPaths: [\.number]) { ofNumber.append(text($0)) },
    ]
    let configuration = realm.configuration
    func elsewhere(_ body: @escaping (Person) -> Void) throws {
      try onAnotherThread {
        let realm = try Realm(configuration: configuration)
        let bob = try #require(realm.object(ofType: Person.self, forPrimaryKey: "Bob"))
        try realm.write { body(bob) }
      }
      #expect(realm.refresh())
    }
    try elsewhere { $0.age = 8 }
    try elsewhere { $0.addresses.append(Address()) }
    try elsewhere { $0.home?.street?.number = 9 }
    #expect(told == ["years 0 8", "number Optional(7) Optional(9)"])
    #expect(ofNumber == ["number Optional(7) Optional(9)"])
    try elsewhere { $0.realm?.delete($0) }
    #expect(told.last == "deleted" && ofNumber.last == "deleted")
    tokens.forEach { $0.invalidate() }
  }

  @Test("a projected collection is set and observed, and reports only changes of its property")
  func projectedCollection() throws {
    let bob = try #require(realm.objects(PersonView.self).filter("name == 'Bob'").first), names = bob.dogNames
    try realm.write { names[1] = "Max" }
    #expect(bob.rootObject.dogs[1].name == "Max")
    var told: [String] = []
    let token = names.observe { change in
      switch change {
      case .initial(let names): told.append("initial \(names.count)")
      case .update(let names, let deletions, let insertions, let modifications):
        told.append("\(Array(names)) \(deletions) \(insertions) \(modifications)")
      case .error(let error): told.append("\(error)")
      }
    }
    let configuration = realm.configuration
    func elsewhere(_ body: @escaping (List<Dog>) -> Void) throws {
      try onAnotherThread {
        let realm = try Realm(configuration: configuration)
        let bob = try #require(realm.object(ofType: Person.self, forPrimaryKey: "Bob"))
        try realm.write { body(bob.dogs) }
      }
      #expect(realm.refresh())
    }
    try elsewhere { $0[0].age = 1 }
    try elsewhere { $0[0].age = 2 }
    try elsewhere { $0[0].name = "Ben" }
    try elsewhere { $0.remove(at: 0) }
    #expect(told == ["initial 2", #"["Ben", "Max"] [] [] [0]"#, #"["Max"] [0] [] []"#])
    token.invalidate()
  }
}
