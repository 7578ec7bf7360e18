// The sizes of `.all.jsonl` and `.all.csv` are always exact, and cheap to update after a commit.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("Sizes of all objects in one file")
struct LineSizesTests {
  private func size(_ tree: FileTree, _ path: String, for caller: Caller? = nil) throws -> Int {
    try tree.attributes(tree.find(path).inode, for: caller?.process ?? 0).size
  }

  private func text(_ tree: FileTree, _ path: String) throws -> String {
    let file = try tree.open(tree.find(path).inode)
    defer { tree.release(file) }
    let stream = try #require(file.stream)
    var text: [UInt8] = []
    while true {
      let piece = try stream.read(from: text.count, count: 1 << 20)
      if piece.isEmpty { return String(decoding: text, as: UTF8.self) }
      text += piece
    }
  }

  @Test("the size matches the text after any change, by this mount or by others")
  func sizesAreExact() throws {
    let tree = try WritableTree.ofLinks(), seed = UInt64.random(in: 0...UInt64.max)
    let other = try WritableTree(sharing: tree, TreeOptions())
    var random = SplitMix64(seed: seed)
    let paths = ["Target", "Holder", "Free", "Target/.where/name != nil", "Holder/.by/one/1"].flatMap {
      ["\($0)/.all.jsonl", "\($0)/.all.csv"]
    }
    for step in 0..<40 {
      let writer = random.below(2) == 0 ? tree : other, id = 1 + random.below(40)
      let name = String(repeating: "é", count: random.below(30))
      switch random.below(7) {
      case 0: _ = writer.put("Target/\(id).json", "{\"name\": \"\(name)\"}")
      case 1:
        _ = writer.put("Target/\(id).json", "{\"child\": {\"n\": \(random.below(100_000)), \"inner\": {\"n\": 1}}}")
      case 2: _ = writer.put("Target/\(id).json", "{\"peer\": \(1 + random.below(40))}")
      case 3: if id > 1 { try? writer.unlink("Target/\(id).json") }
      case 4: _ = writer.put("Free/\(id).json", "{\"n\": \(id)}")
      case 5: _ = writer.put("Holder/a.json", "{\"list\": [\(1 + random.below(40)), 1], \"anyList\": [\"\(name)\"]}")
      default:
        let lines = (0..<300).map { "{\"_id\": \(id * 1000 + $0), \"name\": \"\(name)\"}\n" }.joined()
        _ = writer.put("Target/.all.jsonl", lines)
      }
      for path in paths {
        #expect(try size(tree.tree, path) == text(tree.tree, path).utf8.count, "seed \(seed), step \(step): \(path)")
      }
    }
  }

  @Test("after a commit, only objects near the changed ones are rendered again")
  func changesAreCounted() throws {
    let tree = try WritableTree("items-10k")
    let other = try WritableTree(sharing: tree, TreeOptions())
    let sizes = tree.tree.tree.views.lineSizes
    let name = try #require(
      try tree.tree.list("").first { try !$0.isDot && tree.tree.text("\($0.name)/.count") == "10000\n" }?.name
    )
    let path = "\(name)/.all.jsonl"
    _ = try tree.tree.find(path)
    _ = try tree.tree.list(name, attributes: true)
    #expect(sizes.renderedCount == 0, "neither looking up a name nor listing it needs the size")
    let whole = try size(tree.tree, path)
    #expect(sizes.renderedCount == 10_000)
    #expect(try size(tree.tree, path) == whole)
    #expect(sizes.renderedCount == 10_000)
    let files = try tree.tree.list(name).map(\.name).filter { $0.hasSuffix(".json") }
    for (writer, file) in [(tree, files[0]), (other, files[5000]), (tree, files[9999])] {
      let before = sizes.renderedCount
      #expect(writer.put("\(name)/\(file)", #"{"qty": 123456789}"#) == nil)
      #expect(try size(tree.tree, path) == text(tree.tree, path).utf8.count)
      #expect(sizes.renderedCount > before && sizes.renderedCount <= before + 257)
    }
    let before = sizes.renderedCount
    try other.unlink("\(name)/\(files[700])")
    #expect(try size(tree.tree, path) == text(tree.tree, path).utf8.count)
    #expect(sizes.renderedCount <= before + 257)
  }

  @Test("a handle has the size of its version; other programs get that of the newest")
  func sizeBelongsToTheVersion() throws {
    let tree = try WritableTree("people"), reader = Caller(user: 0, group: 0, process: 2_000_000_001)
    let inode = try tree.tree.find("Person/.all.jsonl").inode
    let before = try text(tree.tree, "Person/.all.jsonl").utf8.count
    let file = try tree.tree.open(inode, by: reader)
    defer { tree.tree.release(file) }
    #expect(tree.put("Person/4.json", "{\"name\": \"\(String(repeating: "x", count: 100))\"}") == nil)
    let after = try text(tree.tree, "Person/.all.jsonl").utf8.count
    #expect(after > before + 50)
    for _ in 0..<2 {
      #expect(try tree.tree.attributes(inode, for: reader.process).size == before)
      #expect(try tree.tree.attributes(inode, with: file).size == before)
      #expect(try tree.tree.attributes(inode).size == after)
    }
    #expect(try tree.tree.find("Person/.all.jsonl").kernelSize == after)
  }
}
