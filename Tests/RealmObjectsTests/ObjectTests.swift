// Objects by name and as values of Codable types, in versions that do not change.

import Foundation
import RealmJSON
import RealmObjects
import RealmPages
import TestSupport
import Testing

@Suite struct ObjectTests {
  struct Address: Codable, Equatable { var street: String }

  struct Dog: Codable, Equatable { var name: String }

  struct Everything: Codable, Equatable {
    var _id: Int
    var flag = true
    var small: Int8 = -7
    var real = 0.5
    var single: Float = 1.5
    var text = "ä"
    var data = Data([0, 255])
    var date = Date(timeIntervalSinceReferenceDate: -86_400.25)
    var uuid = UUID()
    var oid = "0123456789abcdef01234567"
    var nothing: String?
    var something: Int? = 3
    var numbers = [3, 1, 2]
    var tags: Set<String> = ["b", "a"]
    var ages = ["x": 1, "y": 2]
    var home: Address? = Address(street: "Elm")
    var homes = [Address(street: "Oak"), Address(street: "Ash")]
    var dog: Dog? = Dog(name: "Fido")
    var dogs = [Dog(name: "Rex"), Dog(name: "Fido")]
  }

  private static let schema = SchemaDescription(
    version: 1,
    classes: [
      ClassDescription(
        name: "Everything",
        primaryKey: "_id",
        properties: [
          PropertyDescription(name: "_id", type: .int), PropertyDescription(name: "flag", type: .bool),
          PropertyDescription(name: "small", type: .int), PropertyDescription(name: "real", type: .double),
          PropertyDescription(name: "single", type: .float), PropertyDescription(name: "text", type: .string),
          PropertyDescription(name: "data", type: .data), PropertyDescription(name: "date", type: .date),
          PropertyDescription(name: "uuid", type: .uuid), PropertyDescription(name: "oid", type: .objectID),
          PropertyDescription(name: "nothing", type: .string, isNullable: true),
          PropertyDescription(name: "something", type: .int, isNullable: true),
          PropertyDescription(name: "numbers", type: .int, collection: .list),
          PropertyDescription(name: "tags", type: .string, collection: .set),
          PropertyDescription(name: "ages", type: .int, collection: .dictionary),
          PropertyDescription(name: "home", type: .link, target: "Address"),
          PropertyDescription(name: "homes", type: .link, collection: .list, target: "Address"),
          PropertyDescription(name: "dog", type: .link, target: "Dog"),
          PropertyDescription(name: "dogs", type: .link, collection: .list, target: "Dog"),
        ]
      ),
      ClassDescription(
        name: "Address",
        kind: .embedded,
        properties: [PropertyDescription(name: "street", type: .string)]
      ),
      ClassDescription(
        name: "Dog",
        primaryKey: "name",
        properties: [PropertyDescription(name: "name", type: .string)]
      ),
    ]
  )

  private func open() async throws -> OpenRealm {
    var configuration = Configuration(inMemoryIdentifier: "objects \(UUID())")
    configuration.schema = Self.schema
    return try await Realm.open(configuration)
  }

  @Test("a value of a Codable type comes back as it was saved, and again after a change")
  func codable() async throws {
    let realm = try await open()
    var value = Everything(_id: 1)
    for change in [{ (_: inout Everything) in }, Self.change] {
      change(&value)
      let wanted = value
      try await realm.write { transaction in _ = try transaction.save(wanted) }
      let found = try realm.freeze().objects(Everything.self)
      #expect(found == [value])
      #expect(Verifier(try realm.freeze().snapshot).problems(limit: 3) == [])
    }
    #expect(try realm.freeze().objects("Dog").count == 2)
  }

  @Test("saving what is stored changes nothing, and saving a change changes no more than that")
  func leastChange() async throws {
    let realm = try await open()
    var value = Everything(_id: 1)
    value.real = .nan
    let first = value
    try await realm.write { transaction in _ = try transaction.save(first) }
    let version = try realm.freeze().version
    try await realm.write { transaction in
      _ = try transaction.save(first)
      let changesBySaving = transaction.engine.hasChanges
      #expect(!changesBySaving)
      let object = try #require(try transaction.find("Everything", primaryKey: .int(1)))
      try transaction.set("numbers", of: object, to: .list([.int(3), .int(1), .int(2)]))
      try transaction.set("tags", of: object, to: .list([.text("a"), .text("b")]))
      try transaction.set(
        "ages",
        of: object,
        to: .dictionary([.init(key: [0x79], value: .int(2)), .init(key: [0x78], value: .int(1))])
      )
      let changesBySetting = transaction.engine.hasChanges
      #expect(!changesBySetting)
    }
    #expect(try realm.freeze().version == version)

    // Elements that stay keep their objects.
    let before = try elements(realm, "homes")
    let changes: [(inout Everything) -> Void] = [
      { $0.homes.insert(Address(street: "Fir"), at: 1) }, { $0.homes.removeLast() },
      { $0.homes.append(Address(street: "Elm")) },
    ]
    for change in changes {
      change(&value)
      let wanted = value
      try await realm.write { transaction in _ = try transaction.save(wanted) }
      let after = try elements(realm, "homes")
      #expect(after.count == value.homes.count && after.first == before.first)
      #expect(try realm.freeze().objects(Everything.self).first?.homes == value.homes)
    }
    for numbers in [[3, 1, 2, 4], [1, 2, 4], [1, 5, 4], [9], []] {
      value.numbers = numbers
      value.tags = Set(numbers.map(String.init))
      value.ages = Dictionary(uniqueKeysWithValues: numbers.map { ("\($0)", $0) })
      value.home = numbers.count == 3 ? nil : Address(street: "\(numbers)")
      let wanted = value
      try await realm.write { transaction in _ = try transaction.save(wanted) }
      let found = try #require(try realm.freeze().objects(Everything.self).first)
      #expect(
        found.numbers == numbers && found.tags == value.tags && found.ages == value.ages && found.home == value.home
      )
    }
    #expect(Verifier(try realm.freeze().snapshot).problems(limit: 3) == [])
  }

  /// The embedded objects in a list.
  private func elements(_ realm: OpenRealm, _ name: String) throws -> [Value] {
    let object = try #require(try realm.freeze().object("Everything", primaryKey: .int(1)))
    return try object[name].asList ?? []
  }

  private static func change(_ value: inout Everything) {
    value.date = Date(timeIntervalSince1970: -0.25)
    value.something = nil
    value.nothing = "now"
    value.numbers = []
    value.tags = ["c"]
    value.ages = [:]
    value.home = nil
    value.homes = [Address(street: "Fir")]
    value.dog = nil
    value.uuid = UUID()
  }

  @Test("an object's properties are read by name, and links lead to objects")
  func dynamic() async throws {
    let realm = try await open()
    try await realm.write { transaction in _ = try transaction.save(Everything(_id: 7)) }
    let frozen = try realm.freeze()
    let object = try #require(try frozen.object("Everything", primaryKey: .int(7)))
    #expect(try object["text"].asText == "ä")
    #expect(try object["real"].asDouble == 0.5)
    #expect(try object["flag"].asBool == true)
    #expect(try object["numbers"].asList?.compactMap(\.asInt) == [3, 1, 2])
    #expect(try object["nothing"] == .null)
    #expect(try object.object("dog")?["name"].asText == "Fido")
    let error = #expect(throws: EngineError.self) { try object["cat"] }
    #expect(error?.reason == .notFound)
    #expect(try frozen.object("Everything", primaryKey: .int(8)) == nil)
    #expect(throws: EngineError.self) { try frozen.objects("Cat") }
    #expect(Set(try frozen.classNames()) == ["Everything", "Address", "Dog"])
  }

  @Test("a frozen realm stays as it is, and a transaction that throws changes nothing")
  func frozen() async throws {
    struct Refusal: Error {}
    let realm = try await open()
    try await realm.write { transaction in _ = try transaction.create("Dog", primaryKey: .text("Rex")) }
    let frozen = try realm.freeze()
    let reader = try RealmPages.Realm(realm.configuration), old = try reader.latest()
    for round in 0..<50 {
      try await realm.write { transaction in _ = try transaction.create("Dog", primaryKey: .text("dog \(round)")) }
    }
    #expect(throws: Refusal.self) {
      try realm.write { transaction in
        _ = try transaction.create("Dog", primaryKey: .text("never"))
        throw Refusal()
      }
    }
    // Until a version that nothing holds is gone.
    for _ in 0..<2000 where reader.isCurrent(old) {
      _ = try reader.latest()
      try await Task.sleep(for: .milliseconds(10))
    }
    #expect(!reader.isCurrent(old))
    #expect(try frozen.objects(Dog.self) == [Dog(name: "Rex")])
    #expect(try realm.freeze().objects("Dog").count == 51)
  }

  @Test("each commit by any program wakes who iterates over the commits")
  func observation() async throws {
    let realm = try await open(), other = try await Realm.open(realm.configuration)
    let commits = try realm.commits()
    let observer = Task { () -> [Int] in
      var counts: [Int] = []
      for await version in commits {
        counts.append(try version.objects("Dog").count)
        if counts.last == 3 { break }
      }
      return counts
    }
    for name in ["a", "b", "c"] {
      try await other.write { transaction in _ = try transaction.create("Dog", primaryKey: .text(name)) }
    }
    let counts = try await observer.value
    #expect(counts.last == 3 && counts == counts.sorted() && Set(counts).count == counts.count)
  }

  actor Keeper {
    let realm: OpenRealm
    init(_ configuration: Configuration) async throws { realm = try await Realm.open(configuration) }
    func add(_ name: String) async throws {
      try await realm.write { transaction in _ = try transaction.create("Dog", primaryKey: .text(name)) }
    }
  }

  @Test("actors and tasks can share a realm")
  func actors() async throws {
    let realm = try await open()
    let keepers = [try await Keeper(realm.configuration), try await Keeper(realm.configuration)]
    try await withThrowingTaskGroup(of: Void.self) { group in
      for round in 0..<20 {
        group.addTask { try await keepers[round % 2].add("dog \(round)") }
      }
      try await group.waitForAll()
    }
    #expect(try realm.freeze().objects("Dog").count == 20)
  }

  @Test("what cannot be is said: missing properties, wrong types, numbers that are too large, circles")
  func refusals() async throws {
    struct Wrong: Codable { var _id = 1, text = 5 }
    struct Missing: Codable { var _id = 1, cat = "x" }
    struct TooLarge: Codable { var _id = UInt64.max }
    struct NoKey: Codable { var text = "x" }
    struct Narrow: Codable { var _id: Int, something: Int8 }
    let realm = try await open()
    func refused<T: Encodable & Sendable>(_ value: T) -> (any Error)? {
      #expect(throws: (any Error).self) {
        try realm.write { transaction in _ = try transaction.save(value, as: "Everything") }
      }
    }
    #expect((refused(Wrong()) as? EngineError)?.reason == .wrongType)
    #expect((refused(Missing()) as? EngineError)?.reason == .notFound)
    #expect((refused(NoKey()) as? EngineError)?.reason == .wrongType)
    #expect(refused(TooLarge()) is EncodingError)
    #expect(try realm.freeze().objects("Everything").count == 0)
    var value = Everything(_id: 1)
    value.something = 1000
    let large = value
    try await realm.write { transaction in _ = try transaction.save(large) }
    #expect(throws: DecodingError.self) { try realm.freeze().objects(Narrow.self, of: "Everything") }
  }

  @Test("a realm that is opened for reading only is not written to, and shows only the classes that are asked for")
  func readOnly() async throws {
    var configuration = Configuration(path: Fixture.named("people").url.path, mode: .immutable)
    configuration.objectTypes = ["Dog"]
    let realm = try await Realm.open(configuration)
    let error = #expect(throws: EngineError.self) { try realm.write { _ in } }
    #expect(error?.reason == .readOnly)
    #expect(try realm.freeze().classNames() == ["Dog"])
    #expect(throws: EngineError.self) { try realm.freeze().objects("Person") }
  }
}
