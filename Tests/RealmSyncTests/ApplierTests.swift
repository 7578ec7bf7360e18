// Changesets of genuine clients, applied: the realm equals that of the genuine client. And changesets that do not fit.
// Source: docs/format/7-sync.md 7.7.

import Foundation
import RealmJSON
import RealmPages
import TestSupport
import Testing

@testable import RealmSync

@Suite("Applying changesets")
struct ApplierTests {
  /// The changesets of Tests/Fixtures/sync/tour.hex, which use every instruction.
  static func tour() throws -> [[UInt8]] {
    let url = Fixture.package.appendingPathComponent("Tests/Fixtures/sync/tour.hex")
    return try String(contentsOf: url, encoding: .utf8).split(separator: "\n").compactMap { Hex.bytes(String($0)) }
  }

  /// Applies changesets to a new realm, each in a transaction, and passes it to `body`.
  private static func applying(_ changesets: [[UInt8]], _ body: (RealmWriter) throws -> Void) throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true)
      for changeset in changesets { try apply(changeset, writer) }
      let problems = Verifier(try writer.realm.latest()).problems(limit: 3)
      try #require(problems.isEmpty, "\(problems)")
      try body(writer)
    }
  }

  private static func apply(_ changeset: [UInt8], _ writer: RealmWriter) throws {
    let transaction = try writer.begin()
    var applier = InstructionApplier()
    try applier.apply(changeset, to: transaction)
    _ = try transaction.commit()
  }

  /// All objects of a class, one a line.
  static func lines(_ className: String, _ writer: RealmWriter) throws -> [String] {
    let snapshot = try writer.realm.latest(), renderer = ObjectRenderer(snapshot)
    guard let table = try snapshot.table(named: Table.classPrefix + className) else { return [] }
    let cursor = ObjectCursor(table)
    var lines: [String] = []
    while try cursor.next() {
      let out = OutputBuffer()
      try renderer.render(cursor, layout: .compact, into: out)
      lines.append(String(decoding: out.bytes, as: UTF8.self))
    }
    return lines
  }

  /// Expects the first object of P to be shown so, without blanks.
  private static func expect(_ text: String, _ writer: RealmWriter) throws {
    let shown = try shown(writer)
    #expect(shown.first == text, "\(shown)")
  }

  private static func shown(_ writer: RealmWriter) throws -> [String] {
    try lines("P", writer).map { line in line.filter { $0 != " " && $0 != "\n" } }
  }

  @Test("the changesets of a real client give the objects that it shows")
  func genuine() throws {
    let url = Fixture.package.appendingPathComponent("Tests/Fixtures/sync/tour.tree.jsonl")
    let expected = try String(contentsOf: url, encoding: .utf8).split(separator: "\n").map { line in
      try JSONTree(Array(line.utf8))
    }
    try Self.applying(Self.tour()) { writer in
      for name in ["A", "I", "NoKey", "Log"] {
        let shown = try Self.lines(name, writer).map { try JSONTree(Array($0.utf8)) }
        let wanted = expected.filter { $0["path"]?.string?.hasPrefix(name + "/") ?? false }.compactMap { $0["value"] }
        #expect(Set(shown) == Set(wanted), "\(name)")
      }
    }
  }

  /// Class P with a string key, an integer, a list of texts and a list of links to P; objects "a" and "b", a links to
  /// b.
  private static func sample() -> [UInt8] {
    var writer = ChangesetWriter()
    let p = writer.name("P"), id = writer.name("_id"), i = writer.name("i"), l = writer.name("l"), t = writer.name("t")
    let key = Instruction.PrimaryKeyForm(name: id, type: .string, isNullable: false)
    writer.append(.addTable(p, .topLevel(primaryKey: key, isAsymmetric: false)))
    func column(_ name: NameIndex, _ type: ValueType, _ collection: CollectionKind?) -> Instruction {
      .addColumn(
        p,
        .init(name: name, type: type, collection: collection, isNullable: false, target: type == .link ? p : nil)
      )
    }
    writer.append(column(i, .int, nil))
    writer.append(column(l, .string, .list))
    writer.append(column(t, .link, .list))
    let a = InstructionKey.string(writer.name("a")), b = InstructionKey.string(writer.name("b"))
    writer.append(.createObject(p, a))
    for (index, name) in [b, a].enumerated() {
      let place = Instruction.Place(table: p, key: a, field: t, path: [.index(UInt32(index))])
      writer.append(.edit(place, .insert(.link(p, name), prior: UInt32(index))))
    }
    return writer.bytes
  }

  private static func change(_ body: (inout ChangesetWriter) -> Void) -> [UInt8] {
    var writer = ChangesetWriter()
    body(&writer)
    return writer.bytes
  }

  @Test("a link to a missing object is hidden until the object is created, and again after it is deleted")
  func laterObjects() throws {
    try Self.applying([Self.sample()]) { writer in
      try Self.expect(#"{"_id":"a","i":0,"l":[],"t":["a"]}"#, writer)
      let create = Self.change { writer in
        let p = writer.name("P"), b = InstructionKey.string(writer.name("b"))
        writer.append(.createObject(p, b))
      }
      try Self.apply(create, writer)
      try Self.expect(#"{"_id":"a","i":0,"l":[],"t":["b","a"]}"#, writer)
      let erase = Self.change { writer in
        let p = writer.name("P"), b = InstructionKey.string(writer.name("b"))
        writer.append(.eraseObject(p, b))
        writer.append(.eraseObject(p, b))
      }
      try Self.apply(erase, writer)
      try Self.expect(#"{"_id":"a","i":0,"l":[],"t":["a"]}"#, writer)
      try Self.apply(create, writer)
      try Self.expect(#"{"_id":"a","i":0,"l":[],"t":["b","a"]}"#, writer)
      #expect(Verifier(try writer.realm.latest()).problems(limit: 1).isEmpty)
    }
  }

  @Test("a hidden link set again to the same target is kept, in every kind of property")
  func sameHiddenLink() throws {
    let schema = Self.change { writer in
      let p = writer.name("P")
      for (name, type, kind) in [
        ("o", ValueType.link, nil), ("d", .link, CollectionKind.dictionary), ("m", .mixed, nil),
      ] {
        let column = writer.name(name), target = type == .link ? p : nil
        writer.append(
          .addColumn(p, .init(name: column, type: type, collection: kind, isNullable: kind == nil, target: target))
        )
      }
    }
    let places: [(field: String, step: (inout ChangesetWriter) -> [Instruction.Step], isElement: Bool)] = [
      ("o", { _ in [] }, false), ("d", { [.name($0.name("k"))] }, false), ("m", { _ in [] }, false),
      ("t", { _ in [.index(0)] }, true),
    ]
    for (field, step, isElement) in places {
      // To a missing object, twice; it is created after that, and removed once the link is null.
      let link = Self.change { writer in
        let p = writer.name("P"), a = InstructionKey.string(writer.name("a"))
        let c = InstructionKey.string(writer.name("c"))
        let place = Instruction.Place(table: p, key: a, field: writer.name(field), path: step(&writer))
        let payload = Instruction.Payload.link(p, c)
        writer.append(.edit(place, isElement ? .updateElement(payload, prior: 2) : .update(payload, isDefault: false)))
      }
      let create = Self.change { writer in
        let p = writer.name("P"), c = InstructionKey.string(writer.name("c"))
        writer.append(.createObject(p, c))
      }
      try Self.applying([Self.sample(), schema, link, link, link]) { writer in
        #expect(try Self.lines("P", writer).count == 1)
        #expect(try !Self.shown(writer).joined().contains("\"c\""), "\(field)")
        try Self.apply(create, writer)
        let shown = try Self.shown(writer)
        #expect(shown.first { $0.hasPrefix("{\"_id\":\"a\"") }?.contains("\"c\"") ?? false, "\(field): \(shown)")
        #expect(Verifier(try writer.realm.latest()).problems(limit: 1).isEmpty)
      }
    }
  }

  @Test("hidden links count as elements of their list")
  func hiddenElements() throws {
    try Self.applying([Self.sample()]) { writer in
      let erase = Self.change { writer in
        let p = writer.name("P"), a = InstructionKey.string(writer.name("a")), t = writer.name("t")
        writer.append(.edit(.init(table: p, key: a, field: t, path: [.index(1)]), .erase(prior: 2)))
      }
      try Self.apply(erase, writer)
      try Self.expect(#"{"_id":"a","i":0,"l":[],"t":[]}"#, writer)
    }
  }

  @Test(
    "a changeset that does not match the realm is refused with the instruction, and nothing changes",
    arguments: [
      ("missing object", "has no object \"x\""),
      ("missing ObjectId", "has no object 00000000000000ff00000001"),
      ("missing UUID", "has no object 00000000-0000-00ff-0000-000000000001"),
      ("prior size", "a list of 0 elements where the server has 3"),
      ("wrong type", "the value is not of the property's type"), ("missing class", "there is no class Q"),
      ("missing property", "has no property z"), ("path", "instruction"), ("move", "moved to the same position"),
    ]
  )
  func unfit(_ what: String, _ words: String) throws {
    try Self.applying([Self.sample()]) { writer in
      let before = try Self.lines("P", writer)
      let bad = Self.change { writer in
        let p = writer.name("P"), a = InstructionKey.string(writer.name("a")), l = writer.name("l")
        let i = writer.name("i"), t = writer.name("t")
        writer.append(.edit(.init(table: p, key: a, field: i), .update(.scalar(.int(5)), isDefault: false)))
        switch what {
        case "missing object":
          let x = InstructionKey.string(writer.name("x"))
          writer.append(.edit(.init(table: p, key: x, field: i), .addInteger(1)))
        case "missing ObjectId":
          writer.append(.edit(.init(table: p, key: .objectID(.init(high: 255, low: 1)), field: i), .addInteger(1)))
        case "missing UUID":
          writer.append(.edit(.init(table: p, key: .uuid(.init(high: 255, low: 1)), field: i), .addInteger(1)))
        case "prior size":
          let place = Instruction.Place(table: p, key: a, field: l, path: [.index(0)])
          writer.append(.edit(place, .insert(.scalar(.string([])), prior: 3)))
        case "wrong type":
          writer.append(.edit(.init(table: p, key: a, field: i), .update(.scalar(.bool(true)), isDefault: false)))
        case "missing class": writer.append(.eraseTable(writer.name("Q")))
        case "missing property": writer.append(.eraseColumn(p, writer.name("z")))
        case "path":
          let place = Instruction.Place(table: p, key: a, field: i, path: [.index(0), .index(4)])
          writer.append(.edit(place, .updateElement(.scalar(.int(1)), prior: 1)))
        default:
          let place = Instruction.Place(table: p, key: a, field: t, path: [.index(0)])
          writer.append(.edit(place, .move(to: 0, prior: 2)))
        }
      }
      do {
        try Self.apply(bad, writer)
        Issue.record("accepted")
      } catch let error as SyncError {
        #expect(error.reason == .protocolBroken)
        #expect(error.description.contains(words), "\(error)")
      }
      #expect(try Self.lines("P", writer) == before)
    }
  }
}
