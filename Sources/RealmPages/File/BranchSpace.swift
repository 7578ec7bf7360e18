// The bytes of a branch: those of its base version at the same offsets, followed by the branch's memory.

/// The bytes of a branch's base version, and the branch's memory after them.
final class BranchSpace: PageSpace, @unchecked Sendable {
  // Unchecked: immutable after init; the space below synchronizes its own changes.
  private let below: PageSpace
  private let memory: BranchMemory

  init(_ arena: Arena, _ memory: BranchMemory) {
    below = arena.space
    self.memory = memory
    unsafe super.init(base: below.base, size: arena.limit, fillsOnDemand: below.fillsOnDemand)
  }

  override var branchMemory: BranchMemory? { memory }

  override func require(_ offset: Int, _ count: Int) throws(EngineError) { try below.require(offset, count) }

  override func limitResidentPages() { below.limitResidentPages() }

  override func noteRead(_ offset: Int, _ count: Int) { below.noteRead(offset, count) }

  override var filledBytes: Int { below.filledBytes }

  override var dataRanges: [Range<Int>] {
    below.dataRanges.map { $0.clamped(to: 0..<size) }.filter { !$0.isEmpty }
  }

  override func isOfSameFile(as other: PageSpace) -> Bool {
    if let other = other as? BranchSpace { return other.memory === memory }
    return below === other || below.isOfSameFile(as: other)
  }
}
