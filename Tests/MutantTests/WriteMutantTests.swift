// Changes of damaged files succeed or return errors, and never crash or access memory beyond a node. See MutantTests
// for the variables.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Changes of damaged files", .serialized)
struct WriteMutantTests {
  private static let fixtures = MutantRun.chosen(
    Fixture.own.filter { !$0.isEncrypted && $0.name != "synced" }
  )

  @Test("a change of a damaged file succeeds or is an error", arguments: fixtures)
  func mutants(fixture: Fixture) throws {
    let bytes = try fixture.bytes(), mutator = Mutator(bytes)
    let guardian = Watchdog()
    var changes = 0
    for seed in MutantRun.seeds(max(3, min(60, 1_000_000 / bytes.count))) {
      guardian.start("changes of \(fixture), SEED=\(seed)")
      var random = SplitMix64(seed: seed)
      do {
        let storage = try MemoryStorage(name: "mutant")
        let mutant = mutator.mutant(seed: seed)
        try storage.grow(to: mutant.count)
        try mutant.withUnsafeBytes { try storage.write($0, at: 0) }
        let writer = try RealmWriter(memory: storage)
        for _ in 0..<4 { changes += try change(writer, &random) }
      } catch let error as EngineError {
        #expect(!error.problem.isEmpty)
      }
    }
    guardian.stop()
    // Damage leaves something to change.
    #expect(changes > 0 || bytes.count < 1000)
  }

  /// A place of a tree, and the wrong node to which its ref points.
  enum WrongRef: CaseIterable {
    case secondChildToFirst
    case firstChildToRoot
    case freeSpaceToRoot
  }

  @Test("a node that is referenced twice, or also listed as free, is never changed", arguments: WrongRef.allCases)
  func sharedNode(wrongRef: WrongRef) throws {
    let storage = try MemoryStorage(name: "shared node")
    var writer = try RealmWriter(memory: storage)
    var transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let column = try transaction.addColumn(table, ColumnSpec("count", .int))
    let keys = (0..<600).map { ObjKey($0) }
    for key in keys { _ = try transaction.create(table, key: key, values: [(column, .int(key.value))]) }
    _ = try transaction.commit()
    transaction = try writer.begin()
    try transaction.set(table, keys[300], column, .int(1 << 40))
    _ = try transaction.commit()

    let snapshot = try writer.realm.latest()
    let arena = snapshot.arena, root = try #require(try snapshot.table(table)).objects.rootRef
    let node = try arena.node(root)
    #expect(node.isInner && node.count == 6)
    switch wrongRef {
    case .secondChildToFirst: try overwrite(storage, node, 4, with: node.int(3))
    case .firstChildToRoot: try overwrite(storage, node, 3, with: Int64(root))
    case .freeSpaceToRoot: try overwrite(storage, arena.node(snapshot.top.freeRefs[0]), 0, with: Int64(root))
    }

    writer = try RealmWriter(memory: storage)
    #expect(throws: (any Error).self) {
      let transaction = try writer.begin()
      for i in [0, 300, 599] { try transaction.set(table, keys[i], column, .int(-1)) }
      _ = try transaction.commit()
    }
    #expect(try writer.realm.latest().version == snapshot.version)
  }

  /// Writes element `index` of a node of integers.
  private func overwrite(_ storage: MemoryStorage, _ node: Node, _ index: Int, with element: Int64) throws {
    var bytes = [UInt8](repeating: 0, count: node.byteSize)
    try bytes.withUnsafeMutableBytes { buffer in
      _ = try storage.read(into: buffer, at: node.ref)
      let payload = try #require(buffer.baseAddress) + Node.headerSize
      PackedBits.store(payload, node.width, index, element)
      try storage.write(UnsafeRawBufferPointer(buffer), at: node.ref)
    }
  }

  /// Makes a transaction of some changes, and returns their number.
  private func change(_ writer: RealmWriter, _ random: inout SplitMix64) throws -> Int {
    let transaction = try writer.begin()
    var made = 0
    for table in try transaction.tableKeys() {
      let columns = try transaction.columns(of: table)
      let view = try transaction.table(table)
      var keys: [ObjKey] = []
      let cursor = ObjectCursor(view)
      while keys.count < 30, try cursor.next() { keys.append(cursor.key) }
      for _ in 0..<6 {
        guard let key = keys.randomElement(using: &random) else { break }
        let other = keys.randomElement(using: &random) ?? key
        for column in columns {
          if attempt({ try set(transaction, table, key, column, like: other) }) { made += 1 }
        }
        if attempt({ try transaction.delete(table, other) }) { made += 1 }
      }
      if let column = columns.randomElement(using: &random) {
        if attempt({ _ = try transaction.setNullable(table, column.key, !column.isNullable) }) { made += 1 }
      }
      if attempt({ _ = try transaction.create(table) }) { made += 1 }
      if attempt({ _ = try transaction.addColumn(table, ColumnSpec("new\(made)", .string)) }) { made += 1 }
    }
    _ = try transaction.commit()
    return made
  }

  private func attempt(_ body: () throws -> Void) -> Bool {
    do { try body() } catch { return false }
    return true
  }

  /// Copies a value of another object, or changes a collection.
  private func set(
    _ transaction: borrowing WriteTransaction,
    _ table: TableKey,
    _ key: ObjKey,
    _ column: Column,
    like other: ObjKey
  ) throws {
    let value = try transaction.value(table, other, column.key)
    guard column.collection != nil else { return try transaction.set(table, key, column.key, value) }
    switch value {
    case .list(let values):
      guard let first = values.first else { return try transaction.clear(table, key, column.key) }
      if column.collection == .set {
        _ = try transaction.add(table, key, column.key, first)
        _ = try transaction.discard(table, key, column.key, first)
      } else {
        try transaction.insert(table, key, column.key, at: 0, first)
        try transaction.remove(table, key, column.key, at: 0)
      }
    case .dictionary(let entries):
      guard let first = entries.first else { return try transaction.clear(table, key, column.key) }
      try transaction.set(table, key, column.key, entry: first.key, first.value)
      _ = try transaction.remove(table, key, column.key, entry: first.key)
    default: break
    }
  }
}
