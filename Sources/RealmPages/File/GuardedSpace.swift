// The bytes of a realm without the ranges that no longer belong to the version that is read: a ref into one of them is
// an error, so whatever can be read is what that version contained.

import Synchronization

/// Sorted byte ranges that neither overlap nor touch.
struct ByteRanges: Sendable {
  private(set) var ranges: [Range<Int>] = []

  init() {}

  /// The union of `ranges`, in any order.
  init(_ ranges: [Range<Int>]) {
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) where !range.isEmpty {
      if let last = self.ranges.last, range.lowerBound <= last.upperBound {
        self.ranges[self.ranges.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
      } else {
        self.ranges.append(range)
      }
    }
  }

  /// True if any byte of `range` is in one of the ranges. Cost: O(log n).
  func overlaps(_ range: Range<Int>) -> Bool {
    let index = first(endingAfter: range.lowerBound)
    return index < ranges.count && ranges[index].lowerBound < range.upperBound
  }

  /// True if one range contains all bytes of `range`. Cost: O(log n).
  func contains(_ range: Range<Int>) -> Bool {
    let index = first(endingAfter: range.lowerBound)
    return index < ranges.count && ranges[index].lowerBound <= range.lowerBound
      && ranges[index].upperBound >= range.upperBound
  }

  /// The union of both.
  func union(_ others: ByteRanges) -> ByteRanges { ByteRanges(ranges + others.ranges) }

  /// The parts that `others` do not contain.
  func subtracting(_ others: ByteRanges) -> ByteRanges {
    var left: [Range<Int>] = [], index = 0
    for range in ranges {
      var start = range.lowerBound
      while index < others.ranges.count, others.ranges[index].upperBound <= start { index += 1 }
      var next = index
      while next < others.ranges.count, others.ranges[next].lowerBound < range.upperBound {
        if start < others.ranges[next].lowerBound { left.append(start..<others.ranges[next].lowerBound) }
        start = max(start, others.ranges[next].upperBound)
        next += 1
      }
      if start < range.upperBound { left.append(start..<range.upperBound) }
    }
    return ByteRanges(left)
  }

  private func first(endingAfter offset: Int) -> Int {
    var low = 0, high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].upperBound > offset { high = middle } else { low = middle + 1 }
    }
    return low
  }
}

/// A part of a file in which no node may be read. It also records which nodes are read.
final class GuardedSpace: PageSpace, @unchecked Sendable {
  // Unchecked: immutable after init except for `record`; the space below synchronises what it changes.
  private let below: PageSpace
  private let refused: ByteRanges
  private let record = Mutex<[Int: Int]?>(nil)

  /// The bytes of `below` except those of `refused`.
  init(_ below: PageSpace, without refused: ByteRanges) {
    (self.below, self.refused) = (below, refused)
    unsafe super.init(base: below.base, size: below.size, fillsOnDemand: true)
  }

  override func require(_ offset: Int, _ count: Int) throws(EngineError) {
    if refused.overlaps(offset..<offset + count) { throw .damaged("overwritten by a later commit", ref: offset) }
    if below.fillsOnDemand { try below.require(offset, count) }
    record.withLock { record in
      // The header of a node is required first, then all of it.
      let known = record?[offset] ?? 0
      record?[offset] = max(count, known)
    }
  }

  /// Calls `body`, and returns its result with the ranges of all nodes that it read, in file order. For one thread.
  func recording<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> (result: R, nodes: [Range<Int>]) {
    record.withLock { $0 = [:] }
    defer { record.withLock { $0 = nil } }
    let result = try body()
    let nodes = record.withLock { ($0 ?? [:]).map { $0..<$0 + $1 } }
    return (result, nodes.sorted { $0.lowerBound < $1.lowerBound })
  }

  override func dropPages() { below.dropPages() }
  override func limitResidentPages() { below.limitResidentPages() }
  override func noteRead(_ offset: Int, _ count: Int) { below.noteRead(offset, count) }
  override var filledBytes: Int { below.filledBytes }
  override var dataRanges: [Range<Int>] { below.dataRanges }
  override var isSpent: Bool { below.isSpent }
  override func isOfSameFile(as other: PageSpace) -> Bool { below === other || below.isOfSameFile(as: other) }
}
