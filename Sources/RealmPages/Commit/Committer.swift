// Writes dirty nodes to disk as a new version. Source: docs/format/3-commit.md 3.3 to 3.6.

import Glibc

/// The guarantees of a commit when it returns.
public enum Durability: Sendable {
  /// The commit is durable when it returns.
  case full
  /// Readers of the writer's realm see the commit at once. It becomes durable, and visible to all programs, with the
  /// next full commit or `RealmWriter.sync()`; until then a crash undoes it, together with all grouped commits before
  /// it.
  case grouped
}

/// Writes one version. The order of writes and barriers ensures that a crash leaves either the old or the new version
/// intact: nodes, free lists, top array, the other top ref; barrier; the switch; barrier. See docs/RELIABILITY.md.
struct Committer {
  let group: GroupEditor
  let storage: any Storage
  /// The version that the transaction builds on.
  let base: TopArray
  /// The oldest version that has a reader, or that the header of the file selects.
  let oldest: UInt64
  /// All known versions that have a reader.
  var reachable: [ReachableVersion] = []
  /// Space below this offset is never written to: in a branch, the original file.
  var floor = 0

  /// The result of a commit.
  struct Result {
    let topRef: Int
    let logicalSize: Int
    let version: UInt64
  }

  private typealias Slots = Layout.Top

  /// Writes everything but the header, without touching a byte that a version in use refers to. On failure the file
  /// still contains every version in use.
  func write() throws(EngineError) -> Result {
    let slab = group.slab, arena = group.editor.arena
    try group.finishChanges()
    try group.replication.writeHistory(of: group, base: base.version, oldest: oldest)
    var backdating = Backdating(arena, reachable, oldest: oldest)
    var ranges = backdating.backdated(try Self.ranges(arena, base))
    var evacuation = try Evacuation(group, freeListRef: base.freeRefs[0])
    let replaced = slab.freed.values.reduce(0, +)
    if !group.keepsFormerVersions { try evacuation.moveNodes(budget: replaced / 2 + ranges.count * 16 + 4096) }
    let free =
      group.keepsFormerVersions
      ? FreeSpace(ranges, oldest: 0)
      : FreeSpace(
        ranges,
        oldest: oldest,
        base: base.version,
        size: base.logicalSize,
        limit: evacuation.limit == 0 ? .max : evacuation.limit
      )
    storage.begin { Self.reusable(free.remaining, end: base.logicalSize) }
    // The lists are written again, so their current nodes become free.
    try evacuation.clearState()
    for slot in [Slots.freePositions, Slots.freeSizes, Slots.freeVersions] {
      try group.editor.clear(Slot(parent: group.top, index: slot))
    }
    if let damage = slab.damage { throw damage }
    var writer = NodeWriter(slab: slab, storage: storage, free: free, logicalSize: base.logicalSize)
    let roots = try [Slots.names, Slots.tables, Slots.history].map { (slot) throws(EngineError) in
      try slab.node(group.top).child(slot)
    }
    // The nodes that every commit replaces are placed next to each other: they need one write, and become one hole when
    // no reader needs them. These are the top levels of each tree, and all of names and history. The other nodes of
    // objects and indexes are placed wherever a chunk fits.
    let levels = [Int.max, 3, .max]
    writer.gather(roots, levels: levels, Self.reserve(entries: ranges.count + slab.freed.count + 4, evacuation))
    let written = zip(roots, levels).map { writer.write($0, gathered: $1) }
    if let error = writer.error { throw error }
    let version = base.version + 1
    let freed = FreeRange.joined(
      slab.freed.filter { $0.key >= floor }.map { FreeRange(position: $0.key, size: $0.value, version: version) }
        .sorted { $0.position < $1.position }
    )
    // One chunk holds the three lists, the state of an evacuation and the top array. Their widths are chosen so that
    // they do not depend on the position of the chunk.
    let kept = writer.free.locked.count + writer.free.retained.count + writer.free.withheld.count
    let entries = writer.free.count + freed.count + kept
    let reserve = Self.reserve(entries: entries, evacuation)
    let place = writer.allocate(reserve, gathered: true)
    if let error = writer.error { throw error }
    writer.releaseReserve()
    if writer.free.gaveUp { evacuation.abandon() }
    let chunk = FreeRange(position: place, size: reserve, version: 0)
    let unused = writer.free.remaining
    let (withheld, logicalSize) = try evacuation.finish(writer.free.withheld, logicalSize: writer.logicalSize, unused)
    ranges = unused + writer.free.locked + writer.free.retained + withheld + freed + [chunk]
    ranges.sort { $0.position < $1.position }
    for (range, next) in zip(ranges, ranges.dropFirst()) where range.end > next.position {
      throw .damaged("the \(range.size) bytes from here on overlap others that are free", ref: range.position)
    }
    let width = max(8, PackedBits.width(Int64(max(writer.logicalSize, place + reserve))))
    let versionWidth = max(8, PackedBits.width(Int64(version)))
    let topCount = slab.node(group.top).count, topWidth = width == 64 ? 64 : width * 2
    let positions = place, sizes = positions + Node.size(ranges.count, width)
    let versions = sizes + Node.size(ranges.count, width)
    let state = versions + Node.size(ranges.count, versionWidth)
    let top = state + (evacuation.state.isEmpty ? 0 : Node.size(evacuation.state.count, 64))
    let end = top + Node.size(topCount, topWidth)
    precondition(end < place + reserve, "the reserved chunk is too small")
    let index = ranges.firstIndex { $0.position == place } ?? 0
    ranges[index] = FreeRange(position: end, size: place + reserve - end, version: 0)
    writer.put(ranges.lazy.map { Int64($0.position) }, width: width, at: positions)
    writer.put(ranges.lazy.map { Int64($0.size) }, width: width, at: sizes)
    writer.put(ranges.lazy.map { Int64(bitPattern: $0.version) }, width: versionWidth, at: versions)
    if !evacuation.state.isEmpty { writer.put(evacuation.state, width: 64, at: state) }
    var elements: [Int64] = (0..<topCount).map { slab.int(group.top, $0) }
    elements[Slots.names] = Int64(written[0])
    elements[Slots.tables] = Int64(written[1])
    elements[Slots.logicalSize] = Int64(logicalSize) << 1 | 1
    elements[Slots.freePositions] = Int64(positions)
    elements[Slots.freeSizes] = Int64(sizes)
    elements[Slots.freeVersions] = Int64(versions)
    elements[Slots.version] = Int64(bitPattern: version) << 1 | 1
    elements[Slots.history] = Int64(written[2])
    if topCount > Slots.evacuation { elements[Slots.evacuation] = evacuation.element(stateRef: state) }
    writer.put(elements, width: topWidth, flags: .hasRefs, at: top)
    writer.flush()
    if slab.isLost { throw .failed("mmap", storage.name, ENOSPC) }
    if let error = writer.error { throw error }
    return Result(topRef: top, logicalSize: logicalSize, version: version)
  }

  /// The number of bytes that suffices for free lists with so many entries plus a few more, the state of an evacuation
  /// and a top array.
  private static func reserve(entries: Int, _ evacuation: Evacuation) -> Int {
    (8 + 12 * 8) + 3 * 8 + (entries + 10) * 24 + 24 + evacuation.maximumSize
  }

  /// Makes the header select a written version, and returns when that is durable. `slot` is the currently selected
  /// slot.
  static func publish(_ result: Result, _ storage: any Storage, replacing slot: Int) throws(EngineError) {
    let other = 1 - slot
    // No program reads this slot until it is selected, so it may reach the disk before the nodes it refers to.
    try write(storage, UInt8(24), at: Layout.Header.format(other))
    try write(storage, UInt64(result.topRef).littleEndian, at: Layout.Header.topRef(other))
    // After this barrier both slots refer to complete versions.
    try storage.sync()
    try write(storage, UInt8(other), at: Layout.Header.flags)
    try storage.sync()
  }

  /// The ranges that no version needs, in ascending order: the reusable chunks, and everything from `end` on.
  private static func reusable(_ chunks: [FreeRange], end: Int) -> [Range<Int>] {
    var ranges = chunks.map { $0.position..<$0.end }.sorted { $0.lowerBound < $1.lowerBound }
    let start = ranges.last?.upperBound == end ? ranges.removeLast().lowerBound : end
    ranges.append(start..<Int.max)
    return ranges
  }

  static func write<T: BitwiseCopyable>(_ storage: any Storage, _ value: T, at offset: Int) throws(EngineError) {
    var copy = value
    try unsafe withUnsafeBytes(of: &copy) { (bytes) throws(EngineError) in try unsafe storage.write(bytes, at: offset) }
  }

  /// The free list of a version.
  static func ranges(_ arena: Arena, _ top: TopArray) throws(EngineError) -> [FreeRange] {
    if top.freeRefs[0] == 0 { return [] }
    let positions = try arena.integers(top.freeRefs[0]), sizes = try arena.integers(top.freeRefs[1])
    let versions = top.freeRefs[2] == 0 ? nil : try arena.integers(top.freeRefs[2])
    if positions.count != sizes.count || versions.map({ $0.count != positions.count }) ?? false {
      throw .damaged("free lists of different lengths", ref: top.ref)
    }
    var ranges: [FreeRange] = []
    var last = 24
    for i in 0..<positions.count {
      let position = Int(truncatingIfNeeded: try positions.int(i)), size = Int(truncatingIfNeeded: try sizes.int(i))
      if position < last || size <= 0 || position & 7 != 0 || size & 7 != 0 || size > top.logicalSize - position {
        throw .damaged("free entry \(i): \(size) bytes at \(position)", ref: top.ref)
      }
      last = position + size
      ranges.append(
        FreeRange(position: position, size: size, version: UInt64(bitPattern: try versions?.int(i) ?? 0))
      )
    }
    return ranges
  }
}
