// From dirty nodes to a new version on disk. Source: format/3-commit.md 3.3 to 3.6.

/// How much a commit waits for.
public enum Durability: Sendable {
  /// The commit is on disk when it returns.
  case full
  /// The realm of the writer shows the commit at once. It is on disk, and shown to everybody, with the next full
  /// commit or `RealmWriter.sync()`; until then a crash takes it back, together with all grouped commits before it.
  case grouped
}

/// Writes one version. The order of writes and barriers is what makes a crash leave the old or the new version whole:
/// nodes, free lists, top array; barrier; the other top ref; barrier; the switch; barrier. See docs/DURABILITY.md.
struct Committer {
  let group: GroupEditor
  let storage: any Storage
  /// The version that the transaction builds on.
  let base: TopArray
  /// The oldest version that somebody reads, or that the header of the file shows.
  let oldest: UInt64

  /// What a commit made.
  struct Result {
    let topRef: Int
    let logicalSize: Int
    let version: UInt64
  }

  private typealias Slots = GroupEditor.Slots

  /// Writes everything but the header, to no byte that a version in use refers to. On failure the file shows what it
  /// showed before.
  func write() throws(TransactionError) -> Result {
    let slab = group.slab, arena = group.editor.arena
    do {
      try HistoryEditor(group: group).append(group.log.bytes, base: base.version, oldest: oldest)
      var free = FreeSpace(try Self.ranges(arena, base), oldest: oldest)
      storage.begin { Self.reusable(free.remaining, end: base.logicalSize) }
      // The lists are written anew; their present nodes become free.
      for slot in [Slots.freePositions, Slots.freeSizes, Slots.freeVersions] {
        try group.editor.clear(Slot(parent: group.top, index: slot))
      }
      var writer = NodeWriter(slab: slab, arena: arena, storage: storage, free: free, logicalSize: base.logicalSize)
      let names = try writer.write(slab.node(group.top).child(Slots.names))
      let tables = try writer.write(slab.node(group.top).child(Slots.tables))
      let history = try writer.write(slab.node(group.top).child(Slots.history))
      free = writer.free
      if let error = writer.error { throw error }
      let version = base.version + 1
      let freed = Self.merge(slab.freed.map { FreeRange(position: $0.ref, size: $0.size, version: version) })
      // One chunk takes the three lists and the top array; their widths are chosen so that its place cannot change
      // them.
      let entries = free.count + freed.count + free.locked.count + 10
      let reserve = (8 + 12 * 8) + 3 * 8 + entries * 24 + 16
      let place = writer.allocate(reserve + 8)
      if let error = writer.error { throw error }
      free = writer.free
      let chunk = FreeRange(position: place, size: reserve + 8, version: 0)
      var ranges = free.remaining + free.locked + freed + [chunk]
      ranges.sort { $0.position < $1.position }
      let width = PackedBits.width(Int64(max(writer.logicalSize, place + reserve + 8)))
      let listSize = Node.headerSize + (ranges.count * Int(max(width, 8)) / 8 + 7) & ~7
      let versionWidth = max(8, PackedBits.width(Int64(version)))
      let versionSize = Node.headerSize + (ranges.count * Int(versionWidth) / 8 + 7) & ~7
      let topWidth = max(width, 8) == 64 ? 64 : max(width, 8) * 2
      let topSize = Node.headerSize + (slab.node(group.top).count * Int(topWidth) / 8 + 7) & ~7
      let positions = place, sizes = positions + listSize, versions = sizes + listSize, top = versions + versionSize
      let end = top + topSize
      precondition(end < place + reserve + 8, "the reserved chunk is too small")
      let index = ranges.firstIndex { $0.position == place } ?? 0
      ranges[index] = FreeRange(position: end, size: place + reserve + 8 - end, version: 0)
      try writer.put(ranges.map { Int64($0.position) }, width: max(width, 8), at: positions)
      try writer.put(ranges.map { Int64($0.size) }, width: max(width, 8), at: sizes)
      try writer.put(ranges.map { Int64(bitPattern: $0.version) }, width: versionWidth, at: versions)
      var elements: [Int64] = (0..<slab.node(group.top).count).map { slab.int(group.top, $0) }
      elements[Slots.names] = Int64(names)
      elements[Slots.tables] = Int64(tables)
      elements[Slots.logicalSize] = Int64(writer.logicalSize) << 1 | 1
      elements[Slots.freePositions] = Int64(positions)
      elements[Slots.freeSizes] = Int64(sizes)
      elements[Slots.freeVersions] = Int64(versions)
      elements[Slots.version] = Int64(bitPattern: version) << 1 | 1
      elements[Slots.history] = Int64(history)
      try writer.put(elements, width: topWidth, flags: .hasRefs, at: top)
      try writer.flush()
      if let error = writer.error { throw error }
      return Result(topRef: top, logicalSize: writer.logicalSize, version: version)
    } catch let error as FormatError {
      throw TransactionError(error)
    } catch let error as FileError {
      throw TransactionError(error)
    } catch {
      throw TransactionError(.format, String(describing: error))
    }
  }

  /// Makes a written version the one that the header shows, and returns when it is on disk.
  /// `slot` is the one that is selected now.
  static func publish(_ result: Result, _ storage: any Storage, replacing slot: Int) throws(FileError) {
    let other = 1 - slot
    // What the top ref will lead to.
    try storage.sync()
    try write(storage, UInt8(24), at: 20 + other)
    try write(storage, UInt64(result.topRef).littleEndian, at: 8 * other)
    // Both slots lead to whole versions.
    try storage.sync()
    try write(storage, UInt8(other), at: 23)
    try storage.sync()
  }

  /// Where nothing is that a version needs, in ascending order: reusable chunks, and all from `end` on.
  private static func reusable(_ chunks: [FreeRange], end: Int) -> [Range<Int>] {
    var ranges = chunks.map { $0.position..<$0.end }.sorted { $0.lowerBound < $1.lowerBound }
    let start = ranges.last?.upperBound == end ? ranges.removeLast().lowerBound : end
    ranges.append(start..<Int.max)
    return ranges
  }

  static func write<T: BitwiseCopyable>(_ storage: any Storage, _ value: T, at offset: Int) throws(FileError) {
    var copy = value
    try withUnsafeBytes(of: &copy) { (bytes) throws(FileError) in try storage.write(bytes, at: offset) }
  }

  /// The free list of a version.
  static func ranges(_ arena: Arena, _ top: TopArray) throws(FormatError) -> [FreeRange] {
    if top.freeRefs[0] == 0 { return [] }
    let positions = try arena.integers(top.freeRefs[0]), sizes = try arena.integers(top.freeRefs[1])
    let versions = top.freeRefs[2] == 0 ? nil : try arena.integers(top.freeRefs[2])
    if positions.count != sizes.count || versions.map({ $0.count != positions.count }) ?? false {
      throw FormatError("free lists of different lengths", ref: top.ref)
    }
    var ranges: [FreeRange] = []
    var last = 24
    for i in 0..<positions.count {
      let position = Int(truncatingIfNeeded: try positions.int(i)), size = Int(truncatingIfNeeded: try sizes.int(i))
      if position < last || size <= 0 || position & 7 != 0 || size & 7 != 0 || size > top.logicalSize - position {
        throw FormatError("free entry \(i): \(size) bytes at \(position)", ref: top.ref)
      }
      last = position + size
      ranges.append(
        FreeRange(position: position, size: size, version: UInt64(bitPattern: try versions?.int(i) ?? 0))
      )
    }
    return ranges
  }

  private static func merge(_ ranges: [FreeRange]) -> [FreeRange] {
    var merged: [FreeRange] = []
    for range in ranges.sorted(by: { $0.position < $1.position }) {
      if let last = merged.last, last.end == range.position {
        merged[merged.count - 1].size += range.size
      } else {
        merged.append(range)
      }
    }
    return merged
  }
}

/// Writes nodes, children before parents, each into space that the allocator gives.
struct NodeWriter {
  let slab: Slab
  let arena: Arena
  let storage: any Storage
  var free: FreeSpace
  var logicalSize: Int
  /// The first failure of the storage; nothing is written after it.
  var error: FileError?
  /// Bytes waiting to be written at `bufferStart`, to make few large writes of many small nodes.
  private var buffer: [UInt8] = []
  private var bufferStart = 0

  private static let bufferLimit = 1 << 18

  init(slab: Slab, arena: Arena, storage: any Storage, free: FreeSpace, logicalSize: Int) {
    self.slab = slab
    self.arena = arena
    self.storage = storage
    self.free = free
    self.logicalSize = logicalSize
  }

  /// Writes the tree at `ref` as far as it is dirty; its ref in the file.
  mutating func write(_ ref: Int) throws(FormatError) -> Int {
    if ref == 0 || !slab.owns(ref) || error != nil { return ref }
    let node = slab.node(ref)
    if !node.hasRefs {
      let size = node.byteSize, place = allocate(size)
      append(
        UnsafeRawBufferPointer(start: slab.memory(ref), count: Node.headerSize + node.payloadSize),
        size,
        at: place
      )
      return place
    }
    var elements: [Int64] = []
    elements.reserveCapacity(node.count)
    var width: UInt8 = 0
    for i in 0..<node.count {
      var element = PackedBits.signed(slab.node(ref).payload, node.width, i)
      if element != 0 && element & 1 == 0 { element = Int64(try write(Int(element))) }
      width = max(width, PackedBits.width(element))
      elements.append(element)
    }
    let size = (Node.headerSize + (elements.count * Int(width) + 7) / 8 + 7) & ~7
    let place = allocate(size)
    try put(elements, width: width, flags: node.nodeFlags, at: place)
    return place
  }

  /// Writes an integer node at a place that was allocated.
  mutating func put(_ elements: [Int64], width: UInt8, flags: NodeFlags = [], at place: Int) throws(FormatError) {
    let made = slab.make(flags, .bits, width: width, count: elements.count, payload: elements.count * 8 + 8)
    let base = slab.memory(made) + Node.headerSize
    for (i, element) in elements.enumerated() { PackedBits.store(base, width, i, element) }
    let node = slab.node(made)
    append(
      UnsafeRawBufferPointer(start: slab.memory(made), count: Node.headerSize + node.payloadSize),
      node.byteSize,
      at: place
    )
    try slab.drop(made, arena)
  }

  /// Space for `size` bytes; grows the file if no chunk has them.
  mutating func allocate(_ size: Int) -> Int {
    while error == nil {
      if let place = free.take(size) { return place }
      let grown = FreeSpace.grownSize(logicalSize, by: size)
      do throws(FileError) { try storage.grow(to: grown) } catch {
        self.error = error
        return 0
      }
      free.add(logicalSize, grown - logicalSize)
      logicalSize = grown
    }
    return 0
  }

  private mutating func append(_ bytes: UnsafeRawBufferPointer, _ size: Int, at place: Int) {
    if place != bufferStart + buffer.count || buffer.count > Self.bufferLimit { tryFlush() }
    if buffer.isEmpty { bufferStart = place }
    buffer.append(contentsOf: bytes)
    for _ in bytes.count..<size { buffer.append(0) }
  }

  private mutating func tryFlush() {
    if error != nil || buffer.isEmpty { return }
    do throws(FileError) {
      try buffer.withUnsafeBytesOf { (bytes) throws(FileError) in try storage.write(bytes, at: bufferStart) }
    } catch { self.error = error }
    buffer.removeAll(keepingCapacity: true)
  }

  /// Writes what waits.
  mutating func flush() throws(FormatError) { tryFlush() }
}
