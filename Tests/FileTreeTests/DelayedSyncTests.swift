// Saves that close before they are on disk: `-o group_commit=MS`.

import Foundation
import RealmPages
import TestSupport
import Testing
@testable import FileTree

@Suite("delayed sync")
struct DelayedSyncTests {
  /// The newest version that a crash would leave: that which the header of the file leads to.
  private func versionOnDisk(_ path: String) throws -> UInt64 {
    var configuration = Configuration(path: path)
    configuration.mode = .immutable
    return try Realm(configuration).latest().version
  }

  private func save(_ text: String, _ tree: FileTree) throws {
    let inode = try tree.find("Person/4.json").inode
    var access = OpenAccess()
    access.writes = true
    access.truncates = true
    let file = try tree.open(inode, access)
    defer { tree.release(file) }
    try tree.write(file, Array(text.utf8), at: 0)
    try tree.flush(file)
  }

  @Test("saves are on disk together after the delay, at fsync, and at the end")
  func bringsToDisk() throws {
    let scratch = try ScratchRealm("people")
    var options = MountOptions()
    options.groupCommit = 60_000
    let tree = try FileTree(RealmWriter(Configuration(path: scratch.file.path)), options: options)
    let before = try versionOnDisk(scratch.file.path)
    try save(#"{"age": 1}"#, tree)
    try save(#"{"age": 2}"#, tree)
    #expect(try tree.text("Person/4.json").contains("\"age\": 2"))
    #expect(try versionOnDisk(scratch.file.path) == before, "close waited for the disk")
    try tree.synchronize()
    #expect(try versionOnDisk(scratch.file.path) == before + 2)
    try save(#"{"age": 3}"#, tree)
    tree.finish()
    #expect(try versionOnDisk(scratch.file.path) == before + 3)
  }

  @Test("nobody has to ask for it")
  func comesByItself() throws {
    let scratch = try ScratchRealm("people")
    var options = MountOptions()
    options.groupCommit = 20
    let tree = try FileTree(RealmWriter(Configuration(path: scratch.file.path)), options: options)
    defer { tree.finish() }
    let before = try versionOnDisk(scratch.file.path)
    try save(#"{"age": 1}"#, tree)
    let limit = Date().addingTimeInterval(20)
    while try versionOnDisk(scratch.file.path) == before, Date() < limit { usleep(5000) }
    #expect(try versionOnDisk(scratch.file.path) == before + 1)
  }
}
