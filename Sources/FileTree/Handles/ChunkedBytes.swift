// The bytes of a file in memory, in chunks: growing never moves more than one chunk, and where nothing was written
// nothing is allocated.
//
// Invariant: what is allocated was taken from the budget before, so all files of a mount together stay within it.

import Synchronization

/// The memory that all files in memory of a mount may take together.
final class MemoryBudget: Sendable {
  private let used = Atomic<Int>(0)
  private let limit: Int

  /// Room for `limit` bytes.
  init(_ limit: Int) { self.limit = limit }

  /// The bytes in use.
  var usage: Int { used.load(ordering: .relaxed) }

  /// Takes `count` bytes; false, and nothing taken, if there is no room for them.
  func take(_ count: Int) -> Bool {
    if count > limit { return false }
    let new = used.wrappingAdd(count, ordering: .relaxed).newValue
    if new <= limit { return true }
    used.wrappingSubtract(count, ordering: .relaxed)
    return false
  }

  /// Gives `count` bytes back.
  func giveBack(_ count: Int) { used.wrappingSubtract(count, ordering: .relaxed) }
}

/// Bytes that grow, shrink and have holes. Whoever drops them gives `cost` back to the budget.
struct ChunkedBytes: Sendable {
  static let chunkSize = 64 << 10
  /// What an array needs besides its elements.
  private static let overhead = 48

  /// The number of bytes, holes included.
  private(set) var count = 0
  /// What was taken from the budget.
  private(set) var cost = 0
  /// Each has the bytes of its range from the start on, all or some; the others are zeros.
  private var chunks: [[UInt8]] = []
  private let budget: MemoryBudget

  /// No bytes.
  init(_ budget: MemoryBudget) { self.budget = budget }

  /// These bytes; nil if there is no room for them.
  init?(_ bytes: [UInt8], _ budget: MemoryBudget) {
    self.init(budget)
    if bytes.count > Self.chunkSize {
      guard write(bytes, at: 0) else { return nil }
      return
    }
    if bytes.isEmpty { return }
    guard take(bytes.count + Self.overhead + MemoryLayout<[UInt8]>.stride) else { return nil }
    chunks = [bytes]
    count = bytes.count
  }

  /// The same bytes once more, which share their memory until one side changes; nil if there is no room for them.
  init?(_ other: ChunkedBytes, _ budget: MemoryBudget) {
    self.init(budget)
    if other.count == 0 { return }
    guard take(other.cost) else { return nil }
    (chunks, count) = (other.chunks, other.count)
    cut(to: count)
  }

  private mutating func take(_ bytes: Int) -> Bool {
    guard budget.take(bytes) else { return false }
    cost += bytes
    return true
  }

  // MARK: reading

  /// The bytes of a range that lies within: those of a chunk, or a copy.
  func slice(_ range: Range<Int>) -> ArraySlice<UInt8> {
    let index = range.lowerBound / Self.chunkSize, start = index * Self.chunkSize
    if index < chunks.count, range.upperBound <= start + chunks[index].count {
      return chunks[index][range.lowerBound - start..<range.upperBound - start]
    }
    return copy(range)[...]
  }

  /// The bytes of a range that lies within, as one array.
  func copy(_ range: Range<Int>) -> [UInt8] {
    if range == 0..<count, chunks.count == 1, chunks[0].count == count { return chunks[0] }
    var result: [UInt8] = []
    result.reserveCapacity(range.count)
    forEachPart(of: range) { index, part in
      let stored = index < chunks.count ? chunks[index].count : 0
      let end = min(part.upperBound, stored)
      if part.lowerBound < end { result.append(contentsOf: chunks[index][part.lowerBound..<end]) }
      result.append(contentsOf: repeatElement(0, count: part.upperBound - max(part.lowerBound, end)))
    }
    return result
  }

  /// All bytes as one array.
  var whole: [UInt8] { copy(0..<count) }

  /// Has no more than `size` bytes, for one who only reads; what the budget knows stays.
  mutating func hide(from size: Int) { count = min(count, size) }

  /// The range of the line that begins at `start`, without its end; nil behind the last line.
  func line(at start: Int) -> Range<Int>? {
    if start >= count { return nil }
    var position = start
    while position < count {
      let end = min(count, (position / Self.chunkSize + 1) * Self.chunkSize)
      let part = slice(position..<end)
      if let found = part.firstIndex(of: UInt8(ascii: "\n")) { return start..<position + found - part.startIndex }
      position = end
    }
    return start..<count
  }

  /// Whether all bytes as one array share the memory of the only chunk.
  var isOneChunk: Bool { count == 0 || chunks.count == 1 && chunks[0].count == count }

  /// Calls `body` with each chunk's index that a range touches, and the part of the range relative to the chunk.
  private func forEachPart(of range: Range<Int>, _ body: (Int, Range<Int>) -> Void) {
    var position = range.lowerBound
    while position < range.upperBound {
      let index = position / Self.chunkSize, start = index * Self.chunkSize
      let end = start + min(range.upperBound - start, Self.chunkSize)
      body(index, position - start..<end - start)
      position = end
    }
  }

  // MARK: changing

  /// Writes at `offset`; a gap before it becomes a hole. False, and nothing changed, if there is no room. The end must
  /// be representable.
  mutating func write(_ bytes: [UInt8], at offset: Int) -> Bool {
    if bytes.isEmpty { return true }
    let range = offset..<offset + bytes.count, lastChunk = (range.upperBound - 1) / Self.chunkSize
    var growth = 0
    forEachPart(of: range) { index, part in growth += self.growth(index, to: part.upperBound) }
    let more = max(0, lastChunk + 1 - chunks.count)
    // The table doubles, so that appending costs little.
    let newTable = more > 0 && lastChunk + 1 > chunks.capacity ? max(lastChunk + 1, 2 * chunks.count) : chunks.capacity
    growth += (newTable - chunks.capacity) * MemoryLayout<[UInt8]>.stride
    guard take(growth) else { return false }
    if newTable > chunks.capacity { chunks.reserveCapacity(newTable) }
    for _ in 0..<more { chunks.append([]) }
    var source = 0
    var position = range.lowerBound
    while position < range.upperBound {
      let index = position / Self.chunkSize, start = index * Self.chunkSize
      let end = start + min(range.upperBound - start, Self.chunkSize)
      store(bytes[source..<source + end - position], in: index, at: position - start)
      source += end - position
      position = end
    }
    count = max(count, range.upperBound)
    return true
  }

  /// The capacity that a chunk gets to hold `size` bytes.
  private func capacity(_ index: Int, for size: Int) -> Int {
    let present = index < chunks.count ? chunks[index].capacity : 0
    return size <= present ? present : min(Self.chunkSize, max(size, 2 * present))
  }

  /// What it costs to let a chunk hold `size` bytes.
  private func growth(_ index: Int, to size: Int) -> Int {
    let present = index < chunks.count ? chunks[index].capacity : 0
    return max(0, capacity(index, for: size) - present) + (present == 0 ? Self.overhead : 0)
  }

  private mutating func store(_ bytes: ArraySlice<UInt8>, in index: Int, at offset: Int) {
    let end = offset + bytes.count
    chunks[index].reserveCapacity(capacity(index, for: end))
    let stored = chunks[index].count
    if stored < offset { chunks[index].append(contentsOf: repeatElement(0, count: offset - stored)) }
    chunks[index].replaceSubrange(offset..<min(end, chunks[index].count), with: bytes)
  }

  /// Cuts, or grows by a hole.
  mutating func resize(to size: Int) {
    defer { count = size }
    if size >= count { return }
    if size == 0 {
      budget.giveBack(cost)
      (cost, chunks) = (0, [])
      return
    }
    cut(to: size)
  }

  /// Drops what lies beyond `size`, which is not 0.
  private mutating func cut(to size: Int) {
    let kept = (size + Self.chunkSize - 1) / Self.chunkSize
    while chunks.count > kept {
      let freed = chunks.removeLast().capacity
      giveBack(freed == 0 ? 0 : freed + Self.overhead)
    }
    let end = size - (kept - 1) * Self.chunkSize
    if chunks.count == kept, chunks[kept - 1].count > end { chunks[kept - 1].removeLast(chunks[kept - 1].count - end) }
  }

  private mutating func giveBack(_ bytes: Int) {
    // The system rounds capacities up.
    let bytes = min(bytes, cost)
    budget.giveBack(bytes)
    cost -= bytes
  }
}
