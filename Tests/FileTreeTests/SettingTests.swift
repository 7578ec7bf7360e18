// chmod, chgrp, chown, utimens and fallocate.

import RealmJSON
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("modes, times and allocation")
struct SettingTests {
  private func change(_ tree: WritableTree, _ path: String, _ change: (inout MetadataChange) -> Void) -> String? {
    var wanted = MetadataChange()
    change(&wanted)
    return failure { _ = try tree.tree.change(tree.tree.find(path).inode, nil, wanted, by: WritableTree.me) }?.kind
  }

  @Test(
    "modes and groups can be set, another owner is refused",
    arguments: [
      "Person/4.json", "Person", "Person/.fields/4/name", ".realm/schema.json", "Person/.all.jsonl",
    ]
  )
  func modesAreKept(_ path: String) throws {
    let tree = try WritableTree("people")
    let before = try tree.tree.find(path), version = try tree.version
    #expect(change(tree, path) { $0.permissions = 0o600 } == nil)
    #expect(change(tree, path) { $0.group = 77 } == nil)
    #expect(change(tree, path) { $0.owner = before.owner + 1 } == "refused forbidden")
    #expect(change(tree, path) { $0.owner = before.owner } == nil)
    let after = try tree.tree.find(path)
    #expect((after.permissions, after.group, after.owner) == (0o600, 77, before.owner))
    #expect(try tree.version == version)
  }

  @Test("the time and mode set before a save become those of the object")
  func settingsOutliveTheSave() throws {
    let tree = try WritableTree("people")
    for path in ["Person/4.json", "Person/500.json", "Person/tmp"] {
      let file = try tree.open(path)
      try tree.write(file, #"{"age": 33}"#)
      var wanted = MetadataChange()
      wanted.permissions = 0o640
      wanted.modified = .at(seconds: 1_000_000, nanoseconds: 5)
      _ = try tree.tree.change(file.inode, file, wanted, by: WritableTree.me)
      try tree.tree.flush(file)
      tree.tree.release(file)
    }
    try tree.rename("Person/tmp", to: "Person/5.json")
    for path in ["Person/4.json", "Person/500.json", "Person/5.json"] {
      let attributes = try tree.tree.find(path)
      #expect(attributes.modifiedSeconds == 1_000_000 && attributes.modifiedNanoseconds == 5, "\(path)")
      #expect(attributes.permissions == 0o640, "\(path)")
    }
    #expect(tree.put("Person/4.json", #"{"age": 34}"#) == nil)
    #expect(try tree.tree.find("Person/4.json").modifiedSeconds > 1_000_000)
  }

  @Test("a mode that was not set explicitly, as that of a temporary file, is not kept")
  func modesOfTemporaryFiles() throws {
    let tree = try WritableTree("people")
    let mode = try tree.tree.find("Person/4.json").permissions
    #expect(mode != 0o600)
    let file = try tree.tree.create(
      tree.tree.find("Person").inode,
      Array("tmp".utf8),
      permissions: 0o600,
      OpenAccess.writing,
      isExclusive: true,
      by: WritableTree.me
    ).file
    try tree.write(file, #"{"age": 33}"#)
    try tree.tree.flush(file)
    tree.tree.release(file)
    try tree.rename("Person/tmp", to: "Person/4.json")
    #expect(try tree.tree.find("Person/4.json").permissions == mode)
  }

  @Test("computed read-only files have no write bits")
  func computedFilesAreReadOnly() throws {
    let tree = try WritableTree("people")
    for path in ["README", "version", "info.json", "stats.json", "errors", "unsaved"] {
      #expect(try tree.tree.find(".realm/" + path).permissions & 0o222 == 0, "\(path)")
    }
    for path in [".realm/schema.json", ".realm/schema/Person.json", ".realm/compact", "Person/4.json"] {
      #expect(try tree.tree.find(path).permissions & 0o200 != 0, "\(path)")
    }
  }

  @Test("allocated but unwritten bytes are not part of a text", arguments: [0, 4, 4096])
  func allocation(_ more: Int) throws {
    let tree = try WritableTree("people")
    let text = #"{"age": 61}"#
    for path in ["Person/4.json", "Person/501.json", "Person/tmp"] {
      let file = try tree.open(path)
      try tree.tree.allocate(file, offset: 0, count: text.utf8.count + more, growing: true)
      #expect(file.size == text.utf8.count + more)
      #expect(tree.failed("write") { try tree.write(file, text) } == nil)
      #expect(tree.failed("close") { try tree.tree.flush(file) } == nil)
      tree.tree.release(file)
    }
    #expect(failure { try tree.rename("Person/tmp", to: "Person/5.json") } == nil)
    for path in ["Person/4.json", "Person/501.json", "Person/5.json"] {
      #expect(try tree.tree.text(path).contains(#""age": 61"#))
    }
    // The text is checked as soon as it is complete.
    let file = try tree.open("Person/4.json")
    try tree.tree.allocate(file, offset: 0, count: 100, growing: true)
    #expect(tree.failed("write") { try tree.write(file, #"{"age": "x"}"#) } == "write: refused invalid")
    try tree.resize(file, to: 0)
    try tree.write(file, #"{"age": 62}"#)
    try tree.resize(file, to: 20)
    #expect(
      tree.failed("close") { try tree.tree.flush(file) } == "close: refused invalid",
      "zeros that a program asks for"
    )
    tree.tree.release(file)
    let data = try tree.open("Person/tmp2")
    try tree.tree.allocate(data, offset: 0, count: 8, growing: true)
    try tree.write(data, "ab")
    try tree.tree.flush(data)
    tree.tree.release(data)
    #expect(try tree.tree.text("Person/tmp2").utf8.count == 8)
  }

  @Test("required properties that a new text omits are reported once each")
  func defaultsAreReported() throws {
    let tree = try WritableTree("people")
    #expect(tree.put("Person/600.json", #"{"name": "x"}"#) == nil)
    #expect(tree.put("Person/601.json", "{}") == nil)
    #expect(tree.put("Person/602.json", "{}") == nil)
    let lines = try tree.errors()
    #expect(lines.filter { $0.contains("joined is required and missing") && $0.contains("Person/600.json") }.count == 1)
    #expect(lines.filter { $0.contains("joined is required and missing") }.count == 1)
    #expect(lines.filter { $0.contains("name is required and missing") && $0.contains("Person/601.json") }.count == 1)
    #expect(!lines.contains { $0.contains("age is required") }, "it can be null")
    #expect(tree.put("Person/4.json", "{}") == nil)
    #expect(try tree.errors() == lines, "an object that exists keeps its values")
  }

  @Test("a write beyond the memory for scratch files is explained in errors, the attribute and the log")
  func memoryLimitIsSaid() throws {
    let tree = try WritableTree("people") { $0.memoryLimit = 64 << 10 }
    #expect(tree.put("Person/big", String(repeating: "x", count: 100_000), piece: 4096) == "write: refused noSpace")
    let line = try #require(try tree.errors().last)
    #expect(line.contains("Person/big") && line.contains("used up the memory"), "\(line)")
    #expect(try tree.errors().filter { $0.contains("Person/big") }.count == 1)
    #expect(tree.log.contains { $0.contains("Person/big: ") && $0.contains("memory") })
    let inode = try tree.tree.find("Person/big").inode
    #expect(try tree.tree.extendedAttribute(inode, "user.realmfs.error").contains("memory"))
  }

  @Test(
    "errors contain full paths",
    arguments: [
      ("Person/.where/TRUEPREDICATE/x.json", "Person/.where/TRUEPREDICATE/x.json"),
      ("Person/.where/x.json", "Person/.where/x.json"), ("Person/.by/x", "Person/.by/x"),
      ("Person/.by/age/x", "Person/.by/age/x"), ("Person/.fields/x", "Person/.fields/x"),
      ("Person/.fields/4/.backlinks/x", "Person/.fields/4/.backlinks/x"),
      (".realm/schema/x.json", ".realm/schema/x.json"),
      (".realm/tx/x", ".realm/tx/x"), (".realm/snapshots/x", ".realm/snapshots/x"),
      (".realm/tables/x", ".realm/tables/x"),
      (".realm/rejected/x", ".realm/rejected/x"),
    ]
  )
  func pathsAreFull(_ path: String, _ shown: String) throws {
    let tree = try WritableTree("people")
    #expect(tree.put(path, "x") != nil)
    let line = try #require(try tree.errors().last)
    #expect(line.contains("\"path\": \"\(shown)\""), "\(line)")
  }

  @Test("a removed class has no entries, like any removed directory")
  func removedClass() throws {
    let tree = try WritableTree("people")
    let made = try tree.tree.makeDirectory(.root, Array("Cat".utf8)).inode
    try tree.tree.removeDirectory(.root, Array("Cat".utf8))
    #expect(failure { _ = try tree.tree.lookup(made, Array("x".utf8)) }?.kind == "notFound")
    #expect(failure { _ = try tree.tree.makeDirectory(made, Array("x".utf8)) }?.kind == "notFound")
    let again = try tree.tree.makeDirectory(.root, Array("Cat".utf8)).inode
    #expect(failure { try tree.tree.removeDirectory(.root, Array("Person".utf8)) }?.kind == "refused notEmpty")
    for entry in try tree.tree.list("Dog") where entry.name.hasSuffix(".json") { try tree.unlink("Dog/" + entry.name) }
    #expect(failure { try tree.tree.removeDirectory(.root, Array("Dog".utf8)) }?.kind == "refused forbidden")
    #expect(again != made)
    #expect(try tree.tree.text(".realm/schema/Dog.json").contains("weight"))
  }

  @Test("a file that was truncated and closed accepts the next write as a whole text, at any offset")
  func emptiedAndWritten() throws {
    let tree = try WritableTree("people")
    for appends in [false, true] {
      for (path, text, shown) in [
        ("Person/.fields/4/age", "5", "5\n"), ("Person/4.json", #"{"age": 6}"#, #""age": 6"#),
      ] {
        #expect(tree.put("Person/4.json", #"{"age": 21}"#) == nil)
        let inode = try tree.tree.find(path).inode
        // As truncate(2) by path does.
        var emptied = MetadataChange()
        emptied.size = 0
        for _ in 0..<2 { _ = try tree.tree.change(inode, nil, emptied, by: WritableTree.me) }
        let file = try tree.open(path, truncates: false, appends: appends)
        #expect(tree.failed("write") { try tree.write(file, text) } == nil)
        #expect(tree.failed("close") { try tree.tree.flush(file) } == nil)
        tree.tree.release(file)
        #expect(try tree.tree.text(path).contains(shown))
      }
    }
    // A file renamed over it is not treated as emptied.
    let emptied = try tree.open("Person/4.json")
    try tree.tree.flush(emptied)
    tree.tree.release(emptied)
    #expect(tree.put("Person/new", #"{"age": 9}"#) == nil)
    try tree.rename("Person/new", to: "Person/4.json")
    let reader = try tree.open("Person/4.json", truncates: false)
    #expect(reader.wholeText.contains(#""age": 9"#))
    tree.tree.release(reader)
    // As a shell's redirection does: it closes the first descriptor of the file before a command writes through the
    // other.
    let shell = try tree.open("Person/4.json")
    try tree.tree.flush(shell)
    try tree.write(shell, #"{"age": 7}"#)
    try tree.tree.flush(shell)
    tree.tree.release(shell)
    let next = try tree.open("Person/4.json", truncates: false, appends: true)
    #expect(tree.failed("write") { try tree.write(next, #"{"age": 8}"#) } == "write: refused invalid")
    tree.tree.release(next)
  }

  @Test("a file that a shell truncated accepts what it appends next")
  func emptiedAndAppended() throws {
    let tree = try WritableTree("people")
    for path in ["Person/4.json", "Person/502.json"] {
      let emptied = try tree.open(path)
      try tree.tree.flush(emptied)
      tree.tree.release(emptied)
      let file = try tree.open(path, truncates: false, appends: true)
      #expect(tree.failed("write") { try tree.write(file, #"{"age": 63}"#) } == nil)
      #expect(tree.failed("close") { try tree.tree.flush(file) } == nil)
      tree.tree.release(file)
      #expect(try tree.tree.text(path).contains(#""age": 63"#))
    }
    // Nothing was emptied this time.
    let file = try tree.open("Person/4.json", truncates: false, appends: true)
    #expect(tree.failed("write") { try tree.write(file, #"{"age": 64}"#) } == "write: refused invalid")
    tree.tree.release(file)
  }

  @Test("a file that was emptied, and whose object another program then changed, is not replaced by an appended text")
  func emptiedAndChanged() throws {
    let tree = try WritableTree("people"), writer = try RealmWriter(Configuration(path: tree.path))
    func setAge(_ key: Int64) throws {
      let transaction = try writer.begin()
      let table = try #require(try transaction.tableKey(named: "class_Person"))
      let text = try JSONText(Array(#"{"age": 91}"#.utf8))
      let object = try #require(try writer.realm.latest().table(table)?.objectKey(primaryKey: .int(key)))
      _ = try ObjectPatcher(mode: .patch).apply(text, to: .object(object), of: table, in: transaction)
      _ = try transaction.commit()
    }
    for (changed, isAppended) in [(Int64(11), false), (4, true)] {
      let emptied = try tree.open("Person/4.json")
      try tree.tree.flush(emptied)
      tree.tree.release(emptied)
      try setAge(changed)
      let file = try tree.open("Person/4.json", truncates: false, appends: true)
      let failure = tree.failed("write") { try tree.write(file, #"{"name": "Ann"}"#) }
      #expect(failure == (isAppended ? "write: refused invalid" : nil))
      tree.tree.release(file)
    }
  }
}

extension OpenAccess {
  fileprivate static var writing: OpenAccess {
    var access = OpenAccess()
    access.writes = true
    return access
  }
}
