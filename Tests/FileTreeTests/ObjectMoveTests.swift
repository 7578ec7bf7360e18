// Files of other names than their objects, in a class without primary key, that are renamed onto an object.

import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("files renamed onto objects without primary key")
struct ObjectMoveTests {
  /// A tree with the objects 0 and 1 of a class without primary key, whose properties are `n` and `to`.
  private func tree() throws -> WritableTree {
    let tree = try WritableTree.ofLinks()
    #expect(tree.put("Free/0.json", #"{"n": 1, "to": 0}"#) == nil)
    #expect(tree.put("Free/1.json", #"{"n": 2}"#) == nil)
    return tree
  }

  private func names(_ tree: WritableTree) throws -> [String] {
    try tree.tree.list("Free").map(\.name).filter { $0 != "." && $0 != ".." }
  }

  @Test("the object gets the text and the new object is removed, in one commit")
  func takesTheText() throws {
    let tree = try tree()
    #expect(tree.put("Free/tmp.json", #"{"n": 7, "to": 1}"#) == nil)
    let version = try tree.version
    #expect(failure { try tree.rename("Free/tmp.json", to: "Free/0.json") } == nil)
    #expect(try tree.version == version + 1)
    #expect(try tree.tree.text("Free/0.json").contains(#""n": 7"#))
    #expect(try names(tree) == ["0.json", "1.json"])
    #expect(failure { try tree.tree.find("Free/tmp.json") }?.kind == "notFound")
    #expect(try tree.problems().isEmpty)
  }

  @Test("a property that was not written keeps its value, unless another program changed the new object")
  func patches() throws {
    let tree = try tree()
    #expect(tree.put("Free/tmp.json", #"{"n": 7}"#) == nil)
    #expect(failure { try tree.rename("Free/tmp.json", to: "Free/0.json") } == nil)
    #expect(try tree.tree.text("Free/0.json") == "{\n  \"n\": 7,\n  \"to\": 0\n}\n")
    #expect(tree.put("Free/tmp.json", #"{"n": 8}"#) == nil)
    let key = try tree.tree.extendedAttribute(tree.tree.find("Free/tmp.json").inode, "user.realm.key")
    let table = try #require(
      try tree.writer.realm.latest().tableKeys().first { key in
        try tree.writer.realm.latest().table(key)?.className == "Free"
      }
    )
    let transaction = try tree.writer.begin()
    let columns = try transaction.columns(of: table)
    let column = try #require(columns.first { $0.name == "n" })
    try transaction.set(table, ObjKey(try #require(Int64(key))), column.key, .int(9))
    _ = try transaction.commit()
    #expect(failure { try tree.rename("Free/tmp.json", to: "Free/0.json") } == nil)
    #expect(try tree.tree.text("Free/0.json") == "{\n  \"n\": 9,\n  \"to\": null\n}\n")
    #expect(try tree.problems().isEmpty)
  }

  @Test("renaming to the name of a missing object creates it; other names stay in memory")
  func otherNames() throws {
    let tree = try tree()
    #expect(tree.put("Free/a.json", #"{"n": 5}"#) == nil)
    let version = try tree.version
    #expect(failure { try tree.rename("Free/a.json", to: "Free/b.json") } == nil)
    #expect(try tree.version == version)
    #expect(failure { try tree.tree.find("Free/a.json") }?.kind == "notFound")
    #expect(try tree.tree.text("Free/b.json").contains(#""n": 5"#))
    #expect(failure { try tree.rename("Free/b.json", to: "Free/40.json", .keep) } == nil)
    #expect(try names(tree) == ["0.json", "1.json", "40.json"])
    #expect(try tree.tree.text("Free/40.json").contains(#""n": 5"#))
    #expect(tree.put("Free/c.json", #"{"n": 6}"#) == nil)
    #expect(failure { try tree.rename("Free/c.json", to: "Free/41.json") } == nil, "its own name")
    #expect(try names(tree) == ["0.json", "1.json", "40.json", "41.json"])
    #expect(try tree.problems().isEmpty)
  }

  @Test("objects cannot be renamed; linked objects and rejected texts are kept")
  func refusals() throws {
    let tree = try tree()
    #expect(failure { try tree.rename("Free/0.json", to: "Free/1.json") }?.kind == "refused forbidden")
    #expect(tree.put("Free/a.json", #"{"n": 5}"#) == nil)
    let key = try tree.tree.extendedAttribute(tree.tree.find("Free/a.json").inode, "user.realm.key")
    #expect(tree.put("Free/1.json", #"{"to": \#(key)}"#) == nil)
    let before = try tree.texts()
    #expect(failure { try tree.rename("Free/a.json", to: "Free/0.json") }?.kind == "refused forbidden")
    #expect(try tree.errors().last?.contains("link to the object of this file") == true)
    #expect(failure { try tree.rename("Free/a.json", to: "Free/0.json", .keep) }?.kind == "refused exists")
    #expect(failure { try tree.rename("Free/a.json", to: "Target/1.json") }?.kind == "refused invalid")
    #expect(try tree.texts() == before)
    #expect(try tree.problems().isEmpty)
  }
}
