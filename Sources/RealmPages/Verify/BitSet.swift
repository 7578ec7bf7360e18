// A set of small integers as bits, in chunks that take memory only where something is in the set: a file can be
// terabytes of holes.

/// A fixed range of integers, each in the set or not. One bit each, where there are others near.
struct BitSet {
  /// The integers are 0 ..< count.
  let count: Int
  /// About a million integers each; an empty array stands for none of them, or for all.
  private var chunks: [[UInt64]]
  private var isFull: [Bool]

  private static let wordsPerChunk = 1 << 14
  /// The integers of a chunk, as a shift.
  private static let chunkShift = 20

  /// An empty set of integers below `count`.
  init(count: Int) {
    self.count = count
    chunks = Array(repeating: [], count: (count + (1 << Self.chunkShift) - 1) >> Self.chunkShift)
    isFull = Array(repeating: false, count: chunks.count)
  }

  /// The 64 integers that begin at `word << 6`.
  @inline(__always)
  private func word(_ word: Int) -> UInt64 {
    let chunk = word >> (Self.chunkShift - 6)
    if chunks[chunk].isEmpty { return isFull[chunk] ? .max : 0 }
    return chunks[chunk][word & (Self.wordsPerChunk - 1)]
  }

  @inline(__always)
  private mutating func add(_ bits: UInt64, to word: Int) {
    let chunk = word >> (Self.chunkShift - 6)
    if chunks[chunk].isEmpty {
      // The last chunk, often the only one, has no more than it needs.
      let words = (count + 63) / 64 - chunk * Self.wordsPerChunk
      chunks[chunk] = Array(repeating: 0, count: min(words, Self.wordsPerChunk))
    }
    chunks[chunk][word & (Self.wordsPerChunk - 1)] |= bits
  }

  func contains(_ index: Int) -> Bool { word(index >> 6) >> UInt64(index & 63) & 1 != 0 }

  /// Adds `index`; false if it was there.
  mutating func insert(_ index: Int) -> Bool {
    let bit: UInt64 = 1 << UInt64(index & 63)
    if word(index >> 6) & bit != 0 { return false }
    add(bit, to: index >> 6)
    return true
  }

  /// Adds the integers of `range` up to the first one that is there already, and returns that one. Each integer is
  /// added once, so the cost of all calls together is linear in what is added plus the number of calls.
  mutating func insert(_ range: Range<Int>) -> Int? {
    var index = range.lowerBound
    while index < range.upperBound {
      let chunk = index >> Self.chunkShift, next = (chunk + 1) << Self.chunkShift
      if index == chunk << Self.chunkShift, range.upperBound >= next, chunks[chunk].isEmpty, !isFull[chunk] {
        isFull[chunk] = true
        index = next
        continue
      }
      let end = min(range.upperBound, (index | 63) + 1)
      let low = UInt64.max << UInt64(index & 63), high = UInt64.max >> UInt64(63 - (end - 1) & 63)
      let mask = low & high
      let taken = word(index >> 6) & mask
      if taken != 0 {
        let first = taken.trailingZeroBitCount
        let below: UInt64 = (1 << UInt64(first)) - 1
        add(mask & below, to: index >> 6)
        return index & ~63 | first
      }
      add(mask, to: index >> 6)
      index = end
    }
    return nil
  }

  /// The first integer from `start` on that is in the set (`present`) or not; `count` if there is none.
  func first(_ present: Bool, from start: Int) -> Int {
    var index = start
    while index < count {
      let chunk = index >> Self.chunkShift
      if chunks[chunk].isEmpty, isFull[chunk] != present {
        index = (index | (1 << Self.chunkShift - 1)) + 1
        continue
      }
      let word = (present ? self.word(index >> 6) : ~self.word(index >> 6)) >> UInt64(index & 63)
      if word != 0 { return min(count, index + word.trailingZeroBitCount) }
      index = (index | 63) + 1
    }
    return count
  }

  /// The first integer that is in this set but not in `other`, a set of the same count.
  func firstMissing(in other: BitSet) -> Int? {
    for (chunk, words) in chunks.enumerated() where !words.isEmpty || isFull[chunk] {
      let first = chunk * Self.wordsPerChunk
      for word in first..<min(first + Self.wordsPerChunk, (count + 63) / 64) {
        let rest = self.word(word) & ~other.word(word)
        if rest != 0 { return word << 6 | rest.trailingZeroBitCount }
      }
    }
    return nil
  }
}
