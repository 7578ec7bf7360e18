// Leftovers of Realm's own engine in sound files, most of them from a removed property or class: they are neither
// damage nor an obstacle. Source: docs/format/2-model.md M15.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Leftovers of Realm's engine")
struct LeftoverTests {
  private static let fixture = Fixture.named("leftovers/leftovers")

  /// The fixture in memory, to be written to.
  private static func writer() throws -> RealmWriter {
    let bytes = try fixture.bytes(), memory = try MemoryStorage(name: "leftovers")
    try memory.grow(to: (bytes.count + 4095) & ~4095)
    try memory.write(bytes, at: 0)
    return try RealmWriter(memory: memory)
  }

  /// The complete list of leftovers; any damage is an issue.
  private static func leftovers(_ realm: Realm) throws -> [String] {
    let problems = Verifier(try realm.latest(), isStrict: true).problems()
    #expect(problems.filter { !$0.isLeftover } == [])
    return problems.map(\.text)
  }

  @Test("leftovers are distinguished from damage")
  func check() throws {
    let snapshot = try Self.fixture.snapshot()
    let summary = Verifier(snapshot).run { #expect($0.isLeftover, "\($0)") }
    #expect(summary.isSound && summary.leftovers == 13)
    let kinds = Set(Verifier(snapshot).problems().map { $0.text.filter { !$0.isNumber } })
    #expect(
      kinds == [
        "an embedded object with  owners", "backlinks of a removed property",
        "an index that the attributes do not mention", "object  is in the index under another value",
        " links to class_Dog ,  backlinks from there",
      ]
    )
  }

  @Test("objects with backlinks of a removed property or class can be deleted, and then their class")
  func delete() throws {
    let writer = try Self.writer()
    let dogs = try #require(try writer.realm.latest().table(named: "class_Dog"))
    let deleting = try writer.begin()
    let cursor = ObjectCursor(dogs)
    while try cursor.next() {
      #expect(try deleting.incomingLinks(of: dogs.key, cursor.key) != nil)
      #expect(try deleting.origins(of: dogs.key, cursor.key).isEmpty == false)
      try deleting.delete(dogs.key, cursor.key)
    }
    _ = try deleting.commit()
    #expect(try Self.leftovers(writer.realm).filter { $0.contains("backlinks from") } == [])
    let removing = try writer.begin()
    try removing.removeTable(dogs.key)
    _ = try removing.commit()
    #expect(try Self.leftovers(writer.realm).filter { $0.contains("backlinks") } == [])
    let people = try #require(try writer.realm.latest().table(named: "class_Person"))
    let pet = try #require(people.columns.firstIndex { $0.name == "pet" }), owners = ObjectCursor(people)
    while try owners.next() {
      guard case .null = try owners.value(pet) else { Issue.record("a link to nothing"); continue }
    }
  }

  @Test("an index without its attribute is shown, maintained and can be removed")
  func index() throws {
    let writer = try Self.writer()
    let people = try #require(try writer.realm.latest().table(named: "class_Person"))
    let age = try #require(people.columns.first { $0.name == "age" })
    #expect(age.index == .general)
    let changing = try writer.begin()
    try changing.set(people.key, ObjKey(3), age.key, .int(50))
    _ = try changing.commit()
    #expect(try Self.leftovers(writer.realm).contains("an index that the attributes do not mention"))
    let changed = try #require(try writer.realm.latest().table(named: "class_Person"))
    let position = try #require(changed.columns.firstIndex { $0.name == "age" })
    #expect(try changed.objectKeys(where: position, is: .int(50)) == [ObjKey(3)])
    let removing = try writer.begin()
    try removing.removeIndex(people.key, age.key)
    _ = try removing.commit()
    #expect(try !Self.leftovers(writer.realm).contains("an index that the attributes do not mention"))
  }
}
