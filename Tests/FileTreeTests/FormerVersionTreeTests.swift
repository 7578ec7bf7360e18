// `.realm/versions`: former versions as trees, while the realm changes through the same mount.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("Former versions as trees")
struct FormerVersionTreeTests {
  private static func save(_ tree: WritableTree, age: Int) { _ = tree.put("Person/4.json", "{\"age\": \(age)}") }

  private static func age(_ tree: FileTree, _ version: UInt64) throws -> Int? {
    let text = try tree.text(".realm/versions/\(version)/Person/4.json")
    let object = try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: Any]
    return object?["age"] as? Int
  }

  @Test("a former version keeps what it had, however often the mount saves")
  func keptWhileSaving() throws {
    let tree = try WritableTree("people")
    Self.save(tree, age: 50)
    let version = try tree.writer.realm.latest().version
    Self.save(tree, age: 51)
    #expect(try tree.tree.list(".realm").allSatisfy { $0.name != "versions" })
    #expect(try tree.tree.list(".realm/versions").contains { $0.name == "\(version)" && $0.kind == .directory })
    #expect(try Self.age(tree.tree, version) == 50)
    for age in 60..<100 {
      Self.save(tree, age: age)
      #expect(try Self.age(tree.tree, version) == 50)
    }
    #expect(try tree.tree.text(".realm/versions/\(version)/.realm/version") == "\(version)\n")
    #expect(failure { try tree.tree.find(".realm/versions/\(version)/.realm/versions") }?.kind == "notFound")
    #expect(failure { try tree.tree.find(".realm/versions/\(version + 41)") }?.kind == "notFound")
    #expect(Verifier(try tree.writer.realm.latest()).problems().isEmpty)
  }

  @Test("a released version is opened again while the file holds it, and stale once it is overwritten")
  func released() throws {
    let tree = try WritableTree("people")
    Self.save(tree, age: 50)
    let version = try tree.writer.realm.latest().version
    Self.save(tree, age: 51)
    #expect(try Self.age(tree.tree, version) == 50)
    let former = tree.tree.tree.subtrees.versions.tree(of: version, tree.tree.tree)
    #expect(former.lastUse != nil)
    former.release()
    #expect(former.lastUse == nil)
    #expect(try Self.age(tree.tree, version) == 50)
    former.release()
    // Nothing holds the version, so its space is reused.
    for age in 0..<80 { _ = tree.put("Person/4.json", "{\"email\": \"\(String(repeating: "x", count: 40 * age))\"}") }
    #expect(failure { try tree.tree.find(".realm/versions/\(version)") }?.kind == "notFound")
    #expect(failure { try former.context() }?.kind == "stale")
  }

  @Test("few versions are held at once")
  func bounded() throws {
    let tree = try WritableTree("people")
    var opened: Set<UInt64> = []
    for age in 0..<14 {
      let version = try tree.writer.realm.latest().version
      Self.save(tree, age: age)
      _ = try tree.tree.text(".realm/versions/\(version)/Person/.count")
      opened.insert(version)
    }
    let table = tree.tree.tree.subtrees.versions
    let held = opened.filter { table.tree(of: $0, tree.tree.tree).lastUse != nil }
    #expect(opened.count == 14 && held.count == 8)
  }

  @Test("a version that is only listed takes no memory, and keeps its inode number")
  func listed() throws {
    let tree = try WritableTree("people")
    Self.save(tree, age: 50)
    let version = try tree.writer.realm.latest().version
    Self.save(tree, age: 51)
    let numbers = try (0..<2).map { _ in
      try tree.tree.list(".realm/versions").first { $0.name == "\(version)" }?.inode
    }
    let table = tree.tree.tree.subtrees.versions
    #expect(numbers[0] != nil && numbers[0] == numbers[1] && table.count == 0)
    #expect(try tree.tree.find(".realm/versions/\(version)").inode == numbers[0])
    #expect(table.count == 1)
  }
}
