// Walking through results: what is seen while the realm changes, and how much memory it takes.

import Foundation
import RealmSwift
import Testing

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

  @Test("a walk over all objects keeps none of them")
  func memory() async {
    // A process of its own: other tests need memory meanwhile.
    await #expect(processExitsWith: .success) {
      /// The bytes of the process that no file holds.
      func privateMemory() throws -> Int {
        let text = try String(contentsOfFile: "/proc/self/statm", encoding: .ascii)
        let pages = text.split(separator: " ").compactMap { Int($0) }
        return (pages[1] - pages[2]) * Int(sysconf(Int32(_SC_PAGESIZE)))
      }
      let realm = try Realm(configuration: .init(inMemoryIdentifier: "walk", objectTypes: [Jotting.self]))
      try realm.write { for index in 0..<30_000 { realm.create(Jotting.self, value: ["id": index]) } }
      let jottings = realm.objects(Jotting.self)
      var sum = jottings.reduce(0) { $0 + $1.id }
      let before = try privateMemory()
      for jotting in jottings { sum += jotting.id }
      let used = try privateMemory() - before
      // The objects would take 6 MB, their keys alone 240 kB.
      if used > 200_000 || sum != 30_000 * 29_999 { fatalError("\(used) bytes, sum \(sum)") }
    }
  }

  @Test("objects of a walk outlive it, and the realm lives as long as they do")
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

  @Test("properties are those of the version that the realm is at, whoever reads them first")
  func versions() throws {
    try add(600)
    let dogs = Array(realm.objects(Dog.self)), frozen = realm.freeze()
    #expect(dogs.map(\.age) == Array(0..<600))
    try realm.write {
      // Half of the objects are gone, so the keys have gaps.
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
