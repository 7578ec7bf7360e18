// Code that breaks a rule ends the process, with a message that names the rule.

import Foundation
import RealmSwift
import Testing

@Suite struct MisuseTests {
  private static func realm() throws -> Realm {
    try Realm(
      configuration: .init(
        inMemoryIdentifier: "misuse \(UUID())",
        objectTypes: [Dog.self, Person.self, Address.self, Street.self]
      )
    )
  }

  private func text(_ result: ExitTest.Result?) -> String {
    String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
  }

  @Test("a change outside of a write transaction")
  func noTransaction() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let realm = try Self.realm()
      let dog = try realm.write { realm.create(Dog.self) }
      dog.age = 3
    }
    #expect(text(result).contains("outside of a write transaction"))
  }

  @Test("a duplicate primary key")
  func duplicateKey() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let realm = try Self.realm()
      try realm.write {
        let dog = realm.create(Dog.self)
        realm.add(Dog(value: ["_id": dog._id]))
      }
    }
    #expect(text(result).contains("already an object of class 'Dog' with the primary key"))
  }

  @Test("a property of a deleted object")
  func deleted() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let realm = try Self.realm()
      let dog = try realm.write { realm.create(Dog.self) }
      try realm.write { realm.delete(dog) }
      _ = dog.name
    }
    #expect(text(result).contains("was deleted"))
  }

  @Test("changing the primary key of a managed object")
  func changedKey() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let realm = try Self.realm()
      try realm.write { realm.create(Dog.self)._id = ObjectId.generate() }
    }
    #expect(text(result).contains("primary key of 'Dog' cannot be changed"))
  }

  @Test("a realm on another thread")
  func thread() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let realm = try Self.realm()
      try onAnotherThread { _ = realm.objects(Dog.self).count }
    }
    #expect(text(result).contains("Realm accessed from incorrect thread."))
  }
}
