// Finding objects by value through a search index. Source: docs/format/2-model.md M10.

/// A general search index, read as a hint: every hit is confirmed by the caller against the object, because real files
/// hold stale entries (docs/format/2-model.md M15).
struct SearchIndex {
  let arena: Arena
  let rootRef: Int

  /// No sub-index begins beyond this offset of a value.
  private static let maximumOffset = 200
  /// Inner levels at one offset: 1000 entries a node.
  private static let maximumDepth = 12

  /// The first object listed for `value` that `isMatch` confirms; nil if there is none. Cost O(log n).
  func first(
    _ value: ValueView,
    where isMatch: (ObjKey) throws(FormatError) -> Bool
  ) throws(FormatError) -> ObjKey? {
    let data = IndexData(value)
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
        var last = Int64.min
        for i in 0..<keys.count {
          guard case .int(let value) = try keys.value(at: i) else { continue }
          // Each object once: more would be the work of a damaged file.
          if value <= last { throw FormatError("the keys of an index entry are out of order", ref: node.ref) }
          last = value
          if try isMatch(ObjKey(value)) { return ObjKey(value) }
        }
        return nil
      }
      ref = node.ref
    }
    return nil
  }

  /// All objects listed for `value` that `isMatch` confirms, in ascending order. Cost O(log n) and the number of hits.
  func all(_ value: ValueView, where isMatch: (ObjKey) throws(FormatError) -> Bool) throws(FormatError) -> [ObjKey] {
    var found: [ObjKey] = []
    // The walk of `first`, which goes on as long as nothing is confirmed.
    if let last = try first(
      value,
      where: { (object) throws(FormatError) in
        if try isMatch(object) { found.append(object) }
        return false
      }
    ) {
      found.append(last)
    }
    return found.sorted()
  }

  /// The entry for `word` below the index node at `ref`; nil if there is none.
  func entry(_ ref: Int, _ word: Int32) throws(FormatError) -> Int64? {
    var node = try arena.refs(ref, slots: 1)
    for _ in 0..<Self.maximumDepth {
      let keys = try arena.integers(node.child(0))
      if !node.hasContext || keys.count != node.count - 1 {
        throw FormatError("expected an index node", ref: node.ref)
      }
      let low = try keys.lowerBound(word)
      if low == keys.count { return nil }
      if !node.isInner { return try keys.int(low) == Int64(word) ? try node.int(low + 1) : nil }
      node = try arena.refs(node.child(low + 1), slots: 1)
    }
    throw FormatError("the index is deeper than \(Self.maximumDepth) levels", ref: ref)
  }
}
