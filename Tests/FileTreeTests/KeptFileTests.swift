// Files that only memory has, and folders that are copied into a mount.

import TestSupport
import Testing

@testable import FileTree

@Suite("files that no object has")
struct KeptFileTests {
  @Test(
    "files of editors and tools are no news",
    arguments: [
      ("notes.txt", false), ("4.json.bak", false), (".gitignore", false), ("sediment.txt", false), ("sedA1b2C3", true),
      ("4913", true), (".4.json.swp", true), ("4.json~", true), ("#4.json#", true), (".#4.json", true),
      ("._4.json", true),
      (".DS_Store", true), ("4.json.tmp", true), (".goutputstream-ABCDEF", true), ("~$list.xlsx", true),
    ]
  )
  func toolsNames(name: String, isTools: Bool) {
    #expect(KeptFiles.isToolsName(Array(name.utf8)) == isTools)
  }

  @Test("files that are closed one after another are taken together, each once")
  func together() {
    let files = KeptFiles(delay: .milliseconds(200)), numbers = (1...3).map { InodeNumber(UInt64($0)) }
    for number in numbers.reversed() { files.note(number) }
    var taken: [[InodeNumber]] = []
    while taken.isEmpty {
      let due = files.takeDue()
      if !due.isEmpty { taken.append(due) }
    }
    #expect(taken == [numbers])
    #expect(files.takeDue().isEmpty)
  }

  @Test("what becomes of a new class when something goes into it")
  func newClasses() throws {
    let tree = try WritableTree("people")
    let classes = try tree.tree.list("").map(\.name)
    func make(_ name: String) -> String? {
      tree.failed("mkdir") { _ = try tree.tree.makeDirectory(.root, Array(name.utf8)) }
    }

    #expect(make("Cat") == nil)
    #expect(tree.put("Cat/notes.txt", "x")?.hasSuffix("refused forbidden") == true)
    #expect(try tree.tree.list("").map(\.name) == classes)
    #expect(try tree.errors().last?.contains("Cat/notes.txt") == true)

    // The same name again, now with an object: from then on it takes what other classes take.
    #expect(make("Cat") == nil)
    for name in [".1.json.swp", ".tmp3", "tmpAbC_12", "sedA1b2C3", "1.json.new"] {
      #expect(tree.put("Cat/\(name)", "{}") == nil)
      try tree.unlink("Cat/\(name)")
    }
    #expect(tree.put("Cat/1.json", "{}") == nil)
    #expect(tree.put("Cat/notes.txt", "x") == nil)
    #expect(try tree.tree.list("").map(\.name).contains("Cat"))
    // One that another program filled meanwhile.
    #expect(make("Bird") == nil)
    #expect(tree.put(".realm/schema/Bird.json", #"{"name": "Bird", "properties": {"n": "int"}}"#) == nil)
    #expect(tree.put("Bird/notes.txt", "x") == nil)
    #expect(try tree.tree.list("").map(\.name).contains("Bird"))
    #expect(try tree.tree.text(".realm/unsaved") == "Bird/notes.txt\nCat/notes.txt\n")
    #expect(try tree.problems().isEmpty)
  }
}
