// Iterating over results while the realm changes: the elements that are seen, and that no memory is kept.

import Foundation
import RealmSwift
import Synchronization
import Testing

/// A model that counts its objects in the process.
class Counted: Object {
  static let instances = Atomic(0)

  @Persisted(primaryKey: true) var id = 0

  required init() {
    super.init()
    Self.instances.add(1, ordering: .relaxed)
  }

  deinit { Self.instances.subtract(1, ordering: .relaxed) }

  override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite struct WalkTests {
  private let folder: RealmFolder
  private let realm: Realm

  init() throws {
    folder = try RealmFolder()
    realm = try Realm(configuration: folder.configuration(Dog.self, Person.self, Address.self, Street.self))
  }

  private func add(_ count: Int) throws {
    try realm.write { for index in 0..<count { realm.add(Dog(value: ["name": "dog \(index)", "age": index])) } }
  }

  @Test("iterating over all objects retains none of them")
  func memory() throws {
    let realm = try Realm(configuration: folder.configuration(Counted.self, named: "counted"))
    try realm.write { for index in 0..<3_000 { realm.create(Counted.self, value: ["id": index]) } }
    let before = Counted.instances.load(ordering: .relaxed)
    var sum = 0, most = 0
    for counted in realm.objects(Counted.self) {
      sum += counted.id
      most = max(most, Counted.instances.load(ordering: .relaxed) - before)
    }
    for counted in realm.objects(Counted.self).where({ $0.id >= 1_000 }) {
      sum += counted.id
      most = max(most, Counted.instances.load(ordering: .relaxed) - before)
    }
    // The one that the loop has, and the one before it.
    #expect((1...2).contains(most))
    #expect(sum == (0..<3_000).reduce(0, +) + (1_000..<3_000).reduce(0, +))
  }

  @Test("objects outlive an iteration and keep the realm alive")
  func outlives() throws {
    try add(300)
    let configuration = realm.configuration
    func oldest() throws -> [Dog] {
      let realm = try Realm(configuration: configuration)
      return realm.objects(Dog.self).filter { $0.age > 297 }
    }
    #expect(try oldest().map(\.name) == ["dog 298", "dog 299"])
    let kept = try #require(try oldest().first)
    try realm.write { kept.age = 1000 }
    #expect(kept.age == 1000 && kept.realm == realm)
  }

  @Test("properties belong to the realm's current version, whoever reads them first")
  func versions() throws {
    try add(600)
    let dogs = Array(realm.objects(Dog.self)), frozen = realm.freeze()
    #expect(dogs.map(\.age) == Array(0..<600))
    try realm.write {
      // Half of the objects were deleted, so the keys have gaps.
      for dog in dogs where dog.age % 2 == 1 { realm.delete(dog) }
      for dog in dogs where !dog.isInvalidated { dog.age += 1 }
      #expect(dogs[10].age == 11 && dogs[12].name == "dog 12")
    }
    #expect(dogs.filter { !$0.isInvalidated }.map(\.age) == stride(from: 1, to: 600, by: 2).map { $0 })
    #expect(realm.objects(Dog.self).where { $0.age > 300 }.count == 150)
    #expect(frozen.objects(Dog.self).where { $0.age > 300 }.count == 299)
    #expect(frozen.objects(Dog.self).map(\.age) == Array(0..<600))
    realm.beginWrite()
    dogs[10].age = -1
    realm.cancelWrite()
    #expect(dogs[10].age == 11)
    let last = realm.objects(Dog.self).where { $0.age > 590 }
    let number = last.count
    #expect(last.map(\.age) == [591, 593, 595, 597, 599] && number == 5)
  }
}
