// Opening: the rules of configurations, schemas and their versions, migrations, keys, memory, frozen versions.

import Foundation
import RealmSwift
import Testing

/// Several versions of the same classes.
enum V1 {
  class Owner: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var firstName = ""
    @Persisted var lastName = ""
    @Persisted var age = 0
    @Persisted var pet: Pet?
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
  }
  class Pet: Object {
    @Persisted var name = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
  }
}
enum V2 {
  class Owner: Object {
    @Persisted(primaryKey: true) var id = 0
    @Persisted var fullName = ""
    @Persisted var age: String?
    @Persisted(indexed: true) var surname = ""
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
  }
}

@Suite struct OpeningTests {
  private let folder: RealmFolder

  init() throws { folder = try RealmFolder() }

  private func fill(_ version: UInt64 = 1) throws {
    var configuration = folder.configuration(V1.Owner.self, V1.Pet.self)
    configuration.schemaVersion = version
    let realm = try Realm(configuration: configuration)
    try realm.write {
      for id in 0..<3 {
        let pet = ["name": "Pet \(id)"]
        realm.create(
          V1.Owner.self,
          value: ["id": id, "firstName": "First\(id)", "lastName": "Last\(id)", "age": id * 10, "pet": pet]
        )
      }
    }
  }

  @Test("properties of a configuration that exclude each other reset each other")
  func exclusions() {
    var configuration = Realm.Configuration(fileURL: folder.url())
    configuration.inMemoryIdentifier = "x"
    #expect(configuration.fileURL == nil)
    configuration.seedFilePath = folder.url("seed")
    #expect(configuration.inMemoryIdentifier == nil)
    configuration.inMemoryIdentifier = "x"
    #expect(configuration.seedFilePath == nil)
    configuration.fileURL = folder.url()
    #expect(configuration.inMemoryIdentifier == nil && configuration.fileURL == folder.url())
    configuration.migrationBlock = { _, _ in }
    configuration.deleteRealmIfMigrationNeeded = true
    #expect(configuration.migrationBlock == nil)
    let initial = Realm.Configuration()
    #expect(initial.fileURL?.lastPathComponent == "default.realm" && initial.schemaVersion == 0 && !initial.readOnly)
  }

  @Test("asyncOpen migrates and calls back on its queue, with an error if opening fails or is cancelled")
  func asyncOpen() throws {
    try fill()
    var configuration = folder.configuration(V2.Owner.self)
    let queue = DispatchQueue(label: "asyncOpen"), told = Told()
    let callback: @Sendable (Result<Realm, any Error>) -> Void = { result in
      dispatchPrecondition(condition: .onQueue(queue))
      switch result {
      case .success(let realm): told.say("\(realm.objects(V2.Owner.self).count) \(realm.configuration.schemaVersion)")
      case .failure(let error as Realm.Error): told.say("\(error.code)")
      case .failure(let error): told.say("\(type(of: error))")
      }
    }
    Realm.asyncOpen(configuration: configuration, callbackQueue: queue, callback: callback)
    #expect(told.next() == "schemaMismatch")
    configuration.schemaVersion = 2
    // The callback cannot run before the task is cancelled.
    queue.sync { Realm.asyncOpen(configuration: configuration, callbackQueue: queue, callback: callback).cancel() }
    #expect(told.next() == "CancellationError")
    Realm.asyncOpen(configuration: configuration, callbackQueue: queue, callback: callback)
    #expect(told.next() == "3 2")
  }

  @Test("Realm.open opens the realm that the calling actor has") @MainActor
  func openForActor() async throws {
    let configuration = folder.configuration(V1.Pet.self)
    let realm = try await Realm.open(configuration: configuration)
    try await realm.asyncWrite { _ = realm.create(V1.Pet.self, value: ["name": "a"]) }
    let same = try await Realm(configuration: configuration, actor: MainActor.shared)
    try same.write {
      same.create(V1.Pet.self, value: ["name": "b"])
      #expect(realm.isInWriteTransaction && realm.objects(V1.Pet.self).count == 2)
    }
  }

  @Test("performMigration migrates a file to the schema of its configuration, or says why not")
  func performMigration() throws {
    try fill()
    var configuration = folder.configuration(V2.Owner.self)
    #expect(throws: Realm.Error.self) { try Realm.performMigration(for: configuration) }
    configuration.schemaVersion = 2
    configuration.migrationBlock = { migration, _ in
      migration.enumerateObjects(ofType: "Owner") { old, new in new?["fullName"] = old?["firstName"] }
    }
    try Realm.performMigration(for: configuration)
    configuration.migrationBlock = { _, _ in Issue.record("the file was migrated already") }
    let owners = try Realm(configuration: configuration).objects(V2.Owner.self)
    #expect(owners.map(\.fullName) == ["First0", "First1", "First2"])
    #expect(try folder.problems() == [])
  }

  @Test("a @ThreadSafe parameter gives the object in each thread's realm, and nil after it was deleted")
  func threadSafe() throws {
    let realm = try Realm(configuration: folder.configuration(V1.Pet.self))
    let pet = try realm.write { realm.create(V1.Pet.self, value: ["name": "a"]) }
    func rename(@ThreadSafe _ pet: V1.Pet?, to name: String) throws {
      try onAnotherThread {
        let found = try #require(pet), realm = try #require(found.realm)
        try realm.write { found.name += name }
        #expect(pet?.name == "ab")
      }
    }
    func delete(@ThreadSafe _ pet: V1.Pet?) throws {
      try onAnotherThread {
        if let found = pet { try found.realm?.write { found.realm?.delete(found) } }
        #expect(pet == nil)
      }
      #expect(pet == nil)
    }
    try rename(pet, to: "b")
    #expect(realm.refresh() && pet.name == "ab")
    try delete(pet)
    #expect(realm.refresh() && pet.isInvalidated)
  }

  @Test("a changed class needs a greater schema version, and the error names every difference")
  func needsMigration() throws {
    try fill()
    var configuration = folder.configuration(V2.Owner.self)
    configuration.schemaVersion = 1
    let error = #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
    #expect(error?.code == .schemaMismatch)
    for part in [
      "'Owner.fullName' has been added", "'Owner.firstName' has been removed", "'Owner.age' has been changed",
    ] {
      #expect(error?.description.contains(part) == true, "\(part)")
    }
    configuration.schemaVersion = 0
    #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
  }

  @Test("a migration sees the old objects and sets the new ones")
  func migration() throws {
    try fill()
    var configuration = folder.configuration(V2.Owner.self)
    configuration.schemaVersion = 2
    configuration.migrationBlock = { migration, version in
      #expect(version == 1)
      migration.renameProperty(onType: "Owner", from: "lastName", to: "surname")
      migration.enumerateObjects(ofType: "Owner") { old, new in
        let first = old?["firstName"] as? String ?? "", last = old?["lastName"] as? String ?? ""
        new?["fullName"] = "\(first) \(last)"
        new?["age"] = (old?["age"] as? Int).map { "\($0)" }
        #expect((old?["pet"] as? MigrationObject)?["name"] as? String == "Pet \(old?["id"] as? Int ?? -1)")
        if old?["id"] as? Int == 2, let new { migration.delete(new) }
      }
      migration.create("Owner", value: ["id": 9, "fullName": "Nine"])
      #expect(migration.deleteData(forType: "Pet"))
    }
    let realm = try Realm(configuration: configuration), owners = realm.objects(V2.Owner.self).sorted(byKeyPath: "id")
    #expect(owners.map(\.id) == [0, 1, 9] && owners.map(\.fullName) == ["First0 Last0", "First1 Last1", "Nine"])
    #expect(owners.map(\.age) == ["0", "10", nil] && owners.map(\.surname) == ["Last0", "Last1", ""])
    #expect(try folder.problems() == [])
  }

  @Test("without a block, a greater version keeps what both schemas have")
  func automatic() throws {
    try fill()
    var configuration = folder.configuration(V2.Owner.self)
    configuration.schemaVersion = 5
    let realm = try Realm(configuration: configuration)
    #expect(realm.objects(V2.Owner.self).map(\.id) == [0, 1, 2] && realm.objects(V2.Owner.self)[1].age == nil)
  }

  @Test("deleteRealmIfMigrationNeeded drops the objects instead")
  func deletion() throws {
    try fill()
    var configuration = folder.configuration(V2.Owner.self)
    configuration.schemaVersion = 1
    configuration.deleteRealmIfMigrationNeeded = true
    let realm = try Realm(configuration: configuration)
    #expect(realm.isEmpty)
    try realm.write { realm.add(V2.Owner()) }
    #expect(try folder.problems() == [])
  }

  @Test("a read-only realm can be read but not written")
  func readOnly() throws {
    var configuration = folder.configuration(V1.Owner.self, V1.Pet.self)
    configuration.schemaVersion = 1
    configuration.readOnly = true
    let missing = #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
    #expect(missing?.code == .fileNotFound)
    try onAnotherThread { try fill() }
    let realm = try Realm(configuration: configuration)
    #expect(realm.objects(V1.Owner.self).count == 3)
    #expect(throws: Realm.Error.self) { try realm.write {} }
  }

  @Test("an encrypted realm opens only with its key, and a copy has the given key")
  func encryption() throws {
    let key = Data((0..<64).map { UInt8($0) }), other = Data(repeating: 7, count: 64)
    var configuration = folder.configuration(Owner.self)
    configuration.encryptionKey = Data([1, 2])
    #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
    configuration.encryptionKey = key
    try onAnotherThread { [configuration, folder] in
      let realm = try Realm(configuration: configuration)
      try realm.write { realm.add(Owner(value: ["name": "secret"])) }
      try realm.writeCopy(toFile: folder.url("copy"), encryptionKey: other)
      try realm.writeCopy(configuration: Realm.Configuration(fileURL: folder.url("second"), encryptionKey: other))
      #expect(try folder.problems("second", key: other) == [])
      let taken = #expect(throws: Realm.Error.self) { try realm.writeCopy(toFile: folder.url("copy")) }
      #expect(taken?.code == .fileExists)
    }
    configuration.encryptionKey = other
    #expect(throws: Realm.Error.self) { try Realm(configuration: configuration) }
    configuration.fileURL = folder.url("copy")
    #expect(try Realm(configuration: configuration).objects(Owner.self).first?.name == "secret")
    #expect(try folder.problems(key: key) == [])
  }

  @Test("a realm in memory lives as long as an instance, and has no file")
  func inMemory() throws {
    let configuration = Realm.Configuration(inMemoryIdentifier: "memory \(UUID())", objectTypes: [Owner.self])
    try onAnotherThread {
      let realm = try Realm(configuration: configuration)
      try realm.write { realm.add(Owner(value: ["name": "here"])) }
      try onAnotherThread {
        let count = try Realm(configuration: configuration).objects(Owner.self).count
        #expect(count == 1)
      }
      #expect(realm.configuration.fileURL == nil)
    }
    #expect(try Realm(configuration: configuration).objects(Owner.self).isEmpty)
  }

  @Test("a thread gets the same instance again, and files of open realms are not deleted")
  func instances() throws {
    let configuration = folder.configuration(Owner.self)
    #expect(!Realm.fileExists(for: configuration))
    try onAnotherThread {
      let realm = try Realm(configuration: configuration)
      realm.beginWrite()
      realm.add(Owner())
      #expect(try Realm(configuration: configuration) == realm)
      #expect(try Realm(configuration: configuration).objects(Owner.self).count == 1)
      realm.cancelWrite()
      let open = #expect(throws: Realm.Error.self) { try Realm.deleteFiles(for: configuration) }
      #expect(open?.code == .alreadyOpen)
    }
    #expect(Realm.fileExists(for: configuration))
    #expect(try Realm.deleteFiles(for: configuration))
    #expect(try !Realm.fileExists(for: configuration) && !Realm.deleteFiles(for: configuration))
  }

  @Test("after the last realm is released, its file can be opened with other options and deleted, despite observers")
  func closing() throws {
    var configuration = folder.configuration(Owner.self)
    for _ in 0..<3 {
      try onAnotherThread {
        let realm = try Realm(configuration: configuration)
        let token = realm.observe { _, _ in }
        try realm.write { realm.add(Owner()) }
        token.invalidate()
      }
      configuration.readOnly = true
      let readOnly = configuration
      try onAnotherThread {
        let realm = try Realm(configuration: readOnly)
        #expect(realm.objects(Owner.self).count == 1)
      }
      configuration.readOnly = false
      #expect(try Realm.deleteFiles(for: configuration))
    }
  }

  @Test("frozen objects do not change on any thread, and thaw to the current state")
  func freezing() throws {
    let realm = try Realm(configuration: folder.configuration(Dog.self, Person.self, Address.self, Street.self))
    let ada = try realm.write {
      realm.create(Person.self, value: ["name": "Ada", "age": 1, "dogs": [["name": "Rex"]]])
    }
    let frozen = ada.freeze(), adults = realm.objects(Person.self).where { $0.age > 0 }.freeze()
    let dogs = ada.dogs.freeze()
    try realm.write {
      ada.age = 0
      ada.dogs.removeAll()
    }
    #expect(frozen.isFrozen && frozen.age == 1 && adults.count == 1 && dogs.map(\.name) == ["Rex"])
    #expect(frozen.dogs.first?.owners.first == frozen && frozen.realm?.isFrozen == true && frozen != ada)
    try onAnotherThread {
      #expect(frozen.age == 1 && adults[0].name == "Ada" && dogs.count == 1)
      #expect(frozen.thaw()?.age == 0 && dogs.thaw()?.isEmpty == true && adults.thaw()?.isEmpty == true)
    }
    #expect(frozen.thaw() == ada && realm.freeze().thaw() == realm)
    try realm.write { realm.delete(ada) }
    #expect(frozen.thaw() == nil && frozen.age == 1)
  }

  @Test("file names in different Unicode normalizations are different realms")
  func alikePaths() throws {
    let realms = try ["caf\u{E9}", "cafe\u{301}"].map { name in
      var configuration = folder.configuration(Dog.self, Person.self, Address.self, Street.self)
      configuration.fileURL = folder.url(name)
      return try Realm(configuration: configuration)
    }
    try realms[0].write { realms[0].add(Dog(value: ["name": "Rex"])) }
    #expect(realms.map { $0.objects(Dog.self).count } == [1, 0])
  }

  @Test("several threads read frozen objects and results at the same time")
  func frozenThreads() throws {
    let realm = try Realm(configuration: folder.configuration(Dog.self, Person.self, Address.self, Street.self))
    try realm.write {
      for index in 0..<2000 { realm.add(Dog(value: ["name": "\(index)", "age": index % 10])) }
      realm.create(Person.self, value: ["name": "Ada", "dogs": Array(realm.objects(Dog.self))])
    }
    nonisolated(unsafe) let ada = try #require(realm.objects(Person.self).first).freeze()
    nonisolated(unsafe) let young = realm.objects(Dog.self).where { $0.age < 5 }.freeze()
    DispatchQueue.concurrentPerform(iterations: 4) { _ in
      #expect(young.reduce(0) { $0 + $1.age } == 2000 && young.count == 1000 && young[999].name == "1994")
      #expect(ada.dogs.filter("age == 9").count == 200 && ada.dogs[7].owners.first?.name == "Ada")
    }
  }

  @Test("a class inherits properties, and one without any is not in the default schema")
  func inheritance() throws {
    let realm = try Realm(
      configuration: folder.configuration(Puppy.self, Person.self, Dog.self, Address.self, Street.self)
    )
    let puppy = try realm.write { realm.create(Puppy.self, value: ["name": "Tim", "weeks": 5]) }
    #expect(puppy.name == "Tim" && puppy.weeks == 5 && realm.objects(Puppy.self).where { $0.age == 0 }.count == 1)
    #expect(realm.objects(Dog.self).isEmpty && realm.schema["Puppy"]?.primaryKeyProperty?.name == "_id")
    #expect(try Realm(configuration: .init(inMemoryIdentifier: "base \(UUID())")).schema["Basis"] == nil)
  }

  @Test("a thread-safe reference can be resolved once on another thread, for objects, lists and results")
  func references() throws {
    let configuration = folder.configuration(Dog.self, Person.self, Address.self, Street.self)
    let realm = try Realm(configuration: configuration)
    let ada = try realm.write {
      realm.create(Person.self, value: ["name": "Ada", "age": 1, "dogs": [["name": "Rex"]]])
    }
    let object = ThreadSafeReference(to: ada), list = ThreadSafeReference(to: ada.dogs)
    let results = ThreadSafeReference(to: realm.objects(Dog.self).where { $0.name == "Rex" })
    try onAnotherThread {
      let realm = try Realm(configuration: configuration)
      let ada = realm.resolve(object)
      #expect(ada?.name == "Ada" && ada?.realm == realm && object.isInvalidated)
      #expect(realm.resolve(list)?.first?.name == "Rex" && realm.resolve(results)?.count == 1)
    }
    let gone = ThreadSafeReference(to: ada)
    try realm.write { realm.delete(ada) }
    try onAnotherThread {
      let realm = try Realm(configuration: configuration)
      #expect(realm.resolve(gone) == nil)
    }
  }

  @Test("invalid classes are refused with their names")
  func badClasses() {
    let error = #expect(throws: Realm.Error.self) {
      try Realm(configuration: folder.configuration(Person.self, TwoKeys.self))
    }
    for part in ["'Person.home' links to 'Address', which is not in objectTypes", "'TwoKeys' has 2 primary keys"] {
      #expect(error?.description.contains(part) == true, "\(part)")
    }
  }

  @Test("stored names, ignored properties and classes of the whole program")
  func names() throws {
    let realm = try Realm(configuration: folder.configuration(Renamed.self))
    #expect(realm.schema["Stored"]?.properties.map(\.columnName) == ["id", "stored_name"])
    #expect(realm.schema["Stored"]?.primaryKeyProperty?.name == "id")
    let object = try realm.write { realm.create(Renamed.self, value: ["id": 1, "name": "x"]) }
    object.note = "not stored"
    #expect(object.note == "not stored" && realm.objects(Renamed.self).where { $0.name == "x" }.count == 1)
    #expect(realm.objects(Renamed.self).filter("name == 'x'").sorted(byKeyPath: "name").first == object)
    let all = try Realm(configuration: .init(inMemoryIdentifier: "all \(UUID())"))
    #expect(all.schema["Dog"] != nil && all.schema["Everything"] != nil && all.schema["TwoKeys"] == nil)
  }
}

class TwoKeys: Object {
  @Persisted(primaryKey: true) var a = 0
  @Persisted(primaryKey: true) var b = 0
  override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

class Renamed: Object {
  @Persisted var id = 0
  @Persisted var name = ""
  @Persisted var note = ""
  override class func primaryKey() -> String? { "id" }
  override class func _realmObjectName() -> String? { "Stored" }
  override class func propertiesMapping() -> [String: String] { ["name": "stored_name"] }
  override class func ignoredProperties() -> [String] { ["note"] }
}

class Basis: Object {}

class Puppy: Pup {
  @Persisted var weeks = 0
}

class Pup: Basis {
  @Persisted(primaryKey: true) var _id: ObjectId
  @Persisted var name = ""
  @Persisted var age = 0
}

// Two classes of the program for the objects of one class of the file.
private class FirstView: Object {
  @Persisted var number = 0
  @Persisted var text = ""
  override class func _realmObjectName() -> String? { "Shared" }
}
private class SecondView: Object {
  @Persisted var count = 0
  @Persisted var text = ""
  override class func _realmObjectName() -> String? { "Shared" }
  override class func propertiesMapping() -> [String: String] { ["count": "number"] }
}
private class OtherView: Object {
  @Persisted var number = ""
  override class func _realmObjectName() -> String? { "Shared" }
  override class func shouldIncludeInDefaultSchema() -> Bool { false }
}

@Suite struct SharedNameTests {
  @Test("two classes with one name share their objects if they have the same stored properties")
  func shared() throws {
    let identifier = "shared \(UUID())"
    let realm = try Realm(
      configuration: .init(inMemoryIdentifier: identifier, objectTypes: [FirstView.self, SecondView.self])
    )
    try realm.write { realm.create(FirstView.self, value: ["number": 3, "text": "a"]) }
    #expect(realm.objects(SecondView.self).where { $0.count == 3 }.first?.text == "a")
    #expect(throws: Realm.Error.self) {
      try Realm(configuration: .init(inMemoryIdentifier: "other", objectTypes: [FirstView.self, OtherView.self]))
    }
  }
}
