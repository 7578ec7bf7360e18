// A set of small integers as bits.

/// A fixed range of integers, each in the set or not. One bit each.
struct BitSet {
  /// The integers are 0 ..< count.
  let count: Int
  private var words: [UInt64]

  /// An empty set of integers below `count`.
  init(count: Int) {
    self.count = count
    words = Array(repeating: 0, count: (count + 63) / 64)
  }

  func contains(_ index: Int) -> Bool { words[index >> 6] >> UInt64(index & 63) & 1 != 0 }

  /// Adds `index`; false if it was there.
  mutating func insert(_ index: Int) -> Bool {
    let bit: UInt64 = 1 << UInt64(index & 63)
    if words[index >> 6] & bit != 0 { return false }
    words[index >> 6] |= bit
    return true
  }

  /// Adds the integers of `range` up to the first one that is there already, and returns that one. Each integer is
  /// added once, so the cost of all calls together is linear in `count` plus the number of calls.
  mutating func insert(_ range: Range<Int>) -> Int? {
    var index = range.lowerBound
    while index < range.upperBound {
      let end = min(range.upperBound, (index | 63) + 1)
      let low = UInt64.max << UInt64(index & 63), high = UInt64.max >> UInt64(63 - (end - 1) & 63)
      let mask = low & high
      let taken = words[index >> 6] & mask
      if taken != 0 {
        let first = taken.trailingZeroBitCount
        let below: UInt64 = (1 << UInt64(first)) - 1
        words[index >> 6] |= mask & below
        return index & ~63 | first
      }
      words[index >> 6] |= mask
      index = end
    }
    return nil
  }

  /// The first integer from `start` on that is in the set (`present`) or not; `count` if there is none.
  func first(_ present: Bool, from start: Int) -> Int {
    var index = start
    while index < count {
      let word = (present ? words[index >> 6] : ~words[index >> 6]) >> UInt64(index & 63)
      if word != 0 { return min(count, index + word.trailingZeroBitCount) }
      index = (index | 63) + 1
    }
    return count
  }

  /// The first integer that is in this set but not in `other`, a set of the same count.
  func firstMissing(in other: BitSet) -> Int? {
    for i in words.indices {
      let rest = words[i] & ~other.words[i]
      if rest != 0 { return i << 6 | rest.trailingZeroBitCount }
    }
    return nil
  }
}
