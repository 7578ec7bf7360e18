// Objects as values of Codable types, and models as Codable types.

import Foundation
import RealmPages
import RealmSwift
import Testing

class Kennel: Object {
  @Persisted(primaryKey: true) var _id = 0
  @Persisted var flag = false
  @Persisted var small: Int8
  @Persisted var real = 0.0
  @Persisted var single: Float
  @Persisted var text = ""
  @Persisted var data: Data
  @Persisted var date: Date
  @Persisted var uuid: UUID
  @Persisted var oid: ObjectId
  @Persisted var price: RealmSwift.Decimal128
  @Persisted var nothing: String?
  @Persisted var something: Int?
  @Persisted var numbers: List<Int>
  @Persisted var tags: MutableSet<String>
  @Persisted var ages: Map<String, Int>
  @Persisted var home: KennelHome?
  @Persisted var homes: List<KennelHome>
  @Persisted var dog: KennelDog?
  @Persisted var dogs: List<KennelDog>
}

class KennelHome: EmbeddedObject {
  @Persisted var street = ""
}

class KennelDog: Object {
  @Persisted(primaryKey: true) var name = ""
}

/// A model that the compiler derives the coding of.
final class Passport: Object, Codable {
  @Persisted(primaryKey: true) var number: ObjectId
  @Persisted var name = "nobody"
  @Persisted var issued: Date
  @Persisted var fee: RealmSwift.Decimal128
  @Persisted var photo: Data?
  @Persisted var remark: String?
  @Persisted var pages: List<Int?>
  @Persisted var stamps: MutableSet<String>
  @Persisted var visas: Map<String, Visa?>
  @Persisted var last: Visa?
}

final class Visa: EmbeddedObject, Codable {
  @Persisted var days = 0
}

@Suite struct CodableTests {
  struct Home: Codable, Equatable { var street: String }

  struct Dog: Codable, Equatable { var name: String }

  struct Value: Codable, Equatable {
    var _id: Int
    var flag = true
    var small: Int8 = -7
    var real = 0.5
    var single: Float = 1.5
    var text = "ä"
    var data = Data([0, 255])
    var date = Date(timeIntervalSinceReferenceDate: -86_400.25)
    var uuid = UUID()
    var oid = ObjectId("0123456789abcdef01234567")
    var price: RealmSwift.Decimal128 = "19.90"
    var nothing: String?
    var something: Int? = 3
    var numbers = [3, 1, 2]
    var tags: Set<String> = ["b", "a"]
    var ages = ["x": 1, "y": 2]
    var home: Home? = Home(street: "Elm")
    var homes = [Home(street: "Oak"), Home(street: "Ash")]
    var dog: Dog? = Dog(name: "Fido")
    var dogs = [Dog(name: "Rex"), Dog(name: "Fido")]
  }

  private let folder: RealmFolder
  private let realm: RealmSwift.Realm

  init() throws {
    folder = try RealmFolder()
    realm = try RealmSwift.Realm(configuration: folder.configuration(Kennel.self, KennelHome.self, KennelDog.self))
  }

  private func save(_ value: Value) throws { try realm.write { try realm.save(value, in: "Kennel") } }

  private func version() throws -> UInt64 {
    try RealmPages.Realm(Configuration(path: folder.url().path, mode: .immutable)).latest().version
  }

  @Test("a Codable value round-trips, also after a change")
  func values() throws {
    var value = Value(_id: 1)
    for change in [{ (_: inout Value) in }, Self.change] {
      change(&value)
      try save(value)
      #expect(try realm.values(Value.self, in: "Kennel") == [value])
      #expect(try realm.value(ofType: Value.self, in: "Kennel", forPrimaryKey: 1) == value)
      #expect(try realm.freeze().values(Value.self, in: "Kennel") == [value])
    }
    #expect(try realm.value(ofType: Value.self, in: "Kennel", forPrimaryKey: 2) == nil)
    #expect(try realm.values(Dog.self, in: "KennelDog").count == 2)
    let kennel = try #require(realm.object(ofType: Kennel.self, forPrimaryKey: 1))
    #expect(kennel.text == "ä" && kennel.price == "19.90" && kennel.oid == value.oid && kennel.dogs.count == 2)
    #expect(try folder.problems() == [])
  }

  private static func change(_ value: inout Value) {
    value.date = Date(timeIntervalSince1970: -0.25)
    value.something = nil
    value.nothing = "now"
    value.numbers = []
    value.tags = ["c"]
    value.ages = [:]
    value.home = nil
    value.homes = [Home(street: "Fir")]
    value.dog = nil
    value.uuid = UUID()
  }

  @Test("saving an unchanged value changes nothing, and saving a change changes only that")
  func minChange() throws {
    var value = Value(_id: 1)
    value.real = .nan
    try save(value)
    let before = try version()
    value.tags = ["a", "b"]
    value.ages = ["y": 2, "x": 1]
    try save(value)
    #expect(try version() == before)

    // Elements that stay keep their objects.
    let first = try #require(realm.object(ofType: Kennel.self, forPrimaryKey: 1)?.homes.first)
    let changes: [(inout Value) -> Void] = [
      { $0.homes.insert(Home(street: "Fir"), at: 1) }, { $0.homes.removeLast() },
      { $0.homes.append(Home(street: "Elm")) },
    ]
    for change in changes {
      change(&value)
      try save(value)
      #expect(!first.isInvalidated && first.street == "Oak")
      #expect(try realm.values(Value.self, in: "Kennel").first?.homes == value.homes)
    }
    for numbers in [[3, 1, 2, 4], [1, 2, 4], [1, 5, 4], [9], []] {
      value.numbers = numbers
      value.tags = Set(numbers.map(String.init))
      value.ages = Dictionary(uniqueKeysWithValues: numbers.map { ("\($0)", $0) })
      value.home = numbers.count == 3 ? nil : Home(street: "\(numbers)")
      try save(value)
      let found = try #require(try realm.values(Value.self, in: "Kennel").first)
      #expect(
        found.numbers == numbers && found.tags == value.tags && found.ages == value.ages && found.home == value.home
      )
    }
    #expect(try folder.problems() == [])
  }

  @Test("properties that the type lacks are kept, and a transaction reads its own saves")
  func partialValues() throws {
    struct KennelDog: Codable { var name: String }
    struct Text: Codable { var _id: Int, text: String }
    try save(Value(_id: 1))
    try realm.write {
      try realm.save(Text(_id: 1, text: "new"), in: "Kennel")
      try realm.save(KennelDog(name: "Bello"))
      #expect(try realm.value(ofType: Text.self, in: "Kennel", forPrimaryKey: 1)?.text == "new")
      #expect(try realm.values(KennelDog.self).map(\.name).sorted() == ["Bello", "Fido", "Rex"])
    }
    #expect(try realm.values(Value.self, in: "Kennel").first?.numbers == [3, 1, 2])
  }

  @Test("invalid values are refused with a reason: missing properties, wrong types, numbers too large")
  func refusals() throws {
    struct Wrong: Codable { var _id = 1, text = 5 }
    struct Missing: Codable { var _id = 1, cat = "x" }
    struct TooLarge: Codable { var _id = UInt64.max }
    struct NoKey: Codable { var text = "x" }
    struct Narrow: Codable { var _id: Int, something: Int8 }
    func refusal<T: Encodable>(_ value: T, in name: String = "Kennel") -> String? {
      let error = #expect(throws: (any Error).self) { try realm.write { try realm.save(value, in: name) } }
      return error.map { "\($0)" }
    }
    #expect(refusal(Wrong())?.contains("\"text\"") == true)
    #expect(refusal(Missing())?.contains("\"cat\"") == true)
    #expect(refusal(NoKey())?.contains("\"_id\"") == true)
    #expect(refusal(Wrong(), in: "Cat")?.contains("'Cat'") == true)
    #expect(throws: EncodingError.self) { try realm.write { try realm.save(TooLarge(), in: "Kennel") } }
    #expect(realm.objects(Kennel.self).isEmpty)
    var value = Value(_id: 1)
    value.something = 1000
    try save(value)
    #expect(throws: DecodingError.self) { try realm.values(Narrow.self, in: "Kennel") }
    #expect(throws: RealmSwift.Realm.Error.self) { try realm.values(Value.self) }
    #expect(throws: RealmSwift.Realm.Error.self) {
      try realm.value(ofType: Value.self, in: "Kennel", forPrimaryKey: "one")
    }
  }

  // MARK: models

  private static let text = """
    {"fee":"1.50","issued":2.5,"last":{"days":3},"name":"Ada","number":"1234567890abcdef12345678","pages":[1,null],\
    "photo":"ZGVm","remark":null,"stamps":["x"],"visas":{"a":{"days":1},"b":null}}
    """

  @Test("an unmanaged model round-trips through JSON")
  func models() throws {
    let passport = try JSONDecoder().decode(Passport.self, from: Data(Self.text.utf8))
    #expect(passport.fee == "1.50" && passport.photo == Data("def".utf8) && passport.visas["a"]??.days == 1)
    #expect(passport.remark == nil && Array(passport.pages) == [1, nil] && passport.last?.days == 3)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(String(decoding: try encoder.encode(passport), as: UTF8.self) == Self.text)
  }

  @Test("an optional property may be absent, a required one may not")
  func absentProperties() throws {
    let short = """
      {"fee":2,"issued":0,"name":"Ada","number":"1234567890abcdef12345678","pages":[],"stamps":[],"visas":{}}
      """
    let passport = try JSONDecoder().decode(Passport.self, from: Data(short.utf8))
    #expect(passport.last == nil && passport.photo == nil && passport.fee == 2)
    #expect(throws: DecodingError.self) { try JSONDecoder().decode(Passport.self, from: Data("{}".utf8)) }
  }

  @Test("strategies of an encoder apply to properties and elements")
  func strategies() throws {
    let encoder = JSONEncoder()
    encoder.dataEncodingStrategy = .custom { data, encoder in try "\(data.count) bytes".encode(to: encoder) }
    let passport = Passport()
    passport.photo = Data([1, 2])
    let text = String(decoding: try encoder.encode(passport), as: UTF8.self)
    #expect(text.contains(#""photo":"2 bytes""#) && text.contains(#""name":"nobody""#))
  }

  @Test("a managed model cannot be encoded as a whole, its values and collections can")
  func managedModels() throws {
    let passport = try JSONDecoder().decode(Passport.self, from: Data(Self.text.utf8))
    let realm = try RealmSwift.Realm(configuration: folder.configuration(Passport.self, Visa.self, named: "models"))
    try realm.write { realm.add(passport) }
    #expect(throws: EncodingError.self) { try JSONEncoder().encode(passport) }
    #expect(String(decoding: try JSONEncoder().encode(passport.pages), as: UTF8.self) == "[1,null]")
    // A copy that does not need the realm.
    let copy = try #require(try realm.values(Passport.self).first)
    #expect(copy.realm == nil && copy.name == "Ada" && copy.number == passport.number && copy.last?.days == 3)
    let encoder = JSONEncoder()
    encoder.outputFormatting = .sortedKeys
    #expect(String(decoding: try encoder.encode(copy), as: UTF8.self) == Self.text)
  }
}
