// Transactions are atomic: one that fails halfway is not committed, and no change is too large for the history.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Whole transactions")
struct WholeTransactionTests {
  private static func writer(_ bytes: [UInt8]) throws -> RealmWriter {
    let memory = try MemoryStorage(name: "damaged")
    try memory.grow(to: (bytes.count + 4095) & ~4095)
    try memory.write(bytes, at: 0)
    return try RealmWriter(memory: memory)
  }

  @Test("after a change that failed halfway, the transaction cannot be committed")
  func incompleteChange() throws {
    let bytes = try Fixture.named("people").bytes()
    var refused = 0
    for offset in stride(from: 24, to: bytes.count - 8, by: 8)
    where bytes[offset..<offset + 4].allSatisfy({ $0 == 0x41 }) {
      var damaged = bytes
      damaged.replaceSubrange(offset + 5..<offset + 8, with: [0xFF, 0xFF, 0xFF])
      guard let writer = try? Self.writer(damaged),  // the top array
        let tables = try? writer.realm.latest().tableKeys()  // the group
      else { continue }
      for key in tables {
        guard let table = try writer.realm.latest().table(key), table.kind == .topLevel, table.damage == nil else {
          continue
        }
        let cursor = ObjectCursor(table)
        guard (try? cursor.next()) == true else { continue }  // a damaged cluster
        let before = try writer.realm.latest().version
        let transaction = try writer.begin()
        do {
          try transaction.delete(key, cursor.key)
        } catch {
          #expect(error.reason == .damaged)
          let later = #expect(throws: EngineError.self) { try transaction.addTable("class_New") }
          #expect(later?.reason == .incompleteChange)
          // A noncopyable value cannot be consumed in a closure.
          do {
            _ = try transaction.commit()
            Issue.record("a half-done change was committed: \(table.name) with a damaged node at \(offset)")
          } catch {
            #expect(error.reason == .incompleteChange)
            #expect(error.description.contains("roll"))
          }
          #expect(try writer.realm.latest().version == before)
          refused += 1
          continue
        }
        transaction.rollback()
      }
    }
    #expect(refused > 20)
  }

  @Test("a refused change leaves the transaction unchanged, and it can be committed")
  func refusedChange() throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "refusals"))
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Note")
    let texts = try transaction.addColumn(table, ColumnSpec("texts", .string, collection: .list))
    let any = try transaction.addColumn(table, ColumnSpec("any", .mixed))
    let note = try transaction.create(table)
    #expect(throws: EngineError.self) { try transaction.set(table, note, any, .link(table, ObjKey(9))) }
    #expect(throws: EngineError.self) { try transaction.insert(table, note, texts, at: 1, .text("")) }
    #expect(throws: EngineError.self) { try transaction.insert(table, note, texts, at: 0, .int(1)) }
    #expect(throws: EngineError.self) { try transaction.insert(table, note, any, path: [.index(0)], at: 0, .null) }
    #expect(throws: EngineError.self) { try transaction.addTable("class_Note") }
    try transaction.insert(table, note, texts, at: 0, .text("kept"))
    _ = try transaction.commit()
    #expect(Verifier(try writer.realm.latest()).problems().isEmpty)
  }

  @Test("an indexed list distinguishes null from a string of zero bytes")
  func nullAndZeros() throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "zeros"))
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Note")
    let words = try transaction.addColumn(table, ColumnSpec("words", .string, collection: .list, isNullable: true))
    try transaction.addIndex(table, words)
    let zeros = Value.string([0, 0, 0, 0, 97])
    for values in [[.null, zeros, .null], [zeros, .null], [.null, zeros]] {
      let note = try transaction.create(table, values: [(words, .list(values))])
      try transaction.insert(table, note, words, at: 0, .null)
    }
    try transaction.remove(table, ObjKey(1), words, at: 0)
    try transaction.remove(table, ObjKey(1), words, at: 1)
    _ = try transaction.commit()
    #expect(Verifier(try writer.realm.latest()).problems() == [])
  }

  @Test("a changeset larger than a node is stored in chunks", arguments: [16_777_200, 16_777_201, 34_000_000])
  func largeChangeset(size: Int) throws {
    let writer = try RealmWriter(memory: MemoryStorage(name: "large"))
    let first = try writer.begin()
    _ = try first.addTable("class_Note")
    let pattern = [UInt8](0...250)
    var changeset: [UInt8] = []
    while changeset.count < size { changeset += pattern }
    changeset.removeLast(changeset.count - size)
    var encoder = ChangesetEncoder(first.group.slab)
    var rest = changeset[...]
    while !rest.isEmpty {
      encoder.blob.bytes += rest.prefix(300_007)
      encoder.blob.storeIfMany()
      rest = rest.dropFirst(300_007)
    }
    #expect(encoder.size == size && !encoder.blob.isSmall && encoder.blob.bytes.count < GrowingBlob.most)
    first.group.replication = encoder
    _ = try first.commit()
    let snapshot = try writer.realm.latest()
    #expect(Verifier(snapshot).problems().isEmpty)
    let history = try BlobLeaf(snapshot.arena, snapshot.arena.node(snapshot.top.historyRef), isText: false)
    let chunks = try #require(try history.chunks(history.count - 1, snapshot.arena))
    #expect(chunks.count == (size + 16_777_199) / 16_777_200)
    var stored: [UInt8] = []
    for chunk in chunks { stored += chunk.bytes }
    #expect(stored == changeset)
    // The next commits drop it.
    for name in ["class_A", "class_B", "class_C"] {
      let transaction = try writer.begin()
      _ = try transaction.addTable(name)
      _ = try transaction.commit()
    }
    #expect(Verifier(try writer.realm.latest()).problems().isEmpty)
  }
}
