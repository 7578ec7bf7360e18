// `.realm`: the files that describe the realm.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("The control directory")
struct ControlDirectoryTests {
  private func json(_ tree: FileTree, _ path: String) throws -> [String: Any] {
    try #require(try JSONSerialization.jsonObject(with: Data(tree.text(path).utf8)) as? [String: Any])
  }

  @Test("the control directory is always found, but listed only on request")
  func hiddenUnlessAsked() throws {
    let tree = try FileTree.of("people")
    #expect(try tree.find(".realm").kind == .directory)
    #expect(try tree.list("").allSatisfy { $0.name != ".realm" })
    var options = TreeOptions()
    options.showControl = true
    #expect(try FileTree.of("people", options).list("").contains { $0.name == ".realm" && $0.kind == .directory })
  }

  @Test("a snapshot of a file that was never written to outlives the first write")
  func snapshotBeforeFirstWrite() throws {
    let tree = try WritableTree("streaming-form")
    let name = try #require(try tree.tree.list("").first { !$0.isDot }?.name)
    _ = try tree.tree.makeDirectory(tree.tree.find(".realm/snapshots").inode, Array("s".utf8))
    let before = try tree.tree.list(".realm/snapshots/s/\(name)").map(\.name)
    let file = try #require(before.first { $0.hasSuffix(".json") })
    let text = try tree.tree.text("\(name)/\(file)")
    for _ in 0..<5 {
      try tree.tree.unlink(tree.tree.find(name).inode, Array(file.utf8))
      #expect(try tree.tree.text(".realm/snapshots/s/\(name)/\(file)") == text)
      #expect(tree.put(".realm/snapshots/s/.restore", "1\n") == nil)
      #expect(try tree.tree.text("\(name)/\(file)") == text)
    }
    #expect(try tree.tree.list(".realm/snapshots/s/\(name)").map(\.name) == before)
  }

  @Test("the control directory contains the documented files and directories")
  func entries() throws {
    let tree = try FileTree.of("people")
    #expect(
      try tree.list(".realm").map(\.name) == [
        ".", "..", "README", "version", "info.json", "stats.json", "schema.json", "schema", "tables",
        "deleted",
      ]
    )
    #expect(try tree.list(".realm/schema").map(\.name) == [".", "..", "Dog.json", "Person.json"])
    #expect(try tree.list(".realm/tables").map(\.name) == [".", "..", "metadata"])
    #expect(try tree.find(".realm/changes").kind == .symbolicLink)
    #expect(failure { try tree.find(".realm/absent") }?.kind == "notFound")
    #expect(failure { try tree.find(".realm/schema/Cat.json") }?.kind == "notFound")
    #expect(failure { try tree.find(".realm/schema/Dog") }?.kind == "notFound")
    #expect(failure { try tree.find(".realm/tables/Dog") }?.kind == "notFound")
    #expect(failure { try tree.find(".realm/version/x") }?.kind == "notADirectory")
  }

  @Test("a writable tree has additional control files")
  func entriesOfWritableTrees() throws {
    let tree = try WritableTree("people")
    #expect(
      try tree.tree.list(".realm").map(\.name) == [
        ".", "..", "README", "version", "info.json", "stats.json", "schema.json", "schema", "tables", "deleted",
        "snapshots", "tx", "errors", "unsaved", "rejected", "trash", "compact",
      ]
    )
  }

  @Test("sizes are exact, and a listing does not compute statistics")
  func sizesAreExact() throws {
    let tree = try FileTree.of("people")
    for directory in [".realm", ".realm/schema", ".realm/tables/metadata"] {
      for entry in try tree.list(directory, attributes: true) where entry.kind == .file {
        let path = directory + "/" + entry.name
        let size = try tree.find(path).size
        #expect(try tree.text(path).utf8.count == size)
        #expect((entry.attributes?.size ?? size) == size)
        #expect((entry.attributes == nil) == (entry.name == "stats.json"))
      }
    }
  }

  @Test("version, info.json and stats.json are correct")
  func facts() throws {
    let tree = try FileTree.of("people")
    #expect(try tree.text(".realm/version") == "5\n")
    let info = try json(tree, ".realm/info.json")
    #expect(info["path"] as? String == "people.realm")
    #expect(info["fileFormat"] as? Int == 24)
    #expect(info["version"] as? Int == 5)
    #expect(info["fileSize"] as? Int == (try Fixture.named("people").bytes().count))
    #expect(info["history"] as? String == "in-realm")
    #expect(info["encrypted"] as? Bool == false)
    let classes = try #require(info["classes"] as? [String: [String: Any]])
    #expect(classes["Person"]?["objects"] as? Int == 19)
    #expect(classes["Dog"]?["kind"] as? String == "top-level")

    let snapshot = try Fixture.named("people").snapshot()
    let person = try #require(try snapshot.table(named: "class_Person"))
    let statistics = try json(tree, ".realm/stats.json")
    let counted = try #require(statistics["classes"] as? [String: [String: Any]])
    #expect(try counted["Person"]?["bytes"] as? Int == snapshot.storedBytes(of: person.key))
    #expect(try statistics["freeBytes"] as? Int == snapshot.freeBytes())
    let encrypted = try json(FileTree.of("people-encrypted"), ".realm/info.json")
    #expect(encrypted["encrypted"] as? Bool == true)
  }

  @Test("schema.json contains the same as the files in schema/")
  func schemas() throws {
    let tree = try FileTree.of("all-types")
    let all = try #require(try json(tree, ".realm/schema.json")["schema"] as? [[String: Any]])
    let files = try tree.list(".realm/schema").filter { !$0.isDot }
    #expect(files.count == all.count)
    for entry in files {
      let one = try json(tree, ".realm/schema/" + entry.name)
      let same = all.first { $0["name"] as? String == one["name"] as? String }
      #expect(same.map { NSDictionary(dictionary: $0) } == NSDictionary(dictionary: one))
    }
  }

  @Test("objects in internal tables of the SDK are named by object key")
  func internalTables() throws {
    let tree = try FileTree.of("people")
    #expect(try tree.list(".realm/tables/metadata").map(\.name) == [".", "..", "0.json"])
    #expect(try tree.text(".realm/tables/metadata/0.json") == "{\n  \"version\": 0\n}\n")
  }
}
