// Lines of changes: their form, and that applying them to the objects of the older version gives those of the newer.
// SEED=n tests one history.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import RealmJSON

@Suite("Change lines")
struct ChangeLineTests {
  private static let time = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)

  private static func lines(_ changes: ChangeLines) throws -> [String] {
    let out = OutputBuffer()
    loop: while true {
      switch changes.next(into: out) {
      case .line: continue
      case .damage(let problem): throw RandomHistory.Disagreement(description: problem)
      case .end: break loop
      }
    }
    return out.string.split(separator: "\n").map(String.init)
  }

  private static func lines(_ old: VersionHold, _ new: VersionHold) throws -> [String] {
    try lines(ChangeLines(from: old.snapshot, to: new.snapshot, time: time))
  }

  /// The lines without their common beginning.
  private static func tails(_ old: VersionHold, _ new: VersionHold) throws -> [String] {
    let head = #"{"version":\#(new.snapshot.version),"time":"2023-11-14T22:13:20Z","op":"#
    return try lines(old, new).map { line in
      #expect(line.hasPrefix(head) && line.hasSuffix("}"))
      return String(line.dropFirst(head.count).dropLast())
    }
  }

  @Test("inserts and deletes contain the whole object, updates the differences")
  func forms() throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true)
      var transaction = try writer.begin()
      let child = try transaction.addTable("class_Child", kind: .embedded)
      let size = try transaction.addColumn(child, ColumnSpec("size", .int))
      let dog = try transaction.addTable("class_Dog")
      let dogName = try transaction.addColumn(dog, ColumnSpec("name", .string))
      let person = try transaction.addTable("class_Person")
      let id = try transaction.addColumn(person, ColumnSpec("_id", .int))
      try transaction.setPrimaryKey(person, id)
      let age = try transaction.addColumn(person, ColumnSpec("age", .int, isNullable: true))
      let tags = try transaction.addColumn(person, ColumnSpec("tags", .string, collection: .list))
      let kid = try transaction.addColumn(person, ColumnSpec("kid", .link, target: child))
      let pet = try transaction.addColumn(person, ColumnSpec("pet", .link, target: dog))
      let fido = try transaction.create(dog, values: [(dogName, .text("Fido"))])
      let ann = try transaction.create(person, primaryKey: .int(1), values: [(age, .int(21))])
      let kidOfAnn = try transaction.setEmbedded(person, ann, kid)
      let bob = try transaction.create(person, primaryKey: .int(2))
      _ = try transaction.commit()
      let first = try writer.realm.hold()

      transaction = try writer.begin()
      try transaction.set(person, ann, age, .int(22))
      try transaction.insert(person, ann, tags, at: 0, .text("a\"b"))
      try transaction.set(child, kidOfAnn, size, .int(3))
      try transaction.set(person, ann, pet, .link(dog, fido))
      try transaction.delete(person, bob)
      _ = try transaction.create(person, primaryKey: .int(3))
      try transaction.set(dog, fido, dogName, .text("Rex"))
      _ = try transaction.commit()
      let second = try writer.realm.hold()
      #expect(
        try Self.tails(first, second) == [
          #""update","class":"Dog","key":0,"before":{"name":"Fido"},"after":{"name":"Rex"}"#,
          #""update","class":"Person","key":1,"before":{"age":21,"tags":[],"kid":{"size":0},"pet":null},"#
            + #""after":{"age":22,"tags":["a\"b"],"kid":{"size":3},"pet":0}"#,
          #""delete","class":"Person","key":2,"before":{"_id":2,"age":null,"tags":[],"kid":null,"pet":null}"#,
          #""insert","class":"Person","key":3,"after":{"_id":3,"age":null,"tags":[],"kid":null,"pet":null}"#,
        ]
      )
      #expect(try Self.lines(second, second).isEmpty)
      let chosen = try ChangeLines(from: first.snapshot, to: second.snapshot, time: Self.time, classes: ["Dog"])
      #expect(try Self.lines(chosen).count == 1)

      transaction = try writer.begin()
      try transaction.renameColumn(person, age, to: "years")
      try transaction.removeColumn(person, tags)
      let note = try transaction.addColumn(person, ColumnSpec("note", .string, isNullable: true))
      try transaction.set(person, ann, note, .text("n"))
      try transaction.removeColumn(person, pet)
      try transaction.removeTable(dog)
      let cat = try transaction.addTable("class_Cat")
      let lives = try transaction.addColumn(cat, ColumnSpec("lives", .int))
      _ = try transaction.create(cat, values: [(lives, .int(9))])
      _ = try transaction.commit()
      let third = try writer.realm.hold()
      let schemas = [
        #"{"name":"Dog","properties":{"name":{"type":"string"}}}"#,
        #"{"name":"Cat","properties":{"lives":{"type":"int"}}}"#,
        #"{"name":"Person","primaryKey":"_id","properties":{"_id":{"type":"int"},"#
          + #""age":{"type":"int","optional":true},"tags":{"type":"list","objectType":"string"},"#
          + #""kid":{"type":"object","objectType":"Child","optional":true},"#
          + #""pet":{"type":"object","objectType":"Dog","optional":true}}}"#,
        #"{"name":"Person","primaryKey":"_id","properties":{"_id":{"type":"int"},"#
          + #""years":{"type":"int","optional":true},"#
          + #""kid":{"type":"object","objectType":"Child","optional":true},"#
          + #""note":{"type":"string","optional":true}}}"#,
      ]
      #expect(
        try Self.tails(second, third) == [
          #""delete","class":"Dog","key":0,"before":{"name":"Rex"}"#,
          #""schema","class":"Dog","before":\#(schemas[0])"#,
          #""schema","class":"Cat","after":\#(schemas[1])"#,
          #""insert","class":"Cat","key":0,"after":{"lives":9}"#,
          #""schema","class":"Person","renamed":{"age":"years"},"before":\#(schemas[2]),"after":\#(schemas[3])"#,
          #""update","class":"Person","key":1,"before":{},"after":{"note":"n"}"#,
        ]
      )
    }
  }

  // MARK: random histories

  /// The objects of all classes with a directory, as parsed texts, by class and key.
  private static func objects(_ snapshot: Snapshot) throws -> [String: NSDictionary] {
    var all: [String: NSDictionary] = [:]
    let renderer = ObjectRenderer(snapshot), out = OutputBuffer()
    for key in try snapshot.tableKeys() {
      guard let table = try snapshot.table(key), table.className != nil, table.kind != .embedded else { continue }
      let cursor = ObjectCursor(table)
      while try cursor.next() {
        out.reset()
        var key = "\(cursor.key)"
        if let index = table.primaryKeyIndex {
          try renderer.render(property: index, of: cursor, into: out)
          key = out.string
        }
        out.reset()
        try renderer.render(cursor, layout: .compact, into: out)
        all["\(table.className ?? "") \(key)"] = try parsed(out.string)
      }
    }
    return all
  }

  private static func parsed(_ text: String) throws -> NSDictionary {
    try #require(JSONSerialization.jsonObject(with: Data(text.utf8)) as? NSDictionary)
  }

  /// The objects after the lines were applied; nil if the schema differs, because links may then show other keys.
  private static func replay(_ lines: [String], on objects: [String: NSDictionary]) throws -> [String: NSDictionary]? {
    var objects = objects
    for text in lines {
      let line = try parsed(text), op = try #require(line["op"] as? String)
      if op == "schema" { return nil }
      let name = try #require(line["class"] as? String)
      // The key in the text: from the end of its name to the next member.
      let start = try #require(text.range(of: #","key":"#)).upperBound
      let end = try #require(text.range(of: op == "insert" ? #","after":"# : #","before":"#)).lowerBound
      let object = "\(name) \(text[start..<end])"
      switch op {
      case "insert":
        #expect(objects[object] == nil && line["before"] == nil)
        objects[object] = try #require(line["after"] as? NSDictionary)
      case "delete":
        #expect(line["after"] == nil)
        #expect(objects.removeValue(forKey: object) == line["before"] as? NSDictionary)
      default:
        let before = try #require(line["before"] as? NSDictionary), after = try #require(line["after"] as? NSDictionary)
        #expect(op == "update" && Set(before.allKeys as? [String] ?? []) == Set(after.allKeys as? [String] ?? []))
        let changed = try #require(objects[object]?.mutableCopy() as? NSMutableDictionary)
        for (name, value) in before { #expect((changed[name] as? NSObject) == (value as? NSObject)) }
        changed.addEntries(from: after as? [AnyHashable: Any] ?? [:])
        objects[object] = changed
      }
    }
    return objects
  }

  @Test("applying the lines to the old objects gives the new ones, from any position")
  func histories() throws {
    let seed = ProcessInfo.processInfo.environment["SEED"].flatMap(UInt64.init)
    let first = seed ?? 1
    var replayed = 0, count = 0
    for seed in first..<first + (seed == nil ? 4 : 1) {
      var settings = RandomHistory.Settings()
      (settings.triesForbidden, settings.commits, settings.changesSchema) = (false, 20, seed % 2 == 0)
      var random = SplitMix64(seed: seed)
      try withTemporaryPath { path in
        var history = RandomHistory(seed: seed, path: path, settings)
        var held: [VersionHold] = [], reader: Realm?
        try history.run { _, _, _ in
          let realm = try reader ?? Realm(Configuration(path: path))
          reader = realm
          held.append(try realm.hold())
          let new = held[held.count - 1], old = held[random.below(held.count)]
          let lines = try Self.lines(old, new)
          count += lines.count
          if let result = try Self.replay(lines, on: Self.objects(old.snapshot)) {
            #expect(try result == Self.objects(new.snapshot), "SEED=\(seed) repeats it")
            replayed += 1
          }
          if lines.isEmpty { return }
          // Rendering from a place in the middle gives the same lines again, and from the start all of them.
          let changes = try ChangeLines(from: old.snapshot, to: new.snapshot, time: Self.time), out = OutputBuffer()
          let skipped = random.below(lines.count)
          for _ in 0..<skipped { _ = changes.next(into: out) }
          let place = changes.place
          _ = try Self.lines(changes)
          changes.go(to: place)
          #expect(try Self.lines(changes) == Array(lines[skipped...]), "SEED=\(seed) repeats it")
          changes.go(to: ChangeLines.Place())
          #expect(try Self.lines(changes) == lines, "SEED=\(seed) repeats it")
        }
      }
    }
    print("seeds from \(first) on: \(replayed) pairs replayed, \(count) lines")
    #expect(replayed > 0 && count > 0)
  }
}
