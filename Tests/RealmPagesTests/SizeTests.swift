// The promised sizes of a realm: many objects, properties and elements, large values, deep nesting.
//
//     SIZES=full swift test --filter SizeTests    # millions instead of tens of thousands; minutes in a debug build

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Sizes")
struct SizeTests {
  private static let isFull = ProcessInfo.processInfo.environment["SIZES"] == "full"

  private let writer: RealmWriter
  private let table: TableKey

  init() throws {
    writer = try RealmWriter(memory: MemoryStorage(name: "sizes \(UInt64.random(in: 0...UInt64.max))"))
    let transaction = try writer.begin()
    table = try transaction.addTable("class_Item")
    _ = try transaction.commit()
  }

  /// The table of the newest version, which is sound.
  private func verified() throws -> Table {
    let snapshot = try writer.realm.latest()
    #expect(Verifier(snapshot, isStrict: true).problems(limit: 3) == [])
    return try #require(try snapshot.table(table))
  }

  @Test("many objects, in two and three levels of clusters", arguments: [140_000] + (isFull ? [1_000_000] : []))
  func objects(count: Int) throws {
    let first = try writer.begin()
    let id = try first.addColumn(table, ColumnSpec("_id", .int)), n = try first.addColumn(table, ColumnSpec("n", .int))
    try first.setPrimaryKey(table, id)
    for i in 0..<count { _ = try first.create(table, primaryKey: .int(Int64(i)), values: [(n, .int(Int64(i % 1000)))]) }
    let cursor = ObjectCursor(try first.table(table))
    var seen = 0
    while try cursor.next() { seen += 1 }
    #expect(seen == count)
    _ = try first.commit()
    let made = try verified()
    #expect(made.objectCount == count)
    for i in stride(from: 0, to: count, by: 997) {
      #expect(try made.objectKey(primaryKey: .int(Int64(i))) == ObjKey(Int64(i)))
    }
    let second = try writer.begin()
    for i in stride(from: 0, to: count, by: 50) { try second.delete(table, ObjKey(Int64(i))) }
    _ = try second.commit()
    #expect(try verified().objectCount == count - (count + 49) / 50)
  }

  @Test("a long list, changed at its ends and in the middle")
  func list() throws {
    let count = Self.isFull ? 1_000_000 : 20_000
    let first = try writer.begin()
    let numbers = try first.addColumn(table, ColumnSpec("numbers", .int, collection: .list))
    let object = try first.create(table)
    for i in 0..<count { try first.insert(table, object, numbers, at: i, .int(Int64(i))) }
    _ = try first.commit()
    let second = try writer.begin()
    try second.insert(table, object, numbers, at: 0, .int(-1))
    try second.insert(table, object, numbers, at: count / 2 + 1, .int(-2))
    try second.remove(table, object, numbers, at: count + 1)
    try second.move(table, object, numbers, from: 1, to: count)
    _ = try second.commit()
    let cursor = ObjectCursor(try verified())
    #expect(try cursor.next())
    guard case .list(var list) = try cursor.value(0) else { throw Missing() }
    #expect(list.count == count + 1)
    let last = Int64(count)
    for (index, value) in [(0, -1), (1, 1), (count / 2, -2), (count - 1, last - 2), (count, 0)] as [(Int, Int64)] {
      guard case .int(let found) = try list.value(at: index) else { throw Missing() }
      #expect(found == value, "element \(index)")
    }
  }

  @Test("many collections nested in one list or dictionary, each with a key of its own")
  func nestedCollections() throws {
    let first = try writer.begin()
    let list = try first.addColumn(table, ColumnSpec("list", .mixed, collection: .list, isNullable: true))
    let entries = try first.addColumn(
      table,
      ColumnSpec("entries", .mixed, collection: .dictionary, isNullable: true)
    )
    let object = try first.create(table)
    for i in 0..<2500 {
      try first.insert(table, object, list, at: i, .list([.int(Int64(i))]))
      try first.set(table, object, entries, entry: Array("key \(i)".utf8), .list([]))
    }
    _ = try first.commit()
    _ = try verified()
    let second = try writer.begin()
    for i in 0..<500 {
      try second.insert(table, object, list, at: 3 * i, .dictionary([]))
      try second.set(table, object, list, at: 3 * i + 1, .list([]))
      try second.move(table, object, list, from: i, to: 2000)
    }
    _ = try second.commit()
    _ = try verified()
  }

  @Test("300 properties")
  func properties() throws {
    let first = try writer.begin()
    let types: [ValueType] = [.int, .bool, .string, .data, .date, .double, .decimal128, .objectID, .uuid, .mixed]
    var keys: [ColKey] = []
    for i in 0..<300 { keys.append(try first.addColumn(table, ColumnSpec("p\(i)", types[i % 10], isNullable: true))) }
    for row in 0..<300 { _ = try first.create(table, values: [(keys[row / 10 * 10], .int(5))]) }
    _ = try first.commit()
    #expect(try verified().columns.count == 300)
    let second = try writer.begin()
    for key in keys.prefix(100) { try second.removeColumn(table, key) }
    _ = try second.commit()
    #expect(try verified().columns.map(\.key) == Array(keys.dropFirst(100)))
  }

  @Test("strings and binaries of the maximum length, and not more")
  func longValues() throws {
    let first = try writer.begin()
    let text = try first.addColumn(table, ColumnSpec("text", .string))
    let data = try first.addColumn(table, ColumnSpec("data", .data))
    let object = try first.create(table)
    let bytes = [UInt8](repeating: 97, count: 16_777_200)
    let tooLong = #expect(throws: EngineError.self) { try first.set(table, object, text, .string(bytes)) }
    #expect(tooLong?.reason == .overLimit)
    #expect(throws: EngineError.self) { try first.set(table, object, data, .data(bytes + [1])) }
    try first.set(table, object, text, .string(Array(bytes.dropLast())))
    try first.set(table, object, data, .data(bytes))
    _ = try first.commit()
    let cursor = ObjectCursor(try verified())
    #expect(try cursor.next())
    guard case .string(let stored) = try cursor.value(0), case .data(let other) = try cursor.value(1) else {
      throw Missing()
    }
    #expect(stored.bytes == Array(bytes.dropLast()) && other.bytes == bytes)
  }

  @Test("100 levels of nesting, and none more")
  func nesting() throws {
    let first = try writer.begin()
    let any = try first.addColumn(table, ColumnSpec("any", .mixed))
    let object = try first.create(table)
    var value = Value.int(1)
    for level in 1...100 {
      value = level % 2 == 0 ? .list([value]) : .dictionary([.init(key: [107], value: value)])
    }
    try first.set(table, object, any, value)
    let tooDeep = #expect(throws: EngineError.self) { try first.set(table, object, any, .list([value])) }
    #expect(tooDeep?.reason == .overLimit)
    _ = try first.commit()
    let cursor = ObjectCursor(try verified())
    #expect(try cursor.next())
    #expect(try Value(copying: cursor.value(0)) == value)
  }

  private struct Missing: Error {}
}
