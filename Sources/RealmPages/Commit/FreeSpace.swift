// The space that a commit may write to: chunks that no version in use refers to.
// Source: docs/format/3-commit.md 3.3, 3.4.

/// One range of the free list.
struct FreeRange: Hashable {
  var position: Int
  var size: Int
  /// The version whose commit released it; 0 if no reader can need it.
  var version: UInt64

  var end: Int { position + size }

  /// Merges adjacent ranges of a list in ascending order, whatever their versions.
  static func joined(_ ranges: [FreeRange]) -> [FreeRange] {
    var joined: [FreeRange] = []
    for range in ranges {
      if let last = joined.last, last.end == range.position {
        joined[joined.count - 1].size += range.size
      } else {
        joined.append(range)
      }
    }
    return joined
  }
}

/// The free space of the version that a commit builds on, and the allocator over the part that may be reused.
struct FreeSpace {
  /// Ranges that some version in use may still read.
  let locked: [FreeRange]
  /// Reusable ranges above the limit of an evacuation: not written to.
  private(set) var withheld: [FreeRange] = []
  /// Reusable ranges with the content of recent versions: used only if there is no other space.
  private(set) var retained: [FreeRange] = []
  /// The links of the small chunks: one list for each size, in units of 8 bytes.
  private var small: [Link] = []
  /// The first link of each list in `small`; -1 if the list is empty.
  private var first: [Int] = Array(repeating: -1, count: smallLimit / 8)
  /// The first unused link; -1 if there is none.
  private var unused = -1
  /// A bit for each list: set if the list is not empty.
  private var present: [UInt64] = Array(repeating: 0, count: smallLimit / 8 / 64)
  private var smallCount = 0
  /// The other chunks, sorted by size, then by position.
  private var large: [(size: Int, position: Int)] = []

  private struct Link {
    let position: Int
    var next: Int
  }

  /// A node must not cross a multiple of this size.
  static let sectionSize = 1 << 26
  private static let smallLimit = 4096

  /// The number of older versions that commits keep complete while other space exists, so that a user can restore one.
  private static let retainedVersions: UInt64 = 8
  /// The maximum number of retained ranges: longer free lists would cost commits more than the versions are worth.
  private static let maxRetained = 256
  /// The maximum number of retained bytes in a small file; in larger files an eighth of the file.
  private static let maxRetainedSize = 1 << 16

  /// Splits the free list at `oldest`, the oldest version in use, and at `limit`, above which nothing is allocated.
  /// `base` and `size` are the number and the logical size of the base version; without them nothing is retained.
  init(_ ranges: [FreeRange], oldest: UInt64, base: UInt64 = .max, size: Int = 0, limit: Int = .max) {
    locked = ranges.filter { $0.version > oldest }
    var reusable: [FreeRange] = []
    if limit == .max, base != .max {
      let first = base > Self.retainedVersions ? base - Self.retainedVersions : 1
      retained = ranges.filter { $0.version <= oldest && $0.version >= first }
      // A large release is returned to the file system, not kept.
      let bytes = retained.reduce(0) { $0 + $1.size }
      if retained.count > Self.maxRetained || bytes > max(Self.maxRetainedSize, size / 8) { retained = [] }
    }
    let firstRetained = retained.map(\.version).min() ?? .max
    for range in ranges where range.version <= oldest && range.version < firstRetained {
      let below = max(0, min(range.size, limit - range.position))
      if below > 0 { reusable.append(FreeRange(position: range.position, size: below, version: 0)) }
      if below < range.size {
        withheld.append(FreeRange(position: range.position + below, size: range.size - below, version: 0))
      }
    }
    withheld = FreeRange.joined(withheld)
    // Merge adjacent reusable ranges. Insert from the end, so that low positions are used first.
    for range in FreeRange.joined(reusable).reversed() {
      if range.size < Self.smallLimit {
        insert(range.position, range.size)
      } else {
        large.append((range.size, range.position))
      }
    }
    large.sort { $0 < $1 }
  }

  /// The remaining reusable chunks, in no particular order.
  var remaining: [FreeRange] {
    var ranges: [FreeRange] = []
    ranges.reserveCapacity(count)
    for unit in first.indices {
      var link = first[unit]
      while link >= 0 {
        ranges.append(FreeRange(position: small[link].position, size: unit * 8, version: 0))
        link = small[link].next
      }
    }
    for chunk in large { ranges.append(FreeRange(position: chunk.position, size: chunk.size, version: 0)) }
    return ranges
  }

  /// The number of reusable chunks.
  var count: Int { smallCount + large.count }

  /// Adds space: the growth of the file, or unused reserved space.
  mutating func add(_ position: Int, _ size: Int) {
    if let i = large.firstIndex(where: { $0.position + $0.size == position }) {
      let chunk = large.remove(at: i)
      insert(chunk.position, chunk.size + size)
    } else {
      insert(position, size)
    }
  }

  /// True if withheld ranges had to be used.
  private(set) var gaveUp = false

  /// Makes the retained ranges usable. If there are none, abandons the evacuation and makes the withheld ranges usable.
  /// Returns false if there are neither.
  mutating func release() -> Bool {
    if !retained.isEmpty {
      for range in FreeRange.joined(retained) { insert(range.position, range.size) }
      retained = []
      return true
    }
    if withheld.isEmpty { return false }
    gaveUp = true
    for range in withheld { insert(range.position, range.size) }
    withheld = []
    return true
  }

  /// Allocates `size` bytes (a multiple of 8); nil if no chunk is large enough. Prefers a chunk of exactly that size,
  /// then one of at least twice the size, so that remainders stay useful. Cost: O(1) for small chunks; O(log chunks)
  /// for large ones, plus moving the remainder to its position in the order.
  mutating func take(_ size: Int) -> Int? {
    if size < Self.smallLimit {
      if let place = takeSmall(size / 8, size / 8, size) { return place }
      if let place = takeSmall(size / 4, Self.smallLimit / 8 - 1, size) { return place }
    } else {
      let exact = lowerBound(size)
      if exact < large.count, large[exact].size == size, Self.fits(large[exact].position, size) {
        return large.remove(at: exact).position
      }
    }
    if let place = takeLarge(from: lowerBound(2 * size), size) { return place }
    if size < Self.smallLimit, let place = takeSmall(size / 8, min(size / 4, Self.smallLimit / 8 - 1), size) {
      return place
    }
    return takeLarge(from: lowerBound(size), size)
  }

  private mutating func takeSmall(_ first: Int, _ last: Int, _ size: Int) -> Int? {
    var unit = first
    while unit <= last {
      // Find the next list that is not empty.
      let word = present[unit / 64] >> UInt64(unit % 64)
      if word == 0 {
        unit = (unit / 64 + 1) * 64
        continue
      }
      unit += word.trailingZeroBitCount
      if unit > last { return nil }
      if let position = takeLink(unit, size) { return split(position, unit * 8, size) }
      unit += 1
    }
    return nil
  }

  /// Removes from a list the first chunk that has `size` bytes in one section, and returns its position.
  private mutating func takeLink(_ unit: Int, _ size: Int) -> Int? {
    var former = -1, link = first[unit]
    while link >= 0 {
      let (position, next) = (small[link].position, small[link].next)
      if Self.place(position, size) + size <= position + unit * 8 {
        if former >= 0 { small[former].next = next } else { first[unit] = next }
        if first[unit] < 0 { present[unit / 64] &= ~(1 << UInt64(unit % 64)) }
        small[link].next = unused
        unused = link
        smallCount -= 1
        return position
      }
      (former, link) = (link, next)
    }
    return nil
  }

  private mutating func takeLarge(from start: Int, _ size: Int) -> Int? {
    var i = start
    while i < large.count {
      let chunk = large[i]
      if Self.place(chunk.position, size) + size <= chunk.position + chunk.size {
        if Self.fits(chunk.position, size), chunk.size - size >= Self.smallLimit {
          shrink(i, by: size)
          return chunk.position
        }
        large.remove(at: i)
        return split(chunk.position, chunk.size, size)
      }
      i += 1
    }
    return nil
  }

  /// Takes `size` bytes from the front of a large chunk, and moves the rest down in the sort order.
  private mutating func shrink(_ index: Int, by size: Int) {
    let rest = (size: large[index].size - size, position: large[index].position + size)
    var i = index
    while i > 0, large[i - 1] > rest {
      large[i] = large[i - 1]
      i -= 1
    }
    large[i] = rest
  }

  /// Cuts `size` bytes out of a chunk and adds the remainders as chunks.
  private mutating func split(_ position: Int, _ chunkSize: Int, _ size: Int) -> Int {
    let place = Self.place(position, size)
    insert(place + size, position + chunkSize - place - size)
    insert(position, place - position)
    return place
  }

  private static func fits(_ position: Int, _ size: Int) -> Bool {
    position / sectionSize == (position + size - 1) / sectionSize
  }

  /// The first position from `position` on at which `size` bytes fit in one section.
  private static func place(_ position: Int, _ size: Int) -> Int {
    fits(position, size) ? position : (position / sectionSize + 1) * sectionSize
  }

  private mutating func insert(_ position: Int, _ size: Int) {
    if size == 0 { return }
    if size < Self.smallLimit {
      let unit = size / 8
      let link = Link(position: position, next: first[unit])
      if unused >= 0 {
        first[unit] = unused
        unused = small[unused].next
        small[first[unit]] = link
      } else {
        first[unit] = small.count
        small.append(link)
      }
      present[unit / 64] |= 1 << UInt64(unit % 64)
      smallCount += 1
      return
    }
    large.insert((size, position), at: bisect(large.count) { large[$0] < (size, position) })
  }

  private func lowerBound(_ size: Int) -> Int { bisect(large.count) { large[$0].size < size } }

  /// The logical size after growing a file of `old` bytes by at least `request`. Source: docs/format/3-commit.md 3.4.
  static func grownSize(_ old: Int, by request: Int) -> Int {
    let want = old + request
    let new = old < 1 << 20 ? max(2 * old, want) : max(old + 1 << 20, want)
    let rounded = (new + 4095) & ~4095
    let section = (new + sectionSize - 1) & ~(sectionSize - 1)
    return min(rounded, section)
  }
}
