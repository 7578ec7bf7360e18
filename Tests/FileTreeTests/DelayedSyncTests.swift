// Saves that close before they are on disk: `-o group_commit=MS`.

import Foundation
import RealmPages
import Synchronization
import TestSupport
import Testing

@testable import FileTree

@Suite("delayed sync")
struct DelayedSyncTests {
  /// The newest version that a crash would leave: the one to which the header refers.
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

  @Test("saves reach the disk together after the delay, at fsync and at unmount")
  func bringsToDisk() throws {
    let scratch = try ScratchRealm("people")
    var options = TreeOptions()
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

  private func wait(for condition: () throws -> Bool) rethrows {
    let limit = Date().addingTimeInterval(120)
    while try !condition(), Date() < limit { usleep(5000) }
  }

  @Test("the delayed sync happens without a request")
  func comesByItself() throws {
    let scratch = try ScratchRealm("people")
    var options = TreeOptions()
    options.groupCommit = 20
    let tree = try FileTree(RealmWriter(Configuration(path: scratch.file.path)), options: options)
    defer { tree.finish() }
    let before = try versionOnDisk(scratch.file.path)
    try save(#"{"age": 1}"#, tree)
    try wait { try versionOnDisk(scratch.file.path) > before }
    #expect(try versionOnDisk(scratch.file.path) == before + 1)
  }

  @Test("the delayed sync is retried after another writer held the lock for long")
  func triesAgain() throws {
    let scratch = try ScratchRealm("people")
    let failures = Mutex(0)
    var options = TreeOptions()
    options.groupCommit = 2000
    options.lockTimeout = .milliseconds(200)
    options.log = { _ in failures.withLock { $0 += 1 } }
    let writer = try RealmWriter(Configuration(path: scratch.file.path))
    let tree = try FileTree(writer, options: options)
    defer { tree.finish() }
    let before = try versionOnDisk(scratch.file.path)
    try save(#"{"age": 1}"#, tree)
    let transaction = try writer.begin()
    wait { failures.withLock { $0 } > 0 }
    transaction.rollback()
    #expect(failures.withLock { $0 } > 0, "the sync did not have to wait")
    try wait { try versionOnDisk(scratch.file.path) > before }
    #expect(try versionOnDisk(scratch.file.path) == before + 1)
  }
}
