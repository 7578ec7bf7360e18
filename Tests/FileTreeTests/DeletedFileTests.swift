// `.realm/deleted`: deleted objects that are still in the file.

import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("Deleted objects as files")
struct DeletedFileTests {
  private func names(_ tree: WritableTree, _ path: String) throws -> [String] {
    try tree.tree.list(path).map(\.name).filter { !$0.hasPrefix(".") }
  }

  @Test("a deleted object is a file with its last text, until it exists again")
  func deletedObjectsAreFiles() throws {
    let tree = try WritableTree("people")
    let before = try names(tree, ".realm/deleted")
    #expect(failure { try tree.tree.find(".realm/deleted/Person/4.json") }?.kind == "notFound")
    let text = try tree.tree.text("Person/4.json")
    try tree.unlink("Person/4.json")
    #expect(try names(tree, ".realm/deleted") == before + (before.contains("Person") ? [] : ["Person"]))
    #expect(try names(tree, ".realm/deleted/Person").contains("4.json"))
    let file = try tree.tree.find(".realm/deleted/Person/4.json")
    #expect(try tree.tree.text(".realm/deleted/Person/4.json") == text && file.size == text.utf8.count)
    // A copy of the text creates the object again, which is then no longer listed as deleted.
    #expect(tree.put("Person/4.json", text) == nil)
    #expect(failure { try tree.tree.find(".realm/deleted/Person/4.json") }?.kind == "notFound")
    #expect(failure { try tree.tree.attributes(file.inode) }?.kind == "stale")
    #expect(try tree.problems().isEmpty)
  }

  @Test("it is read-only, and the version and key are extended attributes")
  func deletedFilesAreReadOnly() throws {
    let tree = try WritableTree("people"), version = try tree.tree.text(".realm/version")
    try tree.unlink("Person/4.json")
    let file = try tree.tree.find(".realm/deleted/Person/4.json")
    #expect(file.permissions & 0o222 == 0)
    #expect(tree.put(".realm/deleted/Person/4.json", "{}") != nil)
    #expect(tree.put(".realm/deleted/Person/9.json", "{}") != nil)
    #expect(throws: FileTreeError.self) { try tree.unlink(".realm/deleted/Person/4.json") }
    #expect(try tree.tree.extendedAttribute(file.inode, "user.realm.version") + "\n" == version)
    #expect(try tree.tree.extendedAttribute(file.inode, "user.realm.class") == "Person")
    // Snapshots show one version, so they have no deleted objects.
    _ = try tree.tree.makeDirectory(tree.tree.find(".realm/snapshots").inode, Array("s".utf8))
    #expect(failure { try tree.tree.find(".realm/snapshots/s/.realm/deleted") }?.kind == "notFound")
  }
}
