// Visits every node of a subtree, following the "has refs" flag without interpreting the nodes. Source:
// docs/format/1-storage.md S4.

/// Walks subtrees. Memory use is proportional to their depth times their width, not to their size.
struct TreeWalker {
  private let arena: Arena
  private var pending: [Int] = []

  init(_ arena: Arena) { self.arena = arena }

  /// Returns the total size in bytes of the nodes in the subtree at `ref`, within the budget `effort`. A subtree larger
  /// than the file throws, as it must reach some node twice.
  mutating func bytes(below ref: Int, _ effort: Effort) throws(EngineError) -> Int {
    var sum = 0
    pending = [ref]
    while let ref = pending.popLast() {
      let node = try arena.node(ref)
      try effort.spend(Node.headerSize, at: ref)
      sum += node.byteSize
      if sum > arena.maximumBytes { throw .damaged("a subtree that is larger than the file", ref: ref) }
      // With width 0 all refs are 0, whatever count a damaged header has.
      if !node.hasRefs || node.width == 0 { continue }
      for i in 0..<node.count {
        let element = try node.int(i)
        if element != 0 && element & 1 == 0 { pending.append(Int(element)) }
      }
    }
    return sum
  }
}
