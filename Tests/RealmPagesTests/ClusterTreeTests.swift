// Object keys in cluster trees of every form.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Cluster trees")
struct ClusterTreeTests {
  /// Every key of the tree, by asking for the first key not below the one after the last.
  private func keys(_ bytes: NodeBytes, _ root: Int) throws -> [UInt64] {
    let tree = ClusterTree(arena: bytes.arena(), rootRef: root)
    var keys: [UInt64] = [], next: UInt64 = 0
    while let (cluster, row) = try tree.first(notBelow: next) {
      let key = try cluster.key(row)
      keys.append(key)
      if key == .max { break }
      next = key + 1
    }
    for (position, key) in keys.enumerated() {
      let place = try #require(try tree.place(at: position))
      #expect(try place.cluster.key(place.row) == key)
    }
    #expect(try tree.place(at: keys.count) == nil)
    return keys
  }

  @Test("a compact cluster counts its objects from 0")
  func compact() throws {
    var bytes = NodeBytes()
    let root = bytes.addRefs([.number(3)])
    #expect(try keys(bytes, root) == [0, 1, 2])
    let empty = bytes.addRefs([.number(0)])
    #expect(try keys(bytes, empty) == [])
  }

  @Test("a general cluster lists its keys, which are unsigned: tombstones too")
  func general() throws {
    var bytes = NodeBytes()
    let live = bytes.add([1, 5, 200]), liveRoot = bytes.addRefs([.ref(live)])
    #expect(try keys(bytes, liveRoot) == [1, 5, 200])
    let narrow = bytes.add("04 00 00 02 7f ff"), narrowRoot = bytes.addRefs([.ref(narrow)])
    #expect(try keys(bytes, narrowRoot) == [127, 255])
    let unresolved = bytes.add([-9, -3, -2]), unresolvedRoot = bytes.addRefs([.ref(unresolved)])
    #expect(try keys(bytes, unresolvedRoot).map { Int64(bitPattern: $0) } == [-9, -3, -2])
  }

  @Test("inner nodes: compact, general, and offsets that add up modulo 2^64")
  func inner() throws {
    var bytes = NodeBytes()
    let full = bytes.addRefs([.number(256)]), four = bytes.addRefs([.number(4)])
    let sparse = bytes.add([0, 100]), sparseCluster = bytes.addRefs([.ref(sparse)])
    let compact = bytes.addInner([.ref(0), .number(1), .number(262), .ref(full), .ref(sparseCluster), .ref(four)])
    #expect(try keys(bytes, compact) == Array(0..<256) + [256, 356] + Array(512..<516))
    let offsets = bytes.add([0, 1000, 5000])
    let general = bytes.addInner([.ref(offsets), .number(1), .number(262), .ref(full), .ref(four), .ref(sparseCluster)])
    #expect(try keys(bytes, general) == Array(0..<256) + Array(1000..<1004) + [5000, 5100])
    let outer = bytes.add([0, 1 << 40])
    let two = bytes.addInner([.ref(outer), .number(2), .number(524), .ref(general), .ref(compact)])
    #expect(try keys(bytes, two).count == 524)
    #expect(try keys(bytes, two).last == 1 << 40 + 515)
    let wrapped = bytes.add([Int64.min, -512])
    let negative = bytes.addInner([.ref(wrapped), .number(1), .number(8), .ref(four), .ref(four)])
    #expect(
      try keys(bytes, negative).map { Int64(bitPattern: $0) } == [
        .min, .min + 1, .min + 2, .min + 3, -512, -511, -510, -509,
      ]
    )
  }

  @Test("a search finds the first key that is not below, also across clusters")
  func search() throws {
    var bytes = NodeBytes()
    let sparse = bytes.add([0, 100]), sparseCluster = bytes.addRefs([.ref(sparse)])
    let offsets = bytes.add([10, 1000])
    let root = bytes.addInner([.ref(offsets), .number(1), .number(4), .ref(sparseCluster), .ref(sparseCluster)])
    let tree = ClusterTree(arena: bytes.arena(), rootRef: root)
    for (wanted, found): (UInt64, UInt64?) in [
      (0, 10), (10, 10), (11, 110), (110, 110), (111, 1000), (999, 1000), (1000, 1000), (1001, 1100), (1101, nil),
      (.max, nil),
    ] {
      let place = try tree.first(notBelow: wanted)
      #expect(try place.map { try $0.cluster.key($0.row) } == found)
    }
  }

  @Test("a cursor finds the objects of every table by their positions", arguments: Fixture.own + Fixture.old)
  func positions(_ file: Fixture) throws {
    if file.isEncrypted { return }
    let snapshot = try file.snapshot()
    for table in try snapshot.tableKeys().compactMap({ try snapshot.table($0) }) {
      let walk = ObjectCursor(table), cursor = ObjectCursor(table)
      var position = 0
      while try walk.next() {
        if position < 600 || position % 97 == 0 {
          #expect(try cursor.seek(position: position))
          #expect(cursor.key == walk.key)
        }
        position += 1
      }
      #expect(try !cursor.seek(position: position))
      #expect(try !cursor.seek(position: -1))
    }
  }

  @Test("trees with the wrong depth, too many objects or cycles are errors")
  func damaged() throws {
    var bytes = NodeBytes()
    let leaf = bytes.addRefs([.number(4)])
    let tooHigh = bytes.addInner([.ref(0), .number(2), .number(4), .ref(leaf)])
    expectDamaged { try keys(bytes, tooHigh) }
    let level9 = bytes.addInner([.ref(0), .number(9), .number(4), .ref(leaf)])
    expectDamaged { try keys(bytes, level9) }
    for count: Int64 in [257, -1, .max >> 1, .min >> 1] {
      let crowded = bytes.addRefs([.number(count)])
      expectDamaged { try keys(bytes, crowded) }
    }
    let circle = bytes.addInner([.ref(0), .number(1), .number(4), .ref(bytes.bytes.count)])
    expectDamaged { try keys(bytes, circle) }
    expectDamaged { try ClusterTree(arena: bytes.arena(), rootRef: circle).place(at: 0) }
  }

  @Test("a search through too many empty clusters ends with an error")
  func emptyClusters() throws {
    var bytes = NodeBytes()
    var node = bytes.addRefs([.number(0)])
    for level: Int64 in 1...8 {
      node = bytes.addInner([.ref(0), .number(level), .number(1)] + Array(repeating: .ref(node), count: 256))
    }
    expectDamaged { try keys(bytes, node) }
  }
}
