// Visits every node of a subtree by the flag "has refs" alone, without knowing what it means. Source:
// docs/format/1-storage.md S4.

/// Walks subtrees. Memory grows with their depth times their width, not with their size.
struct TreeWalker {
  private let arena: Arena
  private var pending: [Int] = []

  init(_ arena: Arena) { self.arena = arena }

  /// The bytes of all nodes of the subtree at `ref`, paid for with `effort`. A subtree larger than the file is an
  /// error: some node is reached twice.
  mutating func bytes(below ref: Int, _ effort: Effort) throws(EngineError) -> Int {
    var sum = 0
    pending = [ref]
    while let ref = pending.popLast() {
      let node = try arena.node(ref)
      try effort.spend(Node.headerSize, at: ref)
      sum += node.byteSize
      if sum > arena.maximumBytes { throw .damaged("a subtree that is larger than the file", ref: ref) }
      // Without bits all refs are 0, however many a damaged header counts.
      if !node.hasRefs || node.width == 0 { continue }
      for i in 0..<node.count {
        let element = try node.int(i)
        if element != 0 && element & 1 == 0 { pending.append(Int(element)) }
      }
    }
    return sum
  }
}
