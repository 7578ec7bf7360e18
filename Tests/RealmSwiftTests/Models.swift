// The models that the tests use. Each test opens its realms with the classes that it needs.

import Foundation
import RealmSwift

enum Size: String, PersistableEnum { case small, medium, large }
enum Level: Int, PersistableEnum { case low = 1, high = 10 }

class Everything: Object {
  @Persisted(primaryKey: true) var id = 0
  @Persisted var flag = true
  @Persisted var int8: Int8 = -8
  @Persisted var int16: Int16 = -16
  @Persisted var int32: Int32 = -32
  @Persisted var int64: Int64 = .min
  @Persisted var float: Float = 1.5
  @Persisted var double = 0.1
  @Persisted(indexed: true) var text = "ä"
  @Persisted var data = Data([0, 255])
  @Persisted var date = Date(timeIntervalSince1970: -1.25)
  @Persisted var decimal: Decimal128 = "123456789.000000001"
  @Persisted var objectId: ObjectId
  @Persisted var uuid = UUID()
  @Persisted var any: AnyRealmValue = .string("mixed")
  @Persisted var size: Size
  @Persisted var level: Level? = .high
  @Persisted var noInt: Int?
  @Persisted var someText: String? = "some"
  @Persisted var noDate: Date?
  @Persisted var link: Everything?
  @Persisted var numbers: List<Int>
  @Persisted var optionals: List<String?>
  @Persisted var links: List<Everything>
  @Persisted var tags: MutableSet<String>
  @Persisted var prices: Map<String, Double>
  @Persisted var linksByName: Map<String, Everything?>
  @Persisted(originProperty: "link") var backlinks: LinkingObjects<Everything>
}

class Dog: Object {
  @Persisted(primaryKey: true) var _id: ObjectId
  @Persisted var name = ""
  @Persisted(indexed: true) var age = 0
  @Persisted var weight: Double?
  @Persisted var isGood = true
  @Persisted(originProperty: "dogs") var owners: LinkingObjects<Person>
}

class Street: EmbeddedObject {
  @Persisted var name = ""
  @Persisted var number: Int?
}

class Address: EmbeddedObject {
  @Persisted var city = ""
  @Persisted var street: Street?
}

class Person: Object {
  @Persisted(primaryKey: true) var name = ""
  @Persisted var age = 0
  @Persisted var favourite: Dog?
  @Persisted var dogs: List<Dog>
  @Persisted var home: Address?
  @Persisted var addresses: List<Address>
  @Persisted var places: Map<String, Address?>
}
