// Open files, and how they share the kernel's page cache.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("Open files")
struct HandleTests {
  @Test("reads return exactly the requested range, and nothing beyond the end")
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
    let file = try tree.open(inode, by: Self.one)
    tree.pageCacheSeeded(file)
    let text = file.wholeText
    try scratch.replace(by: "nested")
    #expect(file.wholeText == text)
    #expect(failure { try tree.find("Person") }?.kind == "notFound")
    #expect(try tree.attributes(inode).links == 0)
    #expect(try tree.attributes(inode, for: Self.one.process).size == text.utf8.count)
    #expect(failure { try tree.open(inode) }?.kind == "stale")
    tree.release(file)
    #expect(failure { try tree.attributes(inode) }?.kind == "stale")
  }

  @Test("a class of a replacement file gets new inodes")
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

  @Test("a reader of a file that is being overwritten bypasses the page cache, which would contain zeros")
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

  /// Threads of processes that cannot exist.
  private static let one = Caller(user: 0, group: 0, process: 2_000_000_001)
  private static let two = Caller(user: 0, group: 0, process: 2_000_000_002)

  /// The size of an object as the kernel learns it: by inode, by name, and in a listing.
  private func kernelSizes(_ tree: WritableTree) throws -> Set<Int> {
    let inode = try tree.tree.find("Person/4.json").inode
    let listed = try tree.tree.list("Person", attributes: true).first { $0.name == "4.json" }?.attributes
    return [
      try tree.tree.attributes(inode).kernelSize, try tree.tree.find("Person/4.json").kernelSize,
      try #require(listed).kernelSize,
    ]
  }

  @Test("a process gets the size of the handle it opened last, others that of the stored text")
  func sizeBelongsToTheHandle() throws {
    let tree = try WritableTree("people")
    let inode = try tree.tree.find("Person/4.json").inode
    func size(_ caller: Caller) throws -> Int { try tree.tree.attributes(inode, for: caller.process).size }
    let first = try tree.tree.open(inode, by: Self.one)
    tree.tree.pageCacheSeeded(first)
    #expect(!first.hasNewSize && tree.tree.isCacheable(inode), "nothing has changed yet")
    #expect(tree.put("Person/4.json", "{\"name\": \"\(String(repeating: "x", count: 1000))\"}") == nil)
    let long = try tree.tree.text("Person/4.json").utf8.count
    #expect(try size(Self.one) == first.size)
    #expect(try size(Self.two) == long)
    #expect(try tree.tree.attributes(inode, with: first, for: Self.two.process).size == first.size)
    #expect(try kernelSizes(tree) == [long])
    #expect(!tree.tree.isCacheable(inode))
    let second = try tree.tree.open(inode, by: Self.two)
    #expect(second.hasNewSize && second.size == long)
    #expect(tree.put("Person/4.json", #"{"name": "y"}"#) == nil)
    let short = try tree.tree.text("Person/4.json").utf8.count
    #expect(try size(Self.one) == first.size)
    #expect(try size(Self.two) == long)
    #expect(try tree.tree.attributes(inode).size == short)
    #expect(try tree.tree.find("Person/4.json").size == short)
    #expect(try kernelSizes(tree) == [long], "a map of the longest text that is open must not end before it")
    let third = try tree.tree.open(inode, by: Self.one)
    #expect(try size(Self.one) == short)
    tree.tree.release(third)
    #expect(try size(Self.one) == first.size)
    tree.tree.release(second)
    #expect(try kernelSizes(tree) == [max(first.size, short)])
    tree.tree.release(first)
    #expect(try kernelSizes(tree) == [short])
    #expect(tree.tree.isCacheable(inode))
  }

  @Test("only the writing program gets the size of its unsaved bytes, until it closes the file")
  func sizeOfWrittenHandles() throws {
    let tree = try WritableTree("people"), inode = try tree.tree.find("Person/4.json").inode
    let text = try tree.tree.text("Person/4.json"), stored = text.utf8.count
    func size(_ caller: Caller) throws -> Int { try tree.tree.attributes(inode, for: caller.process).size }
    let handle = try tree.open("Person/4.json", truncates: false, by: Self.one)
    #expect(handle.hasNewSize)
    #expect(try size(Self.one) == stored)
    try tree.write(handle, " ", at: stored)
    #expect(try size(Self.one) == stored + 1)
    #expect(try size(Self.two) == stored)
    #expect(try tree.tree.attributes(inode, with: handle).size == stored + 1)
    #expect(try kernelSizes(tree) == [stored])
    let reader = try tree.tree.open(inode, by: Self.one)
    #expect(try size(Self.one) == stored && reader.wholeText == text, "it has opened that handle last")
    tree.tree.release(reader)
    try tree.resize(handle, to: 0)
    #expect(try size(Self.one) == 0)
    #expect(try kernelSizes(tree) == [stored])
    try tree.tree.write(handle, Array(#"{"age": 1}"#.utf8), at: 0, by: Self.two)
    #expect(try size(Self.two) == 10, "a process that has the handle from another one, and writes")
    // Synced, but not closed: the handle reads the bytes that it wrote.
    try tree.tree.synchronize(handle)
    let saved = try tree.tree.text("Person/4.json").utf8.count
    #expect(try size(Self.one) == 10)
    #expect(try kernelSizes(tree) == [saved])
    try tree.tree.flush(handle)
    #expect(try size(Self.one) == saved)
    // The shell closes a copy of its handle before commands write.
    try tree.tree.write(handle, [UInt8](repeating: 0x20, count: 90), at: 10, by: Self.two)
    #expect(try size(Self.two) == 100)
    tree.tree.release(handle)
    #expect(try size(Self.two) == saved)
    #expect(tree.tree.isCacheable(inode))
  }

  @Test("after O_TRUNC, the kernel truncates for the opening thread, whose writes start a new text")
  func emptiedByNumber() throws {
    let tree = try WritableTree("people"), inode = try tree.tree.find("Person/4.json").inode
    let stored = try tree.tree.text("Person/4.json").utf8.count
    var emptied = MetadataChange()
    emptied.size = 0
    let other = try tree.open("Person/4.json", truncates: false, by: Self.two)
    let handle = try tree.open("Person/4.json", truncates: false, by: Self.one)
    #expect(try tree.tree.change(inode, nil, emptied, by: Self.one).kernelSize == stored)
    #expect(handle.size == 0 && other.size == stored)
    try tree.write(handle, #"{"age": 41}"#)
    _ = try tree.tree.change(inode, nil, emptied, by: Self.one)
    #expect(handle.size == 11, "truncate(2) of a path empties no text that is being written")
    try tree.tree.flush(handle)
    for file in [handle, other] { tree.tree.release(file) }
    #expect(try tree.tree.text("Person/4.json").contains("\"age\": 41"))
  }

  @Test("control files also have the size of the handle's text")
  func sizeOfControlFiles() throws {
    let tree = try WritableTree("people")
    let inode = try tree.tree.find(".realm/errors").inode
    let handle = try tree.tree.open(inode, by: Self.one)
    #expect(handle.size == 0 && handle.hasNewSize)
    tree.tree.pageCacheSeeded(handle)
    #expect(tree.put("Person/4.json", "5") != nil)
    #expect(try tree.tree.attributes(inode, for: Self.one.process).size == 0)
    let size = try tree.tree.text(".realm/errors").utf8.count
    #expect(try tree.tree.attributes(inode).size == size)
    tree.tree.release(handle)
    #expect(try tree.tree.attributes(inode, for: Self.one.process).size == size)
  }

  private static let inode = InodeNumber(7)

  /// A handle on an inode in a given situation, with the page cache seeded if that is allowed.
  private func open(_ files: OpenFiles, _ text: String, _ volatility: PageCachePolicy.Volatility) -> OpenFile {
    let file = OpenFile(Self.inode, files.open(Self.inode, Array(text.utf8), volatility), text: Array(text.utf8))
    if file.maySeedPageCache { files.seeded(file) }
    return file
  }

  @Test("the first handle of an unchanged text may fill the page cache, and all others may keep it")
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

  @Test("a recently changed text bypasses the page cache, and its only reader updates the size")
  func liveTextsBypass() {
    let files = OpenFiles()
    let first = open(files, "a", .live), second = open(files, "a", .live)
    #expect(first.caching == .bypass && second.caching == .bypass)
    #expect(first.maySeedPageCache && !second.maySeedPageCache, "the second would have to wait for the first")
  }

  @Test("a text that changed long ago replaces the cached one")
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

  @Test("while one handle fills the page cache, no other may use it")
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
  /// True if the kernel may cache the attributes of an inode.
  fileprivate func isCacheable(_ inode: InodeNumber) -> Bool { (try? attributes(inode).isCacheable) ?? false }
}
