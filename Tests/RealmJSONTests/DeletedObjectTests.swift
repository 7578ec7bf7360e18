// Deleted objects that are still in a file: each reported state is that of the object in that version. SEED=n tests one
// history, DELETED_HISTORIES=n that many (6).

import Foundation
import TestSupport
import Testing

@testable import RealmJSON
@testable import RealmPages

@Suite("Deleted objects")
struct DeletedObjectTests {
  private static let environment = ProcessInfo.processInfo.environment
  private static let key = EncryptionKey([UInt8](repeating: 9, count: 64))

  /// The texts of the objects of all classes that are not embedded.
  private static func texts(_ snapshot: Snapshot) throws -> [ObjectReference: String] {
    var texts: [ObjectReference: String] = [:]
    let renderer = ObjectRenderer(snapshot), out = OutputBuffer()
    for key in try snapshot.tableKeys() {
      guard let table = try snapshot.table(key), table.kind != .embedded, table.className != nil else { continue }
      let cursor = ObjectCursor(table)
      while try cursor.next() {
        out.reset()
        try renderer.render(cursor, layout: .compact, into: out)
        texts[ObjectReference(table: key, key: cursor.key)] = String(decoding: out.bytes.dropLast(), as: UTF8.self)
      }
    }
    return texts
  }

  /// The numbers of deleted and of former states found in one history.
  private static func live(seed: UInt64) throws -> (deleted: Int, former: Int) {
    var settings = RandomHistory.Settings()
    (settings.triesForbidden, settings.changesSchema) = (false, seed % 3 != 0)
    (settings.commits, settings.operations) = seed % 2 == 0 ? (40, 3) : (20, 40)
    let key = seed % 5 == 0 ? Self.key : nil
    settings.encryptionKey = key
    settings.fullCommits = seed % 4 < 2 ? 1 : 20
    var counts = (deleted: 0, former: 0)
    try withTemporaryPath { path in
      var history = RandomHistory(seed: seed, path: path, settings)
      var contents: [UInt64: [ObjectReference: String]] = [:]
      try history.run { newest, _, _ in
        contents[newest.version] = try texts(newest)
        try DeletedObjects(in: newest, former: true).forEach { object in
          guard let text = DeletedObjectText(object) else { return false }
          let reference = ObjectReference(table: object.table.key, key: object.key)
          func fail(_ text: String) -> RandomHistory.Disagreement {
            RandomHistory.Disagreement(
              description: "\(object.state) state of \(text) in version \(object.version) of \(newest.version)"
            )
          }
          let state = String(decoding: text.value, as: UTF8.self)
          if object.confidence != .certain { throw fail("\(reference) is not certain") }
          if let known = contents[object.version], known[reference] != state {
            throw fail("\(reference): \(state) instead of \(known[reference] ?? "no object")")
          }
          if object.state == .deleted {
            counts.deleted += 1
            if contents[newest.version]?[reference] != nil { throw fail("\(reference), which exists") }
            if let freed = object.freed, contents[freed]?[reference] != nil || freed != object.version + 1 {
              throw fail("\(reference), freed in \(freed)")
            }
          } else {
            counts.former += 1
          }
          if text.nodes.isEmpty || text.nodes.contains(where: { $0.offset < 24 || $0.length < 8 }) {
            throw fail("\(reference): \(text.nodes)")
          }
          return true
        }
      }
    }
    return counts
  }

  @Test("each state of a deleted object, and each former state, is what the object was in that version")
  func histories() throws {
    let seed = Self.environment["SEED"].flatMap(UInt64.init), first = seed ?? 1
    let count = seed == nil ? Self.environment["DELETED_HISTORIES"].flatMap(Int.init) ?? 6 : 1
    var deleted = 0, former = 0
    // In history 38 a version is left without the list of its tables, and with one of two changed tables.
    for seed in Array(first..<first + UInt64(count)) + (seed == nil ? [38] : []) {
      do {
        let found = try Self.live(seed: seed)
        (deleted, former) = (deleted + found.deleted, former + found.former)
      } catch {
        Issue.record("\(error)\nSEED=\(seed) repeats it")
        return
      }
    }
    print("seeds from \(first) on: \(deleted) deleted objects and \(former) former states found")
    #expect(seed != nil || deleted > 10 * count && former > 10 * count)
  }

  /// A commit that was interrupted before the header was switched, and then other commits, the first of which has its
  /// number. Returns the number of certain states.
  private static func interrupted(seed: UInt64) throws -> Int {
    var settings = RandomHistory.Settings(), certain = 0
    (settings.triesForbidden, settings.changesSchema, settings.fullCommits) = (false, false, 1)
    (settings.commits, settings.operations, settings.mode) = (12, 6, .exclusive)
    let key = seed % 3 == 0 ? Self.key : nil
    settings.encryptionKey = key
    try withTemporaryPath { path in
      let url = URL(fileURLWithPath: path)
      var contents: [UInt64: [ObjectReference: String]] = [:]
      do {
        var history = RandomHistory(seed: seed, path: path, settings)
        try history.run { newest, _, _ in contents[newest.version] = try texts(newest) }
      }
      let before = try Data(contentsOf: url)
      settings.commits = 1
      do {
        var lost = try RandomHistory(seed: seed + 1000, continuing: path, settings)
        try lost.run { _, _, _ in }
      }
      let file = try Foundation.FileHandle(forUpdating: url)
      // The header of a plain file; of an encrypted one, the first page and its metadata.
      for range in key == nil ? [0..<24] : [0..<64, 4096..<8192] {
        try file.seek(toOffset: UInt64(range.lowerBound))
        try file.write(contentsOf: before[range])
      }
      try file.close()
      settings.commits = 1 + Int(seed % 3)
      do {
        var rest = try RandomHistory(seed: seed + 2000, continuing: path, settings)
        try rest.run { newest, _, _ in contents[newest.version] = try texts(newest) }
      }
      let newest = try Realm(Configuration(path: path, encryptionKey: key, mode: .immutable)).latest()
      try DeletedObjects(in: newest, former: true).forEach { object in
        guard object.confidence == .certain, let text = DeletedObjectText(object) else { return false }
        certain += 1
        let reference = ObjectReference(table: object.table.key, key: object.key)
        let state = String(decoding: text.value, as: UTF8.self), known = contents[object.version]
        #expect(known == nil || known?[reference] == state, "version \(object.version), \(reference), SEED=\(seed)")
        return true
      }
    }
    return certain
  }

  @Test("after an interrupted commit and others, a certain state is what the object was in that version")
  func interruptedCommits() throws {
    let seed = Self.environment["SEED"].flatMap(UInt64.init), first = seed ?? 1
    let count = seed == nil ? Self.environment["DELETED_HISTORIES"].flatMap(Int.init) ?? 30 : 1
    var certain = 0
    for seed in first..<first + UInt64(count) { certain += try Self.interrupted(seed: seed) }
    print("interrupted commits, seeds from \(first) on: \(certain) certain states")
    #expect(seed != nil || certain > 0)
  }

  /// A file in which two of three objects were deleted by the last commit, and its bytes.
  private static func withDeletions(_ body: (String) throws -> Void) throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true)
      let make = try writer.begin()
      let dog = try make.addTable("class_Dog")
      let name = try make.addColumn(dog, ColumnSpec("name", .string))
      for index in 0..<3 {
        _ = try make.create(dog, key: ObjKey(Int64(index)), values: [(name, .string(Array("dog \(index)".utf8)))])
      }
      _ = try make.commit()
      let delete = try writer.begin()
      for index in [0, 2] { try delete.delete(dog, ObjKey(Int64(index))) }
      _ = try delete.commit()
      try body(path)
    }
  }

  private static func found(_ path: String) throws -> [String] {
    let newest = try Realm(Configuration(path: path, mode: .immutable)).latest()
    var all: [String] = []
    try DeletedObjects(in: newest).forEach { object in
      guard let text = DeletedObjectText(object) else { return false }
      all.append("\(object.key) \(object.confidence) \(String(decoding: text.value, as: UTF8.self))")
      return true
    }
    return all
  }

  @Test("an interrupted commit after the newest version makes states likely, not certain")
  func interrupted() throws {
    try Self.withDeletions { path in
      #expect(try Self.found(path) == ["0 certain {\"name\":\"dog 0\"}", "2 certain {\"name\":\"dog 2\"}"])
      let writer = try RealmWriter(Configuration(path: path))
      let insert = try writer.begin()
      let dog = try #require(try insert.former.table(named: "class_Dog")).key
      _ = try insert.create(dog, key: ObjKey(9), values: [])
      _ = try insert.commit()
      // Without the switch of the header, that commit was interrupted.
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      bytes[23] ^= 1
      try withTemporaryFile([UInt8](bytes)) { copy in
        let found = try Self.found(copy)
        #expect(found.allSatisfy { $0.contains(" likely ") })
      }
    }
  }

  @Test("another commit with the number of the newest one may have written to what was free before it")
  func reissuedVersion() throws {
    try Self.withDeletions { path in
      let writer = try RealmWriter(Configuration(path: path))
      let delete = try writer.begin()
      try delete.delete(#require(try delete.former.table(named: "class_Dog")).key, ObjKey(1))
      _ = try delete.commit()
      #expect(try Self.found(path).map { $0.first } == ["1", "0", "2"])
      let newest = try writer.realm.latest(), top = try newest.arena.node(newest.top.ref)
      let free = try Committer.ranges(newest.arena, newest.top).filter { $0.version != newest.version }
      let place = try #require(free.max { $0.end - $0.position < $1.end - $1.position })
      #expect(place.end - place.position >= top.byteSize)
      // The top array of a commit on the same base that was interrupted.
      var bytes = [UInt8](try Data(contentsOf: URL(fileURLWithPath: path)))
      bytes.replaceSubrange(
        place.position..<place.position + top.byteSize,
        with: bytes[top.ref..<top.ref + top.byteSize]
      )
      try withTemporaryFile(bytes) { copy in
        // The object that version 4 deleted was in use in its base; the rest of version 2 was free.
        let found = try Self.found(copy)
        #expect(found == ["1 certain {\"name\":\"dog 1\"}"])
      }
    }
  }

  @Test("formats before 10 are refused with the reason")
  func oldFormats() throws {
    let fixture = try #require(Fixture.old.first { $0.name.contains("v5-") })
    let newest = try Realm(try fixture.configuration()).latest()
    let error = #expect(throws: EngineError.self) { try DeletedObjects(in: newest) }
    #expect(error?.description.contains("formats 10 and later can") == true)
  }

  @Test("sets of ranges agree with sets of bytes")
  func ranges() {
    var random = SplitMix64(seed: 1)
    for _ in 0..<500 {
      func some() -> [Range<Int>] {
        (0..<random.below(8)).map { _ in
          let start = random.below(60)
          return start..<start + random.below(12)
        }
      }
      let (first, second) = (some(), some()), a = ByteRanges(first), b = ByteRanges(second)
      let (left, right) = (Set(first.joined()), Set(second.joined()))
      #expect(Set(a.union(b).ranges.joined()) == left.union(right))
      #expect(Set(a.subtracting(b).ranges.joined()) == left.subtracting(right))
      for range in some() where !range.isEmpty {
        #expect(a.overlaps(range) == !left.isDisjoint(with: range))
        #expect(a.contains(range) == left.isSuperset(of: range))
      }
    }
  }
}
