// The bytes of a file in memory, in chunks. Growing never moves more than one chunk, and ranges that were never written
// take no memory. With a spool, only the most recently loaded chunks are in memory; the others are on disk.
//
// Invariant: memory is charged to the budget before it is allocated, so all files of a mount together stay within it.

import RealmPages
import Synchronization

/// The memory that the in-memory files of a mount may use together, or one user's share of it.
final class MemoryBudget: Sendable {
  private let used = Atomic<Int>(0)
  private let limit: Int
  /// The budget that this share belongs to; nil for the whole budget.
  private let whole: MemoryBudget?
  /// The shares, by user.
  private let shares = Mutex<[UInt32: MemoryBudget]>([:])

  /// Creates a budget of `limit` bytes.
  convenience init(_ limit: Int) { self.init(limit, of: nil) }

  private init(_ limit: Int, of whole: MemoryBudget?) { (self.limit, self.whole) = (limit, whole) }

  /// Returns the share of a user: three quarters of the budget, so that no single user can prevent all others from
  /// saving. Root and the user who serves the mount may use all of it.
  func share(of user: UInt32) -> MemoryBudget {
    if Caller.isTrusted(user) { return self }
    return shares.withLock { shares in
      if let share = shares[user] { return share }
      let share = MemoryBudget(limit - limit / 4, of: self)
      shares[user] = share
      return share
    }
  }

  /// The bytes in use.
  var usage: Int { used.load(ordering: .relaxed) }

  /// Reserves `count` bytes. Returns false, and reserves nothing, if they exceed the budget.
  func take(_ count: Int) -> Bool {
    if count > limit { return false }
    let new = used.wrappingAdd(count, ordering: .relaxed).newValue
    if new <= limit, whole?.take(count) ?? true { return true }
    used.wrappingSubtract(count, ordering: .relaxed)
    return false
  }

  /// Returns `count` bytes to the budget.
  func release(_ count: Int) {
    used.wrappingSubtract(count, ordering: .relaxed)
    whole?.release(count)
  }
}

/// A byte sequence that can grow, shrink and have holes. The owner returns `cost` to the budget when it drops the
/// value.
struct ChunkedBytes: Sendable {
  static let chunkSize = 64 << 10
  /// The bytes that an array occupies in addition to its elements.
  private static let overhead = 48

  /// The number of bytes, holes included.
  private(set) var count = 0
  /// The number of bytes at the start that `lines` and `whole` omit.
  private var hidden = 0
  /// The bytes reserved in the budget.
  private(set) var cost = 0
  /// The chunks. Each holds the bytes of its range from the start on; bytes after its end are zeros.
  private var chunks: [[UInt8]] = []
  private let budget: MemoryBudget
  /// The storage of chunks beyond `maxResident`; nil if all stay in memory.
  private var spool: SpoolFile?
  /// The chunks in the spool, by index. Their elements in `chunks` are empty.
  private var spooled: [Int: Spooled] = [:]
  /// With a spool, the non-empty chunks in memory, in the order in which they were loaded.
  private var resident: [Int] = []

  private struct Spooled {
    let piece: SpoolFile.Piece
    /// The number of bytes in use; those after it were truncated.
    var count: Int
  }

  /// The maximum number of non-empty chunks in memory if there is a spool.
  private var maxResident = 64

  /// Creates an empty value. Chunks beyond `maxResident` are written to `spool`.
  init(_ budget: MemoryBudget, spool: SpoolFile? = nil, maxResident: Int = 64) {
    self.budget = budget
    self.spool = spool
    self.maxResident = maxResident
  }

  /// Creates a value with `bytes`; nil if they exceed the budget.
  init?(_ bytes: [UInt8], _ budget: MemoryBudget) {
    self.init(budget)
    if bytes.count > Self.chunkSize {
      // Without a spool, a write fails only if it exceeds the budget.
      guard (try? write(bytes, at: 0)) ?? false else { return nil }
      return
    }
    if bytes.isEmpty { return }
    guard take(bytes.count + Self.overhead + MemoryLayout<[UInt8]>.stride) else { return nil }
    chunks = [bytes]
    count = bytes.count
  }

  /// Copies `other`; nil if the budget has no room for the copy. The copy shares the memory of `other` until either
  /// changes. If `other` has chunks in a spool, all chunks of the copy are stored there.
  init?(_ other: ChunkedBytes, _ budget: MemoryBudget) {
    self.init(budget)
    if other.count == 0 { return }
    if let spool = other.spool, !other.spooled.isEmpty {
      guard take(other.chunks.count * (Self.overhead + MemoryLayout<[UInt8]>.stride)) else { return nil }
      (chunks, count, spooled, self.spool) = (other.chunks, other.count, other.spooled, spool)
      maxResident = other.maxResident
      cut(to: count)
      for index in other.resident where index < chunks.count {
        // The copy fails if the disk is full.
        guard let piece = try? spool.store(chunks[index]) else {
          budget.release(cost)
          return nil
        }
        spooled[index] = Spooled(piece: piece, count: chunks[index].count)
        chunks[index] = []
      }
      return
    }
    guard take(other.cost) else { return nil }
    (chunks, count) = (other.chunks, other.count)
    (spool, resident, maxResident) = (other.spool, other.resident, other.maxResident)
    cut(to: count)
  }

  private mutating func take(_ bytes: Int) -> Bool {
    guard budget.take(bytes) else { return false }
    cost += bytes
    return true
  }

  // MARK: reading

  /// Returns the bytes of `range`, which must be within `0..<count`: a slice of a chunk, or a copy.
  func slice(_ range: Range<Int>) throws(FileTreeError) -> ArraySlice<UInt8> {
    let index = range.lowerBound / Self.chunkSize, start = index * Self.chunkSize
    if index < chunks.count, range.upperBound <= start + chunks[index].count {
      return chunks[index][range.lowerBound - start..<range.upperBound - start]
    }
    return try copy(range)[...]
  }

  /// Returns the bytes of `range`, which must be within `0..<count`, as one array.
  func copy(_ range: Range<Int>) throws(FileTreeError) -> [UInt8] {
    if range == 0..<count, chunks.count == 1, chunks[0].count == count { return chunks[0] }
    var result: [UInt8] = []
    result.reserveCapacity(range.count)
    try forEachPart(of: range) { index, part throws(FileTreeError) in
      let chunk = try chunk(index)
      let end = min(part.upperBound, chunk.count)
      if part.lowerBound < end { result.append(contentsOf: chunk[part.lowerBound..<end]) }
      result.append(contentsOf: repeatElement(0, count: part.upperBound - max(part.lowerBound, end)))
    }
    return result
  }

  /// All bytes as one array.
  var whole: [UInt8] { get throws(FileTreeError) { try copy(min(hidden, count)..<count) } }

  /// Returns the bytes of a chunk, from memory or from the spool.
  private func chunk(_ index: Int) throws(FileTreeError) -> [UInt8] {
    guard let spooled = spooled[index] else { return index < chunks.count ? chunks[index] : [] }
    do {
      var bytes = try spooled.piece.bytes()
      bytes.removeLast(bytes.count - spooled.count)
      return bytes
    } catch { throw .spool(error) }
  }

  /// Hides all bytes from `size` on, for a copy that is only read. Frees no budget.
  mutating func hide(from size: Int) { count = min(count, size) }

  /// Excludes the bytes before `start` from `lines` and `whole`, for a copy that is only read.
  mutating func hide(upTo start: Int) { hidden = start }

  /// The lines, without line ends.
  var lines: Lines { Lines(self) }

  /// The longest line in bytes. Saving copies a line, and the copy of a longer one might not fit into memory.
  static let longestLine = 128 << 20

  /// Iterates over the lines of a text. Keeps one chunk in memory at a time.
  struct Lines {
    private let text: ChunkedBytes
    private var number = 0
    /// The offset of the next line.
    private var start = 0
    private var chunk: [UInt8] = []
    /// The range of the text that `chunk` holds.
    private var range = 0..<0

    fileprivate init(_ text: ChunkedBytes) {
      self.text = text
      start = text.hidden
    }

    /// Returns the next line and its range; nil after the last line.
    mutating func next() throws(FileTreeError) -> (range: Range<Int>, bytes: ArraySlice<UInt8>)? {
      if start >= text.count { return nil }
      number += 1
      var line: [UInt8] = [], position = start
      while position < text.count {
        if !range.contains(position) { try load(position / chunkSize) }
        let rest = chunk[position - range.lowerBound..<range.count]
        let found = rest.firstIndex(of: UInt8(ascii: "\n"))
        let part = rest[..<(found ?? rest.endIndex)], end = position + part.count
        if found != nil || end == text.count {
          let whole = start..<end
          start = end + 1
          return (whole, line.isEmpty ? part : (line + part)[...])
        }
        if line.count + part.count > longestLine { throw FileTreeError.lineIsTooLong(number) }
        line += part
        position = end
      }
      return nil
    }

    private mutating func load(_ index: Int) throws(FileTreeError) {
      let first = index * chunkSize
      range = first..<min(first + chunkSize, text.count)
      chunk = try text.chunk(index)
      if chunk.count < range.count { chunk += repeatElement(0, count: range.count - chunk.count) }
    }
  }

  /// True if `whole` shares the memory of the only chunk instead of copying.
  var isOneChunk: Bool { count == 0 || chunks.count == 1 && chunks[0].count == count }

  /// Calls `body` for each chunk that overlaps `range`, with the index of the chunk and the overlap relative to its
  /// start.
  private func forEachPart(
    of range: Range<Int>,
    _ body: (Int, Range<Int>) throws(FileTreeError) -> Void
  ) throws(FileTreeError) {
    var position = range.lowerBound
    while position < range.upperBound {
      let index = position / Self.chunkSize, start = index * Self.chunkSize
      let end = start + min(range.upperBound - start, Self.chunkSize)
      try body(index, position - start..<end - start)
      position = end
    }
  }

  // MARK: changing

  /// Writes at `offset`; a gap before it becomes a hole. Returns false, and changes nothing, if the bytes exceed the
  /// budget. The end must be representable as an Int. After an error of the spool, the content of the range is
  /// undefined.
  mutating func write(_ bytes: [UInt8], at offset: Int) throws(FileTreeError) -> Bool {
    if bytes.isEmpty { return true }
    let range = offset..<offset + bytes.count, lastChunk = (range.upperBound - 1) / Self.chunkSize
    var growth = 0
    try forEachPart(of: range) { index, part throws(FileTreeError) in
      growth += self.growth(index, to: max(part.upperBound, spooled[index]?.count ?? 0))
    }
    let more = max(0, lastChunk + 1 - chunks.count)
    // The array of chunks doubles, so that appending costs amortized O(1).
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
      try load(index)
      store(bytes[source..<source + end - position], in: index, at: position - start)
      count = max(count, end)
      try unload()
      source += end - position
      position = end
    }
    return true
  }

  /// Loads a chunk before it is written to.
  private mutating func load(_ index: Int) throws(FileTreeError) {
    if spool == nil { return }
    if spooled[index] != nil {
      chunks[index] = try chunk(index)
      spooled[index] = nil
      resident.append(index)
    } else if chunks[index].isEmpty {
      resident.append(index)
    }
  }

  /// Moves the chunk that has been loaded longest to the spool if too many are in memory.
  private mutating func unload() throws(FileTreeError) {
    guard let spool, resident.count > maxResident else { return }
    let index = resident[0]
    do {
      guard let piece = try spool.store(chunks[index]) else {
        // No file can be created in the directory. The chunks stay in memory.
        (self.spool, resident) = (nil, [])
        return
      }
      resident.removeFirst()
      release(chunks[index].capacity + Self.overhead)
      spooled[index] = Spooled(piece: piece, count: chunks[index].count)
      chunks[index] = []
    } catch { throw .spool(error) }
  }

  /// Returns the capacity of a chunk after it grows to `size` bytes.
  private func capacity(_ index: Int, for size: Int) -> Int {
    let present = index < chunks.count ? chunks[index].capacity : 0
    return size <= present ? present : min(Self.chunkSize, max(size, 2 * present))
  }

  /// Returns the number of bytes by which growing a chunk to `size` bytes reduces the budget.
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

  /// Truncates to `size`, or extends with a hole.
  mutating func resize(to size: Int) {
    defer { count = size }
    if size >= count { return }
    if size == 0 {
      budget.release(cost)
      (cost, chunks, spooled, resident) = (0, [], [:], [])
      return
    }
    cut(to: size)
  }

  /// Drops the bytes from `size` on. `size` must not be 0.
  private mutating func cut(to size: Int) {
    let kept = (size + Self.chunkSize - 1) / Self.chunkSize
    while chunks.count > kept {
      let freed = chunks.removeLast().capacity
      release(freed == 0 ? 0 : freed + Self.overhead)
    }
    let end = size - (kept - 1) * Self.chunkSize
    if !spooled.isEmpty {
      spooled = spooled.filter { $0.key < kept }
      if let last = spooled[kept - 1] { spooled[kept - 1]?.count = min(last.count, end) }
    }
    if !resident.isEmpty { resident.removeAll { $0 >= kept } }
    if chunks.count == kept, chunks[kept - 1].count > end { chunks[kept - 1].removeLast(chunks[kept - 1].count - end) }
  }

  private mutating func release(_ bytes: Int) {
    // Array capacities are rounded up, so `bytes` can exceed the number that was reserved.
    let bytes = min(bytes, cost)
    budget.release(bytes)
    cost -= bytes
  }
}

extension FileTreeError {
  /// A line longer than `ChunkedBytes.longestLine`. The line number is unknown if the line is rejected while it is
  /// being written.
  static func lineIsTooLong(_ number: Int? = nil) -> FileTreeError {
    let place = number.map { "line \($0)" } ?? "the last line"
    return .refused(
      .tooLarge,
      "\(place) is longer than \(ChunkedBytes.longestLine >> 20) MB, the limit of a line"
    )
  }
}
