// The state of a text after a save: one that failed on the disk, one that was refused, and one that was written to
// while another was being saved.

import Foundation
import RealmJSON
import RealmPages
import Synchronization
import TestSupport
import Testing

@testable import FileTree

@Suite("outcomes of saves")
struct SaveOutcomeTests {
  @Test("a save that cannot be written to disk fails", arguments: [0, 1, 2])
  func failedCommit(sync: Int) throws {
    let scratch = try ScratchRealm("people")
    let made = Mutex<FaultyStorage?>(nil)
    let writer = try RealmWriter(Configuration(path: scratch.file.path), create: false) { storage in
      let faulty = FaultyStorage(storage)
      made.withLock { $0 = faulty }
      return faulty
    }
    let tree = try FileTree(writer, options: TreeOptions())
    let before = try tree.text("Person/4.json")
    var access = OpenAccess()
    access.writes = true
    access.truncates = true
    let file = try tree.open(tree.find("Person/4.json").inode, access)
    defer { tree.release(file) }
    try #require(made.withLock { $0 }).fault = FaultyStorage.Fault(call: sync, code: EIO, isOfSyncs: true)
    let failed = failure {
      try tree.write(file, Array(#"{"age": 79}"#.utf8), at: 0)
      try tree.flush(file)
    }
    #expect(failed != nil)
    // The last sync is that of a header that may be on disk.
    if sync < 2 { #expect(try tree.text("Person/4.json") == before) }
  }

  private func file(_ text: String, _ budget: MemoryBudget = MemoryBudget(1 << 20)) throws -> MemoryFile {
    let metadata = MemoryFile.Metadata.of(WritableTree.me)
    let made = MemoryFile(InodeNumber(2), .file, Array("a.json".utf8), metadata, budget) {
      ChunkedBytes(Array(text.utf8), $0)
    }
    let file = try #require(made)
    file.truncate(to: 0)
    _ = try file.write(Array(text.utf8), at: 0)
    return file
  }

  private func isDirty(_ file: MemoryFile) -> Bool { if case .dirty = file.draft { true } else { false } }

  @Test("a text is parsed once for its check and its save, and again after another write", arguments: [0, 200_000])
  func parsedOnce(padding: Int) throws {
    let budget = MemoryBudget(1 << 20)
    let file = try file(#"{"age": 1}"# + String(repeating: " ", count: padding), budget), size = budget.usage
    func parsed() throws -> ParsedText {
      try #require(try file.withContents { (contents) throws(FileTreeError) in contents.parsed })
    }
    let first = try parsed()
    #expect(try first === parsed())
    _ = try first.value(of: try file.withContents { contents throws(FileTreeError) in try contents.bytes })
    #expect(budget.usage > size + padding, "the value is part of the budget")
    _ = try file.write(Array("2".utf8), at: 8)
    let second = try parsed()
    #expect(second !== first)
    try file.withContents { (contents) throws(FileTreeError) in file.noteSaved(contents) }
    #expect(try parsed() !== second, "a saved text takes no memory for its value")
  }

  @Test("the value of a text is not kept if there is no room for it")
  func parsedAgain() throws {
    let text = "[" + String(repeating: "1,", count: 1000) + "1]", budget = MemoryBudget(16_000)
    let file = try file(text, budget), size = budget.usage
    try file.withContents { contents throws(FileTreeError) in
      do throws(InputError) { _ = try contents.parsed?.value(of: Array(text.utf8)) } catch {
        throw FileTreeError(error)
      }
    }
    #expect(budget.usage == size)
  }

  @Test("data written during a save still has to be saved")
  func writtenMeanwhile() throws {
    let file = try file(#"{"age": 1}"#)
    try file.withContents { contents throws(FileTreeError) in
      _ = try file.write(Array("2".utf8), at: 8)
      file.noteSaved(contents)
    }
    #expect(isDirty(file))
    try file.withContents { contents throws(FileTreeError) in file.noteSaved(contents) }
    #expect(!isDirty(file))
  }

  @Test("a rejected text stays rejected, whatever is written, until it is truncated to 0")
  func refused() throws {
    let file = try file(#"{"age": "x"}"#)
    try file.withContents { contents throws(FileTreeError) in
      file.noteRefused(contents, .refused(.invalid, "no number"))
    }
    for size in [nil, 3, 20] {
      if let size { file.truncate(to: size) }
      #expect(file.hasFailed)
      guard case .refused(let error) = file.draft else {
        Issue.record("\(file.draft)")
        return
      }
      #expect("\(error)".contains("no number"))
      #expect(failure { _ = try file.write(Array("y".utf8), at: 9) }?.kind == "refused invalid")
    }
    file.truncate(to: 0)
    _ = try file.write(Array("y".utf8), at: 0)
    #expect(isDirty(file))
    // Bytes written while a text is being refused are another text.
    try file.withContents { contents throws(FileTreeError) in
      _ = try file.write(Array("z".utf8), at: 1)
      file.noteRefused(contents, .refused(.invalid, "no number"))
    }
    #expect(isDirty(file) && file.hasFailed)
  }
}
