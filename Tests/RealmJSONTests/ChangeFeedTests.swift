// The changes of a realm as they are made: nothing is missing without a gap line, and a slow reader uses neither
// versions nor memory.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import RealmJSON

@Suite("Change feeds")
struct ChangeFeedTests {
  /// A realm with the class Item, which has the int n and the string text.
  private struct Items {
    let writer: RealmWriter
    let table: TableKey
    let n: ColKey, text: ColKey

    init(_ path: String) throws {
      writer = try RealmWriter(Configuration(path: path), create: true)
      let transaction = try writer.begin()
      table = try transaction.addTable("class_Item")
      n = try transaction.addColumn(table, ColumnSpec("n", .int))
      text = try transaction.addColumn(table, ColumnSpec("text", .string))
      _ = try transaction.create(table)
      _ = try transaction.commit()
    }

    func set(_ value: Int64) throws -> UInt64 {
      let transaction = try writer.begin()
      try transaction.set(table, ObjKey(0), n, .int(value))
      return try transaction.commit()
    }

    func add(_ count: Int, textOf size: Int) throws -> UInt64 {
      let transaction = try writer.begin()
      let text = Value.string([UInt8](repeating: 0x61, count: size))
      for _ in 0..<count { _ = try transaction.create(table, values: [(self.text, text)]) }
      return try transaction.commit()
    }
  }

  private static func lines(_ feed: ChangeFeed) throws -> [NSDictionary] {
    var bytes: [UInt8] = []
    repeat {
      try feed.advance()
      bytes += feed.take(1 << 20)
    } while feed.isBehind || feed.count > 0
    return try String(decoding: bytes, as: UTF8.self).split(separator: "\n").map {
      try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? NSDictionary)
    }
  }

  @Test("each commit is reported once, commits between two polls together")
  func commits() throws {
    try withTemporaryPath { path in
      let items = try Items(path)
      let feed = try ChangeFeed(items.writer.realm)
      #expect(try Self.lines(feed).isEmpty && !feed.isBehind)
      let first = try items.set(1)
      #expect(feed.isBehind)
      #expect(try Self.lines(feed).map { $0["version"] as? UInt64 } == [first])
      #expect(try Self.lines(feed).isEmpty)
      _ = try items.set(2)
      let last = try items.set(3)
      let line = try #require(Self.lines(feed).first)
      #expect(line["version"] as? UInt64 == last)
      #expect(
        (line["before"] as? NSDictionary)?["n"] as? Int == 1 && (line["after"] as? NSDictionary)?["n"] as? Int == 3
      )
      #expect(feed.version == last)
    }
  }

  @Test("a slow reader gets a gap, and holds neither version nor text")
  func slowReaders() throws {
    try withTemporaryPath { path in
      let items = try Items(path)
      let feed = try ChangeFeed(items.writer.realm, holdLimit: .zero)
      // More than fits: lines wait for the reader, and hold both versions.
      _ = try items.add(3000, textOf: 1000)
      try feed.advance()
      let size = feed.count
      #expect(size > 100_000 && size < 1 << 20)
      usleep(1000)
      try feed.advance()
      #expect(feed.version == nil)
      for value in 0..<20 {
        _ = try items.set(Int64(value))
        try feed.advance()
        #expect(feed.count == size && feed.version == nil)
      }
      let newest = try items.set(77)
      // The rendered lines arrive completely, then the gap up to the newest version, then later changes.
      let lines = try Self.lines(feed)
      let gaps = lines.filter { $0["gap"] != nil }
      #expect(gaps.count == 1 && lines.last == gaps.first)
      #expect(gaps.first?["version"] as? UInt64 == newest)
      #expect(lines.dropLast().allSatisfy { $0["op"] as? String == "insert" })
      let next = try items.set(78)
      #expect(try Self.lines(feed).map { $0["version"] as? UInt64 } == [next])
    }
  }

  @Test("a reader that never catches up makes nothing grow")
  func laggingReaders() throws {
    try withTemporaryPath { path in
      let items = try Items(path)
      let feed = try ChangeFeed(items.writer.realm)
      _ = try items.add(100, textOf: 1000)
      try feed.advance()
      let start = feed.count
      var largest = 0
      for _ in 0..<40 {
        _ = try items.add(30, textOf: 1000)
        try feed.advance()
        _ = feed.take(feed.count - start)
        #expect(feed.count == start)
        largest = max(largest, feed.size)
      }
      #expect(largest < 1 << 20)
    }
  }

  @Test("a reader that keeps up gets all of a commit of any size")
  func largeCommits() throws {
    try withTemporaryPath { path in
      let items = try Items(path)
      let feed = try ChangeFeed(items.writer.realm)
      let version = try items.add(3000, textOf: 1000)
      let lines = try Self.lines(feed)
      #expect(lines.count == 3000 && lines.allSatisfy { $0["version"] as? UInt64 == version })
    }
  }

  @Test("a replaced file causes a gap")
  func otherFiles() throws {
    try withTemporaryPath { path in
      let items = try Items(path)
      _ = try items.set(1)
      let copy = path + ".copy"
      _ = try RealmCopy.write(Configuration(path: path), to: copy, key: nil)
      let feed = try ChangeFeed(Realm(Configuration(path: copy)))
      #expect(try Self.lines(feed).isEmpty)
      let other = path + ".other"
      _ = try RealmCopy.write(Configuration(path: path), to: other, key: nil)
      let writer = try RealmWriter(Configuration(path: other))
      let transaction = try writer.begin()
      try transaction.set(items.table, ObjKey(0), items.n, .int(9))
      _ = try transaction.commit()
      _ = consume writer
      #expect(rename(other, copy) == 0)
      let lines = try Self.lines(feed)
      #expect(lines.count == 1 && lines.first?["gap"] as? Bool == true)
    }
  }
}
