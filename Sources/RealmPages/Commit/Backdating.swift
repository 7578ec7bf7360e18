// Space that was released after an old version that is still read, and that this version does not use: it was allocated
// and released again since then, and nobody needs it. Without this a version that is held for long, by a snapshot or an
// app, keeps whatever later commits release, their free lists above all, and the file grows without bound.
// Source: docs/format/3-commit.md 3.3.

/// A version that readers may use.
struct ReachableVersion {
  let version: UInt64
  let topRef: Int
}

/// Finds out since when the ranges of a free list are needed by no version that is read.
struct Backdating {
  private struct Held {
    let version: UInt64
    let topRef: Int
    /// What it does not use, by position; nil until it is asked for.
    var free: [FreeRange]?
    /// Its logical size.
    var end = 0
  }

  private let arena: Arena
  private let oldest: UInt64
  /// By version, which ascends.
  private var versions: [Held]

  /// The versions that are read are found below `arena`; `oldest` is the oldest of them.
  init(_ arena: Arena, _ versions: [ReachableVersion], oldest: UInt64) {
    self.arena = Arena(arena.space, limit: arena.space.size, format: arena.format)
    self.oldest = oldest
    self.versions = versions.map { Held(version: $0.version, topRef: $0.topRef) }.sorted { $0.version < $1.version }
  }

  /// The ranges, of which those that were released after `oldest` have the version since which nobody needs them. A
  /// part that a version needs becomes a range of its own.
  ///
  /// Cost: O(log n) for each such range, and once the free lists of the versions that are older.
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
    // The youngest version that may need it.
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
        // Beyond its end; one that is older may reach further.
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

  /// Appends a part, joined with the one before if both are needed as long.
  private func append(_ part: FreeRange, to result: inout [FreeRange]) {
    if let last = result.last, last.end == part.position, last.version == part.version {
      result[result.count - 1].size += part.size
    } else {
      result.append(part)
    }
  }

  /// Reads the free lists of a version. One whose free lists cannot be read keeps all that was released after it.
  private mutating func load(_ index: Int) {
    if versions[index].end != 0 { return }
    versions[index].end = .max
    do throws(EngineError) {
      let top = try TopArray(arena, versions[index].topRef)
      if top.version != versions[index].version { return }
      versions[index].free = try Committer.ranges(arena, top)
      versions[index].end = top.logicalSize
    } catch { versions[index].free = nil }
  }
}
