// UUIDs as .NET stored them before 10.10.

import TestSupport
import Testing

@testable import RealmJSON
@testable import RealmPages

@Suite("Guids of .NET")
struct DotNetGuidTests {
  private static let shown = "f8f37f1f-26c5-415e-b45c-12dbdc8478c8"
  private static let stored = "1f7ff3f8-c526-5e41-b45c-12dbdc8478c8"

  /// A class with UUIDs in all places, stored as .NET did; `isMarked` marks it as converted.
  private static func make(_ path: String, isMarked: Bool) throws {
    let id = try #require(UniqueID(stored))
    let writer = try RealmWriter(Configuration(path: path), create: true)
    let transaction = try writer.begin()
    let table = try transaction.addTable("class_A")
    let key = try transaction.addColumn(table, ColumnSpec("_id", .uuid))
    try transaction.setPrimaryKey(table, key)
    let indexed = try transaction.addColumn(table, ColumnSpec("indexed", .uuid))
    try transaction.addIndex(table, indexed)
    let mixed = try transaction.addColumn(table, ColumnSpec("mixed", .mixed))
    let list = try transaction.addColumn(table, ColumnSpec("list", .uuid, collection: .list))
    let object = try transaction.create(table, primaryKey: .uuid(id), values: [(indexed, .uuid(id))])
    try transaction.set(table, object, mixed, .uuid(id))
    try transaction.insert(table, object, list, at: 0, .uuid(id))
    if isMarked { _ = try transaction.addTable("dotnet_guid_representation_fixed") }
    _ = try transaction.commit()
  }

  private static func text(_ snapshot: Snapshot) throws -> String {
    let table = try #require(try snapshot.table(named: "class_A")), out = OutputBuffer()
    let cursor = ObjectCursor(table)
    #expect(try cursor.next())
    try ObjectRenderer(snapshot).render(cursor, layout: .compact, into: out)
    return out.string
  }

  private static func expected(_ id: String) -> String {
    #"{"_id":"\#(id)","indexed":"\#(id)","mixed":{"$uuid":"\#(id)"},"list":["\#(id)"]}"# + "\n"
  }

  @Test(
    "GUIDs are shown and found as in the app; a converted realm shows them as stored",
    arguments: [false, true]
  )
  func showing(isMarked: Bool) throws {
    try withTemporaryPath { path in
      try Self.make(path, isMarked: isMarked)
      for mode in [Configuration.Mode.immutable, .shared] {
        var configuration = Configuration(path: path, mode: mode)
        let plain = try Realm(configuration).latest()
        #expect(plain.looksLikeDotNetGuids == !isMarked)
        #expect(try Self.text(plain) == Self.expected(Self.stored))
        configuration.showsDotNetGuids = true
        let snapshot = try Realm(configuration).latest(), id = isMarked ? Self.stored : Self.shown
        #expect(try Self.text(snapshot) == Self.expected(id))
        let table = try #require(try snapshot.table(named: "class_A"))
        let wanted = try #require(UniqueID(id)), other = wanted.swapped
        #expect(try table.objectKey(primaryKey: .uuid(wanted)) == ObjKey(0))
        #expect(try table.objectKey(primaryKey: .uuid(other)) == nil)
        #expect(try table.objectKeys(where: 1, is: .uuid(wanted)) == [ObjKey(0)])
        #expect(try table.objectKeys(where: 1, is: .uuid(other)) == [])
      }
    }
  }

  @Test("a realm with swapped GUIDs is read-only")
  func writing() throws {
    try withTemporaryPath { path in
      try Self.make(path, isMarked: false)
      var configuration = Configuration(path: path)
      configuration.showsDotNetGuids = true
      do throws(EngineError) {
        _ = try RealmWriter(configuration)
        Issue.record("the realm is opened for writing")
      } catch { #expect(error.reason == .readOnly) }
    }
  }

  @Test("other kinds of UUIDs are not taken for swapped GUIDs")
  func looks() throws {
    try withTemporaryPath { path in
      let writer = try RealmWriter(Configuration(path: path), create: true)
      let transaction = try writer.begin()
      let table = try transaction.addTable("class_A")
      let column = try transaction.addColumn(table, ColumnSpec("id", .uuid))
      for text in [
        "84340764-315c-4dcc-8276-282a448f760b", "017f22e2-79b0-7cc3-98c4-dc0c0c07398f",
        "00000000-0000-0000-0000-000000000000", "c232ab00-9414-11ec-b3c8-9f6bdeced846",
        // One in sixteen has a 4 there by chance.
        "017f22e2-79b0-7443-98c4-dc0c0c07398f",
      ] {
        _ = try transaction.create(table, values: [(column, .uuid(try #require(UniqueID(text))))])
      }
      _ = try transaction.commit()
      #expect(try writer.realm.latest().looksLikeDotNetGuids == false)
    }
  }
}
