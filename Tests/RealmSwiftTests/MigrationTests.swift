// Migrations of links, collections and embedded objects, whose old and new objects are accessed by name.

import Foundation
import RealmSwift
import Testing

/// The models before the migration.
private enum Before {
  class Toy: Object {
    @Persisted var name: String
    override class func _realmObjectName() -> String? { "Toy" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
  }

  class Child: Object {
    @Persisted(primaryKey: true) var id: Int
    @Persisted var name: String
    @Persisted var toys: List<Toy>
    @Persisted var wishes: MutableSet<Toy>
    @Persisted var rooms: Map<String, Toy?>
    @Persisted var scores: List<Int>
    @Persisted var anything: AnyRealmValue
    @Persisted var street: String
    override class func _realmObjectName() -> String? { "Child" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
  }

  class Former: Object {
    @Persisted var value: Int
    override class func _realmObjectName() -> String? { "Former" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
  }
}

/// The models after it.
private enum After {
  class Address: EmbeddedObject {
    @Persisted var street: String
    @Persisted var number: Int?
    override class func _realmObjectName() -> String? { "Address" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
  }

  class Toy: Object {
    @Persisted var name: String
    @Persisted var size: Size
    @Persisted var owner: Child?
    override class func _realmObjectName() -> String? { "Toy" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
  }

  class Child: Object {
    @Persisted(primaryKey: true) var id: String
    @Persisted var name: String
    @Persisted var toys: List<Toy>
    @Persisted var best: Toy?
    @Persisted var scores: List<Double>
    @Persisted var address: Address?
    @Persisted var former: List<Address>
    @Persisted var places: Map<String, Address?>
    override class func _realmObjectName() -> String? { "Child" }
    override class func shouldIncludeInDefaultSchema() -> Bool { false }
  }
}

@Suite struct MigrationTests {
  private let folder: RealmFolder

  init() throws {
    folder = try RealmFolder()
    try onAnotherThread { [folder] in
      let realm = try Realm(configuration: folder.configuration(Before.Toy.self, Before.Child.self, Before.Former.self))
      try realm.write {
        let toys = ["ball", "kite", "doll"].map { realm.create(Before.Toy.self, value: [$0]) }
        for (id, name) in ["Ann", "Ben"].enumerated() {
          let values: [String: Any] = ["id": id, "name": name, "scores": [1, 2], "street": "Elm Street", "toys": toys]
          let child = realm.create(Before.Child.self, value: values)
          child.wishes.insert(toys[0])
          child.rooms["attic"] = toys[1]
          child.anything = .object(toys[2])
        }
        realm.create(Before.Former.self, value: [7])
      }
    }
  }

  /// Migrates the file to the new models.
  @discardableResult
  private func migrate(_ block: @escaping MigrationBlock) throws -> Realm {
    var configuration = folder.configuration(After.Toy.self, After.Child.self, After.Address.self)
    (configuration.schemaVersion, configuration.migrationBlock) = (1, block)
    let realm = try Realm(configuration: configuration)
    #expect(try folder.problems() == [])
    return realm
  }

  /// Gives all children new primary keys, without which the migration fails.
  private static func number(_ migration: Migration) {
    migration.enumerateObjects(ofType: "Child") { old, new in new?["id"] = "c\(old?["id"] as? Int ?? -1)" }
  }

  @Test("old and new objects have the schemas, links and collections of their sides")
  func access() throws {
    try migrate { migration, _ in
      #expect(migration.oldSchema.objectSchema.map(\.className).sorted() == ["Child", "Former", "Toy"])
      #expect(migration.newSchema.objectSchema.map(\.className) == ["Address", "Child", "Toy"])
      #expect(migration.oldSchema["Child"]?["id"]?.type == .int && migration.newSchema["Child"]?["id"]?.type == .string)
      #expect(migration.newSchema["Child"]?.properties.map(\.name).last == "places")
      #expect(migration.newSchema["Child"]?["toys"]?.objectClassName == "Toy")
      #expect(migration.newSchema["Child"]?.primaryKeyProperty?.name == "id")
      var count = 0
      migration.enumerateObjects(ofType: "Child") { old, new in
        guard let old, let new else {
          Issue.record("an object is missing")
          return
        }
        #expect(old.objectSchema.className == "Child" && new.objectSchema["best"]?.isOptional == true)
        let toys = old["toys"] as? List<MigrationObject>
        #expect(toys?.map { $0["name"] as? String } == ["ball", "kite", "doll"])
        #expect(toys?.filter("name == %@", "kite").count == 1)
        #expect((new["toys"] as? List<MigrationObject>)?.last?.name as? String == "doll")
        #expect((old["wishes"] as? MutableSet<MigrationObject>)?.count == 1)
        #expect((old["rooms"] as? Map<String, MigrationObject?>)?["attic"]??.name as? String == "kite")
        #expect((old.anything as? MigrationObject)?.name as? String == "doll")
        #expect(old["scores"] as? List<Int> != nil && new["scores"] as? List<Double> != nil)
        count += 1
      }
      #expect(count == 2)
      Self.number(migration)
    }
  }

  @Test("new objects take dictionaries, arrays, enumerations, embedded objects and links")
  func assignment() throws {
    let realm = try migrate { migration, _ in
      let train = migration.create("Toy", value: ["train", Size.large])
      migration.enumerateObjects(ofType: "Child") { old, new in
        new?["id"] = "c\(old?["id"] as? Int ?? -1)"
        new?["address"] = ["street": old?["street"] as? String ?? "", "number": 5] as [String: Any]
        new?["former"] = [["street": "a"], ["street": "b"]]
        new?["places"] = ["home": ["street": "h"]]
        new?["best"] = train
        new?["scores"] = (old?["scores"] as? List<Int>)?.map { Double($0) / 2 }
      }
      migration.enumerateObjects(ofType: "Child") { _, new in
        if new?.name as? String == "Ann" { new?["best"] = ["name": "robot", "size": Size.small.rawValue] }
        (new?["toys"] as? List<MigrationObject>)?.append(train)
      }
      migration.create(
        "Child",
        value: ["id": "new", "name": "Cid", "toys": [["name": "top"], train]] as [String: Any]
      )
    }
    let children = realm.objects(After.Child.self).sorted(byKeyPath: "id")
    #expect(children.map(\.id) == ["c0", "c1", "new"] && children.map { $0.best?.name } == ["robot", "train", nil])
    #expect(children.map { $0.address?.street } == ["Elm Street", "Elm Street", nil])
    #expect(children[0].address?.number == 5 && Array(children[1].former.map(\.street)) == ["a", "b"])
    #expect(children[0].places["home"]??.street == "h" && Array(children[1].scores) == [0.5, 1])
    #expect(Array(children[0].toys.map(\.name)) == ["ball", "kite", "doll", "train"])
    #expect(Array(children[2].toys.map(\.name)) == ["top", "train"])
    #expect(children[1].best?.size == .large && children[0].best?.size == .small)
  }

  @Test("embedded objects are copied from old objects, and assigning those that are there changes nothing")
  func embedded() throws {
    try migrate { migration, _ in
      migration.enumerateObjects(ofType: "Child") { old, new in
        new?["id"] = "c\(old?["id"] as? Int ?? -1)"
        new?["address"] = ["street": "Elm", "number": 5] as [String: Any]
        new?["address"] = new?["address"]
        new?["former"] = [["street": "a"]]
        new?["places"] = ["home": ["street": "h"], "none": NSNull()] as [String: Any]
      }
    }
    var configuration = folder.configuration(After.Toy.self, After.Child.self, After.Address.self)
    configuration.schemaVersion = 2
    configuration.migrationBlock = { migration, _ in
      for old in migration.enumerated("Child") {
        let copy = migration.create("Child", value: ["id": "copy of \(old.id as? String ?? "")"])
        for name in ["address", "former", "places"] { copy[name] = old[name] }
      }
      migration.create("Toy", value: ["name": NSNull()])
      #expect(migration.enumerated("Toy").first?.realm?.isEmpty == false)
    }
    let realm = try Realm(configuration: configuration)
    let copy = try #require(realm.object(ofType: After.Child.self, forPrimaryKey: "copy of c1"))
    #expect(copy.address?.street == "Elm" && copy.address?.number == 5 && copy.former.map { $0.street } == ["a"])
    #expect(copy.places["home"]??.street == "h" && copy.places.count == 2 && copy.places["none"] == .some(nil))
    #expect(realm.objects(After.Toy.self).last?.name == "")
    #expect(realm.objects(After.Child.self).where { $0.places.contains(nil) }.count == 4)
    #expect(try folder.problems() == [])
  }

  @Test("a removed class has no new objects, a new class no old ones, and deleted objects are not enumerated again")
  func oneSide() throws {
    let realm = try migrate { migration, _ in
      Self.number(migration)
      var former = 0
      migration.enumerateObjects(ofType: "Former") { old, new in
        #expect(old?["value"] as? Int == 7 && new == nil)
        former += 1
      }
      #expect(former == 1)
      migration.enumerateObjects(ofType: "Address") { _, _ in Issue.record("there are no addresses") }
      migration.enumerateObjects(ofType: "NoSuchClass") { _, _ in Issue.record("there is no such class") }
      migration.enumerateObjects(ofType: "Toy") { old, new in
        if old?.name as? String == "kite", let new { migration.delete(new) }
      }
      var names: [String] = []
      migration.enumerateObjects(ofType: "Toy") { old, _ in names.append(old?.name as? String ?? "") }
      #expect(names == ["ball", "doll"])
    }
    #expect(realm.objects(After.Toy.self).map { $0.name } == ["ball", "doll"])
    #expect(realm.objects(After.Child.self).map { $0.toys.count } == [2, 2])
  }

  @Test("the objects of a migration become invalid when it ends")
  func validity() throws {
    nonisolated(unsafe) var kept: [MigrationObject] = []
    try migrate { migration, _ in
      Self.number(migration)
      migration.enumerateObjects(ofType: "Toy") { kept += [$0, $1].compactMap { $0 } }
      #expect(kept.count == 6 && kept.allSatisfy { !$0.isInvalidated })
    }
    #expect(kept.allSatisfy { $0.isInvalidated })
  }
}

extension Migration {
  /// The old objects of a class.
  fileprivate func enumerated(_ name: String) -> [MigrationObject] {
    var objects: [MigrationObject] = []
    enumerateObjects(ofType: name) { old, _ in if let old { objects.append(old) } }
    return objects
  }
}
