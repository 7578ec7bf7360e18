// Links and backlinks by column: for every column, the multisets of links and backlinks must be equal. Source:
// docs/format/2-model.md M7.
//
// Sums of hashes compare them in constant memory. If they differ, a second walk over the objects collects the links in
// the hash buckets that differ, which are few unless most links are wrong.

/// Collects the links and backlinks of all tables and compares them.
struct LinkLedger {
  /// The column that contains the links.
  fileprivate struct Origin: Hashable {
    let table: TableKey
    let column: ColKey
  }

  /// One link, recorded at either end.
  private struct Link: Comparable {
    let table: UInt32
    let target: Int64
    let origin: Int64

    static func < (a: Link, b: Link) -> Bool {
      a.table != b.table ? a.table < b.table : a.target != b.target ? a.target < b.target : a.origin < b.origin
    }

    @inline(__always)
    func hashes(_ seed: UInt64) -> (UInt64, UInt64) { (hash(seed), hash(~seed)) }

    /// Returns a 64-bit hash with all bits well distributed.
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

  /// Links minus backlinks: 0 if each link has its backlink, in any order, and almost never 0 otherwise.
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
    /// The seed of the hashes of its links, so that another column's link cannot compensate for a missing one.
    let seed: UInt64
    var balance = Balance()
    /// True if links are collected, in the second walk.
    var isWanted = false
    var forward: [Link] = []
    var backward: [Link] = []
  }

  /// The links that a second walk collects.
  private struct Suspects {
    let origins: Set<Origin>
    /// For each bucket, true if its sums differ.
    let buckets: [Bool]
  }

  private var positions: [Origin: Int] = [:]
  private var columns: [Tally] = []
  /// The balances of all columns by hash of the link; empty in the second walk.
  private var buckets: [Balance] = []
  private var suspects: Suspects?
  /// The remaining number of link ends for which errors name the links. Links of width 0 would otherwise require
  /// unlimited memory.
  private var room: Int

  private static let bucketCount = 1 << 12

  /// A ledger for the first walk. With more than `maximum` link ends, an error names only the property.
  init(naming maximum: Int) {
    room = maximum
    buckets = Array(repeating: Balance(), count: Self.bucketCount)
  }

  /// A ledger for the second walk.
  private init(_ suspects: Suspects) {
    room = 0
    self.suspects = suspects
  }

  /// Returns the number that identifies a column in calls of `forward` and `backward`.
  mutating func number(_ table: TableKey, _ column: ColKey) -> Int {
    let origin = Origin(table: table, column: column)
    if let position = positions[origin] { return position }
    positions[origin] = columns.count
    let seed = Link(table: table.value, target: column.value, origin: 0).hash(0)
    columns.append(Tally(origin: origin, seed: seed, isWanted: suspects?.origins.contains(origin) ?? false))
    return columns.count - 1
  }

  /// Records a link from its origin.
  mutating func forward(_ column: Int, from origin: Int64, to table: TableKey, _ target: Int64) {
    record(Link(table: table.value, target: target, origin: origin), column, isBackward: false)
  }

  /// Records a backlink from the link's target.
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
  /// again in the given ledger. It is called only if there are such links.
  mutating func compare(
    _ context: CheckContext,
    tables: [TableKey: Table],
    walkAgain: (LinkLedger) -> LinkLedger
  ) {
    // The schema check reports backlinks of a missing property.
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
      // Moved out, so that both are sorted in place and released before the next column.
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
        // Realm's engine leaves behind backlinks from collections in Mixed values, and backlinks of unresolved objects
        // from objects of a class that was cleared (docs/format/2-model.md M15).
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
