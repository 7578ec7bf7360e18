// Complete values written to properties: whatever the previous value was, the property has the new value afterwards,
// and equal parts are not rewritten.

import RealmPages
import TestSupport
import Testing

@Suite("Assigning whole values")
struct AssignTests {
  private let writer: RealmWriter
  private let table: TableKey
  private let object: ObjKey
  private let columns: [(key: ColKey, type: ValueType, collection: CollectionKind?)]

  init() throws {
    writer = try RealmWriter(memory: MemoryStorage(name: "assign"))
    let transaction = try writer.begin()
    table = try transaction.addTable("class_Thing")
    var columns: [(key: ColKey, type: ValueType, collection: CollectionKind?)] = []
    for (type, collection) in [
      (ValueType.int, CollectionKind?.none), (.mixed, nil), (.link, nil), (.string, .list), (.double, .list),
      (.mixed, .list), (.link, .list), (.string, .set), (.double, .set), (.mixed, .set), (.link, .set),
      (.int, .dictionary), (.mixed, .dictionary), (.link, .dictionary),
    ] {
      let nullable = type != .link || collection == nil || collection == .dictionary
      let spec = ColumnSpec(
        "p\(columns.count)",
        type,
        collection: collection,
        isNullable: nullable,
        target: type == .link ? table : nil
      )
      let key = try transaction.addColumn(table, spec)
      // Words of lists are indexed, so that a change that forgets the index shows.
      if type == .string, collection == .list { try transaction.addIndex(table, key) }
      columns.append((key, type, collection))
    }
    self.columns = columns
    object = try transaction.create(table)
    for _ in 0..<4 { _ = try transaction.create(table) }
    _ = try transaction.commit()
  }

  private func scalar(_ type: ValueType, _ random: inout SplitMix64) -> Value {
    switch type {
    case .int: [.null, .int(1), .int(2), .int(3)][random.below(4)]
    case .double: [.null, .double(.nan), .double(0), .double(-2.5), .double(1.5)][random.below(5)]
    case .string: [.null, .text(""), .text("a"), .text("b"), .text("c")][random.below(5)]
    case .link: .link(table, ObjKey(Int64(random.below(5))))
    default: scalar([.int, .double, .string, .link][random.below(4)], &random)
    }
  }

  private func value(_ type: ValueType, nesting: Int, _ random: inout SplitMix64) -> Value {
    guard type == .mixed, nesting > 0, random.below(4) == 0 else { return scalar(type, &random) }
    let values = (0..<random.below(4)).map { _ in value(.mixed, nesting: nesting - 1, &random) }
    if random.below(2) == 0 { return .list(values) }
    return .dictionary(values.enumerated().map { Value.Entry(key: Array("k\($0)".utf8), value: $1) })
  }

  private func value(of index: Int, _ random: inout SplitMix64) -> Value {
    let (_, type, collection) = columns[index], count = random.below(6)
    switch collection {
    case nil: return value(type, nesting: 2, &random)
    case .list: return .list((0..<count).map { _ in value(type, nesting: 2, &random) })
    case .set: return .list((0..<count).map { _ in scalar(type, &random) })
    case .dictionary:
      let keys = (0..<5).filter { _ in random.below(2) == 0 }
      return .dictionary(
        keys.map { Value.Entry(key: Array("key\($0)".utf8), value: value(type, nesting: 2, &random)) }
      )
    }
  }

  /// The value of a property after `value` was assigned: a set has each element once, in its order.
  private func expect(_ stored: Value, toBe wanted: Value, _ index: Int, _ seed: UInt64) {
    guard columns[index].collection == .set, case .list(let values) = stored, case .list(let all) = wanted else {
      #expect(stored.isIdentical(to: wanted), "property \(index), SEED=\(seed): \(stored) instead of \(wanted)")
      return
    }
    func distinct(_ values: [Value]) -> Set<String> { Set(values.map(Self.name)) }
    let names = distinct(values)
    #expect(names == distinct(all) && names.count == values.count, "property \(index), SEED=\(seed): \(values), \(all)")
  }

  /// One text for values that a set considers equal.
  private static func name(_ value: Value) -> String {
    if case .double(let number) = value, number.isNaN { "NaN" } else { "\(value)" }
  }

  @Test("any value can be replaced by any other, and the realm stays valid")
  func anyValue() throws {
    for seed in Seeds.first..<Seeds.first + 40 {
      var random = SplitMix64(seed: seed)
      let transaction = try writer.begin()
      for index in columns.indices {
        for _ in 0..<3 {
          let wanted = value(of: index, &random)
          try transaction.assign(table, object, columns[index].key, wanted)
          expect(try transaction.value(table, object, columns[index].key), toBe: wanted, index, seed)
        }
      }
      _ = try transaction.commit()
      #expect(try Verifier(writer.realm.latest()).problems().isEmpty, "SEED=\(seed)")
    }
  }

  @Test("assigning an equal value changes nothing")
  func sameValue() throws {
    for seed in Seeds.first..<Seeds.first + 20 {
      var random = SplitMix64(seed: seed)
      let values = columns.indices.map { value(of: $0, &random) }
      let first = try writer.begin()
      for (column, value) in zip(columns, values) { try first.assign(table, object, column.key, value) }
      _ = try first.commit()
      let second = try writer.begin()
      for (column, value) in zip(columns, values) { try second.assign(table, object, column.key, value) }
      _ = try second.commit()
      let told = try ChangesetDecoder(ModelTests.changeset(of: writer.realm.latest()))
      #expect(told.touched.isEmpty, "SEED=\(seed): \(told.touched)")
    }
  }

  @Test("only the elements of a list that differ are written")
  func minChange() throws {
    let index = try #require(columns.firstIndex { $0.type == .string && $0.collection == .list })
    let key = columns[index].key
    let first = try writer.begin()
    try first.assign(table, object, key, .list((0..<500).map { .text("word \($0)") }))
    let before = first.nextVersion
    _ = try first.commit()
    let second = try writer.begin()
    var changed = (0..<500).map { Value.text("word \($0)") }
    changed[250] = .text("another")
    changed.remove(at: 499)
    try second.assign(table, object, key, .list(changed))
    #expect(second.nextVersion == before + 1)
    _ = try second.commit()
    let snapshot = try writer.realm.latest()
    // Two instructions and the selection of the list; a rewritten list takes a thousand.
    #expect(try ModelTests.changeset(of: snapshot).count < 100)
    #expect(Verifier(snapshot).problems().isEmpty)
  }
}
