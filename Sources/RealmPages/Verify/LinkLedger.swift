// Links and backlinks, column by column: for every column the multiset of links equals the multiset of backlinks.
// Source: docs/format/2-model.md M7.
//
// Sums of hashes tell that they are equal, in constant memory. Where they are not, the objects are walked a second time
// for the links whose sums differ, which are few unless most are wrong.

/// Gathers the links and backlinks of all tables and compares them.
struct LinkLedger {
  /// The column that links start from.
  fileprivate struct Origin: Hashable {
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

    @inline(__always)
    func hashes(_ seed: UInt64) -> (UInt64, UInt64) { (hash(seed), hash(~seed)) }

    /// A hash of 64 bits that spreads over all of them.
    @inline(__always)
    func hash(_ seed: UInt64) -> UInt64 {
      var hash = Self.mix(seed ^ UInt64(table))
      hash = Self.mix(hash ^ UInt64(bitPattern: target))
      return Self.mix(hash ^ UInt64(bitPattern: origin))
    }

    @inline(__always)
    private static func mix(_ value: UInt64) -> UInt64 {
      var mixed = value &* 0x9E37_79B9_7F4A_7C15
      mixed = (mixed ^ mixed >> 32) &* 0xD6E8_FEB8_6659_FD93
      return mixed ^ mixed >> 29
    }
  }

  /// Links less backlinks: 0 if each has its other end, whatever their order, and hardly ever otherwise.
  private struct Balance: Equatable {
    var first: UInt64 = 0, second: UInt64 = 0

    @inline(__always)
    mutating func count(_ hashes: (UInt64, UInt64), isBackward: Bool) {
      first = isBackward ? first &- hashes.0 : first &+ hashes.0
      second = isBackward ? second &- hashes.1 : second &+ hashes.1
    }
  }

  private struct Tally {
    let origin: Origin
    /// Where the hashes of its links begin, so that no other column makes up for one that is missing.
    let seed: UInt64
    var balance = Balance()
    /// Whether links are kept, in the second walk.
    var isWanted = false
    var forward: [Link] = []
    var backward: [Link] = []
  }

  /// What a second walk looks for.
  private struct Suspects {
    let origins: Set<Origin>
    /// Whether the sums of a bucket differ.
    let buckets: [Bool]
  }

  private var positions: [Origin: Int] = [:]
  private var columns: [Tally] = []
  /// The balance of all columns, by the hash of the link; empty in the second walk.
  private var buckets: [Balance] = []
  private var suspects: Suspects?
  /// How many more links, each seen from one end, may come and be named if they are wrong. Links without a bit would
  /// otherwise take any amount of memory.
  private var room: Int

  private static let bucketCount = 1 << 12

  /// A ledger for the first walk. Of more than `maximum` links only the property is named if one is wrong.
  init(naming maximum: Int) {
    room = maximum
    buckets = Array(repeating: Balance(), count: Self.bucketCount)
  }

  /// A ledger for the second walk.
  private init(_ suspects: Suspects) {
    room = 0
    self.suspects = suspects
  }

  /// The number by which `forward` and `backward` name a column.
  mutating func number(_ table: TableKey, _ column: ColKey) -> Int {
    let origin = Origin(table: table, column: column)
    if let position = positions[origin] { return position }
    positions[origin] = columns.count
    let seed = Link(table: table.value, target: column.value, origin: 0).hash(0)
    columns.append(Tally(origin: origin, seed: seed, isWanted: suspects?.origins.contains(origin) ?? false))
    return columns.count - 1
  }

  /// Records a link as its origin has it.
  mutating func forward(_ column: Int, from origin: Int64, to table: TableKey, _ target: Int64) {
    record(Link(table: table.value, target: target, origin: origin), column, isBackward: false)
  }

  /// Records a link as its target has it.
  mutating func backward(_ column: Int, from origin: Int64, to table: TableKey, _ target: Int64) {
    record(Link(table: table.value, target: target, origin: origin), column, isBackward: true)
  }

  @inline(__always)
  private mutating func record(_ link: Link, _ column: Int, isBackward: Bool) {
    let hashes = link.hashes(columns[column].seed)
    let bucket = Int(hashes.0 >> 52)
    if let suspects {
      if !columns[column].isWanted || !suspects.buckets[bucket] { return }
      if isBackward { columns[column].backward.append(link) } else { columns[column].forward.append(link) }
    } else {
      room -= 1
      columns[column].balance.count(hashes, isBackward: isBackward)
      buckets[bucket].count(hashes, isBackward: isBackward)
    }
  }

  /// Reports every link whose two ends disagree. `tables` are those of the snapshot. `walkAgain` records all links
  /// once more, in a ledger that is given, and is called only if there are such.
  mutating func compare(
    _ context: CheckContext,
    tables: [TableKey: Table],
    walkAgain: (LinkLedger) -> LinkLedger
  ) {
    // Backlinks of a property that is gone: reported with the schema.
    let origins = columns.filter { $0.balance != Balance() && property($0.origin, tables) != nil }.map(\.origin)
    if origins.isEmpty { return }
    if room < 0 {
      for origin in origins {
        context.place = place(of: origin, tables)
        context.report("links and backlinks differ")
        context.place = CheckContext.Place()
      }
      return
    }
    let suspects = Suspects(origins: Set(origins), buckets: buckets.map { $0 != Balance() })
    var second = walkAgain(LinkLedger(suspects))
    for origin in origins {
      guard let index = second.positions[origin] else { continue }
      // Taken out, so that both are sorted in place and given back before the next column.
      var forward: [Link] = [], backward: [Link] = []
      swap(&forward, &second.columns[index].forward)
      swap(&backward, &second.columns[index].backward)
      forward.sort()
      backward.sort()
      report(origin, forward, backward, context, tables)
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
