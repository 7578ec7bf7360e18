// The snippets of the articles: what stands between the marks is the text of the article, and runs here.

import Foundation
import RealmJSON
import RealmObjects
import RealmPages
import TestSupport
import Testing

@Suite struct SnippetTests {
  private let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  // snippet: types
  struct Person: Codable {
    var _id: Int
    var name: String
    var age: Int?
  }
  // end

  private func openedRealm(_ folder: String) async throws -> OpenRealm {
    // snippet: open
    var configuration = Realm.Configuration(path: folder + "/people.realm")
    configuration.schema = SchemaDescription(
      version: 1,
      classes: [
        ClassDescription(
          name: "Person",
          primaryKey: "_id",
          properties: [
            PropertyDescription(name: "_id", type: .int),
            PropertyDescription(name: "name", type: .string),
            PropertyDescription(name: "age", type: .int, isNullable: true),
          ]
        )
      ]
    )
    let realm = try await Realm.open(configuration)
    // end
    return realm
  }

  @Test("open, write, read, freeze and observe as the articles say")
  func articles() async throws {
    let realm = try await openedRealm(folder.url.path)
    // snippet: observe
    let commits = try realm.commits()
    let observer = Task {
      for await version in commits {
        let adults = try version.objects(Person.self).filter { ($0.age ?? 0) >= 18 }
        if let first = adults.first { return first.name }
      }
      return "nobody"
    }
    // end
    // snippet: write
    try await realm.write { transaction in
      _ = try transaction.save(Person(_id: 1, name: "Ada", age: 36))
      let bob = try transaction.create("Person", primaryKey: .int(2))
      try transaction.set("name", of: bob, to: .text("Bob"))
    }
    // end
    #expect(try await observer.value == "Ada")
    // snippet: read
    let frozen = try realm.freeze()
    let people = try frozen.objects(Person.self)
    let ada = try frozen.object("Person", primaryKey: .int(1))
    let name = try ada?["name"].asText
    // end
    #expect(people.map(\.name) == ["Ada", "Bob"] && name == "Ada")
    // snippet: freeze
    let before = try realm.freeze()
    try await realm.write { transaction in
      if let bob = try transaction.find("Person", primaryKey: .int(2)) { try transaction.delete(bob) }
    }
    let count = (before: try before.objects("Person").count, now: try realm.freeze().objects("Person").count)
    // end
    #expect(count == (2, 1))
  }

  @Test("a migration as the article says")
  func migration() async throws {
    let folder = folder.url.path
    let first = try await openedRealm(folder)
    try await first.write { transaction in _ = try transaction.save(Person(_id: 1, name: "Ada Lovelace", age: 36)) }
    var configuration = first.configuration
    // snippet: migrate
    configuration.schema = SchemaDescription(
      version: 2,
      classes: [
        ClassDescription(
          name: "Person",
          primaryKey: "_id",
          properties: [
            PropertyDescription(name: "_id", type: .int),
            PropertyDescription(name: "nameLength", type: .int),
          ]
        )
      ]
    )
    configuration.migration = { old, new, _ in
      guard let people = try old.table(named: "class_Person"),
        let name = people.columns.firstIndex(where: { $0.name == "name" }),
        let length = try new.columns(of: people.key).first(where: { $0.name == "nameLength" })
      else { return }
      let person = ObjectCursor(people)
      while try person.next() {
        guard case .string(let text) = try person.value(name) else { continue }
        try new.set(people.key, person.key, length.key, .int(Int64(text.string.count)))
      }
    }
    let migrated = try await Realm.open(configuration)
    // end
    let ada = try #require(try migrated.freeze().object("Person", primaryKey: .int(1)))
    #expect(try ada["nameLength"].asInt == 12)
  }

  @Test("the articles show exactly what runs here")
  func articlesMatch() throws {
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    var snippets: Set<String> = []
    for part in source.components(separatedBy: "// snippet: ").dropFirst() {
      guard let end = part.range(of: "// end\n") else { continue }
      var lines = part[..<end.lowerBound].components(separatedBy: "\n").dropFirst()
      lines.removeLast()
      let indent = lines.first?.prefix { $0 == " " }.count ?? 0
      snippets.insert(lines.map { String($0.dropFirst(indent)) }.joined(separator: "\n"))
    }
    let catalog = Fixture.package.appending(path: "Sources/RealmObjects/RealmObjects.docc")
    var shown: Set<String> = []
    for article in try FileManager.default.contentsOfDirectory(at: catalog, includingPropertiesForKeys: nil) {
      for block in try String(contentsOf: article, encoding: .utf8).components(separatedBy: "```swift\n").dropFirst() {
        shown.insert(block.components(separatedBy: "\n```")[0])
      }
    }
    #expect(!shown.isEmpty)
    #expect(shown.subtracting(snippets) == [])
  }
}
