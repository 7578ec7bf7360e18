// Objects that are created together with their values.

import RealmPages
import TestSupport
import Testing

@Suite("Creating objects with values")
struct ObjectCreationTests {
  /// A realm in memory with a class of each kind of property.
  private struct People {
    let writer: RealmWriter
    let person: TableKey
    let id: ColKey, name: ColKey, score: ColKey, friend: ColKey, tags: ColKey, any: ColKey

    init() throws {
      writer = try RealmWriter(memory: MemoryStorage(name: "people"))
      let transaction = try writer.begin()
      person = try transaction.addTable("class_Person")
      id = try transaction.addColumn(person, ColumnSpec("_id", .int))
      try transaction.setPrimaryKey(person, id)
      name = try transaction.addColumn(person, ColumnSpec("name", .string))
      try transaction.addIndex(person, name)
      score = try transaction.addColumn(person, ColumnSpec("score", .double, isNullable: true))
      friend = try transaction.addColumn(person, ColumnSpec("friend", .link, target: person))
      tags = try transaction.addColumn(person, ColumnSpec("tags", .string, collection: .list))
      any = try transaction.addColumn(person, ColumnSpec("any", .mixed))
      _ = try transaction.commit()
    }

    func verify() throws {
      var problems: [String] = []
      _ = try Verifier(writer.realm.latest()).run { problems.append("\($0)") }
      #expect(problems.isEmpty)
    }
  }

  @Test("an object has the values it was created with, and defaults otherwise")
  func values() throws {
    let people = try People()
    let transaction = try people.writer.begin()
    let ann = try transaction.create(people.person, primaryKey: .int(1), values: [(people.name, .text("Ann"))])
    let bob = try transaction.create(
      people.person,
      primaryKey: .int(2),
      values: [
        (people.any, .list([.int(1), .dictionary([.init(key: Array("k".utf8), value: .text("v"))])])),
        (people.tags, .list([.text("a"), .text("b")])), (people.friend, .link(people.person, ann)),
        (people.score, .double(1.5)),
      ]
    )
    #expect(try transaction.value(people.person, ann, people.name) == .text("Ann"))
    #expect(try transaction.value(people.person, ann, people.score) == .null)
    #expect(try transaction.value(people.person, bob, people.name) == .text(""))
    #expect(try transaction.value(people.person, bob, people.score) == .double(1.5))
    #expect(try transaction.value(people.person, bob, people.friend) == .link(people.person, ann))
    #expect(try transaction.value(people.person, bob, people.tags) == .list([.text("a"), .text("b")]))
    #expect(try transaction.objectKey(people.person, primaryKey: .int(2)) == bob)
    _ = try transaction.commit()
    try people.verify()
  }

  @Test("a refused object leaves no trace, and its primary key can be reused")
  func refused() throws {
    let people = try People()
    let transaction = try people.writer.begin()
    _ = try transaction.create(people.person, primaryKey: .int(1))
    #expect(throws: EngineError.self) { try transaction.create(people.person, primaryKey: .int(1)) }
    #expect(throws: EngineError.self) {
      try transaction.create(people.person, primaryKey: .int(2), values: [(people.name, .int(3))])
    }
    #expect(throws: EngineError.self) {
      try transaction.create(
        people.person,
        primaryKey: .int(2),
        values: [(people.friend, .link(people.person, ObjKey(99)))]
      )
    }
    #expect(throws: EngineError.self) {
      try transaction.create(people.person, primaryKey: .int(2), values: [(people.id, .int(2))])
    }
    let second = try transaction.create(people.person, primaryKey: .int(2))
    #expect(second == ObjKey(1))
    #expect(try transaction.table(people.person).objectCount == 2)
    _ = try transaction.commit()
    try people.verify()
  }

  @Test("many objects, created in any order and partly deleted, are found by their keys")
  func many() throws {
    let people = try People()
    let transaction = try people.writer.begin()
    let count = 3000
    for i in 0..<count {
      let id = Int64(i * 1009 % count)
      _ = try transaction.create(people.person, primaryKey: .int(id), values: [(people.name, .text("n\(id % 7)"))])
      if i % 5 == 4,
        let victim = try transaction.objectKey(people.person, primaryKey: .int(Int64((i - 2) * 1009 % count)))
      {
        try transaction.delete(people.person, victim)
      }
    }
    _ = try transaction.commit()
    try people.verify()
    let table = try #require(try people.writer.realm.latest().table(people.person))
    #expect(table.objectCount == count - count / 5)
    for i in 0..<count {
      let isDeleted = i % 5 == 2
      #expect(try (table.objectKey(primaryKey: .int(Int64(i * 1009 % count))) == nil) == isDeleted)
    }
  }
}
