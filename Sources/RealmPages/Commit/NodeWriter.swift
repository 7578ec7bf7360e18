// Writes dirty nodes to the file: children before parents, each into allocated space, buffered so that adjacent nodes
// need only one write. Source: docs/format/3-commit.md 3.4, 3.5.

import Glibc

/// Writes the nodes of one commit. Keeps the first storage error; nothing is written after it.
struct NodeWriter {
  let slab: Slab
  let storage: any Storage
  var free: FreeSpace
  var logicalSize: Int
  private(set) var error: EngineError?
  private let output: WriteBuffer
  /// The number of bytes written since resident pages were last limited.
  private var newBytes = 0
  private static let maxNewBytes = 1 << 20
  /// The nodes already written, and those already measured. A node has one parent; these sets stop cycles in damaged
  /// files.
  private var written = NumberSet()
  private var measured = NumberSet()
  /// Reserved space for nodes that are placed next to each other.
  private var gathered = 0..<0
  /// The elements of the nodes between the root and the current one: a stack in one array.
  private var elements: [Int64] = []

  init(slab: Slab, storage: any Storage, free: FreeSpace, logicalSize: Int) {
    self.slab = slab
    self.storage = storage
    self.free = free
    self.logicalSize = logicalSize
    output = WriteBuffer(storage)
  }

  /// Writes the dirty nodes of the tree at `ref` and returns its new ref. The first `gathered` levels use the reserved
  /// space.
  mutating func write(_ ref: Int, gathered levels: Int) -> Int {
    if ref == 0 || !slab.owns(ref) || error != nil { return ref }
    guard let node = slab.nodeIfPresent(ref), written.insert(slab.number(ref)) else {
      error = .damaged("no node, or another node's, beyond the file", ref: ref)
      return ref
    }
    // With width 0 all children are null, and there can be 2^24 of them.
    if !node.hasRefs || node.width == 0 {
      let place = allocate(node.byteSize, gathered: levels > 0)
      put(node, at: place)
      return place
    }
    let first = elements.count
    var width: UInt8 = 0
    for i in 0..<node.count {
      var element = unsafe PackedBits.signed(node.payload, node.width, i)
      if element != 0 && element & 1 == 0 { element = Int64(write(Int(element), gathered: max(0, levels - 1))) }
      width = max(width, PackedBits.width(element))
      elements.append(element)
    }
    let place = allocate(Node.size(node.count, width), gathered: levels > 0)
    put(elements[first...], width: width, flags: node.nodeFlags, at: place)
    elements.removeLast(elements.count - first)
    return place
  }

  /// Writes a node unchanged to allocated space: a large one in pieces, so that memory stays bounded.
  private mutating func put(_ node: Node, at place: Int) {
    let size = Node.headerSize + node.payloadSize
    for start in stride(from: 0, to: node.byteSize, by: WriteBuffer.usualCapacity) {
      unsafe append(min(WriteBuffer.usualCapacity, node.byteSize - start), at: place + start) { target in
        let rest = min(WriteBuffer.usualCapacity, size - start)
        if rest > 0 { unsafe memcpy(target, node.payload - Node.headerSize + start, rest) }
      }
    }
  }

  /// Writes an integer node to allocated space.
  mutating func put(
    _ elements: some RandomAccessCollection<Int64>,
    width: UInt8,
    flags: NodeFlags = [],
    at place: Int
  ) {
    unsafe append(Node.size(elements.count, width), at: place) {
      unsafe Node.write(elements, width: width, flags, to: $0)
    }
  }

  /// Reserves adjacent space for the first levels of some trees and for `more` bytes, unless that is too large.
  mutating func gather(_ refs: [Int], levels: [Int], _ more: Int) {
    var size = more
    for (ref, levels) in zip(refs, levels) { size += self.size(ref, levels: levels) }
    if size > Self.maximumGathered { return }
    var place = free.take(size)
    if place == nil, !free.retained.isEmpty, logicalSize >= Self.smallFile, free.release() { place = free.take(size) }
    guard let place else { return }
    gathered = place..<place + size
  }

  private static let maximumGathered = 1 << 16
  /// Below this size, the file grows instead of overwriting recent versions.
  private static let smallFile = 1 << 16

  /// The size of the dirty nodes in the first levels of a tree, or slightly more, in bytes.
  private mutating func size(_ ref: Int, levels: Int) -> Int {
    guard levels > 0, let node = slab.nodeIfPresent(ref), measured.insert(slab.number(ref)) else { return 0 }
    if !node.hasRefs || node.width == 0 { return node.byteSize }
    var size = Node.size(node.count, max(node.width, PackedBits.width(Int64(logicalSize))))
    for i in 0..<node.count {
      let element = unsafe PackedBits.signed(node.payload, node.width, i)
      if element & 1 == 0 { size += self.size(Int(element), levels: levels - 1) }
    }
    return size
  }

  /// Returns the rest of the reserved space.
  mutating func releaseReserve() {
    if gathered.isEmpty { return }
    free.add(gathered.lowerBound, gathered.count)
    gathered = 0..<0
  }

  /// Allocates `size` bytes, in the reserved space if requested and possible; grows the file if no chunk is large
  /// enough.
  mutating func allocate(_ size: Int, gathered isGathered: Bool) -> Int {
    if isGathered, size <= gathered.count {
      let place = gathered.lowerBound
      gathered = place + size..<gathered.upperBound
      return place
    }
    while error == nil {
      if let place = free.take(size) { return place }
      // Use retained and withheld space before growing the file.
      if logicalSize >= Self.smallFile, free.release() { continue }
      let grown = FreeSpace.grownSize(logicalSize, by: size)
      do { try storage.grow(to: grown) } catch {
        self.error = error
        return 0
      }
      free.add(logicalSize, grown - logicalSize)
      logicalSize = grown
    }
    return 0
  }

  /// Writes buffered bytes.
  mutating func flush() {
    if error != nil { return }
    do { try output.flush() } catch { self.error = error }
  }

  private mutating func append(_ size: Int, at place: Int, _ fill: (UnsafeMutableRawPointer) -> Void) {
    if error != nil { return }
    do { unsafe fill(try output.room(size, at: place)) } catch { self.error = error }
    newBytes += size
    if newBytes < Self.maxNewBytes { return }
    newBytes = 0
    slab.limitResidentPages()
  }
}

/// A set of nonnegative numbers, one bit each.
private struct NumberSet {
  private var words: [UInt64] = []

  /// Adds a number; false if the set already contains it.
  mutating func insert(_ number: Int) -> Bool {
    let bit = UInt64(1) << UInt64(number & 63), missing = (number >> 6) - words.count + 1
    if missing > 0 { words += repeatElement(0, count: max(missing, words.count)) }
    defer { words[number >> 6] |= bit }
    return words[number >> 6] & bit == 0
  }
}

/// A buffer for adjacent writes: few large writes instead of many small ones.
@safe private final class WriteBuffer {
  // Safe: `count` never exceeds `capacity`, the number of bytes allocated at `bytes`.
  private let storage: any Storage
  private var bytes: UnsafeMutableRawPointer
  private var capacity = usualCapacity
  private var count = 0
  private var start = 0
  static let usualCapacity = 1 << 18

  init(_ storage: any Storage) {
    self.storage = storage
    unsafe bytes = .allocate(byteCount: capacity, alignment: 16)
  }

  deinit { unsafe bytes.deallocate() }

  /// Returns `size` zeroed bytes of the buffer, which will be written at `place` in the file.
  func room(_ size: Int, at place: Int) throws(EngineError) -> UnsafeMutableRawPointer {
    if place != start + count || count + size > capacity { try flush() }
    if count == 0 { start = place }
    if size > capacity {
      unsafe bytes.deallocate()
      capacity = size
      unsafe bytes = .allocate(byteCount: capacity, alignment: 16)
    }
    let room = unsafe bytes + count
    unsafe memset(room, 0, size)
    count += size
    return unsafe room
  }

  func flush() throws(EngineError) {
    if count == 0 { return }
    try unsafe storage.write(UnsafeRawBufferPointer(start: bytes, count: count), at: start)
    count = 0
  }
}
