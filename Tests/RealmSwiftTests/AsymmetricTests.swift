// Classes whose objects are only written, for a sync session to upload.

import Foundation
import RealmSwift
import Testing

class Reading: AsymmetricObject {
  @Persisted(primaryKey: true) var _id: ObjectId
  @Persisted var celsius = 20.5
  @Persisted var place: ReadingPlace?
  @Persisted var places: List<ReadingPlace>

  override class func propertiesMapping() -> [String: String] { ["celsius": "degrees"] }
  override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class ReadingPlace: EmbeddedObject {
  @Persisted var name = ""
}

class ReadingOfDog: AsymmetricObject {
  @Persisted(primaryKey: true) var _id: ObjectId
  @Persisted var dog: Dog?

  override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class ReadingOwner: Object {
  @Persisted var first: Reading?
  @Persisted var all: List<Reading>

  override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite struct AsymmetricTests {
  /// Why a realm in memory with these classes does not open.
  private func refusal(_ types: ObjectBase.Type...) -> String {
    do {
      _ = try Realm(configuration: .init(inMemoryIdentifier: "asymmetric \(UUID())", objectTypes: types))
      return "opened"
    } catch { return "\(error)" }
  }

  @Test("a local realm does not open with an asymmetric class")
  func localRealm() {
    let text = refusal(Reading.self, ReadingPlace.self)
    #expect(text.contains("asymmetric class 'Reading' is not allowed in a local realm"))
    // Its links to embedded objects are right.
    #expect(!text.contains("ReadingPlace") && !text.contains("Reading.place"))
  }

  @Test("nothing links to an asymmetric class, and it links to embedded objects only")
  func links() {
    let text = refusal(Reading.self, ReadingPlace.self, ReadingOwner.self)
    #expect(text.contains("'ReadingOwner.first' cannot be a link to an asymmetric object"))
    #expect(text.contains("'ReadingOwner.all' cannot be a link to an asymmetric object"))
    let other = refusal(ReadingOfDog.self, Dog.self, Person.self, Address.self, Street.self)
    #expect(other.contains("'ReadingOfDog.dog' of an asymmetric class can only link to embedded objects"))
  }

  @Test("an unmanaged asymmetric object has values, and its schema is asymmetric")
  func unmanaged() throws {
    let places = [["name": "a"], ["name": "b"]]
    let reading = Reading(value: ["celsius": -3.5, "place": ["name": "roof"], "places": places])
    #expect(reading.celsius == -3.5 && reading.place?.name == "roof" && reading.places.map(\.name) == ["a", "b"])
    #expect(Reading().celsius == 20.5 && reading.realm == nil)
    #expect(reading.objectSchema.isAsymmetric && !reading.objectSchema.isEmbedded)
    #expect(reading.objectSchema.properties.map(\.columnName) == ["_id", "degrees", "place", "places"])
    #expect(!Dog().objectSchema.isAsymmetric)
  }

  @Test("creating an asymmetric object in a local realm ends the process")
  func create() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let realm = try Realm(configuration: .init(inMemoryIdentifier: "local", objectTypes: [ReadingPlace.self]))
      try realm.write { realm.create(Reading.self, value: ["celsius": 1.5]) }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("asymmetric class 'Reading' need"))
  }
}
