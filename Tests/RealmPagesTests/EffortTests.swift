// The bound on walks: enough for every sound file, far below the 2^60 steps that a damaged one with shared nodes could
// cause.

import Foundation
import TestSupport
import Testing

@testable import RealmPages

@Suite("Work limits")
struct EffortTests {
  /// Reads a value with all that is nested in it, as every walk does.
  private func walk(_ value: ValueView, _ effort: Effort) throws(EngineError) -> Int {
    var count = 1
    switch value {
    case .list(var list), .set(var list):
      try effort.enter(list)
      for i in 0..<list.count {
        let element = try list.value(at: i)
        try effort.enter(element: element)
        count += try walk(element, effort)
      }
    case .dictionary(var entries):
      try effort.enter(entries)
      for i in 0..<entries.count {
        let entry = try entries.value(at: i)
        try effort.enter(element: entry)
        count += try walk(entry, effort)
      }
    default: break
    }
    return count
  }

  private func walk(_ table: Table, _ effort: Effort) throws(EngineError) -> Int {
    let cursor = ObjectCursor(table, sweep: effort)
    var count = 0
    while try cursor.next() {
      for index in table.columns.indices {
        let value = try cursor.value(index)
        // An export pays for these too.
        if !table.columns[index].isEnumerated { try effort.enter(element: value) }
        count += try walk(value, effort)
      }
    }
    return count
  }

  /// The effort of a walk, and the bound for half of a file.
  private func share(_ effort: Effort, _ arena: Arena) -> Double {
    Double(effort.granted - effort.left) / Double(max(1, arena.maximumBytes))
  }

  @Test("a walk through all of a valid file costs less than the size of the file", arguments: Fixture.all)
  func soundFiles(fixture: Fixture) throws {
    let snapshot = try fixture.snapshot(), effort = Effort(snapshot)
    for key in try snapshot.tableKeys() {
      guard let table = try snapshot.table(key) else { continue }
      #expect(table.damage == nil)
      _ = try walk(table, effort)
      _ = try snapshot.storedBytes(of: key, sweep: Effort(snapshot))
    }
    // It may pay twice as much.
    #expect(share(effort, snapshot.arena) < 1)
  }

  /// The bytes of a realm in memory.
  private func storage(_ bytes: [UInt8]) throws -> MemoryStorage {
    let storage = try MemoryStorage(name: "effort")
    try storage.grow(to: bytes.count)
    try storage.write(bytes, at: 0)
    return storage
  }

  /// An empty realm in memory.
  private func realm() throws -> RealmWriter { try RealmWriter(memory: MemoryStorage(name: "effort")) }

  @Test("objects created in a transaction can be read, changed and removed in it")
  func newCollections() throws {
    let writer = try realm(), transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    let ints = try transaction.addColumn(table, ColumnSpec("ints", .int, collection: .list))
    let words = try transaction.addColumn(table, ColumnSpec("words", .string, collection: .set))
    let links = try transaction.addColumn(table, ColumnSpec("links", .link, collection: .list, target: table))
    let any = try transaction.addColumn(table, ColumnSpec("any", .mixed, isNullable: true))
    let entries = try transaction.addColumn(table, ColumnSpec("entries", .mixed, collection: .dictionary))
    let zeros = Value.list(Array(repeating: .int(0), count: 500_000))
    let object = try transaction.create(table, values: [(ints, zeros)])
    for i in 0..<2000 { _ = try transaction.add(table, object, words, .text("\(i)")) }
    for i in 0..<2000 { try transaction.insert(table, object, links, at: i, .link(table, object)) }
    for i in 0..<2000 { try transaction.set(table, object, entries, entry: Array("key \(i)".utf8), .int(1)) }
    // Nested lists of the smallest size, and links to the object itself.
    let inner = Value.list([.null, .list([.null]), .dictionary([.init(key: Array("a".utf8), value: .null)])])
    try transaction.set(table, object, any, .list(Array(repeating: inner, count: 2500) + [.link(table, object)]))
    let view = try transaction.table(table), effort = Effort(view.arena)
    #expect(try walk(view, effort) > 500_000 + 2000 + 2500 * 4)
    #expect(share(effort, view.arena) < 1)
    let cursor = ObjectCursor(view)
    #expect(try cursor.next())
    #expect(try Value(copying: cursor.value(3)) != .null)
    try transaction.set(table, object, any, path: [.index(0)], at: 1, .int(1))
    try transaction.remove(table, object, any, path: [.index(1)], at: 1)
    try transaction.set(table, object, any, .null)
    try transaction.clear(table, object, ints)
    try transaction.delete(table, object)
    _ = try transaction.commit()
    #expect(Verifier(try writer.realm.latest()).problems(limit: 3) == [])
  }

  @Test("a transaction that creates many objects can iterate over them")
  func newObjects() throws {
    let writer = try realm(), transaction = try writer.begin()
    let table = try transaction.addTable("class_Item")
    for i in 0..<10 { _ = try transaction.addColumn(table, ColumnSpec("p\(i)", .int)) }
    for _ in 0..<50_000 { _ = try transaction.create(table) }
    let view = try transaction.table(table), cursor = ObjectCursor(view)
    // Again and again with the same cursor, too.
    for _ in 0..<20 {
      var count = 0
      while try cursor.next() { count += 1 }
      #expect(count == 50_000)
      #expect(try cursor.seek(ObjKey(0)))
      while try cursor.next() { count += 1 }
      #expect(count == 2 * 50_000 - 1)
    }
    transaction.rollback()
  }

  @Test("a transaction on a file that claims to have 2^24 classes is refused at once")
  func claimedTables() throws {
    let storage = try storage(Fixture.named("people").bytes())
    let ref = try RealmWriter(memory: storage).realm.latest().top.tablesRef
    // Elements without a bit, so that no room is needed.
    try storage.write([0x40, 0xFF, 0xFF, 0xFF], at: ref + 4)
    let writer = try RealmWriter(memory: storage)
    let error = #expect(throws: EngineError.self) { _ = try writer.begin().tableKeys() }
    #expect(error?.reason == .damaged)
    #expect(error?.description.contains("names for") == true, "\(error as Any)")
  }

  @Test("a transaction on a file whose version number leaves no room for the next is refused")
  func lastVersion() throws {
    let bytes = try Fixture.named("people").bytes(), storage = try storage(bytes)
    let ref = try RealmWriter(memory: storage).realm.latest().top.ref
    let width = (1 << (Int(bytes[ref + 4]) & 7)) >> 4
    // All bits set are -1.
    try storage.write([UInt8](repeating: 0xFF, count: width), at: ref + 8 + Layout.Top.version * width)
    let writer = try RealmWriter(memory: storage)
    #expect(try writer.realm.latest().version > 1 << 61)
    let error = #expect(throws: EngineError.self) { _ = try writer.begin().nextVersion }
    #expect(error?.reason == .damaged && error?.description.contains("a version number") == true, "\(error as Any)")
    let newest = try writer.realm.latest(), timeline = try VersionTimeline(newest, of: writer.realm)
    #expect(timeline.versions.first?.version == newest.version)
    #expect(timeline.wholeVersions().count <= 1)
  }

  @Test("reading a changeset of the history takes linear time")
  func changesets() throws {
    let growth = try growth(from: 20_000) { count in
      var bytes: [UInt8] = [Changeset.Code.selectTable.rawValue, 0, 1]
      for i in 0..<count { bytes += [Changeset.Code.set.rawValue, UInt8(i % 60), UInt8(i / 60 % 60)] }
      let changeset = try ChangesetDecoder(bytes)
      #expect(changeset.touched.count == 3600)
    }
    #expect(growth < largestGrowth)
  }

  /// The operations on the property `m` of the only object, whose lists refer to the same lists repeatedly.
  enum Attempt: CaseIterable {
    case copy, set, setAgain, delete, clear, remove, replace, nullify
  }

  @Test(
    "a value that reaches the same lists 2^60 times is refused at once",
    arguments: Fixture.damaged.filter { $0.name.hasPrefix("shared") },
    Attempt.allCases
  )
  func sharedNodes(fixture: Fixture, attempt: Attempt) throws {
    let guardian = Watchdog()
    guardian.start("\(fixture), \(attempt)")
    let writer = try RealmWriter(memory: storage(fixture.bytes())), transaction = try writer.begin()
    let table = try #require(try transaction.tableKey(named: "class_T"))
    let column = try #require(try transaction.columns(of: table).first { $0.name == "m" }).key
    let cursor = ObjectCursor(try transaction.table(table))
    #expect(try cursor.next())
    let object = cursor.key
    let error = #expect(throws: (any Error).self) {
      switch attempt {
      case .copy: _ = try Value(copying: cursor.value(1))
      case .set: try transaction.set(table, object, column, .int(1))
      case .setAgain: for _ in 0..<2 { try transaction.set(table, object, column, .list([])) }
      case .delete: try transaction.delete(table, object)
      case .clear: try transaction.clear(table, object, column)
      case .remove: try transaction.remove(table, object, column, at: 0)
      case .replace: try transaction.set(table, object, column, at: 0, .null)
      case .nullify:
        // A link that is searched for in all nested lists.
        let other = try transaction.create(table, primaryKey: .int(77))
        let editor = transaction.group
        let origin = try editor.table(table)
        let m = try #require(origin.columns.first { $0.key == column })
        try editor.addBacklink(table, other, from: origin, m, object)
        try transaction.delete(table, other)
      }
    }
    // Searching for a link makes nodes dirty, which has the same content.
    let reasons = ["more than the file has room for", "more than one node refers to this one"]
    #expect(reasons.contains { "\(error.map { "\($0)" } ?? "")".contains($0) })
    transaction.rollback()
    #expect(try writer.realm.latest().version > 0)
    guardian.stop()
  }

  @Test("a list shared by a thousand objects is not read a thousand times")
  func sharedList() throws {
    let storage = try MemoryStorage(name: "shared list"), writer = try RealmWriter(memory: storage)
    let transaction = try writer.begin(), table = try transaction.addTable("class_Item")
    let column = try transaction.addColumn(table, ColumnSpec("list", .mixed, collection: .list))
    for _ in 0..<200 {
      let object = try transaction.create(table)
      for i in 0..<40 { try transaction.insert(table, object, column, at: i, .list([.int(Int64(i))])) }
    }
    _ = try transaction.commit()
    var snapshot = try writer.realm.latest(), view = try #require(try snapshot.table(table))
    #expect(try walk(view, Effort(snapshot)) == 200 * 81)
    // Every object gets the list of the first one.
    let cluster = try #require(try view.objects.first(notBelow: 0)).cluster
    let leaf = try view.arena.node(cluster.leafRef(view.columns[0].key.leafPosition))
    var node = [UInt8](repeating: 0, count: leaf.byteSize)
    try node.withUnsafeMutableBytes { buffer in
      _ = try storage.read(into: buffer, at: leaf.ref)
      let payload = try #require(buffer.baseAddress) + Node.headerSize, first = try leaf.int(0)
      for i in 0..<leaf.count { PackedBits.store(payload, leaf.width, i, first) }
    }
    try node.withUnsafeBytes { try storage.write($0, at: leaf.ref) }
    snapshot = try RealmWriter(memory: storage).realm.latest()
    view = try #require(try snapshot.table(table))
    // Each object alone needs no more than the file has room for.
    let cursor = ObjectCursor(view)
    while try cursor.next() { #expect(try Value(copying: cursor.value(0)) != .null) }
    // All together need about as much as before, because the lists have the same size. So a few walks are allowed, but
    // not any number.
    let effort = Effort(snapshot)
    _ = try walk(view, effort)
    expectDamaged { for _ in 0..<40 { _ = try walk(view, effort) } }
  }

  @Test("the holes of a sparse file of terabytes do not count in a walk")
  func sparseFile() throws {
    try withTemporaryFolder { folder in
      let path = folder.appendingPathComponent("sparse.realm").path
      let fixture = Fixture.named("damaged/shared-nodes-60"), bytes = try fixture.bytes()
      try Data(bytes).write(to: URL(fileURLWithPath: path))
      guard truncate(path, 1 << 42) == 0 else { return }  // a file system without large files has none to offer
      let file = try FileHandle(path: path)
      #expect(file.dataRanges(below: 1 << 42).reduce(0) { $0 + $1.count } < 1 << 20)
      let snapshot = try Realm(Configuration(path: path, mode: .immutable)).latest()
      #expect(snapshot.arena.storedBytes() <= bytes.count)
      let saved = folder.appendingPathComponent("saved.realm").path
      let report = try RealmRecovery.run(Configuration(path: path), to: saved)
      #expect(!report.isWhole && report.sizes.after < 1 << 20)
      let checked = Verifier(snapshot).run { _ in }
      #expect(!checked.isSound)
    }
  }

  @Test("bit sets with several chunks")
  func bitSet() {
    let count = 5 << 20 + 17
    var set = BitSet(count: count)
    #expect(set.first(true, from: 0) == count && set.first(false, from: 0) == 0)
    #expect(set.insert(1 << 20..<4 << 20 + 3) == nil)
    #expect(set.first(true, from: 0) == 1 << 20 && set.first(false, from: 1 << 20) == 4 << 20 + 3)
    #expect(set.contains(2 << 20) && set.contains(4 << 20 + 2) && !set.contains(4 << 20 + 3) && !set.insert(3 << 20))
    #expect(set.insert(0..<2 << 20) == 1 << 20)
    #expect(set.insert(count - 1) && set.contains(count - 1) && set.first(true, from: 4 << 20 + 3) == count - 1)
    var other = set
    #expect(set.firstMissing(in: other) == nil)
    #expect(other.insert(count - 5) && set.firstMissing(in: other) == nil && other.firstMissing(in: set) == count - 5)
    #expect(set.firstMissing(in: BitSet(count: count)) == 0)
  }
}
