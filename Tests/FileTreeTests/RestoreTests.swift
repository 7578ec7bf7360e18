// `.restore` in difficult cases: what cannot be restored is refused as a whole, everything else is restored.

import Foundation
import TestSupport
import Testing

@testable import FileTree
@testable import RealmPages

@Suite("Restoring a snapshot")
struct RestoreTests {
  /// Changes the kind of a class, as apps with another schema do; its objects do not change.
  private static func turn(_ name: String, into kind: TableKind, _ transaction: borrowing WriteTransaction) throws {
    let key = try #require(try transaction.tableKey(named: "class_" + name))
    let table = try transaction.group.table(key)
    let flags: Int64 = kind == .embedded ? 1 : kind == .asymmetric ? 2 : 0
    transaction.group.slab.setTagged(table.top, Layout.Table.flags, flags)
    table.bump()
  }

  private static func commit(_ tree: WritableTree, _ body: (borrowing WriteTransaction) throws -> Void) throws {
    let transaction = try tree.writer.begin()
    try body(transaction)
    _ = try transaction.commit()
  }

  private static func snapshot(_ tree: WritableTree) throws {
    _ = try tree.tree.makeDirectory(tree.tree.find(".realm/snapshots").inode, Array("s".utf8))
  }

  @Test("restoring a class that has changed from embedded to top-level is refused with EINVAL")
  func kinds() throws {
    let tree = try WritableTree.ofLinks()
    try Self.snapshot(tree)
    let before = try tree.tree.text("Free/0.json", orNone: true)
    try Self.commit(tree) { transaction in try Self.turn("Free", into: .embedded, transaction) }
    #expect(tree.put("Target/4.json", #"{"name": "later"}"#) == nil)
    let version = try tree.tree.text(".realm/version")
    #expect(tree.put(".realm/snapshots/s/.restore", "1\n") == "write: refused invalid")
    #expect(try tree.errors().last?.contains("class Free was top-level in that version and is embedded now") == true)
    #expect(try tree.tree.text(".realm/version") == version)
    #expect(try tree.tree.text("Target/4.json").contains("later"))
    #expect(before == nil)
    // Once the class has its former kind, everything else is restored too.
    try Self.commit(tree) { transaction in try Self.turn("Free", into: .topLevel, transaction) }
    #expect(tree.put(".realm/snapshots/s/.restore", "1\n") == nil, "\(tree.log)")
    #expect(try tree.tree.text("Target/4.json").contains("t4"))
  }

  @Test("objects of an asymmetric class are restored")
  func asymmetric() throws {
    let tree = try WritableTree("empty")
    let schema = #"{"schemaVersion": 1, "schema": [{"name": "Log", "primaryKey": "_id", "properties": {"#
    #expect(tree.put(".realm/schema.json", schema + #""_id": "int", "text": "string"}}]}"#) == nil)
    for key in 1...3 { #expect(tree.put("Log/\(key).json", #"{"text": "\#(key)"}"#) == nil) }
    try Self.commit(tree) { transaction in try Self.turn("Log", into: .asymmetric, transaction) }
    let texts = try (1...3).map { try tree.tree.text("Log/\($0).json") }
    try Self.snapshot(tree)
    try Self.commit(tree) { transaction in
      try Self.turn("Log", into: .topLevel, transaction)
    }
    #expect(tree.put("Log/1.json", #"{"text": "changed"}"#) == nil)
    try tree.unlink("Log/2.json")
    #expect(tree.put("Log/4.json", #"{"text": "new"}"#) == nil)
    try Self.commit(tree) { transaction in try Self.turn("Log", into: .asymmetric, transaction) }
    #expect(tree.put("Log/1.json", "{}") == "open: refused forbidden")
    #expect(tree.put(".realm/snapshots/s/.restore", "1\n") == nil, "\(tree.log)")
    #expect(try (1...3).map { try tree.tree.text("Log/\($0).json") } == texts)
    #expect(try tree.tree.text("Log/4.json", orNone: true) == nil)
    #expect(Verifier(try tree.writer.realm.latest(), isStrict: true).problems(limit: 3) == [])
  }

  @Test("restoring changed links to missing objects is refused with EPERM")
  func unresolvedLinks() throws {
    let tree = try WritableTree("unresolved-links")
    try Self.snapshot(tree)
    // The values that contain such links do not differ.
    #expect(tree.put("Target/more.json", "{}") == nil)
    #expect(tree.put(".realm/snapshots/s/.restore", "1\n") == nil, "\(tree.log)")
    #expect(try tree.tree.text("Target/more.json", orNone: true) == nil)
    #expect(tree.put("Target/one.json", "{}") == nil)
    #expect(try tree.tree.text("Origin/2.json").contains("\"one\": \"one\""))
    let version = try tree.tree.text(".realm/version"), names = try tree.tree.names(in: "Origin")
    let texts = try names.map { try tree.tree.text("Origin/\($0)") }
    #expect(tree.put(".realm/snapshots/s/.restore", "1\n") == "write: refused forbidden")
    #expect(try tree.errors().last?.contains("links to an object that did not exist in that version either") == true)
    #expect(try tree.tree.text(".realm/version") == version)
    #expect(try names.map { try tree.tree.text("Origin/\($0)") } == texts)
    #expect(try tree.tree.text("Target/one.json", orNone: true) != nil)
  }
}

extension FileTree {
  /// The text of a file; nil if there is none.
  fileprivate func text(_ path: String, orNone: Bool) throws -> String? {
    do throws(FileTreeError) { return try text(path) } catch {
      if error.kind == "notFound" { return nil }
      throw error
    }
  }

  fileprivate func names(in path: String) throws -> [String] {
    try list(path).filter { !$0.isDot }.map(\.name)
  }
}
