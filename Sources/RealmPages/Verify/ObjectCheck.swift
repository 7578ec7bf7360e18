// The objects of one table, cluster by cluster: every leaf, every value, nulls, links and backlinks, owners of embedded
// objects. Source: docs/format/2-model.md M5 to M8.

/// Checks the objects of a table.
struct ObjectCheck {
  private let context: CheckContext
  private let checked: CheckedTable
  private let isTombstones: Bool
  /// The numbers of the columns in the link ledger: first of named columns, then of backlink columns.
  private let linkNumbers: [Int]
  private let backlinkNumbers: [Int]
  private let positions: Set<Int>
  private var arena: Arena { context.arena }
  private var table: Table { checked.table }

  init(_ context: CheckContext, _ checked: CheckedTable, isTombstones: Bool) {
    self.context = context
    self.checked = checked
    self.isTombstones = isTombstones
    let table = checked.table
    linkNumbers = table.columns.map { context.links.number(table.key, $0.key) }
    backlinkNumbers = table.backlinks.map { context.links.number($0.originTable, $0.originColumn) }
    positions = Set(checked.facts.map(\.key.leafPosition))
  }

  /// Checks all live objects, or all tombstones. Returns their number.
  func run(_ rootRef: Int) throws(EngineError) -> Int {
    try ClusterCheck(context).check(rootRef) { cluster throws(EngineError) in
      checkCluster(cluster)
      _ = context.dropPages()
    }
  }

  private func checkCluster(_ cluster: Cluster) {
    context.guarded { () throws(EngineError) in
      if cluster.count > 0 {
        let first = Int64(bitPattern: try cluster.key(0)), last = Int64(bitPattern: try cluster.key(cluster.count - 1))
        if !isTombstones && first < 0 { context.report("the negative object key \(first)", ref: cluster.slots.ref) }
        if isTombstones && last > -2 { context.report("a tombstone with the key \(last)", ref: cluster.slots.ref) }
      }
      for slot in 1..<max(1, cluster.slots.count)
      where try cluster.slots.int(slot) != 0 && !positions.contains(slot - 1) {
        context.report("slot \(slot) of a cluster belongs to no column", ref: cluster.slots.ref)
      }
    }
    if cluster.count == 0 && cluster.slots.count == 1 { return }
    for (index, column) in table.columns.enumerated() {
      context.guarded { () throws(EngineError) in
        context.place.column = column.name
        context.linkColumn = linkNumbers[index]
        try checkColumn(column, index, cluster)
      }
    }
    var owners = Array(repeating: 0, count: cluster.count)
    for (index, column) in table.backlinks.enumerated() {
      context.guarded { () throws(EngineError) in
        context.place.column = "backlinks at \(column.key.leafPosition)"
        try checkBacklinks(column, backlinkNumbers[index], cluster, &owners)
      }
    }
    if table.kind == .embedded && !isTombstones {
      context.guarded { () throws(EngineError) in
        for (row, count) in owners.enumerated() where count != 1 {
          context.place.object = Int64(bitPattern: try cluster.key(row))
          // Realm's engine leaves such objects behind when their owning property is removed.
          context.report("an embedded object with \(count) owners", isLeftover: count == 0)
        }
      }
    }
  }

  private func move(to row: Int, of cluster: Cluster) throws(EngineError) {
    context.place.object = Int64(bitPattern: try cluster.key(row))
  }

  private func checkColumn(_ column: Column, _ index: Int, _ cluster: Cluster) throws(EngineError) {
    let ref = try cluster.leafRef(column.key.leafPosition)
    if let collection = column.collection {
      let leaf = try context.refs(ref)
      try expect(leaf.count, in: cluster, ref)
      for row in 0..<leaf.count {
        try move(to: row, of: cluster)
        do {
          let root = try leaf.child(row)
          if root == 0 { continue }
          try CollectionCheck(context).check(root, collection, column.element, keyType: column.dictionaryKeyType)
        } catch {
          context.report(error.problem, ref: error.ref)
        }
      }
    } else if column.type == .mixed && !column.element.isTypedLink {
      try expect(MixedCheck(context).check(ref), in: cluster, ref)
      let leaf = try MixedLeaf(arena, ref)
      for row in 0..<cluster.count {
        // Must precede the read, so that the value's links are recorded from this object.
        try move(to: row, of: cluster)
        _ = try CollectionCheck(context).mixedValue(leaf, ref, row)
      }
    } else {
      let count = try LeafCheck(context).check(ref, column.element, enumCount: checked.enumCounts[index])
      try expect(count, in: cluster, ref)
      try checkValues(column, ref, cluster)
    }
  }

  private func expect(_ count: Int, in cluster: Cluster, _ ref: Int) throws(EngineError) {
    if count != cluster.count {
      throw .damaged("a leaf of \(count) values in a cluster of \(cluster.count)", ref: ref)
    }
  }

  /// Checks nulls and links of a scalar column. Other values have no further rules.
  private func checkValues(_ column: Column, _ ref: Int, _ cluster: Cluster) throws(EngineError) {
    let hasLinks = column.type == .link || column.type == .mixed
    if !hasLinks && (column.isNullable || column.type == .int || isTombstones) { return }
    let leaf = try column.leaf(arena, ref)
    for row in 0..<cluster.count {
      switch try leaf.value(row, arena) {
      case .null where !hasLinks:
        try move(to: row, of: cluster)
        context.report("null in a column that is not nullable")
      case .link(let table, let key):
        try move(to: row, of: cluster)
        context.recordLink(to: table, key)
      default: break
      }
    }
  }

  private func checkBacklinks(
    _ column: Spec.BacklinkColumn,
    _ number: Int,
    _ cluster: Cluster,
    _ owners: inout [Int]
  ) throws(EngineError) {
    let ref = try cluster.leafRef(column.key.leafPosition)
    let leaf = try context.refs(ref)
    try expect(leaf.count, in: cluster, ref)
    for row in 0..<leaf.count {
      let element = try leaf.int(row)
      if element == 0 { continue }
      try move(to: row, of: cluster)
      let key = context.place.object ?? -1
      if element & 1 != 0 {
        context.links.backward(number, from: ObjKey(tagged: element).value, to: table.key, key)
        owners[row] += 1
        continue
      }
      do {
        owners[row] += try TreeCheck(context).check(Int(element)) { leafRef, _ throws(EngineError) in
          let origins = try context.integers(leafRef)
          for i in 0..<origins.count {
            context.links.backward(number, from: try origins.int(i), to: table.key, key)
          }
          return origins.count
        }
      } catch {
        context.report(error.problem, ref: error.ref)
      }
    }
  }
}
