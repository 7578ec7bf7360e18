// From refs to nodes for one version of a realm. Every bounds check on refs lives here: what `node` returns can be read
// without leaving the snapshot's memory.

/// The nodes of one version.
@safe final class Arena: Sendable {
  // Safe: `node` checks each ref and each size against `limit`, and `space` keeps what lies below.
  let space: PageSpace
  /// Refs and nodes end at or below this: the logical size.
  let limit: Int
  /// The file format, which decides how some leaves are read.
  let format: Int
  /// True if UUIDs are read as .NET wrote them before 10.10. Only of versions that are not written on.
  let swapsGuids: Bool
  /// The nodes that a write transaction has made or changed; nil outside of one.
  let slab: Slab?
  /// The nodes that a branch has beyond those of the file; nil outside of one.
  private let annex: Annex?
  private let base: UnsafeRawPointerBox

  /// Whether it is a branch's.
  var isBranch: Bool { annex != nil }

  /// Wraps the pointer so that the class can be Sendable: the memory is immutable.
  @unsafe private struct UnsafeRawPointerBox: @unchecked Sendable { let pointer: UnsafeRawPointer }

  /// A view of the first `limit` bytes of `space`; a larger limit is cut.
  init(_ space: PageSpace, limit: Int, format: Int, slab: Slab? = nil, swapsGuids: Bool = false) {
    self.space = space
    self.swapsGuids = swapsGuids
    self.slab = slab
    annex = space.annex
    self.limit = min(limit, space.size)
    self.format = format
    unsafe base = UnsafeRawPointerBox(pointer: space.base)
  }

  /// The most nodes that the version can consist of, as a bound on what its nodes claim.
  var maximumNodes: Int { (limit + (annex?.count ?? 0)) / Node.headerSize + (slab?.maximumNodes ?? 0) }

  /// The most bytes that its nodes can have together.
  var maximumBytes: Int { limit + (annex?.count ?? 0) + (slab?.bytes ?? 0) }

  /// Where the space for its nodes ends.
  var end: Int { annex.map { Annex.start + $0.count } ?? limit }

  /// As many of them as are no zeros in a hole of the file. Costs some system calls.
  func storedBytes() -> Int {
    space.dataRanges.reduce((annex?.count ?? 0) + (slab?.bytes ?? 0)) {
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
      if let annex, ref >= Annex.start { return try annex.node(ref) }
      throw .damaged("a ref that is not aligned or lies outside of the file of \(limit) bytes", ref: ref)
    }
    if space.fillsOnDemand { try space.require(ref, Node.headerSize) }
    guard let node = unsafe Node(header: base.pointer + ref, ref: ref) else {
      throw .damaged("width scheme 3 does not exist", ref: ref)
    }
    if node.byteSize > limit - ref {
      throw .damaged("ends at \(ref + node.byteSize), beyond the logical size \(limit)", ref: ref)
    }
    if space.fillsOnDemand { try space.require(ref, node.byteSize) }
    return node
  }

  /// The node at `ref`, which must hold integers.
  @inline(__always)
  func integers(_ ref: Int) throws(EngineError) -> Node {
    let node = try node(ref)
    if node.scheme != .bits { throw .damaged("expected integers", ref: ref) }
    return node
  }

  /// The node at `ref`, which must hold refs, at least `slots` of them.
  @inline(__always)
  func refs(_ ref: Int, slots: Int = 0) throws(EngineError) -> Node {
    let node = try node(ref)
    if node.scheme != .bits || !node.hasRefs || node.count < slots {
      throw .damaged("expected a node of at least \(slots) refs", ref: ref)
    }
    return node
  }
}
