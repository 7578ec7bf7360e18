// References to objects and collections while their objects are added, copied, updated and passed between threads.

import Foundation
import RealmSwift
import Synchronization
import Testing

class Memo: Object {
  @Persisted(primaryKey: true) var id: Int
  @Persisted var text: String
  @Persisted var extra: AnyRealmValue
  @Persisted var tags: List<String>
  @Persisted var words: MutableSet<String>
  @Persisted var prices: Map<String, Double>
  @Persisted var next: Memo?
  @Persisted var place: Spot?
  @Persisted var places: List<Spot>
  @Persisted var visits: Visit?

  /// Assigns a property before `super.init()`.
  init(_ id: Int, text: String = "") {
    self.text = text
    super.init()
    self.id = id
  }
  required init() { super.init() }
}

class Spot: EmbeddedObject {
  @Persisted var city = ""
  @Persisted var visitors = 0
}

class Visit: Object {
  @Persisted var count = 0
  @Persisted var note: Memo?
}

@Suite struct AccessorTests {
  private let folder: RealmFolder
  private let realm: Realm

  init() throws {
    folder = try RealmFolder()
    realm = try Realm(configuration: folder.configuration(Memo.self, Spot.self, Visit.self))
  }

  private func problems() throws -> [String] { try folder.problems() }

  @Test("an initializer can assign a property before super.init()")
  func initializer() throws {
    let note = Memo(7, text: "seven")
    try realm.write { realm.add(note) }
    #expect(realm.object(ofType: Memo.self, forPrimaryKey: 7)?.text == "seven")
  }

  @Test("a collection in a Mixed, obtained before its object is added, stays valid at every depth")
  func nestedTakenBeforeAdding() throws {
    let note = Memo(1), inner = List<AnyRealmValue>(), outer = Map<String, AnyRealmValue>()
    outer["list"] = .list(inner)
    note.extra = .dictionary(outer)
    try realm.write {
      realm.add(note)
      inner.append(.int(1))
      outer["b"] = .string("two")
    }
    let stored = try #require(realm.objects(Memo.self).first?.extra.dictionaryValue)
    #expect(stored["list"]?.listValue?.first == .int(1) && stored["b"] == .string("two"))
    #expect(try problems() == [])
  }

  @Test("setting a collection property of an unmanaged object fills the collection obtained before")
  func filledCollections() throws {
    let note = Memo(1), (tags, words, prices) = (note.tags, note.words, note.prices)
    let given = List<String>()
    given.append("a")
    note.tags = given
    note.setValue(["b"], forKey: "words")
    note["prices"] = ["c": 1.5]
    #expect(Array(tags) == ["a"] && words.contains("b") && prices["c"] == 1.5)
    try realm.write {
      realm.add(note)
      tags.append("later")
      given.append("not stored")
    }
    #expect(Array(note.tags) == ["a", "later"] && given.realm == nil)
  }

  @Test("a copy of a managed object does not share its collections")
  func copiedCollections() throws {
    let note = Memo(1)
    note.tags.append("a")
    try realm.write { realm.add(note) }
    let copy = Memo(value: note)
    copy.tags.append("b")
    #expect(copy.tags.realm == nil && Array(note.tags) == ["a"])
  }

  @Test("assigning an object's own embedded object or collection changes nothing")
  func selfAssignment() throws {
    let note = Memo(value: ["id": 1, "place": ["city": "Rome"], "places": [["city": "Oslo"]], "tags": ["a"]])
    note.words.insert("w")
    note.prices["p"] = 1
    try realm.write { realm.add(note) }
    try realm.write {
      note.place = note.place
      note.places = note.places
      note.places[0] = note.places[0]
      note.tags = note.tags
      note.words = note.words
      note.prices = note.prices
    }
    #expect(note.place?.city == "Rome" && note.places.map(\.city) == ["Oslo"] && Array(note.tags) == ["a"])
    #expect(note.words.contains("w") && note.prices["p"] == 1)
    #expect(try problems() == [])
  }

  @Test("a range of a list can be replaced with fewer or more elements")
  func ranges() throws {
    let note = Memo(1)
    note.tags.append(objectsIn: ["a", "b", "c", "d"])
    note.tags[1..<3] = List<String>()[0..<0]
    #expect(Array(note.tags) == ["a", "d"])
    let more = List<String>()
    more.append(objectsIn: ["x", "y", "z"])
    try realm.write {
      realm.add(note)
      note.tags[0..<1] = more[0..<3]
    }
    #expect(Array(note.tags) == ["x", "y", "z", "d"] && Array(note.tags[1..<3]) == ["y", "z"])
  }

  @Test("nil and NSNull empty a collection")
  func nilCollections() throws {
    let note = Memo(value: ["id": 1, "tags": ["a"], "prices": ["p": 1.0]])
    note.setValue(nil, forKey: "tags")
    note.setValue(NSNull(), forKey: "prices")
    #expect(note.tags.isEmpty && note.prices.count == 0)
    let values: [Any?] = [2, "text", nil, nil, nil, NSNull()]
    let other = try realm.write { realm.create(Memo.self, value: values) }
    #expect(other.text == "text" && other.tags.isEmpty && other.extra == .none)
  }

  @Test("create copies a cyclic graph of another realm, both ways, without duplicates", arguments: [true, false])
  func cyclicGraph(hasExisting: Bool) throws {
    let other = try Realm(
      configuration: folder.configuration(Memo.self, Spot.self, Visit.self, named: "other")
    )
    let note = Memo(1, text: "first"), second = Memo(2, text: "second")
    (note.next, second.next, note.visits) = (second, note, Visit())
    note.visits?.note = note
    try realm.write { realm.add(note) }
    if hasExisting { try other.write { other.add(Memo(2, text: "old")) } }
    let copy = try other.write { other.create(Memo.self, value: note, update: .modified) }
    #expect(copy.next?.text == "second" && copy.next?.next == copy && copy.visits?.note == copy)
    #expect(other.objects(Memo.self).count == 2 && other.objects(Visit.self).count == 1)
    try other.write { copy.next?.text = "changed" }
    try realm.write { realm.create(Memo.self, value: copy, update: .modified) }
    #expect(realm.objects(Memo.self).count == 2 && second.text == "changed" && note.next == second)
    #expect(try problems() + folder.problems("other") == [])
  }

  @Test("create copies unmanaged objects in its values, which stay unmanaged")
  func unmanagedValues() throws {
    let inner = Memo(2, text: "inner")
    let note = try realm.write { realm.create(Memo.self, value: ["id": 1, "next": inner]) }
    #expect(inner.realm == nil && note.next?.text == "inner")
  }

  @Test("create with update changes only the properties that its values name, also of linked and embedded objects")
  func partialUpdates() throws {
    let note = Memo(value: ["id": 1, "place": ["city": "Rome", "visitors": 3], "next": ["id": 2, "text": "two"]])
    try realm.write { realm.add(note) }
    let place = note.place
    try realm.write {
      let values: [String: Any] = ["id": 1, "place": ["visitors": 4], "next": ["id": 2, "tags": ["t"]]]
      realm.create(Memo.self, value: values, update: .modified)
    }
    #expect(note.next?.text == "two" && note.next.map { Array($0.tags) } == ["t"])
    #expect(place?.isInvalidated == false && note.place?.city == "Rome" && note.place?.visitors == 4)
    try realm.write { realm.create(Memo.self, value: ["id": 1, "next": ["id": 2]], update: .all) }
    #expect(note.next?.text == "two")
    #expect(try problems() == [])
  }

  @Test("add with the policy modified keeps the embedded objects of the existing object")
  func keptEmbedded() throws {
    let note = Memo(value: ["id": 1, "place": ["city": "Rome"]])
    try realm.write { realm.add(note) }
    let place = note.place
    try realm.write { realm.add(Memo(value: ["id": 1, "place": ["city": "Oslo"]]), update: .modified) }
    #expect(place?.isInvalidated == false && place?.city == "Oslo")
  }

  @Test("@ThreadSafe can be read and set in a write transaction, and other threads see what is committed")
  func threadSafeInTransaction() throws {
    let note = Memo(1)
    try realm.write { realm.add(note) }
    @ThreadSafe var safe: Memo? = note
    try realm.write {
      safe?.text = "changed"
      let added = Memo(2)
      realm.add(added)
      safe = added
      #expect(safe == added)
    }
    let wrapper = _safe, seen = Mutex<Int?>(nil)
    try onAnotherThread { seen.withLock { $0 = wrapper.wrappedValue?.id } }
    #expect(seen.withLock { $0 } == 2 && note.text == "changed")
  }

  @Test("a reference of a write transaction that is rolled back resolves to nil")
  func rolledBackReference() throws {
    realm.beginWrite()
    let note = Memo(1)
    realm.add(note)
    let reference = ThreadSafeReference(to: note)
    realm.cancelWrite()
    let configuration = realm.configuration, found = Mutex(true)
    try onAnotherThread {
      let realm = try Realm(configuration: configuration)
      found.withLock { $0 = realm.resolve(reference) != nil }
    }
    #expect(!found.withLock { $0 })
  }

  @Test("a thread keeps a realm open until the transaction started by beginWrite ends")
  func keptTransaction() throws {
    let configuration = folder.configuration(Memo.self, Spot.self, Visit.self, named: "kept"), count = Mutex(-1)
    try onAnotherThread {
      try Realm(configuration: configuration).beginWrite()
      #expect(try Realm(configuration: configuration).isInWriteTransaction)
      try Realm(configuration: configuration).add(Memo(1))
      try Realm(configuration: configuration).commitWrite()
      // Rolled back when the thread ends.
      try Realm(configuration: configuration).beginWrite()
      try Realm(configuration: configuration).add(Memo(2))
    }
    try onAnotherThread {
      let realm = try Realm(configuration: configuration)
      try realm.write { count.withLock { $0 = realm.objects(Memo.self).count } }
    }
    #expect(count.withLock { $0 } == 1)
  }

  @Test("a migration creates objects from arrays and objects, and does not enumerate deleted objects again")
  func migration() throws {
    try realm.write {
      for id in 1...3 { realm.add(Memo(id, text: "note \(id)")) }
      realm.add(Visit())
    }
    var configuration = folder.configuration(Memo.self, Spot.self, Visit.self, named: "copy")
    try realm.writeCopy(configuration: configuration)
    let seen = Mutex<[Int]>([])
    configuration.schemaVersion = 1
    configuration.migrationBlock = { migration, _ in
      migration.enumerateObjects(ofType: "Memo") { old, new in
        if let new, old?.id as? Int == 2 { migration.delete(new) }
      }
      migration.enumerateObjects(ofType: "Memo") { old, _ in
        if let id = old?.id as? Int { seen.withLock { $0.append(id) } }
      }
      migration.deleteData(forType: "Visit")
      migration.enumerateObjects(ofType: "Visit") { _, _ in seen.withLock { $0.append(-1) } }
      migration.create("Memo", value: [10, "array"])
      migration.create("Memo", value: Memo(11, text: "object"))
      migration.enumerateObjects(ofType: "Memo") { old, new in
        if old?.id as? Int == 1, let new { migration.create("Visit", value: ["count": 1, "note": new]) }
      }
    }
    let migrated = try Realm(configuration: configuration)
    #expect(seen.withLock { $0 } == [1, 3])
    #expect(Array(migrated.objects(Memo.self).sorted(by: \.id).map(\.text)) == ["note 1", "note 3", "array", "object"])
    #expect(migrated.objects(Visit.self).first?.note?.id == 1)
    #expect(try folder.problems("copy") == [])
  }

  @Test("a copy of a write-protected realm can be written, and does not replace a file")
  func writableCopy() throws {
    try realm.write { realm.add(Memo(1)) }
    let bundle = folder.configuration(Memo.self, Spot.self, Visit.self, named: "bundle")
    try realm.writeCopy(configuration: bundle)
    try FileManager.default.setAttributes([.posixPermissions: 0o444], ofItemAtPath: folder.url("bundle").path)
    var readOnly = bundle
    readOnly.readOnly = true
    let copy = folder.configuration(Memo.self, Spot.self, Visit.self, named: "writable")
    try Realm(configuration: readOnly).writeCopy(configuration: copy)
    let mode = try FileManager.default.attributesOfItem(atPath: folder.url("writable").path)[.posixPermissions]
    #expect(mode as? Int == 0o644)
    let error = #expect(throws: Realm.Error.self) { try realm.writeCopy(configuration: copy) }
    #expect(error?.code == .fileExists)
    let written = try Realm(configuration: copy)
    try written.write { written.add(Memo(2)) }
    #expect(written.objects(Memo.self).count == 2)
  }

  @Test("observing an unknown key path ends the process and names the class and the property")
  func unknownKeyPath() async {
    let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
      let realm = try Realm(
        configuration: .init(inMemoryIdentifier: "unknown", objectTypes: [Memo.self, Spot.self, Visit.self])
      )
      _ = realm.objects(Memo.self).observe(keyPaths: ["next.txt"]) { _ in }
    }
    let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
    #expect(text.contains("The key path 'next.txt' cannot be observed: 'Memo' has no property 'txt'."))
  }
}
