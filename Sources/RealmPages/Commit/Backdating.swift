// Finds free space that was released after an old version that still has readers, although that version does not use
// it: the space was allocated and released again since then, so no reader needs it. Without this, a version that is
// held for a long time, by a snapshot or an app, would lock everything that later commits release, above all their free
// lists, and the file would grow without bound. Source: docs/format/3-commit.md 3.3.

/// A version that readers may use.
struct ReachableVersion {
  let version: UInt64
  let topRef: Int
}

/// Determines the version since which no version with readers needs a range of the free list.
struct Backdating {
  private struct Held {
    let version: UInt64
    let topRef: Int
    /// The ranges that the version does not use, by position; nil until loaded.
    var free: [FreeRange]?
    /// The logical size of the version.
    var end = 0
  }

  private let arena: Arena
  private let oldest: UInt64
  /// The versions in ascending order.
  private var versions: [Held]

  /// Reads `versions`, the versions with readers, through `arena`; `oldest` is the oldest of them.
  init(_ arena: Arena, _ versions: [ReachableVersion], oldest: UInt64) {
    self.arena = Arena(arena.space, limit: arena.space.size, format: arena.format)
    self.oldest = oldest
    self.versions = versions.map { Held(version: $0.version, topRef: $0.topRef) }.sorted { $0.version < $1.version }
  }

  /// Returns the ranges; each range that was released after `oldest` gets the version since which no reader needs it. A
  /// range of which only parts are needed is split.
  ///
  /// Cost: O(log n) for each such range, plus reading the free lists of the older versions once.
  mutating func backdated(_ ranges: [FreeRange]) -> [FreeRange] {
    guard versions.count > 1, ranges.contains(where: { $0.version > oldest }) else { return ranges }
    var result: [FreeRange] = []
    result.reserveCapacity(ranges.count)
    for range in ranges {
      if range.version > oldest { backdate(range, into: &result) } else { result.append(range) }
    }
    return result
  }

  private mutating func backdate(_ range: FreeRange, into result: inout [FreeRange]) {
    // The newest version that may need the range.
    let older = bisect(versions.count) { versions[$0].version < range.version }
    guard range.version > oldest, older > 0 else { return append(range, to: &result) }
    load(older - 1)
    guard let free = versions[older - 1].free else { return append(range, to: &result) }
    let (version, end) = (versions[older - 1].version, versions[older - 1].end)
    var position = range.position
    var index = bisect(free.count) { free[$0].end <= position }
    while position < range.end {
      var part = FreeRange(position: position, size: 0, version: range.version)
      if position >= end {
        // Beyond the end of this version; an older version may be larger.
        part.size = range.end - position
        part.version = version
      } else if index < free.count, free[index].position <= position {
        part.size = min(range.end, free[index].end) - position
        part.version = free[index].version
        index += 1
      } else {
        part.size = min(range.end, index < free.count ? free[index].position : end) - position
      }
      if part.version < range.version { backdate(part, into: &result) } else { append(part, to: &result) }
      position = part.end
    }
  }

  /// Appends a part, merged with the preceding one if both have the same version.
  private func append(_ part: FreeRange, to result: inout [FreeRange]) {
    if let last = result.last, last.end == part.position, last.version == part.version {
      result[result.count - 1].size += part.size
    } else {
      result.append(part)
    }
  }

  /// Reads the free lists of a version. If they cannot be read, the version keeps everything that was released after
  /// it.
  private mutating func load(_ index: Int) {
    if versions[index].end != 0 { return }
    versions[index].end = .max
    do {
      let top = try TopArray(arena, versions[index].topRef)
      if top.version != versions[index].version { return }
      versions[index].free = try Committer.ranges(arena, top)
      versions[index].end = top.logicalSize
    } catch { versions[index].free = nil }
  }
}
