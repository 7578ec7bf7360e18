// Resolves refs to nodes for one version of a realm. All bounds checks on refs are here: a node that `node` returns can
// be read without leaving the snapshot's memory.

/// The nodes of one version.
@safe final class Arena: Sendable {
  // Safe: `node` checks each ref and each size against `limit`, and `space` keeps the bytes below it readable.
  let space: PageSpace
  /// The logical size: all nodes of the file end at or below it.
  let limit: Int
  /// The file format, which decides how some leaves are read.
  let format: Int
  /// True if UUIDs are read in the byte order of the .NET SDK before 10.10. Only for versions on which no commit
  /// builds.
  let swapsGuids: Bool
  /// True if a header of zeros is damage. Otherwise it is a node without elements, as for Realm's engine.
  private let refusesZeros: Bool
  /// The nodes that a write transaction has created or changed; nil outside of one.
  let slab: Slab?
  /// The nodes of a branch that are not in the file; nil outside of one.
  private let branchMemory: BranchMemory?
  private let base: UnsafeRawPointerBox

  /// True for the arena of a branch.
  var isBranch: Bool { branchMemory != nil }

  /// Wraps the pointer so that the class can be Sendable: the memory is immutable.
  @unsafe private struct UnsafeRawPointerBox: @unchecked Sendable { let pointer: UnsafeRawPointer }

  /// Creates a view of the first `limit` bytes of `space`. A limit beyond the space is reduced to its size.
  init(
    _ space: PageSpace,
    limit: Int,
    format: Int,
    slab: Slab? = nil,
    swapsGuids: Bool = false,
    refusesZeros: Bool = false
  ) {
    self.refusesZeros = refusesZeros
    self.space = space
    self.swapsGuids = swapsGuids
    self.slab = slab
    branchMemory = space.branchMemory
    self.limit = min(limit, space.size)
    self.format = format
    unsafe base = UnsafeRawPointerBox(pointer: space.base)
  }

  /// The maximum number of nodes in the version, as a bound on counts that its nodes contain.
  var maximumNodes: Int { (limit + (branchMemory?.count ?? 0)) / Node.headerSize + (slab?.maximumNodes ?? 0) }

  /// The maximum number of bytes of its nodes together.
  var maximumBytes: Int { limit + (branchMemory?.count ?? 0) + (slab?.bytes ?? 0) }

  /// The end of the space for its nodes.
  var end: Int { branchMemory.map { BranchMemory.start + $0.count } ?? limit }

  /// The part of `maximumBytes` that is not in holes of the file. Costs some system calls.
  func storedBytes() -> Int {
    space.dataRanges.reduce((branchMemory?.count ?? 0) + (slab?.bytes ?? 0)) {
      $0 + max(0, min($1.upperBound, limit) - $1.lowerBound)
    }
  }

  /// The bytes of the file before the first node.
  static let fileHeaderSize = 24

  /// The node at `ref`.
  @inline(__always)
  func node(_ ref: Int) throws(EngineError) -> Node {
    if ref & (Node.alignment - 1) != 0 || ref < Self.fileHeaderSize || ref > limit - Node.headerSize {
      if let node = slab?.nodeIfPresent(ref) { return node }
      if let branchMemory, ref >= BranchMemory.start { return try branchMemory.node(ref) }
      throw .damaged("a ref that is not aligned or is outside of the file of \(limit) bytes", ref: ref)
    }
    if space.fillsOnDemand { try space.require(ref, Node.headerSize) }
    if refusesZeros, space.word(at: ref) == 0 { throw .damaged("overwritten with zeros", ref: ref) }
    guard let node = unsafe Node(header: base.pointer + ref, ref: ref) else {
      throw .damaged("width scheme 3 does not exist", ref: ref)
    }
    if node.byteSize > limit - ref {
      throw .damaged("ends at \(ref + node.byteSize), beyond the logical size \(limit)", ref: ref)
    }
    if space.fillsOnDemand { try space.require(ref, node.byteSize) }
    return node
  }

  /// The node at `ref`, which must contain integers.
  @inline(__always)
  func integers(_ ref: Int) throws(EngineError) -> Node {
    let node = try node(ref)
    if node.scheme != .bits { throw .damaged("expected integers", ref: ref) }
    return node
  }

  /// The node at `ref`, which must contain at least `slots` refs.
  @inline(__always)
  func refs(_ ref: Int, slots: Int = 0) throws(EngineError) -> Node {
    let node = try node(ref)
    if node.scheme != .bits || !node.hasRefs || node.count < slots {
      throw .damaged("expected a node of at least \(slots) refs", ref: ref)
    }
    return node
  }
}
