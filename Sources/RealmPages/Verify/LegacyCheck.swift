// Formats 2 to 9: tables, columns side by side, subtables, links from both ends, search indexes. Source:
// docs/format/2-model.md M14, "Format 2..9".

/// Checks the tables of an old file. Every node below them is claimed once, so the check terminates for any content.
struct LegacyCheck {
  private let context: CheckContext
  private var arena: Arena { context.arena }
  private var snapshot: Snapshot { context.snapshot }

  init(_ context: CheckContext) { self.context = context }

  /// Checks all tables and returns those that can be read.
  func run() throws(EngineError) -> [Table] {
    let top = snapshot.top
    try context.expect(context.claim(top.ref), .bits, hasRefs: true)
    let names = try SchemaCheck(context).shortNames(top.namesRef), refs = try context.refs(top.tablesRef)
    if names.count != refs.count || refs.count > 0xFFFF {
      throw .damaged("\(names.count) names for \(refs.count) tables", ref: top.tablesRef)
    }
    var tables: [Table] = [], seen: Set<ExactName> = []
    for slot in 0..<refs.count {
      context.summary.tables += 1
      let name = try StringLeaf.short(names, slot)?.string ?? ""
      if name.isEmpty || !seen.insert(ExactName(name)).inserted {
        context.report("the name \"\(name)\" of table \(slot) is empty or not unique")
      }
      context.guarded { () throws(EngineError) in
        context.place.table = name
        let problems = context.summary.problems
        let ref = try refs.child(slot)
        _ = try checkTable(ref, TableKey(UInt32(slot)))
        guard let table = try snapshot.table(slot: slot) else { return }
        if let damage = table.damage { throw damage }
        tables.append(table)
        context.summary.objects += table.objectCount
        if context.summary.problems == problems { try readAll(table) }
      }
    }
    return tables
  }

  /// Reads every value, to check the rules for single values.
  private func readAll(_ table: Table) throws(EngineError) {
    let cursor = ObjectCursor(table)
    while try cursor.next() {
      context.place.object = cursor.key.value
      for index in table.columns.indices { try read(cursor.value(index)) }
    }
    context.place.object = nil
  }

  /// Terminates for nested subtables, because each of their nodes was claimed once.
  private func read(_ value: ValueView) throws(EngineError) {
    switch value {
    case .list(var list): for i in 0..<list.count { try read(list.value(at: i)) }
    case .dictionary(var row): for i in 0..<row.count { try read(row.value(at: i)) }
    default: break
    }
  }

  // MARK: Tables

  /// Claims a table's top array and everything below it. Returns the number of rows. `key` is nil for a subtable.
  private func checkTable(_ ref: Int, _ key: TableKey?) throws(EngineError) -> Int {
    let top = try context.refs(ref, 2...3)
    try claimSpec(top.child(0))
    try claimRest(of: top, from: 2)
    let spec = try LegacySpec(arena, top.child(0)), roots = try top.child(1)
    return try checkColumns(spec, roots, key)
  }

  /// Claims the content of slots of unknown meaning.
  private func claimRest(of node: Node, from first: Int) throws(EngineError) {
    for slot in first..<max(first, node.count) {
      let element = try node.int(slot)
      if element & 1 == 0 && element != 0 { try context.claimAll(below: Int(element)) }
    }
  }

  private func claimSpec(_ ref: Int) throws(EngineError) {
    let spec = try context.refs(ref, 3...6)
    let types = try context.integers(spec.child(0))
    _ = try SchemaCheck(context).shortNames(spec.child(1))
    _ = try context.integers(spec.child(2))
    if try spec.childIfPresent(4) != 0 {
      let lists = try context.refs(spec.child(4))
      for i in 0..<lists.count { _ = try tree(lists.child(i), .string) }
    }
    try claimRest(of: spec, from: 5)
    guard try spec.childIfPresent(3) != 0 else { return }
    let subSpecs = try context.refs(spec.child(3))
    var at = 0
    for i in 0..<types.count {
      switch try types.int(i) {
      case LegacySpec.OldType.subtable:
        try claimSpec(subSpecs.child(at))
        at += 1
      case Int64(Spec.TypeCode.link), Int64(Spec.TypeCode.linkList): at += 1
      case Int64(Spec.TypeCode.backlink): at += 2
      default: break
      }
    }
    if at != subSpecs.count { context.report("\(subSpecs.count) sub-specs instead of \(at)", ref: ref) }
  }

  /// Claims the columns below the array of roots at `ref`. Returns the number of rows.
  private func checkColumns(_ spec: LegacySpec, _ ref: Int, _ key: TableKey?) throws(EngineError) -> Int {
    if ref == 0 {
      if spec.rootCount > 0 { throw .damaged("a table whose columns are missing", ref: spec.ref) }
      return 0
    }
    let roots = try context.refs(ref)
    if roots.count != spec.rootCount {
      throw .damaged("\(roots.count) columns and indexes instead of \(spec.rootCount)", ref: ref)
    }
    var rows: Int?
    let start = context.place
    func expect(_ count: Int) {
      if let rows, rows != count { context.report("\(count) rows where other columns have \(rows)", ref: ref) }
      rows = rows ?? count
    }
    for column in spec.columns {
      if key != nil { context.place.column = column.column.name }
      let links = key.map { context.links.number($0, column.column.key) }
      expect(try checkColumn(column, roots.child(column.root), links))
      if let index = column.indexRoot {
        let reader = try LegacyReader(arena, column, rootsRef: ref)
        try LegacyIndexCheck(context, reader, column).run(roots.child(index))
      }
      context.place = start
    }
    for backlink in spec.backlinks {
      guard let key else { throw .damaged("links to rows of a subtable", ref: ref) }
      expect(try checkBacklinks(roots.child(backlink.root), backlink, key))
      context.place = start
    }
    return rows ?? 0
  }

  // MARK: Columns

  /// Claims one column. Returns its number of rows. `links` is the number of the column in the ledger.
  private func checkColumn(_ column: LegacyColumn, _ ref: Int, _ links: Int?) throws(EngineError) -> Int {
    switch column.kind {
    case .plain where column.column.type == .bool && column.column.isNullable, .oldDate where column.column.isNullable:
      return try tree(ref, LegacyReader.nullableInt)
    case .plain: return try tree(ref, column.column.element)
    case .oldDate, .enumerated: return try tree(ref, LegacyReader.int)
    case .timestamp: return try checkTimes(ref)
    case .link:
      guard let links, let target = column.column.targetTable else { throw .damaged("a link in a subtable") }
      return try forEachElement(of: ref) { (row, value) throws(EngineError) in
        if value != 0 { context.links.forward(links, from: row, to: target, value &- 1) }
      }
    case .linkList:
      guard let links, let target = column.column.targetTable else { throw .damaged("links in a subtable") }
      return try forEachRef(of: ref) { (row, list) throws(EngineError) in
        _ = try forEachElement(of: list) { (_, value) throws(EngineError) in
          context.links.forward(links, from: row, to: target, value)
        }
      }
    case .subtable(let spec):
      return try forEachRef(of: ref) { (_, roots) throws(EngineError) in _ = try checkColumns(spec, roots, nil) }
    case .oldMixed: return try checkMixed(ref)
    }
  }

  private func checkTimes(_ ref: Int) throws(EngineError) -> Int {
    let root = try context.refs(ref, 2...2)
    let count = try tree(root.child(0), LegacyReader.nullableInt)
    if try tree(root.child(1), LegacyReader.int) != count {
      throw .damaged("seconds and nanoseconds differ in number", ref: ref)
    }
    return count
  }

  private func checkMixed(_ ref: Int) throws(EngineError) -> Int {
    let root = try context.refs(ref, 2...4)
    let count = try tree(root.child(0), LegacyReader.int)
    let types = try ElementReader(arena, root.child(0), LegacyReader.int)
    if root.count > 2 { _ = try tree(root.child(2), ElementType(.data, isNullable: true)) }
    if root.count > 3 { _ = try checkTimes(root.child(3)) }
    let rows = try forEachRef(of: root.child(1)) { (row, table) throws(EngineError) in
      guard row < count, case .int(LegacyMixedReader.Code.table) = try types.value(at: Int(row)) else {
        throw .damaged("a ref in a Mixed value that is not a table", ref: ref)
      }
      _ = try checkTable(table, nil)
    }
    if rows != count { throw .damaged("\(count) types for \(rows) Mixed values", ref: ref) }
    return count
  }

  private func checkBacklinks(
    _ ref: Int,
    _ backlink: LegacyBacklink,
    _ table: TableKey
  ) throws(EngineError) -> Int {
    let links = context.links.number(backlink.originTable, ColKey(Int64(backlink.originColumn)))
    return try TreeCheck(context).check(ref, firstPosition: 0) { (leafRef, start) throws(EngineError) in
      let leaf = try context.refs(leafRef)
      for i in 0..<leaf.count {
        let element = try leaf.int(i), row = Int64(start + i)
        if element & 1 != 0 {
          context.links.backward(links, from: ObjKey(tagged: element).value, to: table, row)
        } else if element != 0 {
          _ = try forEachElement(of: Int(element)) { (_, origin) throws(EngineError) in
            context.links.backward(links, from: origin, to: table, row)
          }
        }
      }
      return leaf.count
    }
  }

  // MARK: Trees

  /// Claims a tree of values. Returns their number.
  private func tree(_ ref: Int, _ element: ElementType) throws(EngineError) -> Int {
    try TreeCheck(context).check(ref) { (leafRef, _) throws(EngineError) in
      try LeafCheck(context).check(leafRef, element)
    }
  }

  /// Claims a tree of integers and calls `body` with each integer's position and value.
  private func forEachElement(
    of ref: Int,
    _ body: (Int64, Int64) throws(EngineError) -> Void
  ) throws(EngineError) -> Int {
    try TreeCheck(context).check(ref, firstPosition: 0) { (leafRef, start) throws(EngineError) in
      let leaf = try context.integers(leafRef)
      // Zeros occupy no space, so only this bounds the number of links that a damaged header can claim.
      if leaf.width == 0 && leaf.count > TreeCheck.maximumCount {
        throw .damaged("a leaf of \(leaf.count) elements in a B+tree", ref: leafRef)
      }
      for i in 0..<leaf.count { try body(Int64(start + i), leaf.int(i)) }
      return leaf.count
    }
  }

  /// Claims a tree of refs and numbers and calls `body` with the position and value of each ref that is not 0.
  private func forEachRef(
    of ref: Int,
    _ body: (Int64, Int) throws(EngineError) -> Void
  ) throws(EngineError) -> Int {
    try TreeCheck(context).check(ref, firstPosition: 0) { (leafRef, start) throws(EngineError) in
      let leaf = try context.refs(leafRef)
      for i in 0..<leaf.count {
        let element = try leaf.int(i)
        if element != 0 && element & 1 == 0 { try body(Int64(start + i), Int(element)) }
      }
      return leaf.count
    }
  }
}
