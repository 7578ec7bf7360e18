// Where a commit may write: chunks that no version in use refers to. Source: format/3-commit.md 3.3, 3.4.

/// One range of the free list.
struct FreeRange: Hashable {
  var position: Int
  var size: Int
  /// The version whose commit released it; 0 if nobody can need it.
  var version: UInt64

  var end: Int { position + size }
}

/// The free space of the version that a commit builds on, and the allocator over the part that may be reused.
struct FreeSpace {
  /// Ranges that some version in use may still read.
  let locked: [FreeRange]
  /// Reusable chunks by size, then by position.
  private var chunks: [(size: Int, position: Int)] = []

  /// A node does not cross a multiple of this.
  static let sectionSize = 1 << 26

  /// Splits the free list at `oldest`, the oldest version in use.
  init(_ ranges: [FreeRange], oldest: UInt64) {
    locked = ranges.filter { $0.version > oldest }
    // Neighbours are merged once both are reusable.
    var merged: [(size: Int, position: Int)] = []
    for range in ranges where range.version <= oldest {
      if let last = merged.last, last.position + last.size == range.position {
        merged[merged.count - 1].size += range.size
      } else {
        merged.append((range.size, range.position))
      }
    }
    chunks = merged.sorted { $0 < $1 }
  }

  /// What is left of the reusable chunks.
  var remaining: [FreeRange] { chunks.map { FreeRange(position: $0.position, size: $0.size, version: 0) } }

  /// The number of reusable chunks.
  var count: Int { chunks.count }

  /// Adds space at the end of the file.
  mutating func add(_ position: Int, _ size: Int) {
    if let i = chunks.firstIndex(where: { $0.position + $0.size == position }) {
      let chunk = chunks.remove(at: i)
      insert(chunk.position, chunk.size + size)
    } else {
      insert(position, size)
    }
  }

  /// Takes `size` bytes (a multiple of 8); nil if no chunk has them. A chunk of exactly that size is preferred, then
  /// one of at least twice the size, so that rests stay useful. Cost O(log chunks) and moving the rest's place.
  mutating func take(_ size: Int) -> Int? {
    let exact = lowerBound(size)
    if exact < chunks.count, chunks[exact].size == size, Self.fits(chunks[exact].position, size) {
      return chunks.remove(at: exact).position
    }
    for start in [lowerBound(2 * size), exact] {
      var i = start
      while i < chunks.count {
        let chunk = chunks[i]
        let position = Self.place(chunk.position, size)
        if position + size <= chunk.position + chunk.size {
          chunks.remove(at: i)
          insert(chunk.position, position - chunk.position)
          insert(position + size, chunk.position + chunk.size - position - size)
          return position
        }
        i += 1
      }
    }
    return nil
  }

  private static func fits(_ position: Int, _ size: Int) -> Bool {
    position / sectionSize == (position + size - 1) / sectionSize
  }

  /// The first place from `position` on where `size` bytes lie in one section.
  private static func place(_ position: Int, _ size: Int) -> Int {
    fits(position, size) ? position : (position / sectionSize + 1) * sectionSize
  }

  private mutating func insert(_ position: Int, _ size: Int) {
    if size == 0 { return }
    var low = 0, high = chunks.count
    while low < high {
      let middle = (low + high) / 2
      if chunks[middle] < (size, position) { low = middle + 1 } else { high = middle }
    }
    chunks.insert((size, position), at: low)
  }

  private func lowerBound(_ size: Int) -> Int {
    var low = 0, high = chunks.count
    while low < high {
      let middle = (low + high) / 2
      if chunks[middle].size < size { low = middle + 1 } else { high = middle }
    }
    return low
  }

  /// The logical size after growing a file of `old` bytes by at least `request`. Source: format/3-commit.md 3.4.
  static func grownSize(_ old: Int, by request: Int) -> Int {
    let want = old + request
    let new = old < 1 << 20 ? max(2 * old, want) : max(old + 1 << 20, want)
    let rounded = (new + 4095) & ~4095
    let section = (new + sectionSize - 1) & ~(sectionSize - 1)
    return min(rounded, section)
  }
}
