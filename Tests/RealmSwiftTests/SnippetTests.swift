// The code of the articles and of the comments on declarations: the text between the marks is copied there, and runs
// here. The tutorial shows the example, which Scripts/examples.sh runs.

import Dispatch
import Foundation
import RealmSwift
import SyncSupport
import TestSupport
import Testing

/// The snippets. Generic, so that its models are in no default schema, which has others of the same names.
struct Snippets<Nothing> {
  // snippet: dog
  class Dog: Object {
    @Persisted(primaryKey: true) var _id: ObjectId
    @Persisted var name = ""
    @Persisted var age = 0
  }
  // end

  // snippet: person
  class Person: Object {
    @Persisted var age = 0
    @Persisted var dogs: List<Dog>
  }
  // end

  class Shop: Object {
    @Persisted var prices: Map<String, Double>
  }

  class Note: Object {
    @Persisted var extra: AnyRealmValue
  }

  // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
  // snippet: store
  actor Store {
    var realm: Realm!
    init() async throws { realm = try await Realm(actor: self) }
  }
  // end

  /// An actor that observes.
  actor Kennel {
    let notes: AsyncStream<Void>
    private let continuation: AsyncStream<Void>.Continuation
    init() { (notes, continuation) = AsyncStream.makeStream() }
    func note(_ change: RealmCollectionChange<Results<Dog>>) { continuation.yield() }
  }

  // snippet: show
  @MainActor func show() async throws {
    let realm = try await Realm.open()
    print(realm.objects(Dog.self).count)
  }
  // end

  static func synced(_ server: URL, _ url: URL, _ token: URL) -> Realm.Configuration {
    // snippet: user
    let user = SyncUser(identity: "anna", server: server) { try String(contentsOf: token, encoding: .utf8) }
    let configuration = user.configuration(realmURL: url)
    // end
    return configuration
  }

  static func openSynced(_ configuration: Realm.Configuration) -> Realm.AsyncOpenTask {
    // snippet: asyncOpenSynced
    let task = Realm.asyncOpen(configuration: configuration) { result in
      if case .success(let realm) = result { print(realm.objects(Dog.self).count) }
    }
    task.addProgressNotification { print($0.progressEstimate) }
    // end
    return task
  }

  // snippet: rename
  func rename(_ dog: ThreadSafe<Dog>) {
    DispatchQueue.global().async {
      guard let dog = dog.wrappedValue, let realm = dog.realm else { return }
      try? realm.write { dog.name = "King" }
    }
  }
  // end

  // snippet: owner
  class Owner: Projection<Person> {
    @Projected(\Person.age) var years
    @Projected(\Person.dogs.projectTo.name) var dogNames: ProjectedCollection<String>
  }
  // end

  private let folder: TemporaryFolder

  /// Creates a folder for the default realm.
  init() throws {
    folder = try TemporaryFolder()
    Realm.Configuration.defaultConfiguration = Realm.Configuration(
      fileURL: folder.url.appending(path: "default.realm"),
      objectTypes: [Dog.self, Person.self, Shop.self, Note.self]
    )
  }

  func start() throws -> [String] {
    // snippet: start
    let realm = try Realm()
    try realm.write {
      realm.add(Dog(value: ["name": "Rex", "age": 3]))
    }
    let old = realm.objects(Dog.self).where { $0.age > 2 }
    // end
    return old.map(\.name)
  }

  func query() throws -> [Int] {
    let realm = try Realm()
    try realm.write {
      let rex = try #require(realm.objects(Dog.self).first)
      realm.add(Person(value: ["age": 30, "dogs": [rex, ["name": "Rex", "age": 5]]]))
      realm.add(Person(value: ["age": 10, "dogs": [rex]]))
    }
    // snippet: query
    let people = realm.objects(Person.self)
    let adults = people.where { $0.age > 18 && $0.dogs.count > 0 }
    // end
    try realm.write { realm.add(Shop(value: ["prices": ["tea": 2.5]])) }
    let shops = realm.objects(Shop.self)
    // snippet: entry
    let cheap = shops.where { $0.prices["tea"] < 3 }
    // end
    // snippet: subquery
    let owners = people.where { ($0.dogs.age > 3 && $0.dogs.name == "Rex").count >= 1 }
    // end
    return [people.count, adults.count, owners.count, cheap.count]
  }

  func notes() throws -> [Int?] {
    let realm = try Realm(), note = Note()
    try realm.write {
      realm.add(note)
      // snippet: nested
      note.extra = .fromDictionary(["tags": .fromArray([.string("a"), .int(1)]), "draft": .bool(true)])
      note.extra.dictionaryValue?["tags"]?.listValue?.append(.none)
      // end
    }
    let notes = realm.objects(Note.self)
    // snippet: tagged
    let tagged = notes.where { $0.extra["tags"].any == .string("a") }
    // end
    return [tagged.count, note.extra.dictionaryValue?["tags"]?.listValue?.count]
  }

  @MainActor func actors() async throws -> Int {
    let realm = try await Realm.open(), dogs = realm.objects(Dog.self), kennel = Kennel()
    // snippet: observe
    let token = await dogs.observe(on: kennel) { kennel, change in kennel.note(change) }
    // end
    var notes = kennel.notes.makeAsyncIterator()
    await notes.next(isolation: #isolation)
    try await show()
    _ = try await Store()
    token.invalidate()
    return dogs.count
  }

  func views() throws -> [Int] {
    let realm = try Realm()
    // snippet: owners
    for owner in realm.objects(Owner.self) { print(owner.years, Array(owner.dogNames)) }
    // end
    // snippet: sections
    for section in realm.objects(Dog.self).sectioned(by: \.age) {
      print(section.key, section.map(\.name))
    }
    // end
    // snippet: dynamic
    for dog in realm.dynamicObjects("Dog") { print(dog.name as? String ?? "") }
    // end
    return realm.objects(Owner.self).map(\.years)
  }

  /// Returns the number of dogs after one was created asynchronously.
  func later() throws -> Int {
    let queue = DispatchQueue(label: "later")
    let realm = try queue.sync { try Realm(queue: queue) }
    _ = queue.sync {
      // snippet: writeAsync
      realm.writeAsync {
        realm.create(Dog.self, value: ["name": "Rex"])
      } onComplete: { error in
        if let error { print(error) }
      }
      // end
    }
    for _ in 0..<1000 where queue.sync(execute: { realm.isPerformingAsynchronousWriteOperations }) { usleep(10_000) }
    return queue.sync { realm.objects(Dog.self).count }
  }

  func renamed() throws -> String? {
    let realm = try Realm(), dog = realm.objects(Dog.self).first
    rename(ThreadSafe(wrappedValue: dog))
    for _ in 0..<1000 where dog?.name != "King" {
      usleep(10_000)
      realm.refresh()
    }
    return dog?.name
  }

  func open() throws -> Int {
    let configuration = Realm.Configuration.defaultConfiguration
    // snippet: migrate
    try Realm.performMigration(for: configuration)
    // end
    // snippet: asyncOpen
    Realm.asyncOpen { result in
      if case .success(let realm) = result { print(realm.objects(Dog.self).count) }
    }
    // end
    return try Realm().objects(Dog.self).count
  }
}

/// Snippets with another type of the same name.
struct CodableSnippets {
  // snippet: codable
  struct Dog: Codable {
    var _id: ObjectId
    var name: String
  }
  // end

  func run() throws -> [String] {
    let realm = try Realm()
    // snippet: save
    let rex = ObjectId.generate()
    try realm.write {
      try realm.save(Dog(_id: rex, name: "Rex"))
    }
    // end
    // snippet: value
    let found = try realm.value(ofType: Dog.self, forPrimaryKey: rex)
    // end
    // snippet: values
    let names = try realm.values(Dog.self).map(\.name)
    // end
    return names + [found?.name ?? ""]
  }
}

@Suite struct SnippetTests {
  @Test("the snippets have the documented results", .timeLimit(.minutes(10)))
  func snippets() async {
    await #expect(processExitsWith: .success) {
      let snippets = try Snippets<Void>()
      #expect(try snippets.start() == ["Rex"])
      #expect(try snippets.query() == [2, 1, 1, 1])
      #expect(try snippets.notes() == [1, 3])
      #expect(try await snippets.actors() == 2)
      #expect(try snippets.views() == [30, 10])
      #expect(try snippets.open() == 2)
      #expect(try CodableSnippets().run() == ["Rex", "Rex", "Rex", "Rex"])
      #expect(try snippets.renamed() == "King")
      #expect(try snippets.later() == 4)
    }
  }

  /// Code without its indentation and the marks of comments.
  private func code(_ lines: [Substring]) -> String {
    let indent = lines.first { !$0.isEmpty }?.prefix { $0 == " " }.count ?? 0
    return lines.map { String($0.dropFirst(indent)) }.joined(separator: "\n")
  }

  private func lines(of file: URL) throws -> [Substring] {
    try String(contentsOf: file, encoding: .utf8).split(separator: "\n", omittingEmptySubsequences: false)
  }

  /// The blocks of Swift in a file: fenced, in articles or in comments.
  private func blocks(_ file: URL) throws -> [String] {
    var blocks: [String] = [], block: [Substring]?
    for line in try lines(of: file) {
      var text = line.drop { $0 == " " }
      if file.pathExtension == "swift" {
        guard text.hasPrefix("///") else { continue }
        text = text.dropFirst(text.hasPrefix("/// ") ? 4 : 3)
      } else {
        text = line
      }
      if text == "```swift" {
        block = []
      } else if text == "```", let done = block {
        blocks.append(code(done))
        block = nil
      } else {
        block?.append(text)
      }
    }
    return blocks
  }

  private func files(_ folder: String, _ kinds: Set<String>) -> [URL] {
    let folder = Fixture.package.appending(path: folder)
    let all = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
    return (all?.allObjects as? [URL] ?? []).filter { kinds.contains($0.pathExtension) }
  }

  @Test("a synced realm with progress, for a user with a token file")
  func synced() throws {
    let server = try FakeServer(), token = Fixture.package.appending(path: "LICENSE")
    defer { server.stop() }
    let url = try #require(URL(string: server.url))
    try withTemporaryPath { path in
      var configuration = Snippets<Void>.synced(url, url, token)
      configuration.syncConfiguration?.fileURL = URL(fileURLWithPath: path)
      configuration.objectTypes = [Snippets<Void>.Dog.self]
      // The callbacks are for the main queue, which does not run here.
      let task = Snippets<Void>.openSynced(configuration)
      let realm = try Realm(configuration: configuration)
      try realm.write { realm.add(Snippets<Void>.Dog()) }
      #expect(realm.objects(Snippets<Void>.Dog.self).count == 1 && server.uploads == 2)
      task.cancel()
    }
  }

  @Test("articles and comments contain exactly the code that is tested here or in the example")
  func textsMatch() throws {
    let source = try String(contentsOfFile: #filePath, encoding: .utf8)
    var snippets: Set<String> = []
    for part in source.components(separatedBy: "// snippet: ").dropFirst() {
      guard let end = part.range(of: "// end\n") else { continue }
      let lines = part[..<end.lowerBound].split(separator: "\n", omittingEmptySubsequences: false)
      snippets.insert(code(Array(lines.dropFirst().dropLast())))
    }
    let example = try files("Examples/Todo", ["swift"]).map { try lines(of: $0) }
    var shown = 0
    for file in files("Sources/RealmSwift", ["swift", "md"]) {
      for block in try blocks(file) {
        shown += 1
        let length = block.split(separator: "\n", omittingEmptySubsequences: false).count
        // A part of a file of the example, whatever its indentation there.
        let isInExample = example.contains { lines in
          lines.indices.contains { $0 + length <= lines.count && code(Array(lines[$0..<$0 + length])) == block }
        }
        #expect(snippets.contains(block) || isInExample, "\(file.lastPathComponent): \(block)")
      }
    }
    #expect(shown > 12)
  }
}
