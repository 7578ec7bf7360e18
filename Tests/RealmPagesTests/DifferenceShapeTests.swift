// Differences that depend on the arrangement of nodes: trees that split, join and grow, values that were changed back,
// leaves whose meaning depends on a neighbor, replaced files, and damage.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

/// A realm in a file, and its versions.
private final class Versions {
  let folder: TemporaryFolder
  let path: String
  let writer: RealmWriter
  let reader: Realm
  private(set) var all: [VersionHold] = []

  init() throws {
    folder = try TemporaryFolder()
    path = folder.path("a.realm")
    writer = try RealmWriter(Configuration(path: path), create: true)
    reader = try Realm(Configuration(path: path))
  }

  /// Creates the next version.
  @discardableResult
  func commit<R>(_ body: (borrowing WriteTransaction) throws -> R) throws -> R {
    let transaction = try writer.begin()
    let result = try body(transaction)
    _ = try transaction.commit(.grouped)
    all.append(try reader.hold())
    return result
  }

  var newest: Snapshot { all[all.count - 1].snapshot }

  /// The differences between the last two versions, or from an earlier one to the last, by class.
  func changes(since index: Int? = nil) throws -> [String: [ObjectDifference]] {
    try changesByClass(VersionDifference(from: all[index ?? all.count - 2].snapshot, to: newest))
  }
}

private func changesByClass(_ difference: VersionDifference) throws -> [String: [ObjectDifference]] {
  var found: [String: [ObjectDifference]] = [:]
  for table in difference.tables {
    let changes = difference.changes(in: table)
    while let change = try changes.next() { found[table.name, default: []].append(change) }
  }
  return found
}

private func updated(_ key: Int64, _ properties: Int...) -> ObjectDifference {
  .updated(ObjKey(key), properties: properties)
}

@Suite("Differences by the shape of trees")
struct DifferenceShapeTests {
  // MARK: clusters

  /// The differences between two classes with one number per object.
  private func expected(_ before: [Int64: Int64], _ after: [Int64: Int64]) -> [ObjectDifference] {
    Set(before.keys).union(after.keys).sorted().compactMap { key in
      switch (before[key], after[key]) {
      case (nil, _?): .inserted(ObjKey(key))
      case (_?, nil): .deleted(ObjKey(key))
      case (let old, let new): old == new ? nil : updated(key, 0)
      }
    }
  }

  @Test("clusters that are split, merged, added and removed", arguments: 1...4)
  func clusters(seed: UInt64) throws {
    var random = SplitMix64(seed: seed)
    let realm = try Versions()
    let (table, number) = try realm.commit { transaction in
      let table = try transaction.addTable("class_Item")
      return (table, try transaction.addColumn(table, ColumnSpec("number", .int)))
    }
    var content: [Int64: Int64] = [:], versions: [[Int64: Int64]] = [[:]]
    /// Keys close together, far apart, or ascending from the last one on.
    func newKey(_ form: Int) -> Int64 {
      switch form {
      case 0: Int64(random.below(5000))
      case 1: Int64(random.next() >> 1)
      default: (content.keys.max() ?? 0) < 1 << 61 ? (content.keys.max() ?? 0) + 1 : Int64(random.below(5000))
      }
    }
    for _ in 0..<14 {
      try realm.commit { transaction in
        for _ in 0...random.below(3) {
          switch random.below(5) {
          case 0, 1:
            let form = random.below(3)
            for _ in 0..<random.below(700) {
              let key = newKey(form)
              guard content[key] == nil else { continue }
              _ = try transaction.create(table, key: ObjKey(key), values: [(number, .int(key & 7))])
              content[key] = key & 7
            }
          case 2:
            let keys = content.keys.sorted(), first = random.below(keys.count + 1)
            for key in keys[first..<min(keys.count, first + random.below(800))] {
              try transaction.delete(table, ObjKey(key))
              content[key] = nil
            }
          case 3:
            for key in content.keys.sorted() where random.below(3) == 0 {
              try transaction.delete(table, ObjKey(key))
              content[key] = nil
            }
          default:
            let keys = content.keys.sorted()
            for _ in 0..<min(keys.count, 1 + random.below(10)) {
              let key = keys[random.below(keys.count)], value = Int64(random.below(8))
              try transaction.set(table, ObjKey(key), number, .int(value))
              content[key] = value
            }
          }
        }
      }
      versions.append(content)
      for index in Set([versions.count - 2, random.below(versions.count - 1)]) {
        #expect(try realm.changes(since: index)["class_Item"] ?? [] == expected(versions[index], content))
        let back = try VersionDifference(from: realm.newest, to: realm.all[index].snapshot)
        #expect(try changesByClass(back)["class_Item"] ?? [] == expected(content, versions[index]))
      }
    }
  }

  @Test("a tree that gains a level and loses it")
  func levels() throws {
    let realm = try Versions(), last: Int64 = 2 * 256 * 256
    let (table, number) = try realm.commit { transaction in
      let table = try transaction.addTable("class_Item")
      let number = try transaction.addColumn(table, ColumnSpec("number", .int))
      // 256 clusters of 256 objects, with a key free after each.
      for key in stride(from: 0, to: last, by: 2) {
        _ = try transaction.create(table, key: ObjKey(key), values: [(number, .int(key))])
      }
      return (table, number)
    }
    // The last cluster is split: its first half stays below the former root, the rest is below a new node.
    try realm.commit { transaction in
      _ = try transaction.create(table, key: ObjKey(last - 255))
      try transaction.set(table, ObjKey(70), number, .int(-1))
      try transaction.set(table, ObjKey(last - 2), number, .int(-1))
    }
    let changed = [updated(70, 0), .inserted(ObjKey(last - 255)), updated(last - 2, 0)]
    #expect(try realm.changes()["class_Item"] == changed)
    try realm.commit { transaction in
      for key in stride(from: last - 600, to: last, by: 2) { try transaction.delete(table, ObjKey(key)) }
      try transaction.delete(table, ObjKey(last - 255))
    }
    let lost = stride(from: last - 600, to: last, by: 2).map { ObjectDifference.deleted(ObjKey($0)) }
    let lostSince = (lost + [.deleted(ObjKey(last - 255))]).sorted { $0.key < $1.key }
    #expect(try realm.changes()["class_Item"] == lostSince)
    #expect(try realm.changes(since: 0)["class_Item"] == [updated(70, 0)] + lost)
  }

  // MARK: values

  @Test("removing and restoring a value is no difference, wherever it is stored now")
  func cameBack() throws {
    let realm = try Versions()
    let long = Value.string([UInt8](repeating: 0x61, count: 300))
    let nested = Value.list([.int(1), .dictionary([.init(key: [0x6b], value: .list([long, .double(.nan)]))])])
    var columns: [ColKey] = []
    let table = try realm.commit { transaction in
      let table = try transaction.addTable("class_Item"), part = try transaction.addTable("class_Part", kind: .embedded)
      _ = try transaction.addColumn(part, ColumnSpec("size", .int))
      columns.append(try transaction.addColumn(table, ColumnSpec("text", .string)))
      columns.append(try transaction.addColumn(table, ColumnSpec("any", .mixed)))
      columns.append(try transaction.addColumn(table, ColumnSpec("list", .int, collection: .list)))
      columns.append(try transaction.addColumn(table, ColumnSpec("words", .string, collection: .dictionary)))
      columns.append(try transaction.addColumn(table, ColumnSpec("part", .link, target: part)))
      for _ in 0..<3 {
        let key = try transaction.create(table)
        try transaction.set(table, key, columns[0], long)
        try transaction.set(table, key, columns[1], nested)
        for index in 0..<5000 { try transaction.insert(table, key, columns[2], at: index, .int(Int64(index % 7))) }
        try transaction.set(table, key, columns[3], entry: [0x61], long)
        _ = try transaction.setEmbedded(table, key, columns[4])
      }
      return table
    }
    try realm.commit { transaction in
      try transaction.set(table, ObjKey(1), columns[0], .string([]))
      try transaction.set(table, ObjKey(1), columns[1], .null)
      try transaction.set(table, ObjKey(1), columns[2], at: 4321, .int(99))
      try transaction.set(table, ObjKey(1), columns[3], entry: [0x61], .string([]))
      try transaction.set(table, ObjKey(1), columns[4], .null)
    }
    #expect(try realm.changes() == ["class_Item": [updated(1, 0, 1, 2, 3, 4)]])
    try realm.commit { transaction in
      try transaction.set(table, ObjKey(1), columns[0], long)
      try transaction.set(table, ObjKey(1), columns[1], nested)
      try transaction.set(table, ObjKey(1), columns[2], at: 4321, .int(4321 % 7))
      try transaction.set(table, ObjKey(1), columns[3], entry: [0x61], long)
      _ = try transaction.setEmbedded(table, ObjKey(1), columns[4])
    }
    #expect(try realm.changes() == ["class_Item": [updated(1, 0, 1, 2, 3, 4)]])
    #expect(try realm.changes(since: 0) == [:])
  }

  @Test("incoming links do not change an object, nor do an index or a removed property")
  func doesNotShow() throws {
    let realm = try Versions()
    var items = TableKey(0), origins = TableKey(0), columns: [ColKey] = [], link = ColKey(0)
    try realm.commit { transaction in
      items = try transaction.addTable("class_Item")
      origins = try transaction.addTable("class_Origin")
      columns = [
        try transaction.addColumn(items, ColumnSpec("number", .int)),
        try transaction.addColumn(items, ColumnSpec("gone", .int)),
      ]
      link = try transaction.addColumn(origins, ColumnSpec("items", .link, collection: .list, target: items))
      for number in 0..<600 { _ = try transaction.create(items, values: [(columns[1], .int(Int64(number)))]) }
      _ = try transaction.create(origins)
    }
    try realm.commit { transaction in
      try transaction.insert(origins, ObjKey(0), link, at: 0, .link(items, ObjKey(5)))
      try transaction.addIndex(items, columns[0])
      try transaction.removeColumn(items, columns[1])
    }
    #expect(try realm.changes() == ["class_Origin": [updated(0, 0)]])
    let difference = try VersionDifference(from: realm.all[0].snapshot, to: realm.newest)
    #expect(
      difference.tables.first { $0.name == "class_Item" }?.schema
        == [.propertyRemoved("gone"), .propertyIndex("number", from: nil, to: .general)]
    )
  }

  @Test("a class that was only renamed")
  func name() throws {
    let realm = try Versions()
    for name in ["class_Item", "class_Other"] { try realm.commit { _ = try $0.addTable(name) } }
    try realm.commit { transaction in
      let group = transaction.group
      group.editor.element(try group.tableNames(), 0).storeBytes(of: UInt8(ascii: "X"), toByteOffset: 9, as: UInt8.self)
    }
    let difference = try VersionDifference(from: realm.all[1].snapshot, to: realm.newest)
    #expect(difference.tables.map(\.schema) == [[.renamed(from: "class_Item", to: "class_IteX")]])
  }

  @Test("a new property differs where its value is not the default, a renamed one never, a retyped one by its value")
  func properties() throws {
    let realm = try Versions()
    let (table, number, flag) = try realm.commit { transaction in
      let table = try transaction.addTable("class_Item")
      let number = try transaction.addColumn(table, ColumnSpec("number", .int))
      let flag = try transaction.addColumn(table, ColumnSpec("flag", .int, isNullable: true))
      for index in 0..<600 { _ = try transaction.create(table, values: [(number, .int(Int64(index)))]) }
      _ = try transaction.setPrimaryKey(table, number)
      try transaction.set(table, ObjKey(65536), flag, .int(0))
      return (table, number, flag)
    }
    try realm.commit { transaction in
      try transaction.renameTable(table, to: "class_Thing")
      try transaction.renameColumn(table, number, to: "id")
      _ = try transaction.setNullable(table, flag, false)
      let mixed = try transaction.addColumn(table, ColumnSpec("any", .mixed))
      try transaction.set(table, ObjKey(3), mixed, .list([]))
      try transaction.set(table, ObjKey(4), mixed, .int(0))
      let list = try transaction.addColumn(table, ColumnSpec("list", .int, collection: .list))
      try transaction.insert(table, ObjKey(5), list, at: 0, .int(1))
    }
    let difference = try VersionDifference(from: realm.all[0].snapshot, to: realm.newest)
    let thing = try #require(difference.tables.first)
    #expect(
      thing.schema == [
        .renamed(from: "class_Item", to: "class_Thing"), .propertyRenamed(from: "number", to: "id"),
        .propertyRetyped("flag"), .propertyAdded("any"), .propertyAdded("list"),
      ]
    )
    #expect((0..<4).map { thing.oldProperty($0) } == [0, 1, nil, nil])
    // Null has become 0 in all objects but one.
    let changes = try changesByClass(difference)["class_Thing"] ?? []
    #expect(changes.count == 599)
    #expect(Array(changes[3...5]) == [updated(3, 1, 2), updated(4, 1, 2), updated(5, 1, 3)])
    #expect(!changes.contains { $0.key == ObjKey(65536) })
  }

  @Test("an embedded object belongs to the object that owns it, at any depth, and in its place")
  func embedded() throws {
    let realm = try Versions()
    var items = TableKey(0), parts = TableKey(0), list = ColKey(0), inner = ColKey(0), size = ColKey(0)
    var made: [ObjKey] = []
    try realm.commit { transaction in
      items = try transaction.addTable("class_Item")
      parts = try transaction.addTable("class_Part", kind: .embedded)
      size = try transaction.addColumn(parts, ColumnSpec("size", .int))
      inner = try transaction.addColumn(parts, ColumnSpec("inner", .link, target: parts))
      _ = try transaction.addColumn(items, ColumnSpec("number", .int))
      list = try transaction.addColumn(items, ColumnSpec("parts", .link, collection: .list, target: parts))
      for _ in 0..<600 {
        let key = try transaction.create(items)
        for index in 0..<2 {
          let part = try transaction.insertEmbedded(items, key, list, at: index)
          try transaction.set(parts, part, size, .int(Int64(index)))
          if index == 0 { made.append(try transaction.setEmbedded(parts, part, inner)) }
        }
      }
    }
    let keys = try #require(try realm.newest.table(items).map { ObjectCursor($0) })
    var owners: [ObjKey] = []
    while try keys.next() { owners.append(keys.key) }
    try realm.commit { transaction in
      // From the last one on: owners are in the order of their keys.
      for index in [590, 300, 7] { try transaction.set(parts, made[index], size, .int(9)) }
    }
    let expected: [ObjectDifference] = [7, 300, 590].map { .updated(owners[$0], properties: [1]) }
    #expect(try realm.changes() == ["class_Item": expected])
    for limit in 1...3 {
      let difference = try VersionDifference(
        from: realm.all[0].snapshot,
        to: realm.newest,
        sharing: true,
        ownerLimit: limit
      )
      #expect(try changesByClass(difference) == ["class_Item": expected])
    }
    // They change places and contents, so that nothing shows.
    try realm.commit { transaction in
      try transaction.move(items, owners[20], list, from: 0, to: 1)
      guard case .list(let links) = try transaction.value(items, owners[20], list) else { return }
      for (index, link) in links.enumerated() {
        guard case .link(_, let part) = link else { continue }
        try transaction.set(parts, part, size, .int(Int64(index)))
        if index == 0 { _ = try transaction.setEmbedded(parts, part, inner) }
        if index == 1 { try transaction.set(parts, part, inner, .null) }
      }
    }
    #expect(try realm.changes() == [:])
    // The same, but for a value within.
    try realm.commit { transaction in
      try transaction.move(items, owners[20], list, from: 0, to: 1)
      guard case .list(let links) = try transaction.value(items, owners[20], list) else { return }
      for (index, link) in links.enumerated() {
        guard case .link(_, let part) = link else { continue }
        try transaction.set(parts, part, size, .int(Int64(index)))
        try transaction.set(parts, part, inner, .null)
      }
    }
    #expect(try realm.changes() == ["class_Item": [.updated(owners[20], properties: [1])]])
  }

  @Test("a changed embedded object in a list whose other elements were replaced by equal ones")
  func embeddedBesideOthers() throws {
    let realm = try Versions()
    let (items, leaves, list, size, leaf) = try realm.commit { transaction in
      let items = try transaction.addTable("class_Item")
      let parts = try transaction.addTable("class_Part", kind: .embedded)
      let leaves = try transaction.addTable("class_Leaf", kind: .embedded)
      let list = try transaction.addColumn(items, ColumnSpec("parts", .link, collection: .list, target: parts))
      let inner = try transaction.addColumn(parts, ColumnSpec("leaves", .link, collection: .list, target: leaves))
      let size = try transaction.addColumn(leaves, ColumnSpec("size", .int))
      let item = try transaction.create(items)
      let first = try transaction.insertEmbedded(items, item, list, at: 0)
      _ = try transaction.insertEmbedded(items, item, list, at: 1)
      return (items, leaves, list, size, try transaction.insertEmbedded(parts, first, inner, at: 0))
    }
    try realm.commit { transaction in
      try transaction.remove(items, ObjKey(0), list, at: 1)
      _ = try transaction.insertEmbedded(items, ObjKey(0), list, at: 1)
    }
    #expect(try realm.changes() == [:])
    try realm.commit { try $0.set(leaves, leaf, size, .int(1)) }
    #expect(try realm.changes() == ["class_Item": [updated(0, 0)]])
    #expect(try realm.changes(since: 0) == ["class_Item": [updated(0, 0)]])
  }

  // MARK: what lies beside the clusters

  /// Gives a column of strings enumerated leaves, as realm-core does on request: `words` beside the table, and numbers
  /// in its only cluster unless `numbers` is nil.
  private func enumerate(
    _ transaction: borrowing WriteTransaction,
    _ key: TableKey,
    _ words: [String],
    _ numbers: [Int64]?
  ) throws {
    let table = try transaction.group.table(key), editor = table.editor, slab = editor.slab
    let spec = try editor.dirty(Slot(parent: table.top, index: Layout.Table.spec))
    let lists = slab.makeInts(.hasRefs, [0])
    slab.setChild(lists, 0, editor.makeStrings())
    for (index, word) in words.enumerated() {
      try Value.text(word).withView { view in
        try editor.insert(Slot(parent: lists, index: 0), index, view, .string, inTree: false)
      }
    }
    slab.setChild(spec, 4, lists)
    if let numbers {
      let cluster = try editor.dirty(Slot(parent: table.top, index: Layout.Table.clusters))
      slab.setChild(cluster, 1, slab.makeInts([], numbers))
    }
  }

  @Test("enumerated strings are compared by value: appended ones change no object, reordered ones all")
  func enumerated() throws {
    let realm = try Versions()
    let table = try realm.commit { transaction in
      let table = try transaction.addTable("class_Item")
      _ = try transaction.addColumn(table, ColumnSpec("word", .string))
      for _ in 0..<6 { _ = try transaction.create(table) }
      return table
    }
    try realm.commit { try enumerate($0, table, ["a", "b", "c"], [0, 1, 2, 0, 1, 2]) }
    #expect(try realm.changes()["class_Item"]?.count == 6)
    try realm.commit { try enumerate($0, table, ["a", "b", "c", "d"], nil) }
    #expect(try realm.changes() == [:])
    try realm.commit { try enumerate($0, table, ["a", "b", "c", "d"], [0, 1, 3, 0, 1, 2]) }
    #expect(try realm.changes() == ["class_Item": [updated(2, 0)]])
    try realm.commit { try enumerate($0, table, ["b", "a", "c", "d"], nil) }
    #expect(try realm.changes() == ["class_Item": [updated(0, 0), updated(1, 0), updated(3, 0), updated(4, 0)]])
    try realm.commit { try enumerate($0, table, ["b", "a"], nil) }
    expectDamaged { try realm.changes() }
  }

  @Test("a class that becomes embedded: its objects are removed, and objects with links to it differ")
  func kinds() throws {
    let realm = try Versions()
    let parts = try realm.commit { transaction in
      let parts = try transaction.addTable("class_Part"), items = try transaction.addTable("class_Item")
      let inner = try transaction.addTable("class_Inner", kind: .embedded)
      let link = try transaction.addColumn(items, ColumnSpec("part", .link, target: parts))
      let innerLink = try transaction.addColumn(inner, ColumnSpec("part", .link, target: parts))
      let way = try transaction.addColumn(items, ColumnSpec("inner", .link, target: inner))
      for index in 0..<3 {
        let item = try transaction.create(items)
        let part = try transaction.create(parts)
        if index > 0 { try transaction.set(items, item, link, .link(parts, part)) }
        if index == 0 {
          let made = try transaction.setEmbedded(items, item, way)
          try transaction.set(inner, made, innerLink, .link(parts, part))
        }
      }
      return parts
    }
    try realm.commit { transaction in
      let table = try transaction.group.table(parts)
      table.editor.slab.setTagged(table.top, Layout.Table.flags, 1)
    }
    let owners = [updated(0, 1), updated(1, 0), updated(2, 0)]
    let gone = (0..<3).map { ObjectDifference.deleted(ObjKey($0)) }
    #expect(try realm.changes() == ["class_Part": gone, "class_Item": owners])
    let difference = try VersionDifference(from: realm.all[0].snapshot, to: realm.newest)
    #expect(difference.tables.first { $0.name == "class_Part" }?.schema == [.kind(from: .topLevel, to: .embedded)])
    let back = try VersionDifference(from: realm.newest, to: realm.all[0].snapshot)
    let come = (0..<3).map { ObjectDifference.inserted(ObjKey($0)) }
    #expect(try changesByClass(back) == ["class_Part": come, "class_Item": owners])
  }

  // MARK: files

  @Test("a file that was compacted in between shares nothing, and is compared by content")
  func compacted() throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true)
      var transaction = try writer.begin()
      let table = try transaction.addTable("class_Item")
      let number = try transaction.addColumn(table, ColumnSpec("number", .int))
      for index in 0..<700 { _ = try transaction.create(table, values: [(number, .int(Int64(index)))]) }
      _ = try transaction.commit()
      let former = try Realm(Configuration(path: path, mode: .immutable)).latest()
      transaction = try writer.begin()
      try transaction.set(table, ObjKey(2), number, .int(-2))
      _ = try transaction.commit()
      _ = try writer.compact()
      let latest = try writer.realm.latest()
      let difference = try VersionDifference(from: former, to: latest)
      #expect(!difference.sharesNodes)
      #expect(try changesByClass(difference) == ["class_Item": [updated(2, 0)]])
    }
  }

  @Test("no object of a file differs from itself, whatever its format", arguments: Fixture.all)
  func itself(fixture: Fixture) throws {
    let difference = try VersionDifference(from: fixture.snapshot(), to: fixture.snapshot(), sharing: false)
    #expect(try changesByClass(difference) == [:])
    #expect(difference.tables.allSatisfy { $0.schema.isEmpty })
    // Every tree of a sound file can be walked.
    for table in difference.tables.compactMap(\.new) where table.legacyRows == nil {
      var path = try ClusterPath(table.objects), count = 0
      while path.next != nil { count += try path.open()?.count ?? 0 }
      #expect(count == table.objectCount)
    }
  }

  @Test("two files of an old format are compared by content")
  func oldFormat() throws {
    let bytes = try #require(Fixture.old.first { $0.format == 9 && !$0.isEncrypted }).bytes()
    let old = try bytes.withUnsafeBytes { try Realm.snapshot(of: $0) }
    var others = 0
    // Numbers that are alone in their nodes are easy to find and change.
    for at in stride(from: 24, to: bytes.count - 16, by: 8) where bytes[at..<at + 4].allSatisfy({ $0 == 0x41 }) {
      var copy = bytes
      guard bytes[at + 4] & 0xE7 == 4, bytes[at + 7] > 0 else { continue }
      copy[at + 8] ^= 1
      guard let new = try? copy.withUnsafeBytes({ try Realm.snapshot(of: $0) }),
        let changes = try? changesByClass(VersionDifference(from: old, to: new))
      else { continue }
      if changes.values.contains(where: { $0.count == 1 && $0[0].key == ObjKey(0) }) { others += 1 }
      if others == 3 { break }
    }
    #expect(others == 3)
  }

  // MARK: damage

  @Test("damage causes an error that names the table, or other differences, but never a crash", arguments: 1...3)
  func damage(history seed: UInt64) throws {
    var settings = RandomHistory.Settings()
    settings.commits = 6
    settings.operations = 60
    settings.triesForbidden = false
    try withTemporaryPath { path in
      var history = RandomHistory(seed: seed, path: path, settings)
      try history.run { _, _, _ in }
      // Closing brought it to disk, so that its last version is the one before the last of this.
      settings.commits = 2
      history = try RandomHistory(seed: seed, continuing: path, settings)
      try history.run { _, _, _ in }
      let bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
      let mutator = Mutator(bytes), guardian = Watchdog()
      var compared = 0, failed = 0
      for mutant in MutantRun.seeds(150) {
        guardian.start("history \(seed), SEED=\(mutant)")
        guard let new = try? mutator.mutant(seed: mutant).withUnsafeBytes({ try Realm.snapshot(of: $0) }),
          let old = try? new.previous(), let difference = try? VersionDifference(from: old, to: new)
        else { continue }
        #expect(difference.sharesNodes)
        compared += 1
        for sharing in [true, false] {
          // A damaged schema.
          guard let difference = try? VersionDifference(from: old, to: new, sharing: sharing) else { continue }
          for table in difference.tables {
            let changes = difference.changes(in: table)
            do throws(EngineError) { while try changes.next() != nil {} } catch {
              failed += 1
              #expect(!error.place.isEmpty)
              #expect(throws: error) { try changes.next() }
            }
          }
        }
      }
      guardian.stop()
      print("history \(seed): \(compared) pairs, \(failed) damaged tables")
      #expect(compared > 20 && failed > 5)
    }
  }
}
