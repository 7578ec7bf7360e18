// A file that is mostly free becomes shorter while it is in use.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Evacuation")
struct EvacuationTests {
  /// A realm with a class of texts.
  private struct Notes {
    let writer: RealmWriter
    let table: TableKey
    let text: ColKey

    init(_ writer: RealmWriter) throws {
      self.writer = writer
      let transaction = try writer.begin()
      table = try transaction.addTable("class_Note")
      text = try transaction.addColumn(table, ColumnSpec("text", .data))
      _ = try transaction.commit()
    }

    var size: Int { get throws { try writer.realm.latest().logicalSize } }

    func add(_ count: Int, of size: Int) throws {
      let transaction = try writer.begin()
      for i in 0..<count {
        let bytes = [UInt8](repeating: UInt8(truncatingIfNeeded: i), count: size)
        _ = try transaction.create(table, values: [(text, .data(bytes))])
      }
      _ = try transaction.commit()
    }

    /// Deletes all objects but every `kept`th.
    func delete(keeping kept: Int) throws {
      let transaction = try writer.begin()
      for key in try keys() where key.value % Int64(kept) != 0 { try transaction.delete(table, key) }
      _ = try transaction.commit()
    }

    func keys() throws -> [ObjKey] {
      let cursor = ObjectCursor(try #require(try writer.realm.latest().table(table)))
      var keys: [ObjKey] = []
      while try cursor.next() { keys.append(cursor.key) }
      return keys
    }

    /// Small commits, each verified, until the file is not longer than `size`; how many it took.
    func shrink(below size: Int, within limit: Int = 200) throws -> Int {
      for count in 0..<limit {
        let snapshot = try writer.realm.latest()
        #expect(Verifier(snapshot).problems(limit: 2) == [])
        if snapshot.logicalSize <= size { return count }
        let transaction = try writer.begin()
        try transaction.set(table, ObjKey(0), text, .data([UInt8(truncatingIfNeeded: count)]))
        _ = try transaction.commit()
      }
      return limit
    }
  }

  @Test("after a large deletion, a few commits shrink the file, and the next writer truncates it")
  func largeValues() throws {
    try withTemporaryPath { path in
      do {
        let notes = try Notes(RealmWriter(Configuration(path: path), create: true))
        try notes.add(60, of: 50_000)
        try notes.delete(keeping: 60)
        #expect(try notes.size > 3_000_000)
        #expect(try notes.shrink(below: 200_000) < 10)
      }
      let writer = try RealmWriter(Configuration(path: path))
      let transaction = try writer.begin()
      _ = try transaction.addTable("class_More")
      _ = try transaction.commit()
      #expect(try writer.realm.fileStatus().size == (try writer.realm.latest().logicalSize + 4095) / 4096 * 4096)
      #expect(try writer.realm.latest().table(named: "class_Note")?.objectCount == 1)
    }
  }

  @Test("each commit moves a few of the nodes near the end, without changing their content")
  func scatteredNodes() throws {
    let notes = try Notes(RealmWriter(memory: MemoryStorage(name: "scattered")))
    for _ in 0..<20 { try notes.add(400, of: 300) }
    try notes.delete(keeping: 40)
    let before = try notes.size, keys = try notes.keys()
    let count = try notes.shrink(below: before / 2)
    #expect(count > 1 && count < 200)
    #expect(try notes.keys() == keys)
    let cursor = ObjectCursor(try #require(try notes.writer.realm.latest().table(notes.table)))
    while try cursor.next() {
      guard cursor.key != ObjKey(0), case .data(let bytes) = try cursor.value(0) else { continue }
      let number = UInt8(truncatingIfNeeded: keys.isEmpty ? 0 : Self.number(cursor.key) % 400)
      #expect(bytes.bytes == [UInt8](repeating: number, count: 300))
    }
  }

  /// The sequence number that an object key was made from. Source: docs/format/2-model.md M5.
  private static func number(_ key: ObjKey) -> Int { Int(key.value & 0xFF) | Int(key.value >> 16) << 8 }

  @Test("the file shrinks only after the reader of an old version has left")
  func pinned() throws {
    let notes = try Notes(RealmWriter(memory: MemoryStorage(name: "pinned")))
    try notes.add(60, of: 50_000)
    try {
      let old = try notes.writer.realm.latest()
      try notes.delete(keeping: 60)
      #expect(try notes.shrink(below: 200_000, within: 30) == 30)
      #expect(Verifier(old).problems() == [])
      #expect(try old.table(notes.table)?.objectCount == 60)
    }()
    #expect(try notes.shrink(below: 200_000, within: 1100) < 1100)
  }

  @Test("a commit that needs more space takes back the evacuated space")
  func givenUp() throws {
    let notes = try Notes(RealmWriter(memory: MemoryStorage(name: "given up")))
    try notes.add(60, of: 50_000)
    try notes.delete(keeping: 60)
    // Begun, and not finished.
    #expect(try notes.shrink(below: 0, within: 1) == 1)
    let size = try notes.size
    try notes.add(40, of: 50_000)
    #expect(try notes.size == size)
    #expect(Verifier(try notes.writer.realm.latest()).problems() == [])
    try notes.delete(keeping: 1000)
    #expect(try notes.shrink(below: 200_000) < 40)
  }
}
