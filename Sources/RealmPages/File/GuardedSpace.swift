// The bytes of a realm without the ranges that no longer belong to the version that is read: a ref into one of them is
// an error, so whatever can be read is what that version contained.

import Synchronization

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
