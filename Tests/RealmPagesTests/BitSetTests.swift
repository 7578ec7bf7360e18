// The set that the verifier keeps for a whole file, compared with Swift's own.

import TestSupport
import Testing

@testable import RealmPages

@Suite("Bit sets")
struct BitSetTests {
  /// The size at which the representation of the set changes.
  private static let borders = [0, 63, 64, 2047, 2048, 65_535, 65_536, 131_072, 1 << 24 - 1, 1 << 24, 1 << 24 + 65_536]

  @Test("inserted bits are present in every encoding", arguments: [1, 64, 2049, 65_536, 200_000, 1 << 24 + 200_000])
  func histories(count: Int) {
    var random = SplitMix64(seed: UInt64(count) &+ Seeds.first)
    var set = BitSet(count: count), model: Set<Int> = []
    for _ in 0..<4000 {
      let near = Self.borders.filter { $0 < count }.randomElement(using: &random) ?? 0
      let start = min(count - 1, max(0, random.below(2) == 0 ? near + random.below(100) - 50 : random.below(count)))
      if random.below(2) == 0 {
        #expect(set.insert(start) == model.insert(start).inserted)
      } else {
        let length = random.below(20) == 0 ? random.below(70_000) : random.below(40)
        let range = start..<min(count, start + length)
        let taken = range.first { model.contains($0) }
        #expect(set.insert(range) == taken)
        model.formUnion(range.lowerBound..<(taken ?? range.upperBound))
      }
      let asked = min(count - 1, start + random.below(3))
      #expect(set.contains(asked) == model.contains(asked))
    }
    var at = 0, found = 0
    while at < count {
      let begin = set.first(true, from: at), end = set.first(false, from: begin)
      for index in begin..<end where !model.contains(index) {
        Issue.record("\(index) was never added")
        return
      }
      found += end - begin
      at = max(end, begin + 1)
    }
    #expect(found == model.count)
  }

  @Test("bits that are in one set but not in another are found", arguments: [100, 65_536, 200_000, 1 << 24 + 200_000])
  func missing(count: Int) {
    var random = SplitMix64(seed: UInt64(count) &+ Seeds.first)
    for _ in 0..<20 {
      var first = BitSet(count: count), second = BitSet(count: count)
      let start = random.below(count), range = start..<min(count, start + random.below(70_000))
      for _ in 0..<random.below(3000) {
        let index = random.below(count)
        if first.insert(index) { _ = second.insert(index) }
      }
      _ = second.insert(range)
      #expect(first.firstMissing(in: second) == nil)
      let extra = second.first(false, from: random.below(count))
      if extra < count {
        _ = first.insert(extra)
        #expect(first.firstMissing(in: second) == extra)
      }
    }
  }

  @Test("full chunks and empty chunks take no memory")
  func room() {
    // A file of 16 TB: bits for all of it would be 256 GB.
    var set = BitSet(count: 1 << 41)
    _ = set.insert(0..<1 << 40)
    _ = set.insert(1 << 40 + 5)
    #expect(set.contains(1 << 40 - 1) && !set.contains(1 << 40) && set.contains(1 << 40 + 5))
    #expect(set.first(false, from: 0) == 1 << 40)
    #expect(set.first(true, from: 1 << 40) == 1 << 40 + 5)
    #expect(set.first(true, from: 1 << 40 + 6) == 1 << 41)
  }
}
