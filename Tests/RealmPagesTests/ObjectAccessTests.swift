// Access by name: objects by class and primary key, values by property, in closures.

import RealmPages
import TestSupport
import Testing

@Suite("access by name")
struct ObjectAccessTests {
  /// Creates a realm with two people and links to each other's dogs.
  private func people(_ folder: TemporaryFolder) throws -> RealmWriter {
    let writer = try RealmWriter(Configuration(path: folder.path("people.realm")), create: true)
    try writer.write { transaction in
      let dog = try transaction.addClass("Dog", [ColumnSpec("name", .string)])
      _ = try transaction.addClass(
        "Person",
        [
          ColumnSpec("id", .int), ColumnSpec("name", .string, isNullable: true),
          ColumnSpec("tags", .string, collection: .list), ColumnSpec("dog", .link, target: dog),
        ],
        primaryKey: "id"
      )
      let rex = try transaction.create("Dog", ["name": .text("Rex")])
      _ = try transaction.create("Person", primaryKey: .int(4), ["name": .text("Ann"), "dog": .link(to: rex)])
      _ = try transaction.create("Person", primaryKey: .int(5), ["tags": .list([.text("a"), .text("b")])])
    }
    return writer
  }

  /// Returns the reason of the engine error that `body` throws; nil if it throws none.
  private func reason(_ body: () throws -> Void) -> EngineError.Reason? {
    do { try body() } catch { return (error as? EngineError)?.reason }
    return nil
  }

  @Test("values are read by class, primary key and property, and links resolve to objects")
  func reading() throws {
    let folder = try TemporaryFolder()
    let writer = try people(folder)
    try writer.realm.read { snapshot in
      #expect(try snapshot.classes().map(\.className) == ["Dog", "Person"])
      let ann = try #require(try snapshot.object("Person", primaryKey: .int(4)))
      #expect(try snapshot.value(of: ann, "name").text == "Ann")
      let rex = try #require(try snapshot.value(of: ann, "dog").object)
      #expect(try snapshot.value(of: rex, "name") == .text("Rex"))
      #expect(try snapshot.object("Person", primaryKey: .int(6)) == nil)
      let other = try #require(try snapshot.object("Person", primaryKey: .int(5)))
      #expect(try snapshot.value(of: other, "tags") == .list([.text("a"), .text("b")]))
      #expect(try snapshot.value(of: other, "dog") == .null)
    }
  }

  @Test("a name that does not exist and a key of another type are errors, in snapshots and in transactions")
  func wrongNames() throws {
    let folder = try TemporaryFolder()
    let writer = try people(folder)
    try writer.realm.read { snapshot in
      let ann = try #require(try snapshot.object("Person", primaryKey: .int(4)))
      #expect(reason { _ = try snapshot.table(ofClass: "Persn") } == .notFound)
      #expect(reason { _ = try snapshot.value(of: ann, "nam") } == .notFound)
      #expect(reason { _ = try snapshot.object("Person", primaryKey: .text("4")) } == .wrongType)
      #expect(reason { _ = try snapshot.object("Person", primaryKey: .null) } == .wrongType)
      #expect(reason { _ = try snapshot.object("Dog", primaryKey: .int(4)) } == .forbidden)
      let missing = ObjectReference(table: ann.table, key: ObjKey(9))
      #expect(reason { _ = try snapshot.value(of: missing, "name") } == .notFound)
    }
    try writer.write { transaction in
      let ann = try #require(try transaction.object("Person", primaryKey: .int(4)))
      #expect(reason { _ = try transaction.table(ofClass: "Persn") } == .notFound)
      #expect(reason { try transaction.set(ann, "nam", to: .null) } == .notFound)
      #expect(reason { try transaction.set(ann, "name", to: .int(1)) } == .wrongType)
      #expect(reason { try transaction.set(ann, "id", to: .int(1)) } == .forbidden)
      #expect(reason { _ = try transaction.object("Person", primaryKey: .text("4")) } == .wrongType)
      #expect(reason { _ = try transaction.object("Dog", primaryKey: .int(4)) } == .forbidden)
      #expect(reason { _ = try transaction.create("Person", primaryKey: .int(4)) } == .duplicateKey)
      #expect(reason { _ = try transaction.create("Person", primaryKey: .int(7), ["nam": .null]) } == .notFound)
      let hasChanges = transaction.hasChanges
      #expect(!hasChanges)
    }
  }

  @Test("write commits what its closure changes, once; nothing if it changes nothing or throws")
  func writing() throws {
    struct Stop: Error {}
    let folder = try TemporaryFolder()
    let writer = try people(folder)
    let version = try writer.realm.latest().version
    let name = try writer.write { transaction in
      let ann = try #require(try transaction.object("Person", primaryKey: .int(4)))
      return try transaction.value(of: ann, "name").text
    }
    #expect(name == "Ann")
    #expect(throws: Stop.self) {
      try writer.write { transaction in
        _ = try transaction.create("Dog", ["name": .text("Fido")])
        throw Stop()
      }
    }
    #expect(try writer.realm.latest().version == version)
    try writer.write { transaction in
      let ann = try #require(try transaction.object("Person", primaryKey: .int(4)))
      try transaction.set(ann, "name", to: .text("Bob"))
      try transaction.append(.text("x"), to: ann, "tags")
      try transaction.append(.text("y"), to: ann, "tags")
      let other = try #require(try transaction.object("Person", primaryKey: .int(5)))
      try transaction.set(other, "tags", to: .list([.text("b")]))
      let dog = try #require(try transaction.value(of: ann, "dog").object)
      try transaction.delete(dog)
    }
    let snapshot = try writer.realm.latest()
    #expect(snapshot.version == version + 1)
    let ann = try #require(try snapshot.object("Person", primaryKey: .int(4)))
    #expect(try snapshot.value(of: ann, "name").text == "Bob")
    #expect(try snapshot.value(of: ann, "tags") == .list([.text("x"), .text("y")]))
    #expect(try snapshot.value(of: ann, "dog") == .null)
    let other = try #require(try snapshot.object("Person", primaryKey: .int(5)))
    #expect(try snapshot.value(of: other, "tags") == .list([.text("b")]))
    #expect(try snapshot.table(ofClass: "Dog").objectCount == 0)
    #expect(Verifier(snapshot).problems(limit: 3) == [])
  }

  @Test("read discards what was read from a version that was overwritten meanwhile")
  func overwritten() throws {
    let folder = try TemporaryFolder()
    let writer = try people(folder)
    let reader = try Realm(Configuration(path: folder.path("people.realm"), mode: .immutable))
    var rounds = 0
    let text = try reader.read { snapshot in
      rounds += 1
      if rounds == 1 {
        for age in 0..<3 {
          try writer.write { transaction in
            let ann = try #require(try transaction.object("Person", primaryKey: .int(4)))
            try transaction.set(ann, "name", to: .text("Ann \(age)"))
          }
        }
      }
      let ann = try #require(try snapshot.object("Person", primaryKey: .int(4)))
      return try snapshot.value(of: ann, "name").text
    }
    #expect(rounds == 2)
    #expect(text == "Ann 2")
  }
}
