// A set of small integers for whole files of any size: which granules are used, where nodes begin. Both are nearly all
// of what there is in some regions and nearly nothing in others, and a file can be terabytes of holes. So each 65,536
// integers are kept in the form that takes least: none, all, a list of the few, or a bit each.

/// A fixed range of integers, each in the set or not.
struct BitSet {
  /// The integers are 0 ..< count.
  let count: Int
  /// 2^24 integers each: one chunk that stands for all of them, none or all; or the chunks of 65,536 integers.
  private var groups: [[Chunk]]

  /// What is in the set of 65,536 integers, counted from the first one of them.
  private enum Chunk {
    case none
    case all
    /// Ascending.
    case few([UInt16])
    /// A bit each, and behind them, as a last word, how many are in the set.
    case many([UInt64])
  }

  private static let chunkShift = 16
  private static let groupShift = 24
  private static let chunkSize = 1 << chunkShift
  private static let chunksPerGroup = 1 << (groupShift - chunkShift)
  /// A list of more takes more than half of what the bits take.
  private static let mostListed = 2048

  /// An empty set of integers below `count`.
  init(count: Int) {
    self.count = count
    groups = Array(repeating: [.none], count: (count + 1 << Self.groupShift - 1) >> Self.groupShift)
  }

  // MARK: looking

  /// The chunk of an integer.
  @inline(__always)
  private func chunk(of index: Int) -> Chunk {
    let group = groups[index >> Self.groupShift]
    return group.count == 1 ? group[0] : group[index >> Self.chunkShift & (Self.chunksPerGroup - 1)]
  }

  func contains(_ index: Int) -> Bool {
    let place = index & (Self.chunkSize - 1)
    switch chunk(of: index) {
    case .none: return false
    case .all: return true
    case .few(let list):
      let position = Self.position(of: UInt16(place), in: list)
      return position < list.count && list[position] == UInt16(place)
    case .many(let words): return words[place >> 6] >> UInt64(place & 63) & 1 != 0
    }
  }

  /// The 64 integers that begin at `word << 6`, which a chunk has.
  private static func word(_ word: Int, of chunk: Chunk) -> UInt64 {
    switch chunk {
    case .none: return 0
    case .all: return .max
    case .many(let words): return words[word]
    case .few(let list):
      var bits: UInt64 = 0, position = position(of: UInt16(word << 6), in: list)
      while position < list.count, Int(list[position]) >> 6 == word {
        bits |= 1 << UInt64(list[position] & 63)
        position += 1
      }
      return bits
    }
  }

  /// The first position whose integer is not below `place`.
  private static func position(of place: UInt16, in list: [UInt16]) -> Int {
    // Walks through a file mostly go forward.
    guard let last = list.last, last >= place else { return list.count }
    var low = 0, high = list.count
    while low < high {
      let middle = (low + high) / 2
      if list[middle] < place { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The first integer from `start` on that is in the set (`present`) or not; `count` if there is none.
  func first(_ present: Bool, from start: Int) -> Int {
    var index = start
    while index < count {
      let group = groups[index >> Self.groupShift], chunk = chunk(of: index)
      switch (chunk, present) {
      case (.none, true), (.all, false):
        index = (index | (1 << (group.count == 1 ? Self.groupShift : Self.chunkShift) - 1)) + 1
      case (.none, false), (.all, true): return index
      case (.few, _), (.many, _):
        let found = Self.word(index >> 6 & (Self.chunkSize / 64 - 1), of: chunk)
        let word = (present ? found : ~found) >> UInt64(index & 63)
        if word != 0 { return min(count, index + word.trailingZeroBitCount) }
        index = (index | 63) + 1
      }
    }
    return count
  }

  /// The first integer that is in this set but not in `other`, a set of the same count.
  func firstMissing(in other: BitSet) -> Int? {
    var index = first(true, from: 0)
    while index < count {
      if case .few(let list) = chunk(of: index) {
        let start = index & ~(Self.chunkSize - 1)
        if let missing = list.first(where: { !other.contains(start + Int($0)) }) { return start + Int(missing) }
        index = first(true, from: start + Self.chunkSize)
        continue
      }
      let word = index >> 6 & (Self.chunkSize / 64 - 1)
      let rest = Self.word(word, of: chunk(of: index)) & ~Self.word(word, of: other.chunk(of: index))
      if rest != 0 { return min(count, index & ~63 + rest.trailingZeroBitCount) }
      index = first(true, from: (index | 63) + 1)
    }
    return nil
  }

  // MARK: adding

  /// Adds `index`; false if it was there.
  mutating func insert(_ index: Int) -> Bool {
    let place = index & (Self.chunkSize - 1), size = min(Self.chunkSize, count - (index - place))
    return change(index) { chunk in
      switch chunk {
      case .all: return false
      case .none:
        chunk = .few([UInt16(place)])
        return true
      case .few(var list):
        let position = Self.position(of: UInt16(place), in: list)
        if position < list.count, list[position] == UInt16(place) { return false }
        // The list is changed in its place, not copied.
        chunk = .none
        list.insert(UInt16(place), at: position)
        chunk = list.count > Self.mostListed ? .many(Self.words(list, size)) : .few(list)
        return true
      case .many(var words):
        let bit: UInt64 = 1 << UInt64(place & 63)
        if words[place >> 6] & bit != 0 { return false }
        chunk = .none
        words[place >> 6] |= bit
        chunk = Self.counted(words, adding: 1)
        return true
      }
    }
  }

  /// Adds the integers of `range` up to the first one that is there already, and returns that one. Each integer is
  /// added once, so the cost of all calls together is linear in what is added plus the number of calls.
  mutating func insert(_ range: Range<Int>) -> Int? {
    var index = range.lowerBound
    while index < range.upperBound {
      let group = index >> Self.groupShift, next = (group + 1) << Self.groupShift
      if index == group << Self.groupShift, range.upperBound >= next, groups[group].count == 1,
        case .none = groups[group][0]
      {
        groups[group] = [.all]
        index = next
        continue
      }
      let start = index & ~(Self.chunkSize - 1), end = min(range.upperBound, start + Self.chunkSize)
      let size = min(Self.chunkSize, count - start)
      let taken = change(index) { Self.insert(index - start..<end - start, into: &$0, size) }
      if let taken { return start + taken }
      index = end
    }
    return nil
  }

  /// The same within a chunk of `size` integers.
  private static func insert(_ range: Range<Int>, into chunk: inout Chunk, _ size: Int) -> Int? {
    var words: [UInt64]
    switch chunk {
    case .all: return range.lowerBound
    case .none where range.count == chunkSize:
      chunk = .all
      return nil
    case .none: words = Self.words([], size)
    case .few(let list): words = Self.words(list, size)
    case .many(let known): words = known
    }
    chunk = .none
    var place = range.lowerBound, taken: Int?
    while place < range.upperBound {
      let end = min(range.upperBound, (place | 63) + 1)
      var mask = UInt64.max << UInt64(place & 63) & UInt64.max >> UInt64(63 - (end - 1) & 63)
      let there = words[place >> 6] & mask
      if there != 0 {
        let first = there.trailingZeroBitCount
        mask &= 1 << UInt64(first) - 1
        taken = place & ~63 | first
      }
      words[place >> 6] |= mask
      if let taken {
        place = taken
        break
      }
      place = end
    }
    chunk = counted(words, adding: place - range.lowerBound)
    return taken
  }

  /// Changes the chunk of an integer.
  @inline(__always)
  private mutating func change<R>(_ index: Int, _ body: (inout Chunk) -> R) -> R {
    let group = index >> Self.groupShift
    if groups[group].count == 1 {
      groups[group] = Array(repeating: groups[group][0], count: Self.chunksPerGroup)
    }
    return body(&groups[group][index >> Self.chunkShift & (Self.chunksPerGroup - 1)])
  }

  /// The bits of a list, for a chunk of `size` integers: the last chunk, often the only one, has no more than it needs.
  private static func words(_ list: [UInt16], _ size: Int) -> [UInt64] {
    var words = [UInt64](repeating: 0, count: (size + 63) / 64 + 1)
    for place in list { words[Int(place) >> 6] |= 1 << UInt64(place & 63) }
    words[words.count - 1] = UInt64(list.count)
    return words
  }

  /// The chunk of these words, to which `added` bits were added.
  private static func counted(_ words: consuming [UInt64], adding added: Int) -> Chunk {
    let last = words.count - 1
    words[last] += UInt64(added)
    return words[last] == UInt64(chunkSize) ? .all : .many(words)
  }
}
