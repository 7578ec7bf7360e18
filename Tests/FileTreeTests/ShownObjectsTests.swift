// Classes that a mount narrows by a query: what their directories list, and that names resolve to all objects.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("classes shown by a query")
struct ShownObjectsTests {
  private func tree(_ query: String) throws -> WritableTree {
    let all = try WritableTree.ofLinks { _ in }
    var options = TreeOptions()
    options.queries = ["Target": query]
    _ = all.put("Target/7.json", #"{"name": "100% seventh", "peer": 1}"#)
    all.tree.finish()
    return try WritableTree(sharing: all, options)
  }

  private func names(_ tree: FileTree, _ path: String) throws -> [String] {
    try tree.list(tree.openDirectory(tree.find(path).inode)).map(\.name).filter { $0 != "." && $0 != ".." }
  }

  @Test("a class lists the objects of its query, also in .all.jsonl and .count; conditions narrow it")
  func lists() throws {
    let shown = try tree("_id > 2 AND name != 't4'")
    #expect(try names(shown.tree, "Target") == ["3.json", "7.json"])
    #expect(try names(shown.tree, "Target/.fields") == ["3", "7"])
    #expect(try shown.tree.text("Target/.count") == "2\n")
    #expect(try names(shown.tree, "Target/.where/_id < 7") == ["3.json"])
    #expect(try names(shown.tree, "Target/.by/name").count == 2)
    // Other classes are whole.
    #expect(try !names(shown.tree, "Holder").isEmpty)
    #expect(try names(tree("name BEGINSWITH '100%'").tree, "Target") == ["7.json"])
  }

  @Test("every object is reachable by name: links work, saves change it, and new ones need not match the query")
  func outside() throws {
    let shown = try tree("_id > 2")
    #expect(try shown.tree.text("Target/1.json").contains("first"))
    #expect(shown.put("Target/1.json", #"{"name": "saved"}"#) == nil)
    #expect(try shown.tree.text("Target/1.json").contains("saved"))
    #expect(try shown.tree.text("Target/1.json").contains(#""peers": ["#), "a patch of the same object")
    #expect(shown.put("Target/0.json", "{}") == nil)
    #expect(try names(shown.tree, "Target") == ["3.json", "4.json", "7.json"])
    #expect(shown.put("Target/9.json", #"{"peer": 1}"#) == nil)
    #expect(try names(shown.tree, "Target") == ["3.json", "4.json", "7.json", "9.json"])
  }

  @Test("an invalid query, or one of a missing class, is refused when the tree is created")
  func refused() throws {
    var options = TreeOptions()
    options.queries = ["Cat": "age > 3"]
    #expect(throws: FileTreeError.self) { try FileTree.of("people", options) }
    options.queries = ["Person": "nothing > 3"]
    #expect(throws: FileTreeError.self) { try FileTree.of("people", options) }
  }
}
