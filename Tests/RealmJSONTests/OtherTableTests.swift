// Tables that are not classes: metadata of SDKs and apps. Everything that rewrites a realm keeps them; without
// `dotnet_guid_representation_fixed`, the next start of a .NET app would change all UUIDs.

import Foundation
import TestSupport
import Testing

@testable import RealmJSON
@testable import RealmPages

@Suite("Tables that are not classes")
struct OtherTableTests {
  private static let key = EncryptionKey([UInt8](repeating: 3, count: 64))

  /// The columns and values of each such table.
  private static func content(_ path: String, _ key: EncryptionKey? = nil) throws -> [String: String] {
    let snapshot = try Realm(Configuration(path: path, encryptionKey: key, mode: .immutable)).latest()
    #expect(Verifier(snapshot).problems(limit: 1).isEmpty)
    var all: [String: String] = [:]
    for key in try snapshot.tableKeys() {
      guard let table = try snapshot.table(key), table.className == nil else { continue }
      var text = table.columns.map { "\($0.name) \($0.type) \($0.isNullable)" }.joined(separator: ", ")
      let cursor = ObjectCursor(table)
      while try cursor.next() {
        text += "\n\(cursor.key):"
        for index in table.columns.indices {
          switch try Value(copying: cursor.value(index)) {
          case .link(let target, let object): text += " \(try snapshot.table(target)?.name ?? "?") \(object)"
          case let value: text += " \(value)"
          }
        }
      }
      all[table.name] = text
    }
    return all
  }

  private static func make(_ path: String) throws {
    let writer = try RealmWriter(Configuration(path: path), create: true)
    let transaction = try writer.begin()
    let dog = try transaction.addTable("class_Dog")
    let name = try transaction.addColumn(dog, ColumnSpec("name", .string))
    let first = try transaction.create(dog, values: [(name, .text("Rex"))])
    try transaction.setSchemaVersion(7)
    _ = try transaction.addTable("dotnet_guid_representation_fixed")
    let client = try transaction.addTable("client_metadata")
    let data = try transaction.addColumn(client, ColumnSpec("data", .data, isNullable: true))
    let link = try transaction.addColumn(client, ColumnSpec("dog", .link, target: dog))
    let object = try transaction.create(client, key: ObjKey(5), values: [(data, .data([1, 2, 3]))])
    try transaction.set(client, object, link, .link(dog, first))
    let keys = try transaction.addTable("pk")
    let table = try transaction.addColumn(keys, ColumnSpec("pk_table", .string))
    _ = try transaction.create(keys, values: [(table, .text("Dog"))])
    _ = try transaction.commit()
  }

  @Test("copying, rekeying and recovery keep these tables and their objects")
  func copies() throws {
    try withTemporaryPath { path in
      try Self.make(path)
      let wanted = try Self.content(path)
      #expect(wanted.count == 4 && wanted["dotnet_guid_representation_fixed"] == "")
      let plain = Configuration(path: path)
      for keepsHistory in [true, false] {
        let copy = path + ".copy-\(keepsHistory)"
        _ = try RealmCopy.write(plain, to: copy, key: nil, keepsHistory: keepsHistory)
        #expect(try Self.content(copy) == wanted)
      }
      _ = try RealmCopy.write(plain, to: path + ".secret", key: Self.key)
      #expect(try Self.content(path + ".secret", Self.key) == wanted)
      _ = try RealmRecovery.run(plain, to: path + ".recovered")
      #expect(try Self.content(path + ".recovered") == wanted)
      // Without a header that refers to a version.
      var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
      bytes.replaceSubrange(0..<16, with: [UInt8](repeating: 0, count: 16))
      try bytes.write(to: URL(fileURLWithPath: path + ".headless"))
      _ = try RealmRecovery.run(Configuration(path: path + ".headless"), to: path + ".rescued")
      #expect(try Self.content(path + ".rescued") == wanted)
      let writer = try RealmWriter(plain)
      _ = try writer.compact()
      #expect(try Self.content(path) == wanted)
    }
  }

  @Test("restoring an older version changes only the schema version in these tables")
  func restoring() throws {
    try withTemporaryPath { path in
      try Self.make(path)
      let wanted = try Self.content(path)
      let writer = try RealmWriter(Configuration(path: path))
      var transaction = try writer.begin()
      let dog = try #require(try transaction.tableKey(named: "class_Dog"))
      try transaction.delete(dog, ObjKey(0))
      try transaction.setSchemaVersion(8)
      _ = try transaction.commit()
      let changed = try Self.content(path)
      #expect(changed["metadata"] != wanted["metadata"] && changed["client_metadata"] != wanted["client_metadata"])
      transaction = try writer.begin()
      let former = try #require(try FormerVersions(before: transaction.former).next())
      try transaction.undo(to: former)
      _ = try transaction.commit()
      var found = try Self.content(path)
      // A link of such a table to a restored object is not restored, and neither is anything else in these tables.
      found["client_metadata"] = nil
      #expect(found["metadata"] == wanted["metadata"] && found["dotnet_guid_representation_fixed"] == "")
      #expect(found["pk"] == wanted["pk"])
    }
  }
}
