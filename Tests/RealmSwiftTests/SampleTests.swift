// Samples of the SDK's documentation, completed where their text is cut, as programs on Linux have them.

import Foundation
import RealmSwift
import Testing

class Todo: Object {
  @Persisted(primaryKey: true) var _id: ObjectId
  @Persisted var name = ""
  @Persisted var owner = ""
  @Persisted var status = ""
}

struct TodoStruct {
  var id: ObjectId
  var name, owner, status: String
}

actor RealmActor {
  // Set in init, which passes self on.
  // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
  var realm: Realm!

  init(_ configuration: Realm.Configuration) async throws {
    realm = try await Realm(configuration: configuration, actor: self)
  }

  var count: Int { realm.objects(Todo.self).count }

  func createTodo(name: String, owner: String, status: String) async throws {
    try await realm.asyncWrite {
      realm.create(
        Todo.self,
        value: ["_id": ObjectId.generate(), "name": name, "owner": owner, "status": status]
      )
    }
  }

  func getTodoOwner(forTodoNamed name: String) -> String {
    let todo = realm.objects(Todo.self).where { $0.name == name }.first
    return todo?.owner ?? ""
  }

  func getTodoAsStruct(forTodoNamed name: String) -> TodoStruct? {
    realm.objects(Todo.self).where { $0.name == name }.first.map {
      TodoStruct(id: $0._id, name: $0.name, owner: $0.owner, status: $0.status)
    }
  }

  func updateTodo(_id: ObjectId, name: String, owner: String, status: String) async throws {
    try await realm.asyncWrite {
      realm.create(
        Todo.self,
        value: ["_id": _id, "name": name, "owner": owner, "status": status],
        update: .modified
      )
    }
  }

  func deleteTodo(id: ObjectId) async throws {
    try await realm.asyncWrite {
      if let todoToDelete = realm.object(ofType: Todo.self, forPrimaryKey: id) { realm.delete(todoToDelete) }
    }
  }

  func failingWrite() async throws {
    struct Stop: Error {}
    try await realm.asyncWrite {
      realm.deleteAll()
      throw Stop()
    }
  }

  func close() { realm = nil }
}

@globalActor actor BackgroundActor: GlobalActor {
  static let shared = BackgroundActor()
}

@BackgroundActor
private func backgroundThreadFunction(_ configuration: Realm.Configuration) async throws -> Int {
  let realm = try await Realm(configuration: configuration, actor: BackgroundActor.shared)
  try await realm.asyncWrite {
    _ = realm.create(
      Todo.self,
      value: ["name": "Pledge fealty and service to Gondor", "owner": "Pippin", "status": "In Progress"]
    )
  }
  return realm.objects(Todo.self).count
}

@MainActor
private func mainThreadFunction(_ configuration: Realm.Configuration) async throws -> Int {
  let realm1 = try await Realm(configuration: configuration)
  let realm2 = try await Realm(configuration: configuration, actor: MainActor.shared)
  #expect(realm1 == realm2)
  let before = realm1.objects(Todo.self).count
  _ = try await backgroundThreadFunction(configuration)
  realm1.refresh()
  return realm1.objects(Todo.self).count - before
}

@Suite(.serialized) struct SampleTests {
  private let folder: RealmFolder

  init() throws { folder = try RealmFolder() }

  @Test("an actor creates, reads, changes and deletes to-dos in its realm")
  func actor() async throws {
    let actor = try await RealmActor(folder.configuration(Todo.self))
    try await actor.createTodo(name: "Keep it safe", owner: "Frodo", status: "In Progress")
    #expect(await actor.count == 1)
    #expect(await actor.getTodoOwner(forTodoNamed: "Keep it safe") == "Frodo")
    let todo = try #require(await actor.getTodoAsStruct(forTodoNamed: "Keep it safe"))
    try await actor.updateTodo(_id: todo.id, name: "Keep it safe", owner: "Sam", status: "Done")
    #expect(await actor.getTodoOwner(forTodoNamed: "Keep it safe") == "Sam")
    await #expect(throws: (any Error).self) { try await actor.failingWrite() }
    #expect(await actor.count == 1)
    try await actor.deleteTodo(id: todo.id)
    #expect(await actor.count == 0)
    await actor.close()
    #expect(try folder.problems() == [])
  }

  @Test("the main actor and a global actor have realms of the same file")
  func globalActors() async throws {
    #expect(try await mainThreadFunction(folder.configuration(Todo.self)) == 1)
  }

  @Test("the default realm, a configuration of its own for a user, and the default configuration")
  func configurations() throws {
    let original = Realm.Configuration.defaultConfiguration
    defer { Realm.Configuration.defaultConfiguration = original }
    let customConfig: Realm.Configuration = .init(
      fileURL: folder.url("custom"),
      schemaVersion: 1,
      migrationBlock: { migration, oldSchemaVersion in
        if oldSchemaVersion < 1 { migration.enumerateObjects(ofType: "Todo") { _, _ in } }
      }
    )
    Realm.Configuration.defaultConfiguration = customConfig
    let defaultRealm = try Realm()
    #expect(defaultRealm.configuration.fileURL == folder.url("custom"))
    let username = "GordonCole"
    var config = Realm.Configuration.defaultConfiguration
    config.fileURL?.deleteLastPathComponent()
    config.fileURL?.appendPathComponent(username)
    config.fileURL?.appendPathExtension("realm")
    config.objectTypes = [Todo.self]
    let realm = try Realm(configuration: config)
    #expect(realm.configuration.fileURL?.lastPathComponent == "GordonCole.realm")
    #expect(FileManager.default.fileExists(atPath: folder.url(username).path))
    #expect(realm.schema.objectSchema.map(\.className) == ["Todo"])
    let folderPath = realm.configuration.fileURL?.deletingLastPathComponent().path
    #expect(folderPath == folder.url().deletingLastPathComponent().path)
  }

  @Test("a realm in memory is deleted with its last instance")
  func inMemory() throws {
    let identifier = "MyRealm \(UUID())"
    let config = Realm.Configuration(inMemoryIdentifier: identifier, objectTypes: [Todo.self])
    try onAnotherThread {
      let realm = try Realm(configuration: config)
      try realm.write { realm.add(Todo()) }
      #expect(realm.objects(Todo.self).count == 1)
    }
    #expect(try Realm(configuration: config).isEmpty)
  }

  @Test("an error on opening names the file and the reason")
  func errors() {
    let config = Realm.Configuration(fileURL: URL(fileURLWithPath: "/dev/null/x.realm"), objectTypes: [Todo.self])
    do {
      _ = try Realm(configuration: config)
      Issue.record("opened")
    } catch {
      #expect("\(error)".contains("/dev/null/x.realm") && error is Realm.Error)
    }
  }
}
