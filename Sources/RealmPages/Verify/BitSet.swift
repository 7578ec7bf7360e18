// A set of small integers that covers files of any size: used granules, starts of nodes. Density varies from nearly
// empty to nearly full by region, and a file can have terabytes of holes. Each block of 65,536 integers is therefore
// kept in its smallest form: none, all, a short list, or one bit each.

/// A set of integers in a fixed range.
struct BitSet {
  /// The range of integers is 0 ..< count.
  let count: Int
  /// Groups of 2^24 integers: either a single chunk, none or all, for the whole group; or one chunk per 65,536
  /// integers.
  private var groups: [[Chunk]]

  /// A block of 65,536 integers, numbered from the first of them.
  private enum Chunk {
    case none
    case all
    /// In ascending order.
    case few([UInt16])
    /// One bit each, followed by a word with the number of bits set.
    case many([UInt64])
  }

  private static let chunkShift = 16
  private static let groupShift = 24
  private static let chunkSize = 1 << chunkShift
  private static let chunksPerGroup = 1 << (groupShift - chunkShift)
  /// A longer list would take more than half the space of the bits.
  private static let maxListed = 2048

  /// An empty set of integers below `count`.
  init(count: Int) {
    self.count = count
    groups = Array(repeating: [.none], count: (count + 1 << Self.groupShift - 1) >> Self.groupShift)
  }

  // MARK: reading

  /// Returns the chunk of an integer.
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

  /// Returns the 64 integers of a chunk that begin at `word << 6`.
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

  /// Returns the first position whose integer is not less than `place`.
  private static func position(of place: UInt16, in list: [UInt16]) -> Int {
    // Fast path: files are mostly walked in ascending order.
    guard let last = list.last, last >= place else { return list.count }
    var low = 0, high = list.count
    while low < high {
      let middle = (low + high) / 2
      if list[middle] < place { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// Returns the first integer from `start` on that is in the set (or is not, if `present` is false); `count` if there
  /// is none.
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

  /// Returns the first integer that is in this set but not in `other`, which must have the same `count`.
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

  /// Adds `index`. Returns false if it was already present.
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
        // Clearing `chunk` first makes the list uniquely referenced, so that it is edited in place.
        chunk = .none
        list.insert(UInt16(place), at: position)
        chunk = list.count > Self.maxListed ? .many(Self.words(list, size)) : .few(list)
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

  /// Adds the integers of `range` up to the first that is already present, and returns that one. Each integer is added
  /// once, so the total cost of all calls is linear in the integers added plus the number of calls.
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

  /// Adds a range within a chunk of `size` integers, like `insert(_:)`.
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

  /// Calls `body` with the chunk of an integer, for editing.
  @inline(__always)
  private mutating func change<R>(_ index: Int, _ body: (inout Chunk) -> R) -> R {
    let group = index >> Self.groupShift
    if groups[group].count == 1 {
      groups[group] = Array(repeating: groups[group][0], count: Self.chunksPerGroup)
    }
    return body(&groups[group][index >> Self.chunkShift & (Self.chunksPerGroup - 1)])
  }

  /// Returns the bits of a list, for a chunk of `size` integers. The last chunk, often the only one, is no larger than
  /// necessary.
  private static func words(_ list: [UInt16], _ size: Int) -> [UInt64] {
    var words = [UInt64](repeating: 0, count: (size + 63) / 64 + 1)
    for place in list { words[Int(place) >> 6] |= 1 << UInt64(place & 63) }
    words[words.count - 1] = UInt64(list.count)
    return words
  }

  /// Returns the chunk for `words` after `added` bits were set in them.
  private static func counted(_ words: consuming [UInt64], adding added: Int) -> Chunk {
    let last = words.count - 1
    words[last] += UInt64(added)
    return words[last] == UInt64(chunkSize) ? .all : .many(words)
  }
}
