// The size of an export of a damaged file is bounded, although objects that share one text could make a small file
// expand to any size.

import TestSupport
import Testing

@testable import RealmJSON
@testable import RealmPages

@Suite("Shared strings")
struct SharedTextTests {
  private static let objects = 200

  /// A file of 200 objects with a text each, the first of 1 MB. If `isShared`, all refer to that one.
  private func file(isShared: Bool) throws -> [UInt8] {
    let storage = try MemoryStorage(name: "texts"), writer = try RealmWriter(memory: storage)
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_Note")
    let column = try transaction.addColumn(table, ColumnSpec("text", .string))
    for number in 0..<Self.objects {
      let length = number == 0 ? 1 << 20 : 100
      _ = try transaction.create(table, values: [(column, .string(Array(repeating: UInt8(ascii: "a"), count: length)))])
    }
    _ = try transaction.commit()
    let snapshot = try writer.realm.latest()
    var bytes = try storage.read(storage.size(), at: 0)
    if !isShared { return bytes }
    let view = try #require(try snapshot.table(table))
    let cluster = try #require(try view.objects.first(notBelow: 0)).cluster
    let leaf = try snapshot.arena.node(cluster.leafRef(column.leafPosition))
    let width = leaf.byteSize / Self.objects, start = leaf.ref + Node.headerSize
    #expect(leaf.hasRefs && leaf.count == Self.objects && [2, 4].contains(width))
    for index in 1..<Self.objects {
      for byte in 0..<width { bytes[start + index * width + byte] = bytes[start + byte] }
    }
    return bytes
  }

  /// Renders all objects in one walk. Returns the number of rendered ones, and the size of the output.
  private func export(_ bytes: [UInt8]) throws -> (objects: Int, size: Int) {
    let snapshot = try unsafe bytes.withUnsafeBytes { try unsafe Realm.snapshot(of: $0) }
    let renderer = ObjectRenderer(snapshot, sweep: Effort(snapshot)), out = OutputBuffer()
    renderer.chargesTexts = true
    let cursor = ObjectCursor(try #require(try snapshot.table(named: "class_Note")))
    var count = 0
    while try cursor.next() {
      do throws(RenderError) {
        try renderer.render(cursor, layout: .compact, into: out)
        count += 1
      } catch { #expect(error.description.contains("several parents")) }
    }
    return (count, out.count)
  }

  @Test("an export of objects that share a text is at most twice the size of the file")
  func shared() throws {
    let sound = try file(isShared: false), damaged = try file(isShared: true)
    let whole = try export(sound), cut = try export(damaged)
    #expect(whole.objects == Self.objects && whole.size > 1 << 20)
    #expect(cut.objects >= 1 && cut.size <= 2 * damaged.count + 65536)
  }
}
