// Files that only memory has, and folders that are copied into a mount.

import TestSupport
import Testing

@testable import FileTree

@Suite("scratch files")
struct KeptFileTests {
  @Test(
    "temporary files of editors and tools are recognized",
    arguments: [
      ("notes.txt", false), ("4.json.bak", false), (".gitignore", false), ("sediment.txt", false), ("sedA1b2C3", true),
      ("4913", true), (".4.json.swp", true), ("4.json~", true), ("#4.json#", true), (".#4.json", true),
      ("._4.json", true),
      (".DS_Store", true), ("4.json.tmp", true), (".goutputstream-ABCDEF", true), ("~$list.xlsx", true),
    ]
  )
  func toolsNames(name: String, isTools: Bool) {
    #expect(ScratchNames.contains(Array(name.utf8)) == isTools)
  }

  @Test("mkdir creates a class only with create_classes; the root accepts no other files")
  func rootTakesNoFiles() throws {
    let plain = try WritableTree("people") { $0.createsClasses = false }
    #expect(
      plain.failed("mkdir") { _ = try plain.tree.makeDirectory(.root, Array("Cat".utf8)) } == "mkdir: refused forbidden"
    )
    #expect(plain.put("notes.txt", "x") == "open: refused forbidden")
    for name in [".directory", "notes~"] { #expect(plain.put(name, "x") == nil) }
    #expect(plain.put("Dog/notes.txt", "x") == nil)
    #expect(failure { try plain.rename("Dog/notes.txt", to: "notes.txt") }?.kind == "refused forbidden")
    #expect(try plain.tree.text(".realm/unsaved") == ".directory\nDog/notes.txt\n")

    let tree = try WritableTree("people")
    _ = try tree.tree.makeDirectory(.root, Array("Cat".utf8))
    #expect(tree.put("Cat/notes.txt", "x") == nil)
    #expect(tree.put("Cat/1.json", "{}") == nil)
    #expect(try tree.problems().isEmpty)
  }
}
