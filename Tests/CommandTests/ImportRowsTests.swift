// An import that creates many objects at once has the same result as one that applies each record separately. SEED=n
// tests one import, IMPORT_SEEDS=n that many (8).

import Foundation
import RealmJSON
import RealmPages
import RealmTransfer
import TestSupport
import Testing

@Suite("Imports of rows")
struct ImportRowsTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let seeds: [UInt64] =
    environment["SEED"].flatMap(UInt64.init).map { [$0] }
    ?? Array(0..<(environment["IMPORT_SEEDS"].flatMap(UInt64.init) ?? 8))

  private static let types: [(name: String, type: ValueType)] = [
    ("int", .int), ("bool", .bool), ("string", .string), ("data", .data), ("date", .date), ("float", .float),
    ("double", .double), ("decimal", .decimal128), ("id", .objectID), ("uuid", .uuid), ("mixed", .mixed),
  ]
  private static let keyTypes: [ValueType?] = [.int, .string, .objectID, .uuid, nil]

  /// Schema: a class of targets, and one of all types with links to it and to itself.
  private func makeRealm(_ path: String, _ random: inout SplitMix64) throws -> (key: ValueType?, target: ValueType) {
    let keyType = Self.keyTypes[random.below(5)], targetType = Self.keyTypes[random.below(4)] ?? .int
    let writer = try RealmWriter(Configuration(path: path), create: true)
    let transaction = try writer.begin()
    let target = try transaction.addTable("class_Target"), item = try transaction.addTable("class_Item")
    try transaction.setPrimaryKey(target, transaction.addColumn(target, ColumnSpec("key", targetType)))
    if let keyType { try transaction.setPrimaryKey(item, transaction.addColumn(item, ColumnSpec("key", keyType))) }
    for (name, type) in Self.types {
      let isNullable = type == .mixed || random.below(2) == 0
      let column = try transaction.addColumn(item, ColumnSpec(name, type, isNullable: isNullable))
      let canBeIndexed = ![ValueType.data, .float, .double, .decimal128].contains(type)
      if canBeIndexed, random.below(3) == 0 { try transaction.addIndex(item, column) }
    }
    _ = try transaction.addColumn(item, ColumnSpec("tags", .string, collection: .list))
    _ = try transaction.addColumn(item, ColumnSpec("to", .link, target: target))
    if keyType != nil { _ = try transaction.addColumn(item, ColumnSpec("friend", .link, target: item)) }
    _ = try transaction.commit()
    return (keyType, targetType)
  }

  private func key(_ type: ValueType, _ number: Int) -> String {
    switch type {
    case .int: return "\(number)"
    case .string: return "\"object \(number)\""
    case .objectID: return "\"" + String(repeating: "0", count: 24 - "\(number)".count) + "\(number)\""
    default: return "\"00000000-0000-0000-0000-" + String(repeating: "0", count: 12 - "\(number)".count) + "\(number)\""
    }
  }

  private func value(_ type: ValueType, _ random: inout SplitMix64) -> String {
    let number = random.below(1000)
    switch type {
    case .int: return ["0", "-1", "\(number)", "9223372036854775807", "-4294967296"][random.below(5)]
    case .bool: return number % 2 == 0 ? "true" : "false"
    case .string:
      let long = "\"\(String(repeating: "x", count: number))\""
      return ["\"\"", "\"same start \(number)\"", "\"\\n\\\"\\u00e9\"", "\"é漢\"", long][random.below(5)]
    case .data:
      return ["\"\"", "\"AAEC\"", "\"\(Data(repeating: 7, count: number).base64EncodedString())\""][random.below(3)]
    case .date:
      return ["\"2024-05-01T10:00:00Z\"", "\"1969-12-31T23:59:59.5Z\"", "\"0001-01-01T00:00:00+01:00\""][
        random.below(3)
      ]
    case .float, .double:
      return ["0.1", "-0.0", "\(number)", "1e10", "123456789.123456789", "{\"$numberDouble\":\"NaN\"}"][random.below(6)]
    case .decimal128: return ["\"1.10\"", "5", "\"NaN\"", "1E+3"][random.below(4)]
    case .objectID, .uuid: return key(type, number)
    default: return ["1", "null", "\"a\"", "[1,{\"b\":2}]", "1.5"][random.below(5)]
    }
  }

  /// Lines of which most are usual.
  private func lines(_ count: Int, _ key: ValueType?, _ target: ValueType, _ random: inout SplitMix64) -> String {
    var lines = ""
    for number in 0..<count {
      var members: [String] = []
      // Some occur twice: the second one changes the first.
      let name = random.below(200) == 0 ? number / 2 : number
      if let key { members.append("\"key\":\(self.key(key, name))") }
      for (name, type) in Self.types where random.below(20) > 0 {
        members.append("\"\(name)\": \(value(type, &random))")
      }
      if random.below(9) == 0 { members.append("\"tags\":[]") }
      if random.below(99) == 0 { members.append("\"tags\":[\"a\",\"b\"]") }
      // Some targets are missing, some friends come later.
      if random.below(4) > 0 {
        let one = random.below(500) == 0 ? 900 : random.below(300)
        members.append("\"to\":\(random.below(9) == 0 ? "null" : self.key(target, one))")
      }
      if let key, random.below(300) == 0 { members.append("\"friend\":\(self.key(key, random.below(count)))") }
      if random.below(50) == 0 { members.shuffle(using: &random) }
      lines += "{" + members.joined(separator: ",") + "}\n"
    }
    return lines
  }

  private func run(_ path: String, _ file: String, _ className: String, takesRows: Bool, batch: Int?) throws -> String {
    let writer = try RealmWriter(Configuration(path: path))
    var importer = Importer(writer, from: try ImportSource(file, format: .jsonl, className: className))
    importer.takesRows = takesRows
    importer.batchSize = batch
    var rejected: [String] = []
    importer.onReject = { rejected.append($0.reason) }
    let summary = try importer.run()
    let counts = [summary.created, summary.changed, summary.unchanged, summary.rejected]
    return "\(counts) \(String(describing: summary.last)) \(rejected)"
  }

  @Test("objects, links, indexes and refusals are the same as row by row", arguments: seeds)
  func same(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    try withTemporaryPath { path in
      let (key, target) = try makeRealm(path, &random)
      let count = [2000, 2305, 3000][random.below(3)], batch = [nil, 700, 100][random.below(3)]
      let targets = (0..<300).map { "{\"key\":\(self.key(target, $0))}\n" }.joined()
      try targets.write(toFile: path + ".targets", atomically: true, encoding: .utf8)
      try lines(count, key, target, &random).write(toFile: path + ".lines", atomically: true, encoding: .utf8)
      try FileManager.default.copyItem(atPath: path, toPath: path + "2")
      defer {
        for end in ["2", "2.lock", ".lines", ".targets"] { try? FileManager.default.removeItem(atPath: path + end) }
      }
      for (file, name) in [(path + ".targets", "Target"), (path + ".lines", "Item"), (path + ".lines", "Item")] {
        let rows = try run(path, file, name, takesRows: true, batch: batch)
        let records = try run(path + "2", file, name, takesRows: false, batch: batch)
        #expect(rows == records)
      }
      let one = try Realm(Configuration(path: path)), other = try Realm(Configuration(path: path + "2"))
      let snapshots = (try one.latest(), try other.latest())
      var differences: [String] = []
      let comparison = RealmComparison(snapshots.0, snapshots.1, classes: nil, areVersions: false)
      try comparison.run { differences.append("\($0)") }
      #expect(differences.prefix(3) == [])
      #expect(Verifier(snapshots.0, isStrict: true).problems(limit: 3) == [])
      // Backlinks are in the same order.
      let table = try #require(try snapshots.0.table(named: "class_Target"))
      let second = try #require(try snapshots.1.table(named: "class_Target"))
      let item = try #require(try snapshots.0.table(named: "class_Item"))
      let column = try #require(item.columns.first { $0.name == "to" }).key
      let cursor = ObjectCursor(table), otherCursor = ObjectCursor(second)
      while try cursor.next() {
        #expect(try otherCursor.next())
        #expect(try cursor.origins(from: item.key, column) == otherCursor.origins(from: item.key, column))
      }
    }
  }
}
