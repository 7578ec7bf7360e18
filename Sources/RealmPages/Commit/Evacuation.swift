// Shrinks a file while it is in use: when most of it is free, commits allocate only below a limit and move some of the
// nodes above it, until the rest can be truncated. Source: docs/format/3-commit.md 3.10.

/// The state that slot 11 of the top array keeps between commits. An evacuation can be abandoned at any time without
/// loss.
struct Evacuation {
  /// Nothing is allocated above this offset; 0 if no evacuation is in progress.
  private(set) var limit = 0
  /// The number of commits to wait before the nodes above the limit are scanned again, or before another attempt.
  private var backoff = 0
  /// The position of the scan: a slot of the top array, then the index at each level below.
  private var progress: [Int] = []
  /// The limit of an evacuation that starts with the next commit.
  private var nextLimit: Int?
  private let group: GroupEditor

  private typealias Slots = Layout.Top

  /// The minimum size of a file to shrink.
  private static let smallestFile = 1 << 20
  /// The minimum limit: a file made smaller would grow again at once.
  private static let smallestLimit = 1 << 16
  private static let pageSize = 4096

  /// Reads the state stored in the base version. `freeListRef` is the ref of its free list.
  init(_ group: GroupEditor, freeListRef: Int) throws(EngineError) {
    self.group = group
    let top = group.slab.node(group.top)
    guard top.count > Slots.evacuation else { return }
    let element = try top.int(Slots.evacuation)
    if element & 1 != 0 {
      limit = max(0, Int(truncatingIfNeeded: element >> 1))
      return
    }
    if element == 0 { return }
    let state = try group.editor.arena.integers(Int(element))
    if state.count < 2 { throw .damaged("an evacuation state of \(state.count) elements", ref: state.ref) }
    limit = max(0, Int(truncatingIfNeeded: try state.int(0)))
    backoff = max(0, Int(truncatingIfNeeded: try state.int(1)) &- 1)
    if try state.int(1) <= 0 {
      for i in 2..<max(2, state.count) { progress.append(max(0, Int(truncatingIfNeeded: try state.int(i)))) }
    }
    if limit > 0 && freeListRef > limit { abandon() }
  }

  /// Abandons the evacuation, because the space below the limit is insufficient.
  mutating func abandon() { (limit, backoff, progress) = (0, 10, []) }

  // MARK: moving

  /// Makes about `budget` bytes of nodes above the limit dirty, so that they are written below it.
  mutating func moveNodes(budget: Int) throws(EngineError) {
    if limit == 0 || backoff > 0 { return }
    let slots = [Slots.names, Slots.tables, Slots.history]
    var scan = Scan(group: group, limit: limit, budget: budget, progress: progress)
    for slot in slots[(progress.first.flatMap { slots.firstIndex(of: $0) } ?? 0)...] {
      if try !scan.run(slot) {
        progress = scan.progress
        return
      }
    }
    // The rest above the limit is in use by readers of older versions: wait for them.
    (progress, backoff) = ([], 1000)
  }

  /// A traversal of nodes, parents before children.
  private struct Scan {
    let group: GroupEditor
    let limit: Int
    var budget: Int
    var progress: [Int]
    /// The nodes from the top array to the current one, each with the index of the next.
    private var path: [(ref: Int, index: Int)] = []

    init(group: GroupEditor, limit: Int, budget: Int, progress: [Int]) {
      (self.group, self.limit, self.budget, self.progress) = (group, limit, budget, progress)
    }

    /// Visits the tree in a slot of the top array; false if the budget is used up.
    mutating func run(_ slot: Int) throws(EngineError) -> Bool {
      if progress.first != slot { progress = [slot] }
      path = [(group.top, slot)]
      defer { path = [] }
      let ref = try group.slab.node(group.top).child(slot)
      return ref == 0 ? true : try visit(ref)
    }

    private mutating func visit(_ ref: Int) throws(EngineError) -> Bool {
      if budget < 0 { return false }
      let slab = group.slab, arena = group.editor.arena
      if path.count > 200 { throw .damaged("nodes nested more than 200 deep", ref: ref) }
      var node = try arena.node(ref)
      if !slab.owns(ref), ref + node.byteSize > limit {
        budget -= node.byteSize
        node = slab.node(try makeDirty())
      }
      guard node.hasRefs else { return true }
      budget -= node.count
      let level = path.count
      if progress.count == level { progress.append(0) }
      path.append((node.ref, 0))
      while progress[level] < node.count {
        let element = try node.int(progress[level])
        if element != 0 && element & 1 == 0 {
          path[level] = (path[level].ref, progress[level])
          if try !visit(Int(element)) { return false }
          // Making a child dirty has made its ancestors dirty.
          node = try arena.node(path[level].ref)
        }
        progress[level] += 1
      }
      path.removeLast()
      progress.removeLast(progress.count - level)
      return true
    }

    /// Makes the node at the end of the path dirty, after its ancestors.
    private mutating func makeDirty() throws(EngineError) -> Int {
      let slab = group.slab, arena = group.editor.arena
      for i in 1..<path.count where !slab.owns(path[i].ref) {
        path[i].ref = try slab.child(path[i - 1].ref, path[i - 1].index, arena)
      }
      let (parent, index) = path[path.count - 1]
      return try slab.child(parent, index, arena)
    }
  }

  // MARK: state

  /// Releases the node that holds the state of the base version.
  func clearState() throws(EngineError) {
    let slab = group.slab, slot = Slot(parent: group.top, index: Slots.evacuation)
    if slab.node(group.top).count > slot.index, slab.int(group.top, slot.index) & 1 == 0 {
      try group.editor.clear(slot)
    }
  }

  /// Computes the outcome of the commit from the free space: `withheld` above the limit, and `unused` below it. Returns
  /// the ranges that are still withheld, and the new end of the file.
  mutating func finish(
    _ withheld: [FreeRange],
    logicalSize: Int,
    _ unused: [FreeRange]
  ) throws(EngineError) -> (withheld: [FreeRange], logicalSize: Int) {
    var rest = withheld, size = logicalSize
    if limit > 0, let last = withheld.last, withheld.count == 1, last.end == logicalSize {
      // No node is left above the limit.
      size = min(logicalSize, (last.position + Self.pageSize - 1) & ~(Self.pageSize - 1))
      rest = size > last.position ? [FreeRange(position: last.position, size: size - last.position, version: 0)] : []
      (limit, backoff, progress) = (0, 0, [])
    }
    let free = (unused + rest).reduce(0) { $0 + $1.size }, used = size - free
    if limit == 0 && backoff == 0 && size >= Self.smallestFile && free > 2 * used {
      nextLimit = max(Self.smallestLimit, (used + used / 2 + Self.pageSize - 1) & ~(Self.pageSize - 1))
      // The first evacuation adds the slot.
      try group.slab.pad(group.top, to: Slots.evacuation + 1)
    }
    return (rest, size)
  }

  /// The content of the state node; empty if none is needed.
  var state: [Int64] { limit == 0 && backoff == 0 ? [] : ([limit, backoff] + progress).map { Int64($0) } }

  /// An upper bound on the size of that node in bytes.
  var maximumSize: Int { Node.size(2 + progress.count, 64) }

  /// The element in the top array; `stateRef` is the ref of the state node.
  func element(stateRef: Int) -> Int64 {
    if let nextLimit { return Int64(nextLimit) << 1 | 1 }
    return state.isEmpty ? 0 : Int64(stateRef)
  }
}
