// Finds objects by value through a search index. Source: docs/format/2-model.md M10.

/// A general search index. Entries are hints: the caller confirms every hit against the object, because real files
/// contain stale entries (docs/format/2-model.md M15).
struct SearchIndex {
  let arena: Arena
  let rootRef: Int

  /// No sub-index begins beyond this offset into a value.
  private static let maximumOffset = 200
  /// The maximum number of inner levels at one offset, with up to 1000 entries per node.
  private static let maximumDepth = 12

  /// Returns the first object listed for `value` for which `isMatch` returns true; nil if there is none. Cost:
  /// O(log n).
  func first(
    _ value: ValueView,
    where isMatch: (ObjKey) throws(EngineError) -> Bool
  ) throws(EngineError) -> ObjKey? {
    let data = IndexData(value.stored(arena))
    var ref = rootRef
    for offset in stride(from: 0, through: Self.maximumOffset + 4, by: 4) {
      guard let entry = try entry(ref, data.key(offset)) else { return nil }
      if entry & 1 != 0 {
        let found = ObjKey(Int64(bitPattern: UInt64(bitPattern: entry) >> 1))
        return try isMatch(found) ? found : nil
      }
      let node = try arena.node(Int(entry))
      if !node.hasContext {
        let keys = try ElementReader(arena, node.ref, ElementType(.int, isNullable: false))
        var last = Int64.min, seen: Set<Int64>?
        for i in 0..<keys.count {
          let value = try keys.integer(at: i)
          if value <= last, seen == nil {
            // Keys out of order: different values (long strings with a common prefix) share this entry, and it is
            // sorted by value.
            var before: Set<Int64> = []
            for j in 0..<i { before.insert(try keys.integer(at: j)) }
            seen = before
          }
          // An object listed twice means damage. Continuing to read could take arbitrarily long.
          if seen?.insert(value).inserted == false {
            throw .damaged("an index entry has an object twice", ref: node.ref)
          }
          last = value
          if try isMatch(ObjKey(value)) { return ObjKey(value) }
        }
        return nil
      }
      ref = node.ref
    }
    return nil
  }

  /// Returns all objects listed for `value` for which `isMatch` returns true, in ascending order. Cost:
  /// O(log n + hits).
  func all(_ value: ValueView, where isMatch: (ObjKey) throws(EngineError) -> Bool) throws(EngineError) -> [ObjKey] {
    var found: [ObjKey] = []
    // Uses the walk of `first`, which continues until a match.
    if let last = try first(
      value,
      where: { (object) throws(EngineError) in
        if try isMatch(object) { found.append(object) }
        return false
      }
    ) {
      found.append(last)
    }
    return found.sorted()
  }

  /// Returns one object for each value that the index distinguishes: the first of each entry for which `isMatch`,
  /// called with the index keys on the path to the entry, returns true. Returns nil if there are more than `limit`
  /// entries. Cost: O(1) per entry.
  func representatives(
    limit: Int,
    where isMatch: (ObjKey, [Int32]) throws(EngineError) -> Bool
  ) throws(EngineError) -> [ObjKey]? {
    var found: [ObjKey] = [], path: [Int32] = [], left = limit
    let isWhole = try collect(rootRef, depth: 0, &path, &left) { (key, path) throws(EngineError) in
      let isConfirmed = try isMatch(key, path)
      if isConfirmed { found.append(key) }
      return isConfirmed
    }
    return isWhole ? found : nil
  }

  /// Visits the entries below the index node at `ref`. Returns false once `left` is used up. `take` returns true if no
  /// further object of the entry is needed.
  private func collect(
    _ ref: Int,
    depth: Int,
    _ path: inout [Int32],
    _ left: inout Int,
    _ take: (ObjKey, [Int32]) throws(EngineError) -> Bool
  ) throws(EngineError) -> Bool {
    if depth > Self.maximumDepth || 4 * path.count > Self.maximumOffset + 4 {
      throw .damaged("the index is too deep", ref: ref)
    }
    let node = try arena.refs(ref, slots: 1)
    let keys = try arena.integers(node.child(0))
    if !node.hasContext || keys.count != node.count - 1 { throw .damaged("expected an index node", ref: ref) }
    for i in 0..<keys.count {
      left -= 1
      if left < 0 { return false }
      if node.isInner {
        if try !collect(node.child(i + 1), depth: depth + 1, &path, &left, take) { return false }
        continue
      }
      let entry = try node.int(i + 1)
      path.append(Int32(truncatingIfNeeded: try keys.int(i)))
      defer { path.removeLast() }
      if entry & 1 != 0 {
        _ = try take(ObjKey(Int64(bitPattern: UInt64(bitPattern: entry) >> 1)), path)
        continue
      }
      let below = try arena.node(Int(entry))
      if below.hasContext {
        if try !collect(below.ref, depth: 0, &path, &left, take) { return false }
        continue
      }
      let objects = try ElementReader(arena, below.ref, ElementType(.int, isNullable: false))
      // After the last offset, different values share an entry.
      let isShared = 4 * path.count > Self.maximumOffset
      for j in 0..<objects.count {
        guard case .int(let key) = try objects.value(at: j) else { continue }
        if j > 0 { left -= 1 }
        if left < 0 { return false }
        if try take(ObjKey(key), path), !isShared { break }
      }
    }
    return true
  }

  /// Returns the entry for `word` below the index node at `ref`; nil if there is none.
  func entry(_ ref: Int, _ word: Int32) throws(EngineError) -> Int64? {
    var node = try arena.refs(ref, slots: 1)
    for _ in 0..<Self.maximumDepth {
      let keys = try arena.integers(node.child(0))
      if !node.hasContext || keys.count != node.count - 1 {
        throw .damaged("expected an index node", ref: node.ref)
      }
      let low = try keys.lowerBound(word)
      if low == keys.count { return nil }
      if !node.isInner { return try keys.int(low) == Int64(word) ? try node.int(low + 1) : nil }
      node = try arena.refs(node.child(low + 1), slots: 1)
    }
    throw .damaged("the index is deeper than \(Self.maximumDepth) levels", ref: ref)
  }
}
