// `.realm/changes`: reads wait for the next commit without keeping a thread, and end with a signal or the mount.

import Foundation
import RealmPages
import Synchronization
import TestSupport
import Testing

@testable import FileTree

@Suite(".realm/changes")
struct ChangeStreamTests {
  /// What a read was answered with.
  private final class Answer: Sendable {
    private let result = Mutex<Result<[UInt8], FileTreeError>?>(nil)
    private let arrived = DispatchSemaphore(value: 0)

    func take(_ result: Result<[UInt8], FileTreeError>) {
      self.result.withLock { $0 = result }
      arrived.signal()
    }

    var hasCome: Bool { result.withLock { $0 != nil } }

    /// Waits for the answer.
    func text() throws -> String {
      #expect(arrived.wait(timeout: .now() + 600) == .success)
      return String(decoding: try #require(result.withLock { $0 }).get(), as: UTF8.self)
    }
  }

  private static func read(
    _ file: OpenFile,
    _ count: Int = 4096,
    waits: Bool = true,
    id: UInt64 = 1
  ) throws -> Answer {
    let answer = Answer()
    try #require(file.changes).read(count, waits: waits, id: id) { answer.take($0) }
    return answer
  }

  private static func open(_ tree: WritableTree) throws -> OpenFile {
    try tree.tree.open(tree.tree.find(".realm/changes").inode)
  }

  @Test("a read waits for the next commit; readers are independent, and begin where they were opened")
  func waits() throws {
    let tree = try WritableTree("people")
    let first = try Self.open(tree), second = try Self.open(tree)
    let answer = try Self.read(first)
    #expect(!answer.hasCome)
    #expect(tree.put("Person/4.json", #"{"age": 55}"#) == nil)
    let line = try answer.text()
    #expect(line.contains(#""op":"update","class":"Person","key":4,"before":{"age":21},"after":{"age":55}}"#))
    #expect(line.hasSuffix("\n") && line.contains(#""version":"#))
    // The other one reads the same, in pieces.
    var pieces = ""
    while !pieces.hasSuffix("\n") { pieces += try Self.read(second, 7).text() }
    #expect(pieces.hasSuffix(#""key":4,"before":{"age":21},"after":{"age":55}}"# + "\n"))
    let third = try Self.open(tree)
    #expect(failure { try Self.read(third, waits: false).text() }?.kind == "busy")
    for file in [first, second, third] { tree.tree.release(file) }
  }

  @Test("commits by other programs come too")
  func otherPrograms() throws {
    let tree = try WritableTree("people")
    let file = try Self.open(tree)
    let answer = try Self.read(file)
    let other = try RealmWriter(Configuration(path: tree.path))
    let transaction = try other.begin()
    let table = try #require(try transaction.tableKey(named: "class_Dog"))
    let key = try #require(try transaction.objectKey(table, primaryKey: .text("Fido")))
    try transaction.delete(table, key)
    _ = try transaction.commit()
    #expect(try answer.text().contains(#""op":"delete","class":"Dog","key":"Fido""#))
    tree.tree.release(file)
  }

  @Test("a signal ends a read, whether it comes before or after; the end of the mount is the end of the file")
  func ends() throws {
    let tree = try WritableTree("people")
    let file = try Self.open(tree)
    let late = try Self.read(file, id: 1)
    tree.tree.interruptRead(1)
    #expect(failure { try late.text() }?.kind == "refused interrupted")
    tree.tree.interruptRead(2)
    let early = try Self.read(file, id: 2)
    #expect(failure { try early.text() }?.kind == "refused interrupted")
    let waiting = try Self.read(file, id: 3)
    let woken = DispatchSemaphore(value: 0)
    #expect(try !#require(file.changes).isReadable { woken.signal() })
    tree.tree.finish()
    #expect(try waiting.text() == "")
    #expect(woken.wait(timeout: .now() + 600) == .success)
    #expect(try Self.read(file, id: 4).text() == "")
    tree.tree.release(file)
  }

  @Test("a poll is answered when there is something to read")
  func polls() throws {
    let tree = try WritableTree("people")
    let file = try Self.open(tree), changes = try #require(file.changes)
    let woken = DispatchSemaphore(value: 0)
    #expect(!changes.isReadable { woken.signal() })
    #expect(tree.put("Person/4.json", #"{"age": 56}"#) == nil)
    #expect(woken.wait(timeout: .now() + 600) == .success)
    #expect(changes.isReadable(orElse: nil))
    tree.tree.release(file)
  }

  @Test("a program that looks for the end of the file learns by the size that there is more")
  func follows() throws {
    let tree = try WritableTree("people")
    let file = try Self.open(tree)
    #expect(try tree.tree.find(".realm/changes").size == 0)
    try #require(file.changes).follow()
    #expect(try Self.read(file).text() == "")
    #expect(tree.put("Person/4.json", #"{"age": 57}"#) == nil)
    let size = try tree.tree.find(".realm/changes").size
    #expect(size > 0)
    #expect(try Self.read(file).text().utf8.count == size)
    #expect(try tree.tree.find(".realm/changes").size == size)
    tree.tree.release(file)
    #expect(try tree.tree.find(".realm/changes").size == 0)
  }
}
