// Open files, and how they share the kernel's page cache.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("Open files")
struct HandleTests {
  @Test("reads give exactly the asked range, and nothing beyond the end")
  func ranges() throws {
    let tree = try FileTree.of("people")
    let file = try tree.open(tree.find("Person/4.json").inode)
    let text = Array(file.wholeText.utf8)
    for (offset, count) in [(0, 1), (0, .max), (5, 10), (text.count - 1, 10), (text.count, 1), (.max, .max), (-1, 2)] {
      let start = min(max(offset, 0), text.count)
      let expected = Array(text[start..<start + min(count, text.count - start)])
      #expect(try file.read(from: offset, count: count) { span in span.withUnsafeBytes { [UInt8]($0) } } == expected)
    }
    tree.release(file)
  }

  @Test("an open handle keeps its text when the file is replaced; its inode lives as long as the handle")
  func handleOutlivesTheObject() throws {
    let scratch = try ScratchRealm("people")
    let tree = try scratch.tree()
    let inode = try tree.find("Person/4.json").inode
    let file = try tree.open(inode)
    tree.pageCacheSeeded(file)
    let text = file.wholeText
    try scratch.replace(by: "nested")
    #expect(file.wholeText == text)
    #expect(failure { try tree.find("Person") }?.kind == "notFound")
    #expect(try tree.attributes(inode).links == 0)
    #expect(try tree.attributes(inode).size == text.utf8.count)
    #expect(failure { try tree.open(inode) }?.kind == "stale")
    tree.release(file)
    #expect(failure { try tree.attributes(inode) }?.kind == "stale")
  }

  @Test("a class that comes with another file has other inodes than the one it takes the place of")
  func replacedClassesHaveNewInodes() throws {
    let scratch = try ScratchRealm("people")
    let tree = try scratch.tree()
    let before = try Set(tree.list("").filter { !$0.isDot }.map(\.inode))
    try scratch.replace(by: "nested")
    let between = try Set(tree.list("").filter { !$0.isDot }.map(\.inode))
    #expect(!between.isEmpty && before.isDisjoint(with: between))
    try scratch.replace(by: "people")
    #expect(try Set(tree.list("").filter { !$0.isDot }.map(\.inode)) == before)
  }

  @Test("who reads a file that somebody is writing over reads past the page cache, which would be filled up with zeros")
  func writtenFilesBypass() throws {
    let scratch = try ScratchRealm("people")
    let tree = try FileTree(RealmWriter(Configuration(path: scratch.file.path)), options: TreeOptions())
    let inode = try tree.find("Person/4.json").inode
    var access = OpenAccess()
    access.writes = true
    let writing = try tree.open(inode, access)
    try tree.write(writing, [UInt8](repeating: 0x20, count: 5000), at: 0)
    let reading = try tree.open(inode)
    #expect(reading.caching == .bypass)
    tree.release(reading)
    tree.release(writing)
  }

  /// What stat says of an object: by inode, by name, and in a listing.
  private func sizes(_ tree: WritableTree) throws -> Set<Int> {
    let inode = try tree.tree.find("Person/4.json").inode
    let listed = try tree.tree.list("Person", attributes: true).first { $0.name == "4.json" }?.attributes
    return [
      try tree.tree.attributes(inode).size, try tree.tree.find("Person/4.json").size, try #require(listed).size,
    ]
  }

  @Test("what stat says of the size is what the handle that was opened last reads, until it is closed")
  func sizeBelongsToTheHandle() throws {
    let tree = try WritableTree("people")
    let inode = try tree.tree.find("Person/4.json").inode
    let first = try tree.tree.open(inode)
    tree.tree.pageCacheSeeded(first)
    #expect(!first.hasNewSize && tree.tree.isCacheable(inode), "nothing has changed yet")
    #expect(tree.put("Person/4.json", "{\"name\": \"\(String(repeating: "x", count: 1000))\"}") == nil)
    #expect(try sizes(tree) == [first.size])
    #expect(tree.tree.isCacheable(inode) == false)
    let second = try tree.tree.open(inode)
    #expect(second.hasNewSize && second.size > first.size + 900)
    #expect(try sizes(tree) == [second.size])
    #expect(!tree.tree.isCacheable(inode), "the first handle is open still")
    #expect(tree.put("Person/4.json", #"{"name": "y"}"#) == nil)
    #expect(try sizes(tree) == [second.size])
    let three = Caller(user: 0, group: 0, process: 3), four = Caller(user: 0, group: 0, process: 4)
    let third = try tree.tree.open(inode, by: three), fourth = try tree.tree.open(inode, by: four)
    #expect(try tree.tree.attributes(inode, for: 3).size == third.size)
    #expect(try tree.tree.find("Person/4.json").size == fourth.size)
    #expect(tree.put("Person/4.json", #"{"name": "yy"}"#) == nil)
    let fifth = try tree.tree.open(inode, by: four)
    #expect(try tree.tree.attributes(inode, for: 3).size == third.size, "each process has its own first")
    #expect(try tree.tree.attributes(inode, for: 4).size == third.size + 1)
    for file in [third, fourth, fifth] { tree.tree.release(file) }
    #expect(try sizes(tree) == [second.size])
    tree.tree.release(second)
    #expect(try sizes(tree) == [first.size])
    tree.tree.release(first)
    #expect(try sizes(tree) == [tree.tree.text("Person/4.json").utf8.count])
    #expect(tree.tree.isCacheable(inode))
  }

  @Test("a handle that reads and writes shows the size of its own text, until a program closes it")
  func sizeOfWrittenHandles() throws {
    let tree = try WritableTree("people")
    let text = try tree.tree.text("Person/4.json")
    let handle = try tree.open("Person/4.json", truncates: false)
    #expect(handle.hasNewSize)
    #expect(tree.put("Person/4.json", #"{"name": "longer than before"}"#) == nil)
    #expect(try sizes(tree) == [text.utf8.count])
    try tree.tree.flush(handle)
    #expect(try sizes(tree) == [tree.tree.text("Person/4.json").utf8.count])
    tree.tree.release(handle)
    // Written and synced, but not closed: the handle reads what it wrote.
    let writing = try tree.open("Person/4.json")
    #expect(try sizes(tree) == [0])
    try tree.write(writing, #"{"age": 1}"#)
    try tree.tree.synchronize(writing)
    #expect(try sizes(tree) == [10])
    try tree.tree.flush(writing)
    #expect(try sizes(tree) == [tree.tree.text("Person/4.json").utf8.count])
    tree.tree.release(writing)
  }

  @Test("the kernel may remember that a handle emptied a file, until it is written to or closed")
  func sizeOfEmptiedHandles() throws {
    let tree = try WritableTree("people"), inode = try tree.tree.find("Person/4.json").inode
    let size = try tree.tree.text("Person/4.json").utf8.count
    let closed = try tree.open("Person/4.json")
    #expect(try tree.tree.attributes(inode).size == 0)
    #expect(tree.tree.isCacheable(inode))
    let second = try tree.open("Person/4.json")
    #expect(!tree.tree.isCacheable(inode), "two handles may write different texts")
    tree.tree.release(second)
    try tree.tree.flush(closed)
    #expect(!tree.tree.isCacheable(inode), "a shell closes a file once before it writes to it")
    #expect(tree.tree.isWronglyKnownEmpty(closed))
    #expect(!tree.tree.isWronglyKnownEmpty(closed), "it was forgotten")
    tree.tree.release(closed)
    #expect(try sizes(tree) == [size])
    let written = try tree.open("Person/4.json")
    #expect(tree.tree.isCacheable(inode))
    try tree.write(written, #"{"age": 1}"#)
    #expect(!tree.tree.isCacheable(inode))
    try tree.tree.flush(written)
    #expect(!tree.tree.isWronglyKnownEmpty(written), "the kernel knows that it was written to")
    tree.tree.prepareNext(after: written)
    tree.tree.release(written)
    let refused = try tree.open("Person/4.json")
    #expect(tree.tree.isCacheable(inode))
    #expect(throws: FileTreeError.self) { try tree.write(refused, #"{"age": "many"}"#) }
    #expect(throws: FileTreeError.self) { try tree.tree.flush(refused) }
    tree.tree.release(refused)
    #expect(try sizes(tree) == [tree.tree.text("Person/4.json").utf8.count])
  }

  @Test("control files too have the size of what the handle reads")
  func sizeOfControlFiles() throws {
    let tree = try WritableTree("people")
    let inode = try tree.tree.find(".realm/errors").inode
    let handle = try tree.tree.open(inode)
    #expect(handle.size == 0 && handle.hasNewSize)
    #expect(tree.put("Person/4.json", "5") != nil)
    #expect(try tree.tree.attributes(inode).size == 0)
    tree.tree.release(handle)
    #expect(try tree.tree.attributes(inode).size == tree.tree.text(".realm/errors").utf8.count)
  }

  private static let inode = InodeNumber(7)

  /// A handle on an inode in a given situation, with the page cache seeded if that is allowed.
  private func open(_ files: OpenFiles, _ text: String, _ liveliness: OpenFiles.Liveliness) -> OpenFile {
    let file = OpenFile(Self.inode, files.open(Self.inode, Array(text.utf8), liveliness), text: Array(text.utf8))
    if file.maySeedPageCache { files.seeded(file) }
    return file
  }

  @Test("the first handle on an unchanged text may seed the page cache, and all may keep what is in it")
  func unchangedTextsAreKept() {
    let files = OpenFiles()
    let first = open(files, "a", .unchanged), second = open(files, "a", .unchanged)
    #expect(first.caching == .keep && first.maySeedPageCache)
    #expect(second.caching == .keep && !second.maySeedPageCache)
    files.close(first)
    #expect(!open(files, "a", .unchanged).maySeedPageCache, "the second handle may be reading")
    #expect(!open(OpenFiles(), "", .unchanged).maySeedPageCache)
    #expect(!open(OpenFiles(), String(repeating: "a", count: 40_000), .unchanged).maySeedPageCache)
  }

  @Test("a text that changed a moment ago is read past the page cache")
  func liveTextsBypass() {
    #expect(open(OpenFiles(), "a", .live).caching == .bypass)
  }

  @Test("a text that changed long ago replaces what is in the page cache")
  func quietTextsRefresh() {
    #expect(open(OpenFiles(), "a", .quiet).caching == .refresh)
  }

  @Test("handles with different texts never share the page cache")
  func differentTextsDoNotShare() {
    let files = OpenFiles()
    let old = open(files, "a", .unchanged)
    let new = open(files, "b", .quiet)
    #expect(new.caching == .bypass)
    #expect(open(files, "a", .quiet).caching == .refresh)
    files.close(old)
    files.close(new)
    #expect(open(files, "b", .quiet).caching == .bypass, "the third handle still has the old text")
  }

  @Test("while one handle seeds the page cache, no other gets one")
  func seedingExcludes() {
    let files = OpenFiles()
    let text = Array("a".utf8)
    let first = OpenFile(Self.inode, files.open(Self.inode, text, .unchanged), text: text)
    #expect(first.maySeedPageCache)
    #expect(files.tryOpen(Self.inode, text, .unchanged, 2, 0) == nil)
    files.seeded(first)
    #expect(files.tryOpen(Self.inode, text, .unchanged, 2, 0)?.caching == .keep)
  }
}

extension FileTree {
  /// Whether the kernel may remember the attributes of an inode.
  fileprivate func isCacheable(_ inode: InodeNumber) -> Bool { (try? attributes(inode).isCacheable) ?? false }
}
