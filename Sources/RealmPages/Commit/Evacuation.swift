// Shrinking a file while it is in use: when most of it is free, commits write below a limit only and take along some of
// the nodes above it, until what lies above can be cut off. Source: docs/format/3-commit.md 3.10.

/// What slot 11 of the top array keeps from commit to commit. Nothing depends on it: whoever gives up loses nothing.
struct Evacuation {
  /// Nothing new is placed above; 0 while no evacuation is under way.
  private(set) var limit = 0
  /// The commits to wait before the nodes above the limit are looked at again, or before another attempt.
  private var backoff = 0
  /// How far the nodes were looked at: a slot of the top array, then the index at each level below.
  private var progress: [Int] = []
  /// The limit of an evacuation that begins with the next commit.
  private var nextLimit: Int?
  private let group: GroupEditor

  private typealias Slots = Layout.Top

  /// Smaller files stay as they are.
  private static let smallestFile = 1 << 20
  /// A file that was made very small would grow again at once.
  private static let smallestLimit = 1 << 16
  private static let pageSize = 4096

  /// The state that the version to build on was left in. `freeListRef` is where its free list lies.
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
    if limit > 0 && freeListRef > limit { giveUp() }
  }

  /// There was not enough room below the limit.
  mutating func giveUp() { (limit, backoff, progress) = (0, 10, []) }

  // MARK: moving

  /// Makes nodes above the limit dirty, so that they are written below it: about `budget` bytes of them.
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
    // What is left above is in use by readers of older versions: wait for them.
    (progress, backoff) = ([], 1000)
  }

  /// One walk over nodes, parents before children.
  private struct Scan {
    let group: GroupEditor
    let limit: Int
    var budget: Int
    var progress: [Int]
    /// The nodes from the top array to the present one, each with the index of the next.
    private var path: [(ref: Int, index: Int)] = []

    init(group: GroupEditor, limit: Int, budget: Int, progress: [Int]) {
      (self.group, self.limit, self.budget, self.progress) = (group, limit, budget, progress)
    }

    /// Walks what a slot of the top array refers to; false if the budget is used up.
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
          // A child that became dirty made its ancestors dirty.
          node = try arena.node(path[level].ref)
        }
        progress[level] += 1
      }
      path.removeLast()
      progress.removeLast(progress.count - level)
      return true
    }

    /// Makes the node that the path leads to dirty, and what is above it first.
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

  /// Gives up the node that holds the state of the former version.
  func clearState() throws(EngineError) {
    let slab = group.slab, slot = Slot(parent: group.top, index: Slots.evacuation)
    if slab.node(group.top).count > slot.index, slab.int(group.top, slot.index) & 1 == 0 {
      try group.editor.clear(slot)
    }
  }

  /// Works out how the commit ends, once it is known what of the file stays free: `withheld` above the limit, and
  /// `unused` below. Returns what is still withheld, and where the file ends now.
  mutating func finish(
    _ withheld: [FreeRange],
    logicalSize: Int,
    _ unused: [FreeRange]
  ) throws(EngineError) -> (withheld: [FreeRange], logicalSize: Int) {
    var rest = withheld, size = logicalSize
    if limit > 0, let last = withheld.last, withheld.count == 1, last.end == logicalSize {
      // Nothing is left above.
      size = min(logicalSize, (last.position + Self.pageSize - 1) & ~(Self.pageSize - 1))
      rest = size > last.position ? [FreeRange(position: last.position, size: size - last.position, version: 0)] : []
      (limit, backoff, progress) = (0, 0, [])
    }
    let free = (unused + rest).reduce(0) { $0 + $1.size }, used = size - free
    if limit == 0 && backoff == 0 && size >= Self.smallestFile && free > 2 * used {
      nextLimit = max(Self.smallestLimit, (used + used / 2 + Self.pageSize - 1) & ~(Self.pageSize - 1))
      // The slot comes with the first evacuation.
      try group.slab.pad(group.top, to: Slots.evacuation + 1)
    }
    return (rest, size)
  }

  /// What the node of the state is to hold; empty if none is needed.
  var state: [Int64] { limit == 0 && backoff == 0 ? [] : ([limit, backoff] + progress).map { Int64($0) } }

  /// An upper bound of the bytes of that node.
  var maximumSize: Int { Node.size(2 + progress.count, 64) }

  /// The element of the top array, if the node of the state is at `stateRef`.
  func element(stateRef: Int) -> Int64 {
    if let nextLimit { return Int64(nextLimit) << 1 | 1 }
    return state.isEmpty ? 0 : Int64(stateRef)
  }
}
