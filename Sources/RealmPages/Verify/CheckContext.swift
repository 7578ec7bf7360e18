// The state shared by all checks: the nodes of the version, which of them are explained by the model, the current
// location, and the reported problems. Invariant: a node is claimed once, so no check visits it twice or runs into a
// cycle.

/// The state of one run of the verifier.
final class CheckContext {
  let snapshot: Snapshot
  let arena: Arena
  let isStrict: Bool
  private let memory: Verifier.Memory
  var summary = Verifier.Summary()

  /// The location being checked.
  struct Place {
    var part = ""
    var table = ""
    var object: Int64?
    var column = ""

    var text: String {
      var parts: [String] = []
      if !part.isEmpty { parts.append(part) }
      if !table.isEmpty { parts.append("table \(table)") }
      if let object { parts.append("object \(object)") }
      if !column.isEmpty { parts.append("\"\(column)\"") }
      return parts.joined(separator: ", ")
    }
  }

  var place = Place()

  /// The links found so far, and the number of the current column in that ledger.
  var links: LinkLedger
  var linkColumn = 0

  /// Nodes reachable from the top array, by ref / 8.
  var reached: BitSet
  /// Reachable nodes that cannot be read or overlap another, by ref / 8. They are few, and use no memory for intact
  /// files.
  var rejected: BitSet
  /// Nodes explained by some part of the model, by ref / 8.
  private(set) var explained: BitSet

  /// The number of elements of width 0 so far. They occupy no space in the file, so this limit bounds the time spent on
  /// them. An intact file has at most 1000 for each node.
  private var bitless = 0
  private static let maximumBitless = 1 << 20

  private let limit: Int
  private let deliver: (Verifier.Problem) -> Void
  private var delivered: Set<Verifier.Problem> = []

  /// The maximum number of bytes of decrypted pages in memory; nil for no limit.
  private let maximumFilled: Int?

  init(
    _ snapshot: Snapshot,
    isStrict: Bool,
    memory: Verifier.Memory,
    limit: Int,
    report: @escaping (Verifier.Problem) -> Void
  ) {
    self.snapshot = snapshot
    self.isStrict = isStrict
    self.memory = memory
    switch memory {
    case .whole: maximumFilled = nil
    case .bounded(let bytes): maximumFilled = bytes
    }
    // Real files have about one link per 4 bytes, counted at both ends.
    links = LinkLedger(naming: (1 << 20) + 4 * snapshot.logicalSize)
    arena = snapshot.arena
    reached = BitSet(count: (arena.limit + 7) / Node.alignment)
    rejected = reached
    explained = reached
    self.limit = limit
    deliver = report
  }

  /// Returns a context for a second walk over the same nodes. It reports nothing and records links in `links`.
  func again(_ links: LinkLedger) -> CheckContext {
    let context = CheckContext(snapshot, isStrict: isStrict, memory: memory, limit: 0) { _ in }
    (context.links, context.reached, context.rejected) = (links, reached, rejected)
    return context
  }

  // MARK: Problems

  /// Called before each report, so that a check with buffered entries can process these first.
  var beforeReport: (() -> Void)?

  /// Records damage, or a leftover, at the current location.
  func report(_ text: @autoclosure () -> String, ref: Int? = nil, isLeftover: Bool = false) {
    beforeReport?()
    let count = isLeftover ? \Verifier.Summary.leftovers : \Verifier.Summary.problems
    if summary[keyPath: count] >= limit {
      summary[keyPath: count] += 1
      return
    }
    let problem = Verifier.Problem(place: place.text, ref: ref, text: text(), isLeftover: isLeftover)
    if !delivered.insert(problem).inserted { return }
    summary[keyPath: count] += 1
    deliver(problem)
  }

  /// Runs `body` and reports an error that it throws.
  func guarded(_ body: () throws(EngineError) -> Void) {
    let start = place
    do { try body() } catch { report(error.problem, ref: error.ref) }
    place = start
  }

  /// Records a link from the current object and column. Key -1 means no link.
  func recordLink(to table: TableKey, _ key: ObjKey) {
    if key != .none { links.forward(linkColumn, from: place.object ?? -1, to: table, key.value) }
  }

  // MARK: Memory

  /// Counts a node that was read, to limit the resident part of the file. Views of the file stay valid.
  func noteRead(_ node: Node) { arena.space.noteRead(node.ref, node.byteSize) }

  /// Drops decrypted pages if they exceed the limit and the check is their only user. Call only while holding no views
  /// of nodes that are used afterwards. Returns true if such views must be created again.
  func dropPages() -> Bool {
    guard let maximumFilled, arena.space.filledBytes > maximumFilled else { return false }
    arena.space.dropPages()
    return true
  }

  // MARK: Claims

  /// Returns the node at `ref` and marks it as explained. Throws on a second claim, and for a node that shares bytes
  /// with another, so no byte is checked twice.
  func claim(_ ref: Int) throws(EngineError) -> Node {
    let node = try arena.node(ref)
    let granule = ref / Node.alignment
    if !reached.contains(granule) || rejected.contains(granule) {
      throw .damaged("cannot be distinguished from its surroundings", ref: ref)
    }
    if node.payloadSize == 0 {
      bitless += node.count
      if bitless > Self.maximumBitless + arena.limit * 125 {
        throw .damaged("\(node.count) elements without a bit, after many others", ref: ref)
      }
    }
    if !explained.insert(granule) { throw .damaged("belongs to more than one parent", ref: ref) }
    noteRead(node)
    return node
  }

  /// Claims a node of plain integers.
  func integers(_ ref: Int) throws(EngineError) -> Node {
    let node = try claim(ref)
    try expect(node, .bits, hasRefs: false)
    return node
  }

  /// Claims a node of refs whose number of slots is in `slots`.
  func refs(_ ref: Int, _ slots: ClosedRange<Int> = 0...0xFF_FFFF, context: Bool = false) throws(EngineError) -> Node {
    let node = try claim(ref)
    try expect(node, .bits, hasRefs: true, context: context)
    if !slots.contains(node.count) { throw .damaged("has \(node.count) slots instead of \(slots)", ref: ref) }
    return node
  }

  /// Claims a node of a search index: keys in the first slot, an entry for each key in the others. The node is `levels`
  /// sub-indexes below the root, and `depth` inner nodes below the top of its sub-index.
  func indexNode(_ ref: Int, levels: Int, depth: Int) throws(EngineError) -> (node: Node, keys: Node) {
    let node = try claim(ref)
    try expect(node, .bits, hasRefs: true, inner: node.isInner, context: true)
    if node.count == 0 || depth == Self.maximumIndexDepth || levels > Self.maximumIndexLevels {
      throw .damaged("an index node of \(node.count) slots, \(levels) levels deep", ref: ref)
    }
    let keys = try integers(node.child(0))
    if keys.count != node.count - 1 {
      throw .damaged("\(keys.count) keys for \(node.count - 1) entries", ref: ref)
    }
    return (node, keys)
  }

  /// The maximum number of nested sub-indexes, sufficient for the longest words of about 200 bytes.
  static let maximumIndexLevels = 80
  /// The maximum number of nested inner nodes within one level.
  private static let maximumIndexDepth = 12

  /// Claims a subtree without interpreting it.
  func claimAll(below ref: Int) throws(EngineError) {
    var pending = [ref]
    while let ref = pending.popLast() {
      let node = try claim(ref)
      if !node.hasRefs { continue }
      for i in 0..<node.count {
        let element = try node.int(i)
        if element != 0 && element & 1 == 0 { pending.append(Int(element)) }
      }
    }
  }

  /// Throws if the node has other flags.
  func expect(
    _ node: Node,
    _ scheme: WidthScheme,
    hasRefs: Bool,
    inner: Bool = false,
    context: Bool = false
  ) throws(EngineError) {
    if node.scheme != scheme || node.hasRefs != hasRefs || node.isInner != inner || node.hasContext != context {
      throw .damaged(
        "unexpected flags: scheme \(node.scheme), has refs \(node.hasRefs), inner \(node.isInner),"
          + " context \(node.hasContext)",
        ref: node.ref
      )
    }
  }
}
