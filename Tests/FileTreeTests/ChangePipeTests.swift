// `.realm/changes`: a link to a pipe in which a program waits for the next commit.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite(".realm/changes")
struct ChangePipeTests {
  /// A program's end of a pipe.
  private final class Reader {
    let path: String
    private let descriptor: Int32

    init(_ tree: WritableTree, flags: Int32 = 0) throws {
      path = String(decoding: try tree.tree.destination(tree.tree.find(".realm/changes").inode), as: UTF8.self)
      descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | flags)
      try #require(descriptor >= 0)
    }

    deinit { close(descriptor) }

    /// Up to `count` bytes; waits for the first one, and returns none at the end.
    func read(_ count: Int = 4096) throws -> String {
      var bytes = [UInt8](repeating: 0, count: count)
      let result = unsafe Glibc.read(descriptor, &bytes, count)
      try #require(result >= 0, "errno \(errno)")
      return String(decoding: bytes.prefix(result), as: UTF8.self)
    }

    /// The errno of a read that fails.
    func errorOfRead() -> Int32 {
      var byte: UInt8 = 0
      return unsafe Glibc.read(descriptor, &byte, 1) < 0 ? errno : 0
    }

    /// Returns true if there is something to read, after a wait that lasts until then if `forever`.
    func isReadable(forever: Bool) -> Bool {
      var state = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
      return unsafe poll(&state, 1, forever ? 600_000 : 100) > 0
    }
  }

  @Test("a read waits for the next commit; readers are independent and start when they open the pipe")
  func waits() throws {
    let tree = try WritableTree("people")
    let first = try Reader(tree), second = try Reader(tree)
    #expect(first.path != second.path)
    #expect(!first.isReadable(forever: false))
    #expect(tree.put("Person/4.json", #"{"age": 55}"#) == nil)
    let line = try first.read()
    #expect(line.contains(#""op":"update","class":"Person","key":4,"before":{"age":21},"after":{"age":55}}"#))
    #expect(line.hasSuffix("\n") && line.contains(#""version":"#))
    // The other one reads the same, in pieces.
    var pieces = ""
    while !pieces.hasSuffix("\n") { pieces += try second.read(7) }
    #expect(pieces.hasSuffix(#""key":4,"before":{"age":21},"after":{"age":55}}"# + "\n"))
    let third = try Reader(tree, flags: O_NONBLOCK)
    #expect(third.errorOfRead() == EAGAIN)
    #expect(!third.isReadable(forever: false))
    tree.tree.finish()
  }

  @Test("a commit right after the open is not missed, and commits by other programs come too")
  func otherPrograms() throws {
    let tree = try WritableTree("people")
    let other = try RealmWriter(Configuration(path: tree.path))
    for name in ["Fido", "Rex"] {
      let reader = try Reader(tree)
      let transaction = try other.begin()
      let table = try #require(try transaction.tableKey(named: "class_Dog"))
      let key = try #require(try transaction.objectKey(table, primaryKey: .text(name)))
      try transaction.delete(table, key)
      _ = try transaction.commit()
      #expect(try reader.read().contains(#""op":"delete","class":"Dog","key":"\#(name)""#))
    }
    tree.tree.finish()
  }

  @Test("a reader that keeps up has all lines of a commit that is larger than the pipe")
  func largeCommits() throws {
    // The reader keeps up, even on a busy machine.
    let tree = try WritableTree("people") { options in options.changeHoldLimit = .seconds(3600) }
    let reader = try Reader(tree)
    let other = try RealmWriter(Configuration(path: tree.path)), transaction = try other.begin()
    let dogs = try #require(try transaction.tableKey(named: "class_Dog")), count = 20_000
    for number in 0..<count {
      _ = try transaction.create(dogs, primaryKey: .text("\(number)" + String(repeating: "x", count: 300)), values: [])
    }
    _ = try transaction.commit()
    var lines = 0, bytes = 0
    while lines < count {
      let text = try reader.read(1 << 16)
      #expect(!text.contains(#""gap""#))
      lines += text.utf8.count { $0 == UInt8(ascii: "\n") }
      bytes += text.utf8.count
    }
    #expect(lines == count && bytes > 6 << 20)
    tree.tree.finish()
  }

  @Test("poll returns when there is data to read")
  func polls() throws {
    let tree = try WritableTree("people")
    let reader = try Reader(tree)
    #expect(!reader.isReadable(forever: false))
    #expect(tree.put("Person/4.json", #"{"age": 56}"#) == nil)
    #expect(reader.isReadable(forever: true))
    tree.tree.finish()
  }

  @Test("unmounting is the end of file, after the remaining lines")
  func ends() throws {
    let tree = try WritableTree("people")
    let early = try Reader(tree), late = try Reader(tree)
    #expect(tree.put("Person/4.json", #"{"age": 57}"#) == nil)
    #expect(try early.read() != "")
    let folder = (early.path as NSString).deletingLastPathComponent
    #expect(FileManager.default.fileExists(atPath: folder))
    tree.tree.finish()
    #expect(try early.read() == "")
    #expect(try late.read().contains(#""after":{"age":57}"#))
    #expect(try late.read() == "")
    #expect(!FileManager.default.fileExists(atPath: folder))
  }

  @Test("unopened pipes are bounded, a pipe ends with its reader, and writing to one fails at once")
  func unopened() throws {
    let tree = try WritableTree("people")
    var paths: [String] = []
    for _ in 0..<40 {
      paths.append(String(decoding: try tree.tree.destination(tree.tree.find(".realm/changes").inode), as: UTF8.self))
    }
    let left = paths.filter { FileManager.default.fileExists(atPath: $0) }
    #expect(left == Array(paths.suffix(16)))
    // Runs as root; other users may not open it for writing.
    let writer = unsafe open(left[0], O_WRONLY | O_CLOEXEC)
    if writer >= 0 {
      signal(SIGPIPE, SIG_IGN)
      while unsafe write(writer, "x", 1) == 1 { usleep(1000) }
      #expect(errno == EPIPE)
      close(writer)
    } else {
      #expect(errno == EACCES)
    }
    let opened = unsafe open(left[1], O_RDONLY | O_CLOEXEC)
    while unsafe access(left[1], F_OK) == 0 { usleep(1000) }
    close(opened)
    tree.tree.finish()
  }

  @Test("a frozen tree has no changes to read")
  func showOneVersion() throws {
    let tree = try WritableTree("people")
    let realm = try Realm(Configuration(path: tree.path))
    var options = TreeOptions()
    options.isFrozen = true
    let frozen = try FileTree(realm, options: options)
    #expect(failure { try frozen.find(".realm/changes") }?.kind == "notFound")
  }
}
