// Realm files built byte by byte, for content that ordinary programs do not write: tombstones, dangling links, cycles.
//
// Only what a reader needs: every integer takes 64 bits, each tree is one leaf, there are no indexes and no backlinks.

import Foundation
import RealmPages
import TestSupport

/// A realm file under construction.
struct TinyRealm {
  /// A property: its name, type code, attribute bits and the slot of the target table of its links.
  struct Property {
    var name: String
    var type: Int64
    var attributes: Int64 = 0
    var target: Int64?

    static func string(_ name: String, _ attributes: Int64 = nullable) -> Property {
      Property(name: name, type: 2, attributes: attributes)
    }
    static func link(_ name: String, _ attributes: Int64 = nullable, to target: Int64) -> Property {
      Property(name: name, type: 12, attributes: attributes, target: target)
    }
    static func mixed(_ name: String, _ attributes: Int64 = 0) -> Property {
      Property(name: name, type: 6, attributes: attributes | nullable)
    }
  }

  static let nullable: Int64 = 16
  static let list: Int64 = 32
  static let dictionary: Int64 = 64

  /// Objects: their keys, and a leaf for each property.
  struct Objects {
    var keys: [Int64]
    var leaves: [Int64]
  }

  private var bytes = [UInt8](repeating: 0, count: 24)
  private var names: [String] = []
  private var tables: [Int64] = []

  // MARK: nodes; each returns the ref of what it wrote

  mutating func ints(_ values: [Int64], flags: UInt8 = 0) -> Int64 {
    node(flags | 7, count: values.count, values.flatMap(Self.word))
  }

  /// Refs as they are, integers tagged by the caller.
  mutating func refs(_ values: [Int64]) -> Int64 { ints(values, flags: 0x40) }

  /// A leaf of strings, small-blobs form.
  mutating func strings(_ values: [[UInt8]?]) -> Int64 {
    var blob: [UInt8] = []
    var ends: [Int64] = []
    for value in values {
      blob += (value ?? []) + [0]
      ends.append(Int64(blob.count))
    }
    let endsRef = ints(ends)
    let blobRef = node(0x11, count: blob.count, blob)
    let nullsRef = ints(values.map { $0 == nil ? 1 : 0 })
    return refs([endsRef, blobRef, nullsRef])
  }

  mutating func strings(_ values: [String?]) -> Int64 { strings(values.map { $0.map { Array($0.utf8) } }) }

  /// A leaf of Mixed values that are links, given as table key and object key.
  mutating func mixedLinks(_ links: [(table: Int64, key: Int64)]) -> Int64 {
    let composite = ints(links.indices.map { Int64($0) << 8 | 2 << 5 | 17 })
    let pairs = ints(links.flatMap { [$0.table, $0.key] })
    return refs([composite, 0, pairs, 0, 0, 0])
  }

  /// A leaf of Mixed values that are small integers.
  mutating func mixedInts(_ values: [Int64]) -> Int64 {
    let composite = ints(values.map { $0 << 8 | 1 })
    return refs([composite, 0, 0, 0, 0, 0])
  }

  private mutating func nameNode(_ names: [String]) -> Int64 {
    let cells = names.flatMap { name -> [UInt8] in
      let text = Array(name.utf8)
      return text + [UInt8](repeating: 0, count: 63 - text.count) + [UInt8(63 - text.count)]
    }
    return node(0x08 | 7, count: names.count, cells)
  }

  private mutating func node(_ head: UInt8, count: Int, _ payload: [UInt8]) -> Int64 {
    let ref = bytes.count
    bytes += [0x41, 0x41, 0x41, 0x41, head, UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255)]
    bytes += payload
    while bytes.count % 8 != 0 { bytes.append(0) }
    return Int64(ref)
  }

  private static func word(_ value: Int64) -> [UInt8] {
    withUnsafeBytes(of: value.littleEndian) { [UInt8]($0) }
  }

  private static func tagged(_ value: Int64) -> Int64 { value << 1 | 1 }

  // MARK: tables

  /// Adds a table; its key is its slot.
  ///
  /// `kind` is 0 top-level, 1 embedded.
  mutating func addTable(
    _ name: String,
    kind: Int64 = 0,
    _ properties: [Property],
    primaryKey: Int? = nil,
    _ objects: Objects,
    tombstones: Objects? = nil
  ) {
    let keys = properties.enumerated().map { Int64($0) | $1.type << 16 | $1.attributes << 22 }
    let types = ints(properties.map { $0.type | ($0.attributes & Self.dictionary != 0 ? 2 << 16 : 0) })
    let nameRef = nameNode(properties.map(\.name))
    let spec = refs([types, nameRef, ints(properties.map(\.attributes)), 0, 0, ints(keys)])
    let clusters = cluster(objects)
    let graveyard = tombstones.map { cluster($0) } ?? 0
    let indexes = refs(properties.map { _ in 0 })
    let oppositeTables = ints(properties.map { $0.target ?? 0x7FFF_FFFF })
    let oppositeColumns = ints(properties.map { _ in .max })
    let slot = Int64(tables.count)
    tables.append(
      refs([
        spec, 0, clusters, Self.tagged(slot), indexes, 1, 1, oppositeTables, oppositeColumns, 1, 0,
        primaryKey.map { Self.tagged(keys[$0]) } ?? 0, Self.tagged(kind), graveyard,
      ])
    )
    names.append(name)
  }

  private mutating func cluster(_ objects: Objects) -> Int64 {
    let keys = ints(objects.keys)
    return refs([keys] + objects.leaves)
  }

  // MARK: the file

  /// Writes the file and opens it.
  ///
  /// The file is gone from its folder then, which an open realm does not mind.
  mutating func snapshot() throws -> Snapshot {
    let nameRef = nameNode(names)
    let tableRef = refs(tables)
    let top = bytes.count
    _ = refs([nameRef, tableRef, Self.tagged(Int64(top + 8 + 24))])
    bytes.replaceSubrange(0..<8, with: Self.word(Int64(top)))
    bytes.replaceSubrange(16..<24, with: Array("T-DB".utf8) + [24, 0, 0, 0])
    bytes += [UInt8](repeating: 0, count: (4096 - bytes.count % 4096) % 4096)
    return try withTemporaryFile(bytes) { try Realm(Configuration(path: $0)).latest() }
  }
}
