// Notifications: their content, time and thread.

import Foundation
import RealmSwift
import Synchronization
import Testing

/// The notifications of an observer, as text.
final class Told: Sendable {
  private let lines = Mutex<[String]>([])
  private let semaphore = DispatchSemaphore(value: 0)

  func say(_ line: String) {
    lines.withLock { $0.append(line) }
    semaphore.signal()
  }

  var all: [String] { lines.withLock { $0 } }

  /// The next line; nil if none arrives within ten minutes, so that a hang ends; processors may be few and busy.
  func next() -> String? {
    guard semaphore.wait(timeout: .now() + 600) == .success else { return nil }
    return lines.withLock { $0.isEmpty ? nil : $0.removeFirst() }
  }
}

private func text<C: RealmCollection>(_ change: RealmCollectionChange<C>) -> String {
  switch change {
  case .initial(let collection): "initial \(collection.count)"
  case .update(let collection, let deletions, let insertions, let modifications):
    "\(collection.isInvalidated ? "gone" : "\(collection.count)"): -\(deletions) +\(insertions) ~\(modifications)"
  case .error(let error): "error \(error)"
  }
}

/// An actor that observes.
private actor Listener {
  nonisolated let lines: AsyncStream<String>
  private let heard: AsyncStream<String>.Continuation

  init() { (lines, heard) = AsyncStream.makeStream() }

  func say(_ line: String) { heard.yield(line) }
}

@Suite struct NotificationTests {
  private let folder: RealmFolder
  private let configuration: Realm.Configuration

  init() throws {
    folder = try RealmFolder()
    configuration = folder.configuration(Dog.self, Person.self, Address.self, Street.self)
  }

  private func fill(_ realm: Realm) throws {
    try realm.write {
      for (index, name) in ["a", "b", "c", "d"].enumerated() {
        realm.add(Dog(value: ["name": name, "age": index]))
      }
    }
  }

  @Test("an actor observes results, objects and maps of the main actor", .timeLimit(.minutes(10)))
  @MainActor
  func actors() async throws {
    let realm = try await Realm(configuration: configuration), listener = Listener()
    var lines = listener.lines.makeAsyncIterator()
    try fill(realm)
    let dogs = realm.objects(Dog.self), dog = try #require(dogs.first)
    let person = try realm.write { realm.create(Person.self, value: ["name": "Ada"]) }
    let ofDogs = await dogs.observe(keyPaths: [\.name], on: listener) { listener, change in listener.say(text(change)) }
    #expect(await lines.next(isolation: #isolation) == "initial 4")
    let ofDog = await dog.observe(on: listener) { (listener, change: ObjectChange<Dog>) in
      switch change {
      case .change(let dog, let properties): listener.say("\(dog.name) \(dog.age) \(properties.map(\.name))")
      case .deleted: listener.say("deleted")
      case .error(let error): listener.say("\(error)")
      }
    }
    // The observer is registered when `observe` returns.
    try realm.write { dog.age = 7 }
    #expect(await lines.next(isolation: #isolation) == "a 7 [\"age\"]")
    let ofPlaces = await person.places.observe(on: listener) { listener, change in
      switch change {
      case .initial(let map): listener.say("map of \(map.count)")
      case .update(_, _, let insertions, _): listener.say("\(insertions)")
      case .error(let error): listener.say("\(error)")
      }
    }
    #expect(await lines.next(isolation: #isolation) == "map of 0")
    try realm.write { person.places["home"] = Address(value: ["city": "Rome"]) }
    #expect(await lines.next(isolation: #isolation) == "[\"home\"]")
    try realm.write { realm.delete(dog) }
    #expect(await lines.next(isolation: #isolation) == "3: -[0] +[] ~[]")
    #expect(await lines.next(isolation: #isolation) == "deleted")
    withExtendedLifetime((ofDogs, ofDog, ofPlaces)) {}
  }

  @Test("results tell of deletions, insertions and modifications by position, after refresh and after own commits")
  func positions() throws {
    let realm = try Realm(configuration: configuration), told = Told()
    try fill(realm)
    let dogs = realm.objects(Dog.self).sorted(byKeyPath: "name")
    let token = dogs.observe { told.say(text($0)) }
    let configuration = configuration
    func elsewhere(_ body: @escaping (Realm, Results<Dog>) throws -> Void) throws {
      try onAnotherThread {
        let realm = try Realm(configuration: configuration)
        try realm.write { try body(realm, realm.objects(Dog.self).sorted(byKeyPath: "name")) }
      }
      #expect(realm.refresh())
    }
    try elsewhere { realm, _ in realm.create(Person.self, value: ["name": "Ada"]) }
    #expect(told.next() == "initial 4" && told.all.isEmpty)
    try elsewhere { realm, dogs in
      realm.delete(dogs[1])
      realm.add(Dog(value: ["name": "aa"]))
      dogs[2].age = 50
    }
    #expect(told.next() == "4: -[1] +[1] ~[2]")
    try elsewhere { _, dogs in dogs[0].name = "z" }
    #expect(told.next() == "4: -[0] +[3] ~[]")
    try elsewhere { realm, _ in realm.create(Person.self, value: ["name": "Bob"]) }
    #expect(told.all.isEmpty)
    token.invalidate()
    try elsewhere { realm, _ in realm.deleteAll() }
    #expect(told.all.isEmpty && dogs.isEmpty)
  }

  @Test("key paths of an object lead through links, lists and linking objects")
  func keyPaths() throws {
    let realm = try Realm(configuration: configuration)
    let ada = try realm.write { realm.create(Person.self, value: ["name": "Ada", "dogs": [["name": "Rex"]]]) }
    let rex = try #require(ada.dogs.first)
    var ofNames: [String] = [], ofList: [String] = [], ofOwners: [String] = []
    func names<T>(_ change: ObjectChange<T>) -> String {
      if case .change(_, let properties) = change { properties.map(\.name).joined(separator: " ") } else { "\(change)" }
    }
    let tokens = [
      ada.observe(keyPaths: ["dogs.name"]) { ofNames.append(names($0)) },
      ada.observe(keyPaths: ["dogs"]) { ofList.append(names($0)) },
      rex.observe(keyPaths: [\.owners[0].age]) { ofOwners.append(names($0)) },
    ]
    try realm.write { rex.name = "King" }
    // A write transaction begins with the pending notifications.
    try realm.write { ada.age = 3 }
    #expect(ofNames == ["dogs"] && ofList.isEmpty && ofOwners.isEmpty)
    try realm.write { ada.dogs.append(Dog()) }
    #expect(ofNames == ["dogs"] && ofList.isEmpty && ofOwners == ["owners"])
    try realm.write {}
    #expect(ofNames == ["dogs", "dogs"] && ofList == ["dogs"] && ofOwners == ["owners"])
    tokens.forEach { #expect($0.invalidate()) }
    #expect(!tokens[0].invalidate())
  }

  @Test("lists report changes of their elements and linked objects, and their deletion")
  func lists() throws {
    let realm = try Realm(configuration: configuration), dogs = Told(), people = Told(), ages = Told()
    try fill(realm)
    let ada = try realm.write {
      realm.create(Person.self, value: ["name": "Ada", "dogs": Array(realm.objects(Dog.self))])
    }
    let tokens = [
      ada.dogs.observe { dogs.say(text($0)) }, realm.objects(Person.self).observe { people.say(text($0)) },
      realm.objects(Person.self).observe(keyPaths: ["age"]) { ages.say(text($0)) },
    ]
    let configuration = configuration
    func elsewhere(_ body: @escaping (Realm, Person) throws -> Void) throws {
      try onAnotherThread {
        let realm = try Realm(configuration: configuration)
        try realm.write { try realm.object(ofType: Person.self, forPrimaryKey: "Ada").map { try body(realm, $0) } }
      }
      realm.refresh()
    }
    try elsewhere { realm, _ in realm.create(Person.self, value: ["name": "Eve"]) }
    #expect(dogs.next() == "initial 4" && people.next() == "initial 2" && ages.next() == "initial 2")
    try elsewhere { _, ada in ada.dogs[2].age = 77 }
    #expect(dogs.next() == "4: -[] +[] ~[2]" && people.next() == "2: -[] +[] ~[0]" && ages.all.isEmpty)
    try elsewhere { _, ada in
      ada.dogs.move(from: 0, to: 3)
      ada.age = 1
    }
    #expect(dogs.next() == "4: -[0] +[3] ~[]" && people.next() == "2: -[] +[] ~[0]")
    #expect(ages.next() == "2: -[] +[] ~[0]")
    try elsewhere { realm, ada in realm.delete(ada) }
    #expect(people.next() == "1: -[0] +[] ~[]" && dogs.next() == "gone: -[0, 1, 2, 3] +[] ~[]")
    _ = tokens
  }

  @Test("an object reports changed properties with former values, and its deletion")
  func objects() throws {
    let realm = try Realm(configuration: configuration), told = Told()
    try fill(realm)
    let dog = try #require(realm.objects(Dog.self).first), id = dog._id, configuration = configuration
    let token = dog.observe { change in
      switch change {
      case .change(let dog, let properties):
        let texts = properties.map { "\($0.name) \($0.oldValue ?? "nil") \($0.newValue ?? "nil")" }
        told.say("\(dog.name): \(texts.joined(separator: ", "))")
      case .deleted: told.say("deleted")
      case .error(let error): told.say("\(error)")
      }
    }
    func elsewhere(_ body: @escaping (Realm, Dog) -> Void) throws {
      try onAnotherThread {
        let realm = try Realm(configuration: configuration)
        try realm.write { realm.object(ofType: Dog.self, forPrimaryKey: id).map { body(realm, $0) } }
      }
      realm.refresh()
    }
    try elsewhere { _, dog in
      dog.name = "new"
      dog.weight = 2
    }
    #expect(told.next() == "new: name a new, weight nil 2.0")
    try elsewhere { realm, dog in realm.delete(dog) }
    #expect(told.next() == "deleted")
    _ = token
  }

  @Test("on a queue, notifications arrive automatically, for commits of other realms and processes")
  func queue() throws {
    let queue = DispatchQueue(label: "observer"), told = Told(), configuration = configuration
    nonisolated(unsafe) var tokens: [NotificationToken] = []
    try queue.sync {
      let realm = try Realm(configuration: configuration, queue: queue)
      tokens.append(realm.objects(Dog.self).observe { told.say(text($0)) })
      tokens.append(
        realm.observe { notification, realm in told.say("\(notification) \(realm.objects(Dog.self).count)") }
      )
    }
    #expect(told.next() == "initial 0")
    try onAnotherThread { try fill(Realm(configuration: configuration)) }
    #expect(Set([told.next(), told.next()]) == ["4: -[] +[0, 1, 2, 3] ~[]", "didChange 4"])
    queue.sync { tokens = [] }
  }

  @Test("notifications arrive while a thread's run loop runs")
  func runLoop() throws {
    let told = Told(), ready = DispatchSemaphore(value: 0), configuration = configuration
    let isOver = Mutex(false)
    Thread.detachNewThread {
      do {
        let realm = try Realm(configuration: configuration)
        let token = realm.objects(Dog.self).observe { told.say(text($0)) }
        ready.signal()
        while !isOver.withLock({ $0 }) { _ = RunLoop.current.run(mode: .default, before: Date() + 1) }
        token.invalidate()
      } catch { told.say("\(error)") }
      ready.signal()
    }
    ready.wait()
    #expect(told.next() == "initial 0")
    try onAnotherThread { try fill(Realm(configuration: configuration)) }
    #expect(told.next() == "4: -[] +[0, 1, 2, 3] ~[]")
    isOver.withLock { $0 = true }
    ready.wait()
  }

  @Test("without autorefresh, a realm reports that a newer version exists")
  func autorefresh() throws {
    let queue = DispatchQueue(label: "observer"), told = Told(), configuration = configuration
    nonisolated(unsafe) var kept: [Any] = []
    try queue.sync {
      let realm = try Realm(configuration: configuration, queue: queue)
      realm.autorefresh = false
      kept = [realm, realm.observe { notification, _ in told.say("\(notification)") }]
    }
    try onAnotherThread { try fill(Realm(configuration: configuration)) }
    #expect(told.next() == "refreshRequired")
    queue.sync { kept.removeAll() }
  }

  @Test("a write can skip observers, which are notified of the next one")
  func withoutNotifying() throws {
    let realm = try Realm(configuration: configuration), told = Told(), other = Told()
    try fill(realm)
    let token = realm.objects(Dog.self).observe { told.say(text($0)) }
    let heard = realm.objects(Dog.self).observe { other.say(text($0)) }
    try realm.write(withoutNotifying: [token]) { realm.objects(Dog.self)[0].age = 9 }
    try realm.write(withoutNotifying: [token]) { realm.objects(Dog.self)[1].age = 9 }
    let configuration = configuration
    try onAnotherThread {
      let realm = try Realm(configuration: configuration)
      try realm.write { realm.objects(Dog.self)[2].age = 9 }
    }
    realm.refresh()
    #expect(told.next() == "initial 4" && told.next() == "4: -[] +[] ~[2]")
    #expect(other.next() == "initial 4" && other.next() == "4: -[] +[] ~[0]")
    heard.invalidate()
  }

  @Test("an observer on a queue gets the collection and the object of the queue's realm")
  func onQueue() throws {
    let realm = try Realm(configuration: configuration), queue = DispatchQueue(label: "observer"), told = Told()
    try fill(realm)
    let dog = realm.objects(Dog.self)[1]
    let tokens = [
      realm.objects(Dog.self).where { $0.age > 0 }.observe(on: queue) { told.say(text($0)) },
      dog.observe(on: queue) { change in
        if case .change(let dog, let properties) = change { told.say("\(dog.name) \(properties.map(\.name))") }
      },
      dog.observe(on: queue) { (change: ObjectChange<ObjectBase>) in
        if case .change(let object, _) = change { told.say("\(object["name"] ?? "")") }
      },
    ]
    #expect(told.next() == "initial 3")
    queue.sync {}
    try realm.write { dog.age = 70 }
    #expect(Set([told.next(), told.next(), told.next()]) == ["3: -[] +[] ~[0]", "b [\"age\"]", "b"])
    for token in tokens { token.invalidate() }
    queue.sync {}
    try realm.write { dog.age = 80 }
    queue.sync {}
    #expect(told.all.isEmpty)
  }

  @Test("observers can be invalidated on any thread, and are never called afterwards")
  func endedElsewhere() throws {
    let realm = try Realm(configuration: configuration), queue = DispatchQueue(label: "observer"), told = Told()
    try fill(realm)
    queue.sync {
      let token = realm.objects(Dog.self).observe(on: queue) { told.say(text($0)) }
      token.invalidate()
    }
    queue.sync {}
    #expect(told.all.isEmpty)

    nonisolated(unsafe) let dogs = try queue.sync {
      try Realm(configuration: configuration, queue: queue).objects(Dog.self)
    }
    for _ in 0..<1000 {
      nonisolated(unsafe) let tokens = queue.sync { (0..<4).map { _ in dogs.observe { _ in } } }
      queue.async {
        let others = (0..<4).map { _ in dogs.observe { _ in } }
        dogs.realm?.refresh()
        withExtendedLifetime(others) {}
      }
      for token in tokens { token.invalidate() }
    }
    let token = queue.sync { dogs.observe { told.say(text($0)) } }
    #expect(told.next() == "initial 4")
    token.invalidate()
  }
}
