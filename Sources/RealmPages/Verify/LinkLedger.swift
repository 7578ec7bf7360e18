// Links and backlinks, column by column: for every column the multiset of links equals the multiset of backlinks.
// Source: docs/format/2-model.md M7.

/// Gathers the links and backlinks of all tables and compares them, one by one or by sums of hashes.
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

    /// A hash of 64 bits that spreads over all of them.
    func hash(_ seed: UInt64) -> UInt64 {
      [UInt64(table), UInt64(bitPattern: target), UInt64(bitPattern: origin)].reduce(seed) { hash, part in
        var mixed = (hash ^ part) &* 0x9E37_79B9_7F4A_7C15
        mixed = (mixed ^ mixed >> 32) &* 0xD6E8_FEB8_6659_FD93
        return mixed ^ mixed >> 29
      }
    }
  }

  /// Links less backlinks: 0 if each has its other end, whatever their order, and hardly ever otherwise.
  private struct Balance: Equatable {
    var first: UInt64 = 0, second: UInt64 = 0

    mutating func add(_ link: Link) {
      first &+= link.hash(1)
      second &+= link.hash(2)
    }

    mutating func subtract(_ link: Link) {
      first &-= link.hash(1)
      second &-= link.hash(2)
    }
  }

  private struct Tally {
    let origin: Origin
    var forward: [Link] = []
    var backward: [Link] = []
    var balance = Balance()

    /// Keeps the sums of the links only.
    mutating func condense() {
      for link in forward { balance.add(link) }
      for link in backward { balance.subtract(link) }
      (forward, backward) = ([], [])
    }
  }

  private var positions: [Origin: Int] = [:]
  private var columns: [Tally] = []
  /// How many more links may be kept; below 0 when there were more, and only sums are.
  private var room: Int

  /// A ledger that keeps so many links, each seen from one end, to name those that are wrong. Of more it has only the
  /// sums, in constant memory: links without a bit would take any amount of it.
  init(keeping maximum: Int) { room = maximum }

  /// Whether one more link is kept.
  private mutating func keepsOne() -> Bool {
    if room < 0 { return false }
    room -= 1
    if room >= 0 { return true }
    for i in columns.indices { columns[i].condense() }
    return false
  }

  /// The number by which `forward` and `backward` name a column.
  mutating func number(_ table: TableKey, _ column: ColKey) -> Int {
    let origin = Origin(table: table, column: column)
    if let position = positions[origin] { return position }
    positions[origin] = columns.count
    columns.append(Tally(origin: origin))
    return columns.count - 1
  }

  /// Records a link as its origin has it.
  mutating func forward(_ column: Int, from origin: Int64, to table: TableKey, _ target: Int64) {
    let link = Link(table: table.value, target: target, origin: origin)
    if keepsOne() { columns[column].forward.append(link) } else { columns[column].balance.add(link) }
  }

  /// Records a link as its target has it.
  mutating func backward(_ column: Int, from origin: Int64, to table: TableKey, _ target: Int64) {
    let link = Link(table: table.value, target: target, origin: origin)
    if keepsOne() { columns[column].backward.append(link) } else { columns[column].balance.subtract(link) }
  }

  /// Reports every link whose two ends disagree. `tables` are those of the snapshot. Cost O(n log n).
  mutating func compare(_ context: CheckContext, tables: [TableKey: Table]) {
    for i in columns.indices {
      // Backlinks of a property that is gone: reported with the schema.
      guard property(columns[i].origin, tables) != nil else { continue }
      if columns[i].balance != Balance() {
        context.place = place(of: columns[i].origin, tables)
        context.report("links and backlinks differ")
        context.place = CheckContext.Place()
      }
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
      let target = tables[TableKey(link.table)]
      context.place = place(of: origin, tables)
      context.place.object = link.origin
      let name = target?.name ?? "the missing table \(link.table)"
      if let target, (try? exists(link.target, in: target)) ?? true {  // an unreadable tree is reported elsewhere
        let links = f - firstForward, backlinks = b - firstBackward
        // Realm's own engine forgets those of collections within Mixed values, and those that an unresolved object has
        // of a class that is cleared (docs/format/2-model.md M15).
        let isStale =
          backlinks > links && (property(origin, tables)?.type == .mixed || ObjKey(link.target).isUnresolved)
        context.report(
          "\(links) links to \(name) \(link.target), \(backlinks) backlinks from there",
          isLeftover: isStale
        )
      } else {
        context.report("links to \(name) \(link.target), which does not exist")
      }
    }
    context.place = CheckContext.Place()
  }

  private func property(_ origin: Origin, _ tables: [TableKey: Table]) -> Column? {
    tables[origin.table]?.columns.first { $0.key == origin.column }
  }

  private func place(of origin: Origin, _ tables: [TableKey: Table]) -> CheckContext.Place {
    CheckContext.Place(
      table: tables[origin.table]?.name ?? "of key \(origin.table)",
      column: property(origin, tables)?.name ?? ""
    )
  }

  private func exists(_ key: Int64, in table: Table) throws(EngineError) -> Bool {
    try ObjectCursor(table).seek(ObjKey(key))
  }
}
