// The storage below the model: the file header, all reachable nodes, and the free list. Invariant: header, nodes and
// free space tile the logical size without gaps or overlaps. Source: docs/format/1-storage.md S2 to S4.

/// Checks that do not require knowing what nodes represent.
struct SpaceCheck {
  private let context: CheckContext
  private var arena: Arena { context.arena }
  private var top: TopArray { context.snapshot.top }

  init(_ context: CheckContext) { self.context = context }

  func run() {
    checkHeader()
    guard top.ref != 0 else { return }
    context.place.part = "storage"
    var covered = BitSet(count: context.reached.count)
    // The file header occupies the first granules. A limit below its size has no room for a top array.
    _ = covered.insert(0..<min(covered.count, Arena.fileHeaderSize / Node.alignment))
    walk(&covered)
    context.place.part = "free list"
    context.guarded { () throws(EngineError) in try markFree(&covered) }
    context.place.part = "storage"
    checkGaps(covered)
    context.place.part = ""
  }

  // MARK: Header

  private func checkHeader() {
    context.place.part = "header"
    let space = arena.space
    let reserved = space.byte(at: Layout.Header.reserved), flags = space.byte(at: Layout.Header.flags)
    if reserved != 0 { context.report("byte 22 is \(reserved) instead of 0") }
    if flags & ~1 != 0 { context.report("unknown bits in the flags \(flags)") }
    let first = space.word(at: Layout.Header.topRef(0)), second = space.word(at: Layout.Header.topRef(1))
    let other = flags & 1 == 0 ? second : first
    if context.snapshot.isStreamingForm {
      // An interrupted conversion has already written it.
      if second != 0 && second != UInt64(top.ref) { context.report("the streaming form with a second top ref") }
    } else if other % 8 != 0 && other != .max {
      context.report("the top ref of the other slot, \(other), is not aligned")
    } else if ![0, Header.firstCommitMark >> 48, .max >> 48].contains(other >> 48) {
      // An interrupted write leaves a part of a ref over the mark, or over the value of the streaming form.
      context.report("the top ref of the other slot, \(other), is beyond any file")
    }
    if space.size % 8 != 0 { context.report("a file of \(space.size) bytes, not a multiple of 8") }
    if arena.limit % 8 != 0 { context.report("the logical size \(arena.limit) is not a multiple of 8") }
    context.place.part = ""
  }

  // MARK: Nodes

  /// Visits every node, following only the "has refs" flag. Does not follow the refs of a node that overlaps another,
  /// so each byte is checked once.
  private func walk(_ covered: inout BitSet) {
    var pending = [(ref: top.ref, parent: 0, slot: 0)]
    _ = context.reached.insert(top.ref / Node.alignment)
    while let (ref, parent, slot) = pending.popLast() {
      do throws(EngineError) {
        let node = try arena.node(ref)
        context.summary.nodes += 1
        context.summary.bytes += node.byteSize
        context.noteRead(node)
        let start = ref / Node.alignment
        if let taken = covered.insert(start..<start + node.byteSize / Node.alignment) {
          throw .damaged("of \(node.byteSize) bytes overlaps what is used at \(taken * Node.alignment)", ref: ref)
        }
        if node.hasDamagedMark { context.report("one of the bytes \"AAAA\" that it begins with was changed", ref: ref) }
        if node.isInner && !node.hasRefs { throw .damaged("an inner node without refs", ref: ref) }
        if node.hasRefs { try follow(node, &pending) }
      } catch {
        _ = context.rejected.insert(ref / Node.alignment)
        let origin = parent == 0 ? "the top array" : "slot \(slot) of the node at \(parent)"
        context.report("\(error.problem) (\(origin) leads here)", ref: error.ref)
      }
      _ = context.dropPages()
    }
  }

  private func follow(_ node: Node, _ pending: inout [(ref: Int, parent: Int, slot: Int)]) throws(EngineError) {
    if node.scheme != .bits { throw .damaged("refs of scheme \(node.scheme)", ref: node.ref) }
    var magnitudes: UInt64 = 0, isNegative = false
    var bad: (slot: Int, value: Int64, isKnown: Bool)?
    for i in 0..<(node.width == 0 ? 0 : node.count) {
      let element = try node.int(i)
      magnitudes |= UInt64(bitPattern: element < 0 ? ~element : element)
      if element < 0 { isNegative = true }
      if element == 0 || element & 1 != 0 { continue }
      if element % 8 != 0 || element < Int64(Arena.fileHeaderSize) || element > Int64(arena.limit - Node.headerSize) {
        bad = bad ?? (i, element, false)
      } else if context.reached.insert(Int(element) / Node.alignment) {
        pending.append((Int(element), node.ref, i))
      } else {
        bad = bad ?? (i, element, true)
      }
    }
    if let bad {
      context.report(
        bad.isKnown
          ? "slot \(bad.slot) leads to \(bad.value), which another slot leads to as well"
          : "slot \(bad.slot) leads to \(bad.value), which is not aligned or outside of the file",
        ref: node.ref
      )
    }
    // The width of the top array is chosen before its elements are known.
    if node.ref != top.ref && Int(node.width) != Self.width(magnitudes, isNegative) {
      context.report("\(node.width) bits an element are not the fewest for its refs", ref: node.ref)
    }
  }

  /// Returns the minimum width of integers, given the bitwise or of their magnitudes.
  private static func width(_ magnitudes: UInt64, _ isNegative: Bool) -> Int {
    if !isNegative && magnitudes < 16 { return magnitudes < 2 ? Int(magnitudes) : magnitudes < 4 ? 2 : 4 }
    return magnitudes >> 31 != 0 ? 64 : magnitudes >> 15 != 0 ? 32 : magnitudes >> 7 != 0 ? 16 : 8
  }

  // MARK: Free space

  private func markFree(_ covered: inout BitSet) throws(EngineError) {
    let refs = top.freeRefs
    if refs[0] == 0 {
      if refs[1] != 0 || refs[2] != 0 { context.report("sizes or versions without positions") }
      return
    }
    let positions = try arena.integers(refs[0]), sizes = try arena.integers(refs[1])
    let versions = refs[2] == 0 ? nil : try arena.integers(refs[2])
    if sizes.count != positions.count || versions.map({ $0.count != positions.count }) ?? false {
      throw .damaged("positions, sizes and versions differ in number", ref: refs[0])
    }
    // Reject these, because entries of width 0 occupy no space, which makes their number unbounded.
    if positions.width == 0 && positions.count != 0 { throw .damaged("free space at 0", ref: refs[0]) }
    var last: Int64 = 0
    for i in 0..<positions.count {
      let position = try positions.int(i), size = try sizes.int(i), version = try versions?.int(i) ?? 0
      if position <= last { context.report("entry \(i) is not sorted by position") }
      last = position
      if context.snapshot.fileFormat >= 10 && (version < 0 || UInt64(version) > context.snapshot.version) {
        context.report("entry \(i) has version \(version), but the file is at \(context.snapshot.version)")
      }
      let start = Int64(Arena.fileHeaderSize), limit = Int64(arena.limit)
      guard position % 8 == 0, size % 8 == 0, size > 0, position >= start, position <= limit, size <= limit - position
      else {
        context.report("entry \(i): \(size) bytes at \(position)")
        continue
      }
      context.summary.freeBytes += Int(size)
      let granule = Int(position) / Node.alignment
      if let taken = covered.insert(granule..<granule + Int(size) / Node.alignment) {
        context.report("entry \(i): \(size) bytes at \(position) are not free at \(taken * Node.alignment)")
      }
    }
  }

  private func checkGaps(_ covered: BitSet) {
    var at = covered.first(false, from: 0)
    while at < covered.count {
      let end = covered.first(true, from: at)
      context.report("\((end - at) * Node.alignment) bytes at \(at * Node.alignment) are neither used nor free")
      at = covered.first(false, from: end)
    }
  }
}
