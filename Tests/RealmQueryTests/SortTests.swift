// The order of SORT is that of the values one by one, whatever they have in common.

import Foundation
import RealmPages
import RealmQuery
import TestSupport
import Testing

@Suite("Order")
struct SortTests {
  /// The keys in the order of values, each read separately.
  private func sorted(_ table: Table, by: [(index: Int, ascending: Bool)]) throws -> [ObjKey] {
    var objects: [(key: ObjKey, values: [ValueView])] = []
    let cursor = ObjectCursor(table)
    while try cursor.next() { objects.append((cursor.key, try by.map { try cursor.value($0.index) })) }
    return objects.enumerated().sorted { a, b in
      for (place, key) in by.enumerated() {
        let order = a.element.values[place].order(b.element.values[place])
        if order != 0 { return key.ascending ? order < 0 : order > 0 }
      }
      return a.offset < b.offset
    }
    .map(\.element.key)
  }

  private func check(_ table: Table, _ snapshot: Snapshot, _ by: [(index: Int, ascending: Bool)]) throws {
    let paths = by.map { "\(table.columns[$0.index].name) \($0.ascending ? "ASC" : "DESC")" }.joined(separator: ", ")
    let expected = try sorted(table, by: by), limit = expected.count / 3 + 1
    let query = try ObjectQuery("SORT(\(paths))", of: table, in: snapshot)
    #expect(try query.keys() == expected, "\(table.name): \(paths)")
    let limited = try ObjectQuery("SORT(\(paths)) LIMIT(\(limit))", of: table, in: snapshot)
    #expect(try limited.keys() == Array(expected.prefix(limit)), "\(table.name): \(paths), the first \(limit)")
  }

  private func isSortable(_ column: Column) -> Bool {
    column.collection == nil && column.type != .link
      && column.name.allSatisfy { $0.isASCII && ($0.isLetter || $0 == "_") }
  }

  @Test("properties of real files", arguments: ["all-types", "people", "strings", "leaf-states", "primary-keys"])
  func properties(file: String) throws {
    let snapshot = try Fixture.named(file).snapshot()
    var count = 0
    for key in try snapshot.tableKeys() {
      guard let table = try snapshot.table(key), table.className != nil, table.objectCount > 0 else { continue }
      let sortable = table.columns.indices.filter { isSortable(table.columns[$0]) }
      for (place, index) in sortable.enumerated() {
        for ascending in [true, false] {
          try check(table, snapshot, [(index, ascending)])
          try check(table, snapshot, [(index, ascending), (sortable[(place + 1) % sortable.count], true)])
          count += 1
        }
      }
    }
    #expect(count > 4)
  }

  @Test("values with a common prefix, extremes and null, of every type", arguments: [1, 2, 3] as [UInt64])
  func randomValues(seed: UInt64) throws {
    try withTemporaryFolder { folder in
      var random = SplitMix64(seed: seed)
      let writer = try RealmWriter(Configuration(path: folder.appending(path: "order.realm").path), create: true)
      let transaction = try writer.begin()
      let table = try transaction.addTable("class_Item")
      let texts = ["", "a", "ab", "ab\0", "abcdefg", "abcdefgh", "abcdefg\0", String(repeating: "x", count: 70)]
      let numbers: [Double] = [0, -0.0, 1, -1, .infinity, -.infinity, .nan, .pi, -.pi, 1e300, .leastNonzeroMagnitude]
      let integers: [Int64] = [0, 1, -1, .min, .max, 1 << 53, 1 << 53 + 1, -(1 << 53) - 1]
      func text() -> [UInt8] {
        var bytes = Array((texts.randomElement(using: &random) ?? "").utf8)
        if Bool.random(using: &random) { bytes.append(UInt8.random(in: 0...255, using: &random)) }
        return bytes
      }
      func date() -> Timestamp {
        Timestamp(seconds: Int64.random(in: -2...2, using: &random), nanoseconds: 0)
      }
      func value(_ name: String) -> Value {
        switch name {
        case "text": .string(text())
        case "bytes": .data(text())
        case "double": .double(numbers.randomElement(using: &random) ?? 0)
        case "float": .float(Float(numbers.randomElement(using: &random) ?? 0))
        case "int": .int(integers.randomElement(using: &random) ?? 0)
        case "bool": .bool(Bool.random(using: &random))
        case "date": .date(date())
        default: value(["text", "bytes", "double", "int", "bool", "date"].randomElement(using: &random) ?? "int")
        }
      }
      let types: [(String, ValueType)] = [
        ("text", .string), ("bytes", .data), ("double", .double), ("float", .float), ("int", .int), ("bool", .bool),
        ("date", .date), ("mixed", .mixed),
      ]
      var columns: [(name: String, key: ColKey)] = []
      for (name, type) in types {
        columns.append((name, try transaction.addColumn(table, ColumnSpec(name, type, isNullable: true))))
      }
      for _ in 0..<300 {
        var values: [(ColKey, Value)] = []
        for column in columns where Int.random(in: 0..<8, using: &random) > 0 {
          values.append((column.key, value(column.name)))
        }
        _ = try transaction.create(table, values: values)
      }
      _ = try transaction.commit()
      let snapshot = try writer.realm.latest(), made = try #require(try snapshot.table(table))
      for first in made.columns.indices {
        for second in made.columns.indices {
          try check(made, snapshot, [(first, seed % 2 == 0), (second, true)])
        }
        try check(made, snapshot, [(first, false)])
      }
    }
  }

  @Test("a property can be a sort key, whatever its name")
  func sortedByName() throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "names"))
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_A"), name = "a b) DESC, \"x\".y"
    let column = try transaction.addColumn(table, ColumnSpec(name, .int))
    let keys = try [3, 1, 2].map { try transaction.create(table, values: [(column, .int($0))]) }
    _ = try transaction.commit()
    let snapshot = try writer.realm.latest(), made = try #require(try snapshot.table(table))
    for (ascending, expected) in [(true, [keys[1], keys[2], keys[0]]), (false, [keys[0], keys[2], keys[1]])] {
      let query = try ObjectQuery([.sorted(property: name, ascending: ascending)], of: made, in: snapshot)
      #expect(try query.keys() == expected && query.isOrdered)
    }
    #expect(throws: InputError.self) {
      try ObjectQuery([.sorted(property: "none", ascending: true)], of: made, in: snapshot)
    }
  }
}
