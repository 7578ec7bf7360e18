// The bytes of a file in memory, in chunks: growing never moves more than one chunk, and where nothing was written
// nothing is allocated. With a spool, only the chunks that were written last are in memory, the others on disk.
//
// Invariant: what is allocated was taken from the budget before, so all files of a mount together stay within it.

import RealmPages
import Synchronization

/// The memory that all files in memory of a mount may take together, or a share of it.
final class MemoryBudget: Sendable {
  private let used = Atomic<Int>(0)
  private let limit: Int
  /// The budget that this share belongs to; nil for the whole.
  private let whole: MemoryBudget?
  /// By user.
  private let shares = Mutex<[UInt32: MemoryBudget]>([:])

  /// Room for `limit` bytes.
  convenience init(_ limit: Int) { self.init(limit, of: nil) }

  private init(_ limit: Int, of whole: MemoryBudget?) { (self.limit, self.whole) = (limit, whole) }

  /// What a user may take: three quarters of it, so that no user keeps all others from saving. Root and the user who
  /// serves the mount may take all.
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

  /// Takes `count` bytes; false, and nothing taken, if there is no room for them.
  func take(_ count: Int) -> Bool {
    if count > limit { return false }
    let new = used.wrappingAdd(count, ordering: .relaxed).newValue
    if new <= limit, whole?.take(count) ?? true { return true }
    used.wrappingSubtract(count, ordering: .relaxed)
    return false
  }

  /// Gives `count` bytes back.
  func giveBack(_ count: Int) {
    used.wrappingSubtract(count, ordering: .relaxed)
    whole?.giveBack(count)
  }
}

/// Bytes that grow, shrink and have holes. Whoever drops them gives `cost` back to the budget.
struct ChunkedBytes: Sendable {
  static let chunkSize = 64 << 10
  /// What an array needs besides its elements.
  private static let overhead = 48

  /// The number of bytes, holes included.
  private(set) var count = 0
  /// Bytes at the start that `lines` and `whole` leave out.
  private var hidden = 0
  /// What was taken from the budget.
  private(set) var cost = 0
  /// Each has the bytes of its range from the start on, all or some; the others are zeros.
  private var chunks: [[UInt8]] = []
  private let budget: MemoryBudget
  /// Where chunks go that are too many; nil if all stay in memory.
  private var spool: SpoolFile?
  /// The chunks that are there, by index. Those have no bytes in `chunks`.
  private var spooled: [Int: Spooled] = [:]
  /// The other chunks that have bytes, if there is a spool, in the order in which they came into memory.
  private var resident: [Int] = []

  private struct Spooled {
    let piece: SpoolFile.Piece
    /// So many of its bytes count.
    var count: Int
  }

  /// So many chunks with bytes are in memory if there is a spool.
  private var mostResident = 64

  /// No bytes; those that are written go to `spool` beyond `mostResident` chunks.
  init(_ budget: MemoryBudget, spool: SpoolFile? = nil, mostResident: Int = 64) {
    self.budget = budget
    self.spool = spool
    self.mostResident = mostResident
  }

  /// These bytes; nil if there is no room for them.
  init?(_ bytes: [UInt8], _ budget: MemoryBudget) {
    self.init(budget)
    if bytes.count > Self.chunkSize {
      // Without a spool, nothing fails but the budget.
      guard (try? write(bytes, at: 0)) ?? false else { return nil }
      return
    }
    if bytes.isEmpty { return }
    guard take(bytes.count + Self.overhead + MemoryLayout<[UInt8]>.stride) else { return nil }
    chunks = [bytes]
    count = bytes.count
  }

  /// The same bytes once more, which share their memory until one side changes; nil if there is no room for them. If
  /// some of them are in a spool, all are there then.
  init?(_ other: ChunkedBytes, _ budget: MemoryBudget) {
    self.init(budget)
    if other.count == 0 { return }
    if let spool = other.spool, !other.spooled.isEmpty {
      guard take(other.chunks.count * (Self.overhead + MemoryLayout<[UInt8]>.stride)) else { return nil }
      (chunks, count, spooled, self.spool) = (other.chunks, other.count, other.spooled, spool)
      mostResident = other.mostResident
      cut(to: count)
      for index in other.resident where index < chunks.count {
        // Without room on the disk there is none for the copy.
        guard let piece = try? spool.store(chunks[index]) else {
          budget.giveBack(cost)
          return nil
        }
        spooled[index] = Spooled(piece: piece, count: chunks[index].count)
        chunks[index] = []
      }
      return
    }
    guard take(other.cost) else { return nil }
    (chunks, count) = (other.chunks, other.count)
    (spool, resident, mostResident) = (other.spool, other.resident, other.mostResident)
    cut(to: count)
  }

  private mutating func take(_ bytes: Int) -> Bool {
    guard budget.take(bytes) else { return false }
    cost += bytes
    return true
  }

  // MARK: reading

  /// The bytes of a range that lies within: those of a chunk, or a copy.
  func slice(_ range: Range<Int>) throws(FileTreeError) -> ArraySlice<UInt8> {
    let index = range.lowerBound / Self.chunkSize, start = index * Self.chunkSize
    if index < chunks.count, range.upperBound <= start + chunks[index].count {
      return chunks[index][range.lowerBound - start..<range.upperBound - start]
    }
    return try copy(range)[...]
  }

  /// The bytes of a range that lies within, as one array.
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

  /// The bytes of a chunk, wherever it is.
  private func chunk(_ index: Int) throws(FileTreeError) -> [UInt8] {
    guard let spooled = spooled[index] else { return index < chunks.count ? chunks[index] : [] }
    do throws(EngineError) {
      var bytes = try spooled.piece.bytes()
      bytes.removeLast(bytes.count - spooled.count)
      return bytes
    } catch { throw .spool(error) }
  }

  /// Has no more than `size` bytes, for one who only reads; what the budget knows stays.
  mutating func hide(from size: Int) { count = min(count, size) }

  /// Leaves out the first bytes of lines and of the whole, for one who only reads.
  mutating func hide(upTo start: Int) { hidden = start }

  /// The lines, without their ends.
  var lines: Lines { Lines(self) }

  /// The longest line in bytes. Saving copies a line once more, and a longer one might not fit into memory.
  static let longestLine = 128 << 20

  /// Goes through the lines of a text, with one chunk of it at hand.
  struct Lines {
    private let text: ChunkedBytes
    private var number = 0
    /// Where the next line begins.
    private var start = 0
    private var chunk: [UInt8] = []
    /// The range that the chunk is at hand for.
    private var range = 0..<0

    fileprivate init(_ text: ChunkedBytes) {
      self.text = text
      start = text.hidden
    }

    /// The next line and where it is; nil behind the last one.
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

  /// Whether all bytes as one array share the memory of the only chunk.
  var isOneChunk: Bool { count == 0 || chunks.count == 1 && chunks[0].count == count }

  /// Calls `body` with each chunk's index that a range touches, and the part of the range relative to the chunk.
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

  /// Writes at `offset`; a gap before it becomes a hole. False, and nothing changed, if there is no room in memory. The
  /// end must be representable. An error of the spool leaves the bytes of the range undetermined.
  mutating func write(_ bytes: [UInt8], at offset: Int) throws(FileTreeError) -> Bool {
    if bytes.isEmpty { return true }
    let range = offset..<offset + bytes.count, lastChunk = (range.upperBound - 1) / Self.chunkSize
    var growth = 0
    try forEachPart(of: range) { index, part throws(FileTreeError) in
      growth += self.growth(index, to: max(part.upperBound, spooled[index]?.count ?? 0))
    }
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
      try load(index)
      store(bytes[source..<source + end - position], in: index, at: position - start)
      count = max(count, end)
      try unload()
      source += end - position
      position = end
    }
    return true
  }

  /// Brings a chunk into memory that is to be written to.
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

  /// Moves the chunk that is in memory for the longest time to the spool if there are too many.
  private mutating func unload() throws(FileTreeError) {
    guard let spool, resident.count > mostResident else { return }
    let index = resident[0]
    do throws(EngineError) {
      guard let piece = try spool.store(chunks[index]) else {
        // The folder takes no files: memory has to do, as far as it goes.
        (self.spool, resident) = (nil, [])
        return
      }
      resident.removeFirst()
      giveBack(chunks[index].capacity + Self.overhead)
      spooled[index] = Spooled(piece: piece, count: chunks[index].count)
      chunks[index] = []
    } catch { throw .spool(error) }
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
      (cost, chunks, spooled, resident) = (0, [], [:], [])
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
    if !spooled.isEmpty {
      spooled = spooled.filter { $0.key < kept }
      if let last = spooled[kept - 1] { spooled[kept - 1]?.count = min(last.count, end) }
    }
    if !resident.isEmpty { resident.removeAll { $0 >= kept } }
    if chunks.count == kept, chunks[kept - 1].count > end { chunks[kept - 1].removeLast(chunks[kept - 1].count - end) }
  }

  private mutating func giveBack(_ bytes: Int) {
    // The system rounds capacities up.
    let bytes = min(bytes, cost)
    budget.giveBack(bytes)
    cost -= bytes
  }
}

extension FileTreeError {
  /// A line beyond `ChunkedBytes.longestLine`; the number is not known where it is refused while it is written.
  static func lineIsTooLong(_ number: Int? = nil) -> FileTreeError {
    let place = number.map { "line \($0)" } ?? "the last line"
    return .refused(
      .tooLarge,
      "\(place) is longer than \(ChunkedBytes.longestLine >> 20) MB, the limit of a line"
    )
  }
}
