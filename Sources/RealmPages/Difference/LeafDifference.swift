// The rows in which two leaves of a property differ, found in one pass: this takes most of the time of a comparison.

/// A set of rows of a cluster.
struct RowSet {
  private var words: InlineArray<4, UInt64> = InlineArray(repeating: 0)

  mutating func insert(_ row: Int) { words[row >> 6 & 3] |= 1 << UInt64(row & 63) }

  mutating func insertAll() { words = InlineArray(repeating: .max) }

  /// The first row from `start` on, below `end`; nil if there is none.
  func first(from start: Int, below end: Int) -> Int? {
    var row = start
    while row < end {
      let word = words[row >> 6 & 3] >> UInt64(row & 63)
      if word != 0 {
        row += word.trailingZeroBitCount
        return row < end ? row : nil
      }
      row = (row | 63) + 1
    }
    return nil
  }
}

/// The rows of one object in two clusters.
struct RowPair {
  let old: Int
  let new: Int

  /// The objects that both clusters contain.
  static func common(_ before: Cluster, _ after: Cluster) throws(EngineError) -> [RowPair] {
    var pairs: [RowPair] = []
    pairs.reserveCapacity(min(before.count, after.count))
    var row = 0, other = 0
    while row < before.count && other < after.count {
      let key = try before.key(row), otherKey = try after.key(other)
      if key == otherKey { pairs.append(RowPair(old: row, new: other)) }
      if key <= otherKey { row += 1 }
      if otherKey <= key { other += 1 }
    }
    return pairs
  }
}

extension ColumnLeaf {
  /// Adds the rows of this leaf whose values differ from those in another leaf of the same property. Equal links may
  /// still refer to embedded objects that differ, and collections with different refs may be equal.
  func addDifferences(
    to rows: inout RowSet,
    from other: ColumnLeaf,
    _ common: [RowPair],
    _ arena: Arena,
    _ otherArena: Arena
  ) throws(EngineError) {
    switch (self, other) {
    case (.ints(let node), .ints(let other)), (.bools(let node), .bools(let other)),
      (.links(let node, _, _), .links(let other, _, _)),
      (.collections(let node, _, _, _), .collections(let other, _, _, _)):
      for row in common where try node.int(row.old) != other.int(row.new) { rows.insert(row.old) }
    case (.doubles(let leaf), .doubles(let other)):
      for row in common where try leaf.raw(row.old).bitPattern != other.raw(row.new).bitPattern { rows.insert(row.old) }
    default:
      for row in common {
        let value = try value(row.old, arena), other = try other.value(row.new, otherArena)
        if !ContentComparison.scalarsAreEqual(value, other) { rows.insert(row.old) }
      }
    }
  }
}
