// Restoring a version: afterwards all classes have its content, whatever transactions did since. SEED=n tests one
// history, RESTORE_HISTORIES=n that many (6); RESTORE_FOLDER=path keeps the files for other programs to check.

import Foundation
import TestSupport
import Testing

@testable import RealmJSON
@testable import RealmPages

@Suite("Restoring versions")
struct RestoreTests {
  private static let environment = ProcessInfo.processInfo.environment

  /// The schema, and the texts of all objects by class and key.
  static func content(_ snapshot: Snapshot) throws -> [String: String] {
    let out = OutputBuffer(), renderer = ObjectRenderer(snapshot)
    var all: [String: String] = ["schemaVersion": "\(try snapshot.schemaVersion().map(String.init) ?? "none")"]
    let mixedSets = Set(
      try snapshot.tableKeys().flatMap { key in
        try snapshot.table(key)?.columns.filter { $0.collection == .set && $0.type == .mixed }.map(\.name) ?? []
      }
    )
    for key in try snapshot.tableKeys() {
      guard let table = try snapshot.table(key), let name = table.className else { continue }
      out.reset()
      try SchemaRenderer.render(table, of: snapshot, into: out)
      all["schema \(name)"] = out.string
      if table.kind == .embedded { continue }
      let cursor = ObjectCursor(table)
      while try cursor.next() {
        out.reset()
        try renderer.render(cursor, layout: .compact, into: out)
        all["\(name) \(cursor.key)"] = try mixedSets.isEmpty ? out.string : unordered(mixedSets, in: out.string)
      }
    }
    return all
  }

  /// A text in which the elements of these properties are in the order of their texts. Links in a set of mixed values
  /// are in the order of the numbers of their classes, and a class that is made again has another number.
  private static func unordered(_ sets: Set<String>, in text: String) throws -> String {
    func json(_ value: Any) throws -> String {
      let options: JSONSerialization.WritingOptions = [.sortedKeys, .fragmentsAllowed]
      return String(decoding: try JSONSerialization.data(withJSONObject: value, options: options), as: UTF8.self)
    }
    func sorted(_ value: Any) throws -> Any {
      if let list = value as? [Any] { return try list.map(sorted) }
      guard let object = value as? [String: Any] else { return value }
      var result: [String: Any] = [:]
      for (name, value) in object {
        result[name] = try sorted(value)
        if sets.contains(name), let list = value as? [Any] { result[name] = try list.map(json).sorted() }
      }
      return result
    }
    return try json(sorted(try JSONSerialization.jsonObject(with: Data(text.utf8))))
  }

  static func firstDifference(_ found: [String: String], _ wanted: [String: String]) -> String? {
    for name in Set(found.keys).union(wanted.keys).sorted() where found[name] != wanted[name] {
      let (text, other) = (Array((found[name] ?? "none").utf8), Array((wanted[name] ?? "none").utf8))
      let start = max(0, (zip(text, other).prefix { $0 == $1 }.count) - 40)
      func part(_ text: [UInt8]) -> String { String(decoding: text.dropFirst(start).prefix(400), as: UTF8.self) }
      return "\(name), from byte \(start) on: \(part(text)) instead of \(part(other))"
    }
    return nil
  }

  static func check(_ path: String, _ wanted: [String: String]) throws -> String? {
    let snapshot = try Realm(Configuration(path: path, mode: .immutable)).latest()
    if let difference = firstDifference(try content(snapshot), wanted) { return difference }
    return Verifier(snapshot, isStrict: true).problems(limit: 3).first.map { "the verifier says: \($0)" }
  }

  private static func live(seed: UInt64) throws -> Int {
    var settings = RandomHistory.Settings()
    (settings.triesForbidden, settings.commits, settings.changesSchema) = (false, 24, seed % 3 != 0)
    if seed % 10 == 3 { (settings.commits, settings.operations, settings.objects) = (6, 900, 900) }
    // The checker of another engine does not find links in collections within collections.
    settings.hasDeepLinks = environment["RESTORE_FOLDER"] == nil
    var random = SplitMix64(seed: seed ^ 0x7E57), restored = 0
    try withTemporaryPath { path in
      var history = RandomHistory(seed: seed, path: path, settings)
      var held: [(hold: VersionHold, content: [String: String], copy: String)] = [], reader: Realm?
      try history.run { snapshot, _, _ in
        let realm = try reader ?? Realm(Configuration(path: path))
        reader = realm
        let hold = try realm.hold()
        let copy = "\(path).\(snapshot.version)"
        if environment["RESTORE_FOLDER"] != nil {
          _ = try RealmCopy.write(Configuration(path: path), to: copy, key: nil)
        }
        held.append((hold, try content(hold.snapshot), copy))
      }
      // Back and forth between all of them.
      let writer = try RealmWriter(Configuration(path: path))
      for step in 0..<12 {
        let wanted = held[random.below(held.count)]
        let transaction = try writer.begin()
        _ = try transaction.restore(wanted.hold.snapshot)
        _ = try transaction.commit()
        if let problem = try check(path, wanted.content) {
          throw RandomHistory.Disagreement(description: "version \(wanted.hold.snapshot.version): \(problem)")
        }
        restored += 1
        guard let folder = environment["RESTORE_FOLDER"] else { continue }
        try FileManager.default.copyItem(atPath: wanted.copy, toPath: "\(folder)/\(seed)-\(step).wanted.realm")
        try FileManager.default.copyItem(atPath: path, toPath: "\(folder)/\(seed)-\(step).realm")
      }
    }
    return restored
  }

  @Test("restores that are impossible are refused, and nothing changes")
  func refusals() throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true)
      var transaction = try writer.begin()
      let table = try transaction.addTable("class_A")
      _ = try transaction.addColumn(table, ColumnSpec("n", .int))
      let log = try transaction.addTable("class_Log", kind: .asymmetric)
      let text = try transaction.addColumn(log, ColumnSpec("text", .string))
      try transaction.setPrimaryKey(log, nil)
      _ = try transaction.create(table)
      _ = try transaction.commit()
      let hold = try writer.realm.hold()
      transaction = try writer.begin()
      try transaction.removeTable(table)
      try transaction.removeColumn(log, text)
      _ = try transaction.commit()
      let before = try Self.content(writer.realm.latest())
      // A version of another file, which has the same classes.
      let other = path + ".other"
      _ = try RealmCopy.write(Configuration(path: path), to: other, key: nil)
      let stranger = try RealmWriter(Configuration(path: other))
      transaction = try stranger.begin()
      do throws(EngineError) {
        _ = try transaction.restore(hold.snapshot)
        Issue.record("a version of another file is not refused")
      } catch { #expect(error.reason == .moved) }
      transaction.rollback()
      #expect(try Self.content(stranger.realm.latest()) == before)
      // Without objects that differ, a class that is asymmetric is brought back too.
      transaction = try writer.begin()
      _ = try transaction.restore(hold.snapshot)
      _ = try transaction.commit()
      #expect(try Self.check(path, Self.content(hold.snapshot)) == nil)
    }
  }

  @Test("a set of mixed values with links to a recreated class")
  func setsOfLinks() throws { #expect(try Self.live(seed: 1_795_780_163) == 12) }

  @Test("restored objects equal the former ones, whatever happened in between")
  func histories() throws {
    let seed = Self.environment["SEED"].flatMap(UInt64.init)
    let count = Self.environment["RESTORE_HISTORIES"].flatMap(Int.init) ?? 6
    let first = seed ?? 1
    var restored = 0
    for seed in first..<first + UInt64(seed == nil ? count : 1) {
      do { restored += try Self.live(seed: seed) } catch {
        Issue.record("\(error)\nSEED=\(seed) repeats it")
        return
      }
    }
    print("seeds from \(first) on: \(restored) versions brought back")
    #expect(restored > 0)
  }
}
