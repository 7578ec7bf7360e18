// Properties that become optional or required.

import RealmPages
import TestSupport
import Testing

@Suite("Optional and required properties")
struct NullabilityTests {
  private let writer: RealmWriter
  private let table: TableKey

  init() throws {
    writer = try RealmWriter(memory: MemoryStorage(name: "nullability"))
    let transaction = try writer.begin()
    table = try transaction.addTable("class_Note")
    _ = try transaction.commit()
  }

  private func commitAndVerify(_ transaction: consuming WriteTransaction) throws -> Table {
    _ = try transaction.commit()
    let snapshot = try writer.realm.latest()
    #expect(Verifier(snapshot).problems().isEmpty)
    return try #require(try snapshot.table(table))
  }

  @Test("null becomes the default of every type; other values, name, position and index are kept")
  func everyType() throws {
    let examples: [(ValueType, Value, Value)] = [
      (.int, .int(7), .int(0)), (.bool, .bool(true), .bool(false)), (.float, .float(1.5), .float(0)),
      (.double, .double(-2), .double(0)), (.string, .text("word"), .text("")), (.data, .data([1, 2]), .data([])),
      (.date, .date(Timestamp(seconds: 5, nanoseconds: 6)), .date(Timestamp(seconds: 0, nanoseconds: 0))),
      (.objectID, .objectID(ObjectID(high: 1, low: 2)), .objectID(ObjectID(high: 0, low: 0))),
      (.uuid, .uuid(UniqueID(high: 1, low: 2)), .uuid(UniqueID(high: 0, low: 0))),
    ]
    let first = try writer.begin()
    var keys: [ColKey] = []
    for (i, (type, _, _)) in examples.enumerated() {
      keys.append(try first.addColumn(table, ColumnSpec("p\(i)", type, isNullable: true)))
    }
    try first.addIndex(table, keys[0])
    try first.addIndex(table, keys[4], .fullText)
    let full = try first.create(table, values: Array(zip(keys, examples.map(\.1))))
    let empty = try first.create(table)
    _ = try first.commit()
    let second = try writer.begin()
    for i in keys.indices { keys[i] = try second.setNullable(table, keys[i], false) }
    let required = try commitAndVerify(second)
    #expect(required.columns.map(\.key) == keys)
    #expect(required.columns.map(\.name) == examples.indices.map { "p\($0)" })
    #expect(required.columns.allSatisfy { !$0.isNullable })
    #expect(required.columns[0].index == .general && required.columns[4].index == .fullText)
    let third = try writer.begin()
    for i in keys.indices {
      #expect(try third.value(table, full, keys[i]) == examples[i].1)
      #expect(try third.value(table, empty, keys[i]) == examples[i].2)
      keys[i] = try third.setNullable(table, keys[i], true)
      #expect(try third.value(table, full, keys[i]) == examples[i].1)
      try third.set(table, full, keys[i], .null)
    }
    #expect(try commitAndVerify(third).columns.allSatisfy(\.isNullable))
  }

  @Test("nulls in collections become defaults, in a set at most one")
  func collections() throws {
    let first = try writer.begin()
    var keys: [ColKey] = []
    for kind in [CollectionKind.list, .set, .dictionary] {
      keys.append(try first.addColumn(table, ColumnSpec("a \(kind)", .int, collection: kind, isNullable: true)))
    }
    let entries = [Value.Entry(key: [97], value: .null), Value.Entry(key: [98], value: .int(3))]
    let list = Value.list([.null, .int(1), .null])
    let note = try first.create(
      table,
      values: [(keys[0], list), (keys[1], .list([.null, .int(0), .int(4)])), (keys[2], .dictionary(entries))]
    )
    _ = try first.create(table)
    for i in keys.indices { keys[i] = try first.setNullable(table, keys[i], false) }
    #expect(try first.value(table, note, keys[0]) == .list([.int(0), .int(1), .int(0)]))
    #expect(try first.value(table, note, keys[1]) == .list([.int(0), .int(4)]))
    let filled = [Value.Entry(key: [97], value: .int(0)), entries[1]]
    #expect(try first.value(table, note, keys[2]) == .dictionary(filled))
    _ = try commitAndVerify(first)
  }

  @Test("an equal value of the set replaces the default, whatever its representation")
  func equalValues() throws {
    let zero = Value.decimal128(Decimal128(low: 0, high: 0x303e << 48))  // 0.0, the default is 0
    let first = try writer.begin()
    let set = try first.addColumn(table, ColumnSpec("set", .decimal128, collection: .set, isNullable: true))
    let note = try first.create(table, values: [(set, .list([.null, zero]))])
    let required = try first.setNullable(table, set, false)
    #expect(try first.value(table, note, required) == .list([zero]))
    _ = try commitAndVerify(first)
  }

  @Test("a primary key is kept, unless null would become the key of another object")
  func primaryKey() throws {
    let first = try writer.begin()
    var id = try first.addColumn(table, ColumnSpec("id", .string, isNullable: true))
    try first.setPrimaryKey(table, id)
    let none = try first.create(table, primaryKey: .null), empty = try first.create(table, primaryKey: .text(""))
    let error = #expect(throws: EngineError.self) { _ = try first.setNullable(table, id, false) }
    #expect(error?.reason == .duplicateKey)
    try first.delete(table, empty)
    id = try first.setNullable(table, id, false)
    #expect(try first.objectKey(table, primaryKey: .text("")) == none)
    #expect(throws: EngineError.self) { try first.create(table, primaryKey: .null) }
    #expect(try commitAndVerify(first).primaryKey?.key == id)
  }

  @Test("the optionality of links and Mixed values cannot be changed")
  func noChoice() throws {
    let first = try writer.begin()
    let link = try first.addColumn(table, ColumnSpec("link", .link, target: table))
    let links = try first.addColumn(table, ColumnSpec("links", .link, collection: .list, target: table))
    let mixed = try first.addColumn(table, ColumnSpec("mixed", .mixed))
    for (key, isNullable) in [(link, false), (links, true), (mixed, false)] {
      let error = #expect(throws: EngineError.self) { _ = try first.setNullable(table, key, isNullable) }
      #expect(error?.reason == .badSchema)
    }
    _ = try commitAndVerify(first)
  }
}
