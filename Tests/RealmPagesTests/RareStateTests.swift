// States of real files that are easily mistaken for damage, and the effect of transactions on them: the context flags
// of link trees, equal keys of nested collections, sets of numbers with NaN. Source: docs/format/1-storage.md S15, S16,
// docs/format/2-model.md M9.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Rare states of the engine's files")
struct RareStateTests {
  /// The fixture in memory, to be written to.
  private static func writer() throws -> RealmWriter {
    let bytes = try Fixture.named("rare-states").bytes()
    let memory = try MemoryStorage(name: "rare-states")
    try memory.grow(to: (bytes.count + 4095) & ~4095)
    try memory.write(bytes, at: 0)
    return try RealmWriter(memory: memory)
  }

  /// The keys of the objects of a class.
  private static func objects(_ table: Table?) throws -> [ObjKey] {
    var keys: [ObjKey] = []
    let cursor = ObjectCursor(try #require(table))
    while try cursor.next() { keys.append(cursor.key) }
    return keys
  }

  // MARK: Links

  /// The roots of the link lists of the class LinkFlags, and the positions of their unresolved links.
  private static func lists(_ snapshot: Snapshot) throws -> [(object: ObjKey, root: Node, count: Int, ghosts: [Int])] {
    let table = try #require(try snapshot.table(named: "class_LinkFlags"))
    let (cluster, _) = try #require(try table.objects.first(notBelow: 0))
    let roots = try snapshot.arena.node(cluster.leafRef(table.columns[1].key.leafPosition))
    return try objects(table).enumerated().map { row, object in
      let root = try snapshot.arena.node(roots.child(row))
      let reader = try ElementReader(snapshot.arena, root.ref, table.columns[1].element)
      let ghosts = try (0..<reader.count).filter {
        guard case .link(_, let key) = try reader.value(at: $0) else { return false }
        return key.isUnresolved
      }
      return (object, root, reader.count, ghosts)
    }
  }

  @Test("the root of a link list has the flag for unresolved links, however the tree grows and shrinks")
  func linkFlags() throws {
    let writer = try Self.writer()
    let table = try #require(try writer.realm.latest().table(named: "class_LinkFlags"))
    let target = try #require(try writer.realm.latest().table(named: "class_Target")).key
    let links = table.columns[1].key
    let real = try #require(try Self.objects(writer.realm.latest().table(named: "class_Target")).first)
    func check(inner: Bool, _ place: Comment) throws {
      let snapshot = try writer.realm.latest()
      for list in try Self.lists(snapshot) {
        #expect(list.root.isInner == inner, place)
        #expect(list.root.hasContext == !list.ghosts.isEmpty, place)
      }
      #expect(Verifier(snapshot).problems() == [], place)
    }
    #expect(try Self.lists(writer.realm.latest()).map(\.ghosts) == [[0], [], [1000], [0], []])

    let shrinking = try writer.begin()
    for list in try Self.lists(writer.realm.latest()) {
      // From the end, except for the elements that stay.
      for count in stride(from: list.count, to: 1, by: -1) {
        try shrinking.remove(table.key, list.object, links, at: list.ghosts == [1000] ? 0 : count - 1)
      }
    }
    _ = try shrinking.commit()
    try check(inner: false, "shrunk to a leaf")

    let growing = try writer.begin()
    for list in try Self.lists(writer.realm.latest()) {
      for _ in 0..<1000 { try growing.insert(table.key, list.object, links, at: list.count, .link(target, real)) }
    }
    _ = try growing.commit()
    try check(inner: true, "grown to a tree")
  }

  // MARK: Keys of nested collections

  @Test("collections nested in two objects under the same key stay separate")
  func equalKeys() throws {
    let writer = try Self.writer()
    let table = try #require(try writer.realm.latest().table(named: "class_NestedKeys"))
    let body = table.columns[1].key, objects = try Self.objects(table)
    let (cluster, _) = try #require(try table.objects.first(notBelow: 0))
    let arena = try writer.realm.latest().arena
    let keys = try arena.node(arena.node(cluster.leafRef(body.leafPosition)).child(5))
    #expect(try keys.int(0) == keys.int(1) && keys.int(0) != 0)

    let transaction = try writer.begin()
    for i in 0..<20 {
      try transaction.insert(table.key, objects[0], body, at: 1, .list([.int(Int64(i))]))
      try transaction.set(table.key, objects[1], body, entry: Array("\(i)".utf8), .list([.int(Int64(-i))]))
    }
    let first = try transaction.value(table.key, objects[0], body)
    let second = try transaction.value(table.key, objects[1], body)
    _ = try transaction.commit()
    #expect(first == .list([.text("first")] + (0..<20).reversed().map { .list([.int($0)]) }))
    guard case .dictionary(let entries) = second else { throw EngineError.damaged("no dictionary") }
    #expect(entries.count == 22)
    #expect(entries.contains { $0 == Value.Entry(key: Array("more".utf8), value: .list([.int(2)])) })
    #expect(entries.contains { $0 == Value.Entry(key: Array("19".utf8), value: .list([.int(-19)])) })
    #expect(try Verifier(writer.realm.latest(), isStrict: true).problems() == [])
  }

  // MARK: Numbers

  /// A value with every bit of a number.
  private static func exact(_ value: ValueView) -> String {
    switch value {
    case .float(let number): "float \(String(number.bitPattern, radix: 16))"
    case .double(let number): "double \(String(number.bitPattern, radix: 16))"
    case .decimal128(let number): "decimal \(String(number.high, radix: 16)) \(String(number.low, radix: 16))"
    case .int(let number): "int \(number)"
    case .null: "null"
    default: "another type"
    }
  }

  private static func values(_ view: ValueView) throws -> [ValueView] {
    switch view {
    case .list(var elements), .set(var elements): try (0..<elements.count).map { try elements.value(at: $0) }
    default: throw EngineError.damaged("neither a list nor a set")
    }
  }

  @Test("sets of Mixed keep the same numbers and NaNs as the engine, in its order")
  func numberSets() throws {
    let writer = try Self.writer()
    let table = try #require(try writer.realm.latest().table(named: "class_NumberSets"))
    let held = table.columns[2].key
    var expected: [[String]] = []
    let transaction = try writer.begin()
    let cursor = ObjectCursor(table)
    while try cursor.next() {
      expected.append(try Self.values(cursor.value(2)).map(Self.exact))
      try transaction.clear(table.key, cursor.key, held)
      for value in try Self.values(cursor.value(1)) {
        _ = try transaction.add(table.key, cursor.key, held, Value(copying: value))
      }
    }
    _ = try transaction.commit()
    #expect(expected.count == 40)
    #expect(expected.first == ["float 7fc00000"])

    let after = try #require(try writer.realm.latest().table(named: "class_NumberSets"))
    let made = ObjectCursor(after)
    for (index, elements) in expected.enumerated() {
      #expect(try made.next())
      #expect(try Self.values(made.value(2)).map(Self.exact) == elements, "object \(index)")
    }
    #expect(try Verifier(writer.realm.latest()).problems() == [])
  }

  @Test("each NaN can be removed from a set of Mixed, whatever others it contains")
  func discardedNaNs() throws {
    let writer = try Self.writer()
    let table = try #require(try writer.realm.latest().table(named: "class_NumberSets"))
    let held = table.columns[2].key, cursor = ObjectCursor(table)
    let transaction = try writer.begin()
    while try cursor.next() {
      for value in try Self.values(cursor.value(2)).map({ view in try Value(copying: view) }) {
        #expect(try transaction.discard(table.key, cursor.key, held, value), "object \(cursor.key): \(value)")
      }
      #expect(try transaction.count(table.key, cursor.key, held) == 0)
    }
  }
}
