// The bytes of files in memory: like an array of bytes, but growing in steps, with holes, and counted.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import FileTree

@Suite("bytes in chunks")
struct ChunkedBytesTests {
  private static let chunk = ChunkedBytes.chunkSize

  @Test("random writes and truncations give the same result as an array of bytes", arguments: 0..<8, [false, true])
  func likeAnArray(_ seed: UInt64, isSpooled: Bool) throws {
    let scratch = try ScratchRealm("empty")
    var random = SplitMix64(seed: seed)
    let budget = MemoryBudget(64 << 20)
    let spool = isSpooled ? SpoolFile(besideRealm: scratch.file.path) : nil
    var bytes = ChunkedBytes(budget, spool: spool, maxResident: 3), model: [UInt8] = []
    var copy: (bytes: ChunkedBytes, model: [UInt8])?
    for _ in 0..<60 {
      let place = Int.random(in: 0...model.count + (Bool.random(using: &random) ? 0 : 3 * Self.chunk), using: &random)
      if Int.random(in: 0..<4, using: &random) == 0 {
        bytes.resize(to: place)
        model = Array(model.prefix(place)) + [UInt8](repeating: 0, count: max(0, place - model.count))
      } else {
        let length = [1, 100, Self.chunk - 1, Self.chunk, 3 * Self.chunk + 5].randomElement(using: &random) ?? 1
        let new = (0..<length).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ place) }
        do {
          let isDone = try bytes.write(new, at: place)
          #expect(isDone)
        }
        model += [UInt8](repeating: 0, count: max(0, place + length - model.count))
        model.replaceSubrange(place..<place + length, with: new)
      }
      #expect(bytes.count == model.count)
      let start = Int.random(in: 0...model.count, using: &random)
      let end = Int.random(in: start...min(model.count, start + 2 * Self.chunk), using: &random)
      #expect(try bytes.slice(start..<end) == model[start..<end])
      #expect(try bytes.copy(0..<model.count) == model)
      #expect(budget.usage == bytes.cost)
      if isSpooled { #expect(bytes.cost <= 4 * Self.chunk + model.count / 100 + 10_000) }
      // A copy keeps its bytes, whatever is written afterwards.
      if let copy { #expect(try copy.bytes.copy(0..<copy.model.count) == copy.model) }
      if copy == nil || random.below(4) == 0 { copy = (bytes, model) }
    }
    bytes.resize(to: 0)
    #expect(budget.usage == 0)
  }

  @Test("allocated memory is counted: a large file costs little more than its bytes, holes cost nothing")
  func allocationIsCounted() throws {
    let budget = MemoryBudget(1 << 30)
    var bytes = ChunkedBytes(budget)
    for index in 0..<256 { _ = try bytes.write([UInt8](repeating: 1, count: 128 << 10), at: index * 128 << 10) }
    #expect(bytes.count == 32 << 20)
    #expect(budget.usage >= 32 << 20 && budget.usage < (32 << 20) * 101 / 100)
    var small = ChunkedBytes(budget)
    let before = budget.usage
    do {
      let isDone = try small.write([1], at: 0)
      #expect(isDone)
    }
    #expect(budget.usage - before < 200)
    small.resize(to: 1 << 40)
    #expect(small.count == 1 << 40 && budget.usage - before < 200)
    #expect(try small.slice((1 << 40) - 3..<1 << 40) == [0, 0, 0])
  }

  @Test("a write beyond the limit is refused as a whole, at any offset")
  func memoryIsLimited() throws {
    let budget = MemoryBudget(1 << 20)
    var bytes = ChunkedBytes(budget)
    while true {
      let hasRoom = try bytes.write([UInt8](repeating: 1, count: 10_000), at: bytes.count)
      if !hasRoom { break }
    }
    let count = bytes.count, usage = budget.usage
    #expect(count > 800_000 && usage <= 1 << 20)
    for offset in [1 << 30, 1 << 50, Int.max - 10_000] {
      do {
        let isDone = try bytes.write([UInt8](repeating: 1, count: 10_000), at: offset)
        #expect(!isDone)
      }
    }
    #expect(bytes.count == count && budget.usage == usage)
    let overwrites = try bytes.write([2], at: 5)
    #expect(overwrites, "what is there can be overwritten")
    #expect(ChunkedBytes([UInt8](repeating: 0, count: 1 << 19), budget) == nil && budget.usage == usage)
  }

  @Test("lines are found across chunks, and a copy shares unchanged chunks")
  func linesAndCopies() throws {
    var random = SplitMix64(seed: 5)
    let budget = MemoryBudget(8 << 20)
    var bytes = ChunkedBytes(budget), text: [UInt8] = []
    for _ in 0..<400 {
      text += [UInt8](repeating: UInt8(ascii: "a"), count: random.below(2000))
      if random.below(3) > 0 { text.append(UInt8(ascii: "\n")) }
    }
    let isWritten = try bytes.write(text, at: 0)
    #expect(isWritten)
    var lines: [[UInt8]] = [], reader = bytes.lines
    while let (range, line) = try reader.next() {
      #expect(try bytes.copy(range) == Array(line))
      lines.append(Array(line))
    }
    var expected = text.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false).map(Array.init)
    if expected.last?.isEmpty ?? false { expected.removeLast() }
    #expect(lines == expected)
    let cost = budget.usage
    var copy = try #require(ChunkedBytes(bytes, budget))
    #expect(budget.usage == 2 * cost)
    let isChanged = try copy.write([1, 2, 3], at: 70_000)
    #expect(isChanged)
    #expect(try bytes.whole == text)
    #expect(try copy.whole != text)
    var part = bytes
    part.hide(from: 100)
    copy.resize(to: 0)
    let short = try #require(ChunkedBytes(part, budget))
    #expect(try short.whole == Array(text[..<100]))
    #expect(ChunkedBytes(bytes, MemoryBudget(1000)) == nil)
  }
}
