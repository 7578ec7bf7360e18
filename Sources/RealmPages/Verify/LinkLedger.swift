// Links and backlinks, column by column: for every column the multiset of links equals the multiset of backlinks.
// Source: docs/format/2-model.md M7.

/// Gathers the links and backlinks of all tables and compares them.
struct LinkLedger {
  /// The column that links start from.
  private struct Origin: Hashable {
    let table: TableKey
    let column: ColKey
  }

  /// One link, seen from either end.
  private struct Link: Comparable {
    let table: UInt32
    let target: Int64
    let origin: Int64

    static func < (a: Link, b: Link) -> Bool {
      a.table != b.table ? a.table < b.table : a.target != b.target ? a.target < b.target : a.origin < b.origin
    }
  }

  private struct Column {
    let origin: Origin
    var forward: [Link] = []
    var backward: [Link] = []
  }

  private var positions: [Origin: Int] = [:]
  private var columns: [Column] = []

  /// The number by which `forward` and `backward` name a column.
  mutating func number(_ table: TableKey, _ column: ColKey) -> Int {
    let origin = Origin(table: table, column: column)
    if let position = positions[origin] { return position }
    positions[origin] = columns.count
    columns.append(Column(origin: origin))
    return columns.count - 1
  }

  /// Records a link as its origin has it.
  mutating func forward(_ column: Int, from origin: Int64, to table: TableKey, _ target: Int64) {
    columns[column].forward.append(Link(table: table.value, target: target, origin: origin))
  }

  /// Records a link as its target has it.
  mutating func backward(_ column: Int, from origin: Int64, to table: TableKey, _ target: Int64) {
    columns[column].backward.append(Link(table: table.value, target: target, origin: origin))
  }

  /// Reports every link whose two ends disagree. `tables` are those of the snapshot. Cost O(n log n).
  mutating func compare(_ context: CheckContext, tables: [TableKey: Table]) {
    for i in columns.indices {
      // Taken out, so that both are sorted in place and given back before the next column.
      var forward: [Link] = [], backward: [Link] = []
      swap(&forward, &columns[i].forward)
      swap(&backward, &columns[i].backward)
      forward.sort()
      backward.sort()
      if forward == backward { continue }
      report(columns[i].origin, forward, backward, context, tables)
    }
  }

  private func report(
    _ origin: Origin,
    _ forward: [Link],
    _ backward: [Link],
    _ context: CheckContext,
    _ tables: [TableKey: Table]
  ) {
    var f = 0, b = 0
    while f < forward.count || b < backward.count {
      let link = b == backward.count || f < forward.count && forward[f] < backward[b] ? forward[f] : backward[b]
      let firstForward = f, firstBackward = b
      while f < forward.count, forward[f] == link { f += 1 }
      while b < backward.count, backward[b] == link { b += 1 }
      if f - firstForward == b - firstBackward { continue }
      let table = tables[origin.table], target = tables[TableKey(link.table)]
      context.place = CheckContext.Place(
        table: table?.name ?? "of key \(origin.table)",
        object: link.origin,
        column: table?.columns.first { $0.key == origin.column }?.name ?? ""
      )
      let name = target?.name ?? "the missing table \(link.table)"
      if let target, (try? exists(link.target, in: target)) ?? true {  // an unreadable tree is reported elsewhere
        context.report("\(f - firstForward) links to \(name) \(link.target), \(b - firstBackward) backlinks from there")
      } else {
        context.report("links to \(name) \(link.target), which does not exist")
      }
    }
    context.place = CheckContext.Place()
  }

  private func exists(_ key: Int64, in table: Table) throws(FormatError) -> Bool {
    try ObjectCursor(table).seek(ObjKey(key))
  }
}
