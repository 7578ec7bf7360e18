// Numbers that a query finds or counts leaf by leaf are those that pass one by one.

import Foundation
import RealmPages
import RealmQuery
import TestSupport
import Testing

@Suite("Scans of numbers")
struct NumberScanTests {
  @Test(
    "integers of every width are found and counted, including at their bounds",
    arguments: [0, 1, 3, 7, 15, 31, 63],
    [false, true]
  )
  func widths(bits: Int, hasGaps: Bool) throws {
    var random = SplitMix64(seed: UInt64(bits))
    let limit = bits == 63 ? Int64.max : (1 << Int64(bits)) - 1, lowest = bits < 7 ? 0 : -limit - 1
    let edges = [lowest, lowest &+ 1, -1, 0, 1, limit - 1, limit]
    func number() -> Int64 {
      if limit == 0 { return 0 }
      let pick = random.next()
      if pick % 4 == 0 { return edges[Int(random.next() % UInt64(edges.count))].clamped(to: lowest...limit) }
      return Int64(truncatingIfNeeded: random.next() & UInt64(limit)) - (lowest < 0 && pick % 4 == 1 ? limit : 0)
    }
    let writer = try RealmWriter(memory: MemoryStorage(name: "numbers"))
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let column = try transaction.addColumn(table, ColumnSpec("n", .int))
    var items: [(key: ObjKey, number: Int64)] = []
    for _ in 0..<700 {
      let number = number()
      items.append((try transaction.create(table, values: [(column, .int(number))]), number))
    }
    if hasGaps {
      for index in stride(from: 690, to: 0, by: -7) { try transaction.delete(table, items.remove(at: index).key) }
    }
    _ = try transaction.commit()
    let snapshot = try writer.realm.latest()
    let found = try #require(try snapshot.table(table))
    let tests: [(String, (Int64, Int64) -> Bool)] = [
      ("==", { $0 == $1 }), ("!=", { $0 != $1 }), ("<", { $0 < $1 }), ("<=", { $0 <= $1 }), (">", { $0 > $1 }),
      (">=", { $0 >= $1 }),
    ]
    for bound in Set(edges + [number(), .min, .max, limit &+ 1, lowest &- 1]) {
      for (sign, passes) in tests {
        let query = try ObjectQuery([.bound("n \(sign) $0", [.int(bound)])], of: found, in: snapshot)
        let expected = items.filter { passes($0.number, bound) }.map(\.key)
        #expect(try query.keys() == expected, "n \(sign) \(bound)")
        #expect(try query.count() == expected.count, "count of n \(sign) \(bound)")
      }
    }
  }

  @Test("counts match results: doubles, nulls, several conditions, orders, limits, indexes")
  func others() throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "others"))
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let number = try transaction.addColumn(table, ColumnSpec("n", .int, isNullable: true))
    let double = try transaction.addColumn(table, ColumnSpec("d", .double, isNullable: true))
    let code = try transaction.addColumn(table, ColumnSpec("code", .int))
    try transaction.addIndex(table, code)
    for index in 0..<600 {
      _ = try transaction.create(
        table,
        values: [
          (number, index % 5 == 0 ? .null : .int(Int64(index % 13))),
          (double, index % 7 == 0 ? .null : .double(index % 11 == 0 ? .nan : Double(index) / 8)),
          (code, .int(Int64(index % 50))),
        ]
      )
    }
    _ = try transaction.commit()
    let snapshot = try writer.realm.latest()
    let items = try #require(try snapshot.table(table))
    let expected = [
      ("TRUEPREDICATE", 600), ("FALSEPREDICATE", 0), ("n == null", 120), ("n != null", 480), ("d == null", 86),
      ("d > 70", 30), ("d <= 70.0", 437), ("d <= 70", 484), ("code == 7", 12), ("code == 99", 0),
      ("code IN {1, 2, 99}", 24),
      ("code == 7 AND d > 40", 3), ("code < 10 SORT(n ASC)", 120), ("code < 10 LIMIT(7)", 7),
      ("code < 10 DISTINCT(code)", 10), ("code == 7 LIMIT(5)", 5), ("code == 7 OR n == null", 132),
    ]
    for (text, count) in expected {
      let query = try ObjectQuery(text, of: items, in: snapshot)
      #expect(try query.count() == count, "\(text)")
      #expect(try query.keys().count == count, "\(text)")
    }
  }
}

extension Int64 {
  fileprivate func clamped(to range: ClosedRange<Int64>) -> Int64 {
    Swift.min(Swift.max(self, range.lowerBound), range.upperBound)
  }
}
