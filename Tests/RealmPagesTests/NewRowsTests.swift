// New objects are buffered until there are enough for a cluster, or until they are read.

import RealmPages
import TestSupport
import Testing

@Suite("Many new objects")
struct NewRowsTests {
  private enum Order: CaseIterable {
    /// All at once.
    case together
    /// The table is looked at after each.
    case oneByOne
    /// Each before those that are there.
    case backwards
  }

  private static let types: [ValueType] = [
    .int, .bool, .float, .double, .string, .data, .date, .decimal128, .objectID, .uuid, .mixed,
  ]

  private let defaults: [ValueType: Value] = [
    .int: .int(0), .bool: .bool(false), .float: .float(0), .double: .double(0), .string: .text(""), .data: .data([]),
    .date: .date(Timestamp(seconds: 0, nanoseconds: 0)),
    .decimal128: .decimal128(Decimal128(low: 0, high: 0x3040 << 48)),
    .objectID: .objectID(ObjectID(high: 0, low: 0)), .uuid: .uuid(UniqueID(high: 0, low: 0)),
  ]

  /// A value whose size grows with `row`, so that leaves become wider and change their form.
  private func value(_ type: ValueType, _ row: Int, _ random: inout SplitMix64) -> Value {
    // The numbers of the second cluster are negative, those of the third are large.
    var bits = Int64(bitPattern: random.next()) >> Int64(63 - (row < 512 ? row % 256 / 8 : min(63, row % 256)))
    if row / 256 == 1 { bits = min(bits, ~bits) }
    let length = Int(random.next() % UInt64(row < 200 ? 12 : row < 400 ? 50 : 100))
    let bytes = (0..<length).map { _ in UInt8(97 + random.next() % 26) }
    return switch type {
    case .int: .int(row == 650 ? .max : row == 660 ? .max - 1 : row == 670 ? .min : bits)
    case .bool: .bool(bits & 1 == 0)
    case .float: .float(Float(bits))
    case .double: .double(Double(bits) / 3)
    case .string: .string(bytes)
    case .data: .data(bytes)
    case .date: .date(Timestamp(seconds: bits, nanoseconds: bits < 0 ? -Int32(length) : Int32(length)))
    case .decimal128: .decimal128(Decimal128(low: UInt64(row), high: 0x3040 << 48))
    case .objectID: .objectID(ObjectID(high: random.next(), low: UInt32(row)))
    case .uuid: .uuid(UniqueID(high: random.next(), low: UInt64(row)))
    case .mixed: row % 3 == 0 ? .int(bits) : row % 3 == 1 ? .string(bytes) : .null
    case .link: .null
    }
  }

  /// The values of `row`: sometimes null where possible, sometimes omitted.
  private func values(_ columns: [(ColKey, ColumnSpec)], _ row: Int) -> [(ColKey, Value)] {
    var random = SplitMix64(seed: UInt64(row))
    return columns.compactMap { key, spec in
      switch random.next() % 8 {
      case 0: return nil
      case 1 where spec.isNullable: return (key, .null)
      default: return (key, value(spec.type, row, &random))
      }
    }
  }

  @Test("have the values they were created with, whoever reads meanwhile", arguments: [0, 300])
  func allTypes(present: Int) throws {
    let count = 700
    for order in Order.allCases {
      let writer = try RealmWriter(memory: MemoryStorage(name: "rows"))
      var transaction = try writer.begin()
      let table = try transaction.addTable("class_Item")
      var columns: [(ColKey, ColumnSpec)] = []
      for type in Self.types {
        for isNullable in type == .mixed ? [true] : [false, true] {
          let spec = ColumnSpec("\(type)\(isNullable)", type, isNullable: isNullable)
          columns.append((try transaction.addColumn(table, spec), spec))
        }
      }
      _ = try transaction.addColumn(table, ColumnSpec("list", .int, collection: .list))
      for row in 0..<present {
        _ = try transaction.create(table, key: ObjKey(Int64(row)), values: values(columns, row))
      }
      _ = try transaction.commit()
      transaction = try writer.begin()
      for row in order == .backwards ? Array((present..<count).reversed()) : Array(present..<count) {
        _ = try transaction.create(table, key: ObjKey(Int64(row)), values: values(columns, row))
        if order == .oneByOne { #expect(try transaction.table(table).objectCount == row + 1) }
      }
      _ = try transaction.commit()
      let snapshot = try writer.realm.latest()
      #expect(Verifier(snapshot).problems().isEmpty)
      let items = try #require(try snapshot.table(table))
      #expect(items.objectCount == count)
      let cursor = ObjectCursor(items)
      for row in 0..<count {
        #expect(try cursor.next())
        #expect(cursor.key == ObjKey(Int64(row)))
        let given = Dictionary(uniqueKeysWithValues: values(columns, row))
        for (i, column) in items.columns.enumerated() where column.collection == nil {
          let wanted = given[column.key] ?? (column.isNullable ? .null : defaults[column.type] ?? .null)
          let found = try Value(copying: cursor.value(i))
          #expect(found == wanted, "row \(row), \(column.name), \(order)")
        }
      }
    }
  }

  @Test("are visible to every query and every change in the transaction")
  func questions() throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "rows"))
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let id = try transaction.addColumn(table, ColumnSpec("_id", .string))
    try transaction.setPrimaryKey(table, id)
    let number = try transaction.addColumn(table, ColumnSpec("number", .int))
    try transaction.addIndex(table, number)
    let next = try transaction.addColumn(table, ColumnSpec("next", .link, target: table))
    var last: ObjKey?
    func make(_ name: Int, _ transaction: borrowing WriteTransaction) throws -> ObjKey {
      var values: [(ColKey, Value)] = [(number, .int(Int64(name % 4)))]
      if name % 7 == 6, let last { values.append((next, .link(table, last))) }
      return try transaction.create(table, primaryKey: .text("item-\(name)"), values: values)
    }
    for name in 0..<2000 {
      let made = try make(name, transaction)
      last = made
      switch name % 97 {
      case 10: #expect(try transaction.value(table, made, number) == .int(Int64(name % 4)))
      case 20: #expect(try transaction.objectKey(table, primaryKey: .text("item-\(name)")) == made)
      case 30: try transaction.set(table, made, number, .int(9))
      case 40:
        try transaction.delete(table, made)
        last = nil
      case 50: #expect(throws: EngineError.self) { try make(name, transaction) }
      case 60:
        #expect(throws: EngineError.self) { try transaction.create(table, primaryKey: .text("x"), key: made) }
      case 70: try transaction.set(table, made, next, .link(table, made))
      case 80: _ = try transaction.addColumn(table, ColumnSpec("extra\(name)", .int, isNullable: true))
      case 90: #expect(try transaction.origins(of: table, made).isEmpty)
      default: break
      }
    }
    _ = try transaction.commit()
    let snapshot = try writer.realm.latest()
    #expect(Verifier(snapshot).problems().isEmpty)
    let items = try #require(try snapshot.table(table))
    let deleted = (0..<2000).count { $0 % 97 == 40 }
    #expect(items.objectCount == 2000 - deleted)
    for name in 0..<2000 {
      let found = try items.objectKey(primaryKey: .string(Array("item-\(name)".utf8)))
      #expect((found == nil) == (name % 97 == 40))
    }
  }

  @Test("are in the indexes, in any order and number", arguments: [1, 2, 3])
  func indexes(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let writer = try RealmWriter(memory: MemoryStorage(name: "rows"))
    var transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let id = try transaction.addColumn(table, ColumnSpec("_id", .int))
    try transaction.setPrimaryKey(table, id)
    let group = try transaction.addColumn(table, ColumnSpec("group", .int, isNullable: true))
    try transaction.addIndex(table, group)
    _ = try transaction.commit()
    var objects: [Int64: (key: ObjKey, group: Int64?)] = [:]
    for count in [3, 900, 4500, 4000] {
      transaction = try writer.begin()
      for _ in 0..<count {
        // Some differ in their upper half only, or belong to the same group.
        let number = Int64(random.next() % 20_000) | (random.next() % 20 == 0 ? 1 << 40 : 0)
        let other: Int64? = random.next() % 10 == 0 ? nil : Int64(random.next() % 100_000)
        let values: [(ColKey, Value)] = [(group, other.map { .int($0) } ?? .null)]
        if let present = objects[number] {
          #expect(throws: EngineError.self) {
            try transaction.create(table, primaryKey: .int(number), values: values)
          }
          switch random.next() % 8 {
          case 0:
            try transaction.delete(table, present.key)
            objects[number] = nil
          case 1:
            try transaction.set(table, present.key, group, .int(-number))
            objects[number]?.group = -number
          default: break
          }
        } else {
          let made = try transaction.create(table, primaryKey: .int(number), values: values)
          objects[number] = (made, other)
        }
        if random.next() % 32 == 0 {
          // One that may still be buffered, or any.
          let wanted = random.next() % 2 == 0 ? number : Int64(random.next() % 20_000)
          #expect(try transaction.objectKey(table, primaryKey: .int(wanted)) == objects[wanted]?.key)
        }
      }
      _ = try transaction.commit()
      let snapshot = try writer.realm.latest()
      #expect(Verifier(snapshot).problems().isEmpty)
      let items = try #require(try snapshot.table(table))
      #expect(items.objectCount == objects.count)
      let groups = Dictionary(grouping: objects.values) { $0.group }
      for (number, object) in objects {
        #expect(try items.objectKey(primaryKey: .int(number)) == object.key)
        guard let group = object.group else { continue }
        #expect(try items.objectKeys(where: 1, is: .int(group)) == groups[object.group]?.map(\.key).sorted())
      }
      for number in 0..<20_000 as Range<Int64> where objects[number] == nil {
        #expect(try items.objectKey(primaryKey: .int(number)) == nil)
      }
    }
  }

  @Test("are discarded with their transaction")
  func rollback() throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "rows"))
    var transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    _ = try transaction.commit()
    transaction = try writer.begin()
    _ = try transaction.create(table)
    transaction.rollback()
    transaction = try writer.begin()
    _ = try transaction.create(table)
    _ = try transaction.commit()
    #expect(try writer.realm.latest().table(table)?.objectCount == 1)
  }
}
