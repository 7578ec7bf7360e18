// Lists of several thousand elements, whose trees have inner nodes: elements are inserted and removed anywhere, leaves
// split and join.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Large lists")
struct LargeListTests {
  @Test("random insertions and removals in a large list keep the order of the other elements", arguments: 1...4)
  func anywhere(seed: UInt64) throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "list"))
    var random = SplitMix64(seed: seed), model: [Int64] = []
    var transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let column = try transaction.addColumn(table, ColumnSpec("values", .int, collection: .list))
    let object = try transaction.create(table)
    for _ in 0..<2 {
      // It grows to some leaves, and shrinks to one.
      for isGrowing in [true, false] {
        while isGrowing ? model.count < 2500 : model.count > 300 {
          let value = Int64(random.below(1 << 20))
          if random.below(5) == 0 ? !isGrowing : isGrowing {
            let index = random.below(model.count + 1)
            try transaction.insert(table, object, column, at: index, .int(value))
            model.insert(value, at: index)
          } else if !model.isEmpty {
            let index = random.below(model.count)
            if random.below(8) == 0 {
              try transaction.set(table, object, column, at: index, .int(value))
              model[index] = value
            } else {
              try transaction.remove(table, object, column, at: index)
              model.remove(at: index)
            }
          }
          if random.below(1000) == 0 {
            _ = try transaction.commit()
            try check(writer, model)
            transaction = try writer.begin()
          }
        }
      }
    }
    _ = try transaction.commit()
    try check(writer, model)
  }

  private func check(_ writer: RealmWriter, _ model: [Int64]) throws {
    let snapshot = try writer.realm.latest()
    #expect(Verifier(snapshot).problems(limit: 3) == [])
    let cursor = ObjectCursor(try #require(try snapshot.table(named: "class_Item")))
    #expect(try cursor.next())
    guard case .list(var list) = try cursor.value(0) else {
      Issue.record("no list")
      return
    }
    var found: [Int64] = []
    for index in 0..<list.count { if case .int(let value) = try list.value(at: index) { found.append(value) } }
    #expect(found == model)
  }
}
