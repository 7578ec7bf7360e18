// Listings: complete, resumable anywhere, and as generous with attributes as is asked.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("Listings")
struct ListingTests {
  @Test(
    "a listing begins with . and .. and can be resumed after each entry",
    arguments: ["", "Person", "Dog", ".realm", ".realm/schema", ".realm/tables", ".realm/tables/metadata"]
  )
  func resumesAnywhere(_ path: String) throws {
    var options = TreeOptions()
    options.showControl = true
    let tree = try FileTree.of("people", options)
    let whole = try tree.list(path)
    #expect(whole.prefix(2).map(\.name) == [".", ".."])
    #expect(Set(whole.map(\.name)).count == whole.count)
    for (index, entry) in whole.enumerated() {
      #expect(try tree.list(path, from: entry.next) == Array(whole[(index + 1)...]))
    }
    for batch in [1, 2, 3, 7] {
      #expect(try tree.list(path, batch: batch) == whole)
    }
  }

  @Test("a listing over many clusters is the same in batches of any size", arguments: [1, 13, 190, 1_000_000])
  func batchesOfAnySize(_ batch: Int) throws {
    let tree = try FileTree.of("items-10k")
    for directory in try tree.list("").filter({ !$0.isDot }) {
      let objects = try tree.list(directory.name, batch: batch).filter { !$0.isDot }
      let snapshot = try Fixture.named("items-10k").snapshot()
      #expect(try objects.count == snapshot.table(named: "class_" + directory.name)?.objectCount)
    }
  }

  static let largeKeys: [Int64] = [
    0, 5, 1 << 44 - 1, 1 << 44, 1 << 45, 1 << 62 - 1, .max - 5, .max - 4, .max - 3, .max - 2, .max - 1, .max,
  ]

  @Test("object keys up to the largest are listed, resumed and found", arguments: [false, true])
  func largestKeys(_ attributes: Bool) throws {
    let scratch = try ScratchRealm(bytes: KeysRealm.bytes(Self.largeKeys))
    let tree = try scratch.tree()
    let names = Self.largeKeys.map { "\($0).json" }
    for batch in [1, 2, 100] {
      let listed = try tree.list("Thing", batch: batch, attributes: attributes).filter { !$0.isDot }
      #expect(listed.map(\.name) == names)
      #expect(Set(listed.map(\.inode)).count == names.count)
      #expect(listed.allSatisfy { $0.next <= UInt64(Int64.max) }, "positions are what lseek accepts")
      for entry in listed {
        #expect(try tree.find("Thing/" + entry.name).inode == entry.inode)
        #expect(try tree.attributes(entry.inode).size == 3)
        #expect(try tree.text("Thing/" + entry.name) == "{}\n")
      }
    }
  }

  @Test("inodes of large keys are remembered until the kernel has forgotten each lookup and each listed entry")
  func forgetting() throws {
    let scratch = try ScratchRealm(bytes: KeysRealm.bytes(Self.largeKeys))
    let tree = try scratch.tree()
    let large = Self.largeKeys.filter { $0 >= 1 << 44 }
    _ = try tree.list("Thing")
    #expect(tree.tree.namespace.objectInodes.count == 0, "a listing without attributes tells the kernel of no inode")
    let listed = try tree.list("Thing", batch: 2, attributes: true).filter { !$0.isDot }
    #expect(tree.tree.namespace.objectInodes.count == large.count, "what did not fit is not counted")
    let found = try tree.find("Thing/\(Int64.max).json").inode
    for entry in listed { tree.forget(entry.inode, lookups: 1) }
    #expect(tree.tree.namespace.objectInodes.count == 1)
    #expect(try tree.attributes(found).inode == found)
    tree.forget(found, lookups: 1)
    #expect(tree.tree.namespace.objectInodes.count == 0)
    #expect(failure { try tree.attributes(found) }?.kind == "stale")
    #expect(try tree.find("Thing/\(Int64.max).json").inode == found, "the number comes again")
  }

  @Test("a stream lists as many entries with attributes as its budget allows, and more once they are used")
  func budget() throws {
    let realm = try Realm(Fixture.named("items-10k").configuration())
    let tree = try FileTree(realm, nil, options: TreeOptions(), listingBudget: 100)
    let directory = try #require(try tree.list("").first { !$0.isDot && $0.name == "Item" })
    let stream = try tree.openDirectory(directory.inode)
    var sink = EntrySink(room: 1000)
    try tree.readDirectory(stream, from: 0, attributes: true, into: &sink)
    let first = sink.entries.filter { !$0.isDot }
    #expect(first.prefix(100).allSatisfy { $0.attributes != nil })
    #expect(first.dropFirst(100).allSatisfy { $0.attributes == nil })

    let position = try #require(first.last).next
    try tree.readDirectory(stream, from: position, attributes: true, into: &sink)
    #expect(sink.entries.count == 1000 && sink.entries.allSatisfy { $0.attributes == nil })

    for use in 0..<3 {
      switch use {
      case 0: _ = try tree.lookup(directory.inode, Array(first[0].name.utf8))
      case 1: _ = try tree.attributes(first[0].inode)
      default: tree.release(try tree.open(first[1].inode))
      }
      try tree.readDirectory(stream, from: position, attributes: true, into: &sink)
      #expect(sink.entries.filter { $0.attributes != nil }.count == 100)
    }
    try tree.readDirectory(stream, from: 0, attributes: false, into: &sink)
    #expect(sink.entries.allSatisfy { $0.attributes == nil }, "nobody asked for attributes")
  }

  @Test("a listing that continues prefetches the next texts")
  func madeAhead() throws {
    let tree = try FileTree.of("items-10k")
    let stream = try tree.openDirectory(tree.find("Item").inode)
    var remembered: Int { tree.tree.views.texts.usage.count }
    var first = EntrySink(room: 100), second = EntrySink(room: 100), third = EntrySink(room: 100)
    try tree.readDirectory(stream, from: 0, attributes: true, into: &first)
    let begun = remembered
    tree.prepareListing(stream)
    #expect(remembered == begun, "a program that asked once may not ask again")
    try tree.readDirectory(stream, from: try #require(first.entries.last).next, attributes: true, into: &second)
    let before = remembered
    tree.prepareListing(stream)
    // The one that did not fit into the second answer is there already.
    #expect(remembered == before + 99)
    try tree.readDirectory(stream, from: try #require(second.entries.last).next, attributes: true, into: &third)
    #expect(remembered == before + 100)
    #expect(third.entries.count == 100 && third.entries.allSatisfy { $0.attributes?.size ?? 0 > 0 })
  }

  @Test("a listing continues in a realm that was replaced meanwhile")
  func listingGoesOnAfterReplacement() throws {
    let scratch = try ScratchRealm("items-10k")
    let tree = try scratch.tree()
    let before = try tree.list("Item").filter { !$0.isDot }
    let stream = try tree.openDirectory(tree.find("Item").inode)
    var sink = EntrySink(room: 500)
    try tree.readDirectory(stream, from: 0, attributes: false, into: &sink)
    try scratch.replace(by: "items-10k")
    let rest = try tree.list(stream, from: try #require(sink.entries.last).next)
    #expect(sink.entries.filter { !$0.isDot } + rest == before)
  }
}
