// Search indexes of formats 2 to 9: every row is listed once and, since format 5, under the words of its value. Source:
// v5.23.9 index_string.hpp. Older versions derived the words differently.

/// Checks the search index of one column.
final class LegacyIndexCheck {
  private let context: CheckContext
  private let reader: LegacyReader
  private let isOldDate: Bool
  private let count: Int
  private var seen: BitSet
  private var path: [Int32] = []

  /// Since this format, an 'X' marks the end of a value, as in current formats.
  private static let firstFormatOfWords = 5

  init(_ context: CheckContext, _ reader: LegacyReader, _ column: LegacyColumn) {
    self.context = context
    self.reader = reader
    // An impossible column size is reported by the check of its tree.
    count = min(reader.count, context.arena.limit)
    isOldDate = if case .oldDate = column.kind { true } else { false }
    seen = BitSet(count: count)
  }

  /// Claims and checks the index at `ref`.
  func run(_ ref: Int) throws(EngineError) {
    let problems = context.summary.problems
    _ = try walk(ref, depth: 0)
    if context.summary.problems != problems { return }
    let missing = seen.first(false, from: 0)
    if missing < count { context.report("row \(missing) is missing from the index", ref: ref) }
  }

  /// Checks the node at `ref` and everything below it. Returns its last key.
  private func walk(_ ref: Int, depth: Int) throws(EngineError) -> Int64? {
    let (node, keys) = try context.indexNode(ref, levels: path.count, depth: depth)
    var last: Int64?
    for i in 0..<keys.count {
      let key = try keys.int(i)
      if let last, key <= last { context.report("the keys of an index node are out of order", ref: ref) }
      last = key
      if node.isInner {
        if try walk(node.child(i + 1), depth: depth + 1) != key {
          context.report("key \(i) is not the last key of its child", ref: ref)
        }
      } else {
        path.append(Int32(truncatingIfNeeded: key))
        try entry(node.int(i + 1), ref)
        path.removeLast()
      }
    }
    return last
  }

  private func entry(_ element: Int64, _ ref: Int) throws(EngineError) {
    if element & 1 != 0 { return try row(ObjKey(tagged: element).value, ref) }
    if try context.arena.node(Int(element)).hasContext {
      _ = try walk(Int(element), depth: 0)
      return
    }
    _ = try TreeCheck(context).check(Int(element)) { (leafRef, _) throws(EngineError) in
      let leaf = try context.integers(leafRef)
      // Zeros occupy no space, so a damaged header can claim millions of them.
      if leaf.count > count { throw .damaged("\(leaf.count) rows in the index, where \(count) exist", ref: leafRef) }
      for i in 0..<leaf.count { try row(leaf.int(i), leafRef) }
      return leaf.count
    }
  }

  private func row(_ row: Int64, _ ref: Int) throws(EngineError) {
    if row < 0 || row >= count { throw .damaged("row \(row) is in the index, but does not exist", ref: ref) }
    if !seen.insert(Int(row)) { return context.report("row \(row) is in the index twice", ref: ref) }
    guard context.arena.format >= Self.firstFormatOfWords else { return }
    var value = try reader.value(Int(row))
    if isOldDate, case .date(let date) = value { value = .int(date.seconds) }
    let data = IndexData(value)
    for (level, word) in path.enumerated() where data.key(4 * level) != word {
      context.report("row \(row) is in the index under another value", ref: ref)
      break
    }
  }
}
