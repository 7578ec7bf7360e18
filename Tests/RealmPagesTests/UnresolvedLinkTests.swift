// Links to objects that do not exist (yet), from every place that can have one: they hold the unresolved object, which
// is removed with the last link, or replaced by the real object. Source: docs/format/2-model.md M5, M7.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Links to objects that do not exist")
struct UnresolvedLinkTests {
  /// The fixture in memory, to be written to. Its objects Origin 0 and 2 have such links everywhere, 1 and 3 in nested
  /// collections, 4 five times in one list and to a class without primary key, 5 in a Mixed; Target "live" has one too.
  private struct Realm {
    let writer: RealmWriter
    let origin: TableKey
    let columns: [Column]
    let target: TableKey
    private let objects: [ObjKey]

    init() throws {
      let bytes = try Fixture.named("unresolved-links").bytes(), memory = try MemoryStorage(name: "unresolved-links")
      try memory.grow(to: (bytes.count + 4095) & ~4095)
      try memory.write(bytes, at: 0)
      writer = try RealmWriter(memory: memory)
      let table = try #require(try writer.realm.latest().table(named: "class_Origin"))
      (origin, columns) = (table.key, table.columns)
      objects = try (0..<6).map { id in try #require(try table.objectKey(primaryKey: .int(id))) }
      target = try #require(try writer.realm.latest().table(named: "class_Target")).key
    }

    func column(_ name: String) throws -> ColKey { try #require(columns.first { $0.name == name }).key }

    func object(_ id: Int) -> ObjKey { objects[id] }

    /// The primary keys of the unresolved objects of Target.
    func unresolved() throws -> Set<String> {
      let table = try #require(try writer.realm.latest().table(named: "class_Target"))
      var found: Set<String> = [], next: UInt64 = 0
      while let (cluster, row) = try table.tombstones?.first(notBelow: next) {
        let key = try cluster.key(row), cursor = ObjectCursor(table)
        #expect(try cursor.seek(ObjKey(Int64(bitPattern: key))))
        if case .string(let text) = try cursor.value(0) { found.insert(String(decoding: text.bytes, as: UTF8.self)) }
        next = key &+ 1
        if next == 0 { break }
      }
      return found
    }

    /// Commits a change; the file is sound after it.
    func change(_ comment: Comment, _ body: (borrowing WriteTransaction) throws -> Void) throws {
      let transaction = try writer.begin()
      try body(transaction)
      _ = try transaction.commit()
      #expect(Verifier(try writer.realm.latest()).problems() == [], comment)
    }
  }

  private static let places = ["one", "many", "some", "named", "any", "anys", "anyset", "anydict"]
  private static let all = Set(places + ["all", "nested", "part", "twice", "peer"])

  /// Removes all links of one property of Origin 2, in a different way for each kind.
  private static func empty(
    _ place: String,
    _ object: ObjKey,
    _ realm: Realm,
    _ transaction: borrowing WriteTransaction
  ) throws {
    let table = realm.origin, column = try realm.column(place)
    switch place {
    case "one", "any": try transaction.set(table, object, column, .null)
    case "many", "anys": try transaction.remove(table, object, column, at: 1)
    case "named": _ = try transaction.remove(table, object, column, entry: Array("b".utf8))
    case "anydict": try transaction.set(table, object, column, entry: Array("b".utf8), .int(1))
    default: try transaction.clear(table, object, column)
    }
  }

  @Test("an unresolved object is deleted with the last link to it, whatever held that link", arguments: places)
  func lastLink(place: String) throws {
    let realm = try Realm()
    #expect(try realm.unresolved() == Self.all)
    try realm.change("\(place)") { transaction in
      try Self.empty(place, realm.object(2), realm, transaction)
    }
    #expect(try realm.unresolved() == Self.all.subtracting([place]))
  }

  @Test("an unresolved object stays while anything links to it")
  func otherLinks() throws {
    let realm = try Realm(), table = realm.origin
    try realm.change("all but nested") { transaction in
      for place in Self.places { try Self.empty(place, realm.object(0), realm, transaction) }
      try transaction.set(table, realm.object(0), realm.column("part"), .null)
      try transaction.clear(table, realm.object(0), realm.column("parts"))
    }
    #expect(try realm.unresolved() == Self.all)
    try realm.change("nested") { transaction in
      try transaction.set(table, realm.object(1), realm.column("any"), path: [.key(Array("list".utf8))], at: 1, .null)
    }
    #expect(try realm.unresolved() == Self.all)
    try realm.change("the last") { transaction in
      try transaction.set(table, realm.object(1), realm.column("any"), .list([]))
    }
    #expect(try realm.unresolved() == Self.all.subtracting(["all"]))
    let twice = realm.object(4), many = try realm.column("many")
    for index in stride(from: 8, through: 0, by: -2) {
      #expect(try realm.unresolved().contains("twice"))
      try realm.change("element \(index)") { transaction in
        try transaction.set(table, twice, many, at: index, transaction.value(table, twice, many).elements[1])
      }
    }
    #expect(try !realm.unresolved().contains("twice"))
  }

  @Test("deleting an object also removes the unresolved objects that it or its embedded objects link to")
  func deletion() throws {
    let realm = try Realm()
    for (id, left) in [
      (2, ["all", "nested", "twice", "peer"]), (3, ["all", "twice", "peer"]), (4, ["all", "peer"]),
      (0, ["all", "peer"]), (1, ["peer"]), (5, ["peer"]),
    ] {
      try realm.change("Origin \(id)") { transaction in
        try transaction.delete(realm.origin, realm.object(id))
      }
      #expect(try realm.unresolved() == Set(left))
    }
    let target = try #require(try realm.writer.realm.latest().table(named: "class_Target"))
    try realm.change("Target live") { transaction in
      try transaction.delete(realm.target, try #require(try target.objectKey(primaryKey: .string(Array("live".utf8)))))
    }
    #expect(try realm.unresolved() == [])
  }

  @Test("removing properties and classes also removes their links to unresolved objects")
  func schema() throws {
    let realm = try Realm()
    for column in realm.columns.reversed() where column.name != "id" && column.name != "plain" {
      try realm.change("\(column.name)") { transaction in
        try transaction.removeColumn(realm.origin, column.key)
      }
    }
    #expect(try realm.unresolved() == ["peer"])

    let other = try Realm()
    try other.change("the class with the links") { transaction in try transaction.removeTable(other.origin) }
    #expect(try other.unresolved() == ["peer"])

    // A class to which only Mixed values link may be removed.
    let third = try Realm(), plain = try #require(try third.writer.realm.latest().table(named: "class_Plain")).key
    try third.change("the class with the unresolved object") { transaction in
      try transaction.removeColumn(third.origin, third.column("plain"))
      try transaction.removeTable(plain)
    }
    let cursor = ObjectCursor(try #require(try third.writer.realm.latest().table(named: "class_Origin")))
    #expect(try cursor.seek(third.object(5)))
    let any = try #require(cursor.table.columns.firstIndex { $0.name == "any" })
    #expect(try Value(copying: cursor.value(any)) == .null)
  }

  @Test("unresolved objects keep their primary key when it becomes optional")
  func optionalKey() throws {
    let realm = try Realm()
    let target = try #require(try realm.writer.realm.latest().table(named: "class_Target"))
    try realm.change("optional") { transaction in
      let column = try transaction.setNullable(realm.target, target.columns[0].key, true)
      #expect(try transaction.columns(of: realm.target).contains { $0.key == column && $0.isNullable })
    }
    #expect(try realm.unresolved() == Self.all)
  }

  @Test("links to a missing object lead to it once it is created")
  func creation() throws {
    let realm = try Realm(), table = realm.origin
    var made: [String: Value] = [:]
    for name in Self.all.sorted() {
      try realm.change("\(name)") { transaction in
        made[name] = .link(realm.target, try transaction.create(realm.target, primaryKey: .text(name)))
      }
    }
    #expect(try realm.unresolved() == [])
    let transaction = try realm.writer.begin()
    func value(_ id: Int, _ place: String) throws -> Value {
      try transaction.value(table, realm.object(id), realm.column(place))
    }
    for (id, name) in [(0, { _ in "all" }), (2, { $0 })] as [(Int, (String) -> String)] {
      for place in Self.places {
        let link = try #require(made[name(place)])
        switch try value(id, place) {
        case .list(let values): #expect(values.contains(link) && values.count <= 3, "\(place)")
        case .dictionary(let entries):
          #expect(entries.contains { $0 == Value.Entry(key: Array("b".utf8), value: link) }, "\(place)")
        case let value: #expect(value == link, "\(place)")
        }
      }
    }
    #expect(try value(2, "many").elements[1] == made["many"])
    #expect(try value(2, "anys").elements[1] == made["anys"])
    #expect(try value(4, "many").elements.filter { $0 == made["twice"] }.count == 5)
    guard case .dictionary(let entries) = try value(3, "any") else { throw EngineError.damaged("no dictionary") }
    #expect(entries.first { $0.key == Array("link".utf8) }?.value == made["nested"])
    #expect(entries.first { $0.key == Array("list".utf8) }?.value.elements[1] == made["nested"])
  }

  @Test("a list of links keeps its flag for unresolved links when it grows beyond one leaf")
  func growth() throws {
    let realm = try Realm(), twice = realm.object(4), many = try realm.column("many")
    try realm.change("growth") { transaction in
      let link = try #require(
        try transaction.value(realm.origin, twice, many).elements.first {
          if case .link(_, let key) = $0 { !key.isUnresolved } else { false }
        }
      )
      for _ in 0..<1100 { try transaction.insert(realm.origin, twice, many, at: 0, link) }
    }
    #expect(try realm.unresolved().contains("twice"))
  }

  @Test("unresolved objects work for extreme integer primary keys", arguments: [-1, -2, .max, .min] as [Int64])
  func extremeKeys(id: Int64) throws {
    let bytes = try Fixture.named("rare-states").bytes(), memory = try MemoryStorage(name: "rare-states")
    try memory.grow(to: (bytes.count + 4095) & ~4095)
    try memory.write(bytes, at: 0)
    let writer = try RealmWriter(memory: memory)
    let target = try #require(try writer.realm.latest().table(named: "class_Target")).key
    let expecting = try writer.begin()
    #expect(try expecting.expectedObject(target, primaryKey: .int(id)).isExpected)
    let made = try expecting.create(target, primaryKey: .int(id))
    _ = try expecting.commit()
    let snapshot = try writer.realm.latest(), table = try #require(try snapshot.table(target))
    #expect(try table.objectKey(primaryKey: .int(id)) == made)
    #expect(Verifier(snapshot).problems() == [])
  }
}

extension Value {
  /// The elements of a list.
  fileprivate var elements: [Value] { if case .list(let values) = self { values } else { [] } }
}
