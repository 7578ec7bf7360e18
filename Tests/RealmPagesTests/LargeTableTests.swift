// Tables of several thousand objects, whose trees and indexes have inner nodes: objects are created and deleted
// anywhere, with chosen and with automatic keys, clusters split and join.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Large tables")
struct LargeTableTests {
  @Test("random insertions and deletions in a large table leave other objects unchanged", arguments: 1...3)
  func anywhere(seed: UInt64) throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "table"))
    var random = SplitMix64(seed: seed), model: [Int64: Int64] = [:], keys: [Int64] = []
    var transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let number = try transaction.addColumn(table, ColumnSpec("number", .int))
    let text = try transaction.addColumn(table, ColumnSpec("text", .string))
    let tags = try transaction.addColumn(table, ColumnSpec("tags", .int, collection: .list))
    for column in [number, text] { try transaction.addIndex(table, column) }
    for isGrowing in [true, false, true, false] {
      while isGrowing ? keys.count < 1500 : keys.count > 40 {
        // Few values are shared, so that entries of the index have one object or several.
        let value = Int64(random.below(random.below(3) == 0 ? 20 : 100_000))
        if random.below(5) == 0 ? !isGrowing : isGrowing {
          var wanted: ObjKey? = ObjKey(Int64(random.below(1_000_000)))
          if random.below(2) == 0 || model[wanted?.value ?? 0] != nil { wanted = nil }
          let values: [(ColKey, Value)] = [(number, .int(value)), (text, Self.text(value))]
          let key = try transaction.create(table, key: wanted, values: values)
          if value % 3 == 0 { try transaction.insert(table, key, tags, at: 0, .int(value)) }
          model[key.value] = value
          keys.append(key.value)
        } else if let last = keys.last {
          let index = random.below(keys.count), key = keys[index]
          if random.below(4) == 0 {
            try transaction.set(table, ObjKey(key), number, .int(value))
            try transaction.set(table, ObjKey(key), text, Self.text(value))
            model[key] = value
          } else {
            try transaction.delete(table, ObjKey(key))
            keys[index] = last
            keys.removeLast()
            model[key] = nil
          }
        }
        if random.below(700) == 0 {
          _ = try transaction.commit()
          try check(writer, model)
          transaction = try writer.begin()
        }
      }
    }
    _ = try transaction.commit()
    try check(writer, model)
  }

  @Test("inserting an object before all others keeps the keys of the others", arguments: [1, 256, 300, 700])
  func beforeAllOthers(deleted: Int) throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "table"))
    var model: [Int64: Int64] = [:]
    var transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let number = try transaction.addColumn(table, ColumnSpec("number", .int))
    for i in 0..<1000 {
      _ = try transaction.create(table, key: ObjKey(Int64(5000 + 3 * i)), values: [(number, .int(Int64(i)))])
      model[Int64(5000 + 3 * i)] = Int64(i)
    }
    for i in 0..<deleted {
      try transaction.delete(table, ObjKey(Int64(5000 + 3 * i)))
      model[Int64(5000 + 3 * i)] = nil
    }
    for key in [4999, 4000, 3, 0, 5001] as [Int64] {
      _ = try transaction.create(table, key: ObjKey(key), values: [(number, .int(-key))])
      model[key] = -key
    }
    _ = try transaction.commit()
    try check(writer, model)
    transaction = try writer.begin()
    for key in [4, 1] as [Int64] {
      _ = try transaction.create(table, key: ObjKey(key), values: [(number, .int(-key))])
      model[key] = -key
    }
    _ = try transaction.commit()
    try check(writer, model)
  }

  private static func text(_ value: Int64) -> Value { .string(Array("text \(value)".utf8)) }

  private func check(_ writer: RealmWriter, _ model: [Int64: Int64]) throws {
    let snapshot = try writer.realm.latest()
    #expect(Verifier(snapshot).problems(limit: 3) == [])
    let table = try #require(try snapshot.table(named: "class_Item"))
    #expect(table.objectCount == model.count)
    let cursor = ObjectCursor(table)
    var found: [Int64: Int64] = [:]
    while try cursor.next() {
      if case .int(let value) = try cursor.value(0) { found[cursor.key.value] = value }
    }
    #expect(found == model)
  }
}
