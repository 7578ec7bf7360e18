// The model above the storage: tables, objects, indexes, links, history. Invariant: every reachable node belongs to one
// of them. Source: docs/format/2-model.md.

/// Checks the model that the nodes represent.
struct ModelCheck {
  private let context: CheckContext
  private var arena: Arena { context.arena }
  private var snapshot: Snapshot { context.snapshot }
  private var top: TopArray { snapshot.top }

  /// Files with an older format store columns differently; see `LegacyCheck`.
  private static let oldestClusterFormat = 10

  init(_ context: CheckContext) { self.context = context }

  func run() {
    let tables = checkAllTables()
    context.links.compare(context, tables: tables) { links in
      let second = context.again(links)
      _ = ModelCheck(second).checkAllTables()
      return second.links
    }
    checkTop()
    guard context.summary.problems == 0 else { return }
    if let first = context.reached.firstMissing(in: context.explained) {
      context.report("belongs to nothing that is known", ref: first * Node.alignment)
    }
  }

  // MARK: Tables

  /// Checks all tables of any format and returns the readable ones.
  private func checkAllTables() -> [TableKey: Table] {
    if snapshot.fileFormat >= Self.oldestClusterFormat { return checkTables() }
    var tables: [TableKey: Table] = [:]
    context.guarded { () throws(EngineError) in
      for table in try LegacyCheck(context).run() {
        tables[table.key] = table
        context.place.table = table.name
        if context.summary.problems == 0 { try checkPrimaryKeys(table) }
      }
    }
    return tables
  }

  /// Checks all tables and returns the readable ones.
  private func checkTables() -> [TableKey: Table] {
    var tables: [CheckedTable] = []
    context.guarded { () throws(EngineError) in tables = try readTables() }
    let byKey = Dictionary(tables.map { ($0.table.key, $0) }) { first, _ in first }
    for table in tables { check(table, byKey) }
    return byKey.mapValues(\.table)
  }

  private func readTables() throws(EngineError) -> [CheckedTable] {
    let schema = SchemaCheck(context)
    try context.expect(context.claim(top.ref), .bits, hasRefs: true)
    let names = try schema.shortNames(top.namesRef), refs = try context.refs(top.tablesRef)
    if names.count != refs.count || refs.count > 0xFFFF {
      throw .damaged("\(names.count) names for \(refs.count) tables", ref: top.tablesRef)
    }
    var tables: [CheckedTable] = [], seen: Set<ExactName> = []
    for slot in 0..<refs.count {
      let element = try refs.int(slot), text = try StringLeaf.short(names, slot) ?? .empty, name = text.string
      if element == 0 || element & 1 != 0 {
        if !name.isEmpty { context.report("the free table slot \(slot) has the name \(name)") }
        continue
      }
      context.summary.tables += 1
      if name.isEmpty || !seen.insert(ExactName(name)).inserted {
        context.report("the name \"\(name)\" of table \(slot) is empty or not unique")
      }
      if !text.isUTF8 { context.report("the name of table \(slot) is not UTF-8") }
      context.guarded { () throws(EngineError) in
        context.place.table = name
        tables.append(try schema.table(slot: slot, ref: Int(element)))
      }
    }
    return tables
  }

  private func check(_ checked: CheckedTable, _ all: [TableKey: CheckedTable]) {
    let table = checked.table
    context.place.table = table.name
    SchemaCheck(context).columns(checked, all)
    let problems = context.summary.problems
    context.guarded { () throws(EngineError) in
      context.summary.objects += try ObjectCheck(context, checked, isTombstones: false).run(table.objects.rootRef)
    }
    context.guarded { () throws(EngineError) in
      if let tombstones = table.tombstones {
        _ = try ObjectCheck(context, checked, isTombstones: true).run(tombstones.rootRef)
      }
    }
    let objectsAreSound = context.summary.problems == problems
    for (index, column) in table.columns.enumerated() where column.indexRef != 0 {
      context.guarded { () throws(EngineError) in
        context.place.column = column.name
        try IndexCheck(context, table, column: index, objectsAreSound: objectsAreSound).run()
      }
    }
    context.guarded { () throws(EngineError) in if objectsAreSound { try checkPrimaryKeys(table) } }
    context.guarded { () throws(EngineError) in try checkCollisions(checked.collisionRef) }
    context.place = CheckContext.Place()
  }

  /// Checks that primary keys are unique. If there is an index, `IndexCheck` does this.
  private func checkPrimaryKeys(_ table: Table) throws(EngineError) {
    guard let index = table.primaryKeyIndex, table.columns[index].indexRef == 0 else { return }
    if let (a, b) = try PrimaryKeyTable(table, index).firstDuplicate(table, index) {
      context.report("objects \(a) and \(b) have the same primary key")
    }
  }

  /// Checks the collision map: two halves of a hash and an object key for each object whose preferred key was taken.
  /// Source: docs/format/2-model.md M5.
  private func checkCollisions(_ ref: Int) throws(EngineError) {
    if ref == 0 { return }
    let map = try context.refs(ref, 3...3)
    var counts: Set<Int> = []
    for slot in 0..<3 { counts.insert(try context.integers(map.child(slot)).count) }
    if counts.count != 1 || counts == [0] { context.report("a collision map of different lengths", ref: ref) }
  }

  // MARK: The rest of the top array

  private func checkTop() {
    for ref in top.freeRefs where ref != 0 {
      context.guarded { () throws(EngineError) in
        context.place.part = "free list"
        _ = try context.integers(ref)
      }
    }
    context.guarded { () throws(EngineError) in
      context.place.part = "compaction state"
      if top.evacuation != 0 && top.evacuation & 1 == 0 {
        let state = try context.integers(Int(top.evacuation))
        if state.count < 2 { context.report("\(state.count) elements", ref: state.ref) }
      }
    }
    context.guarded { () throws(EngineError) in
      context.place.part = "history"
      try checkHistory()
    }
  }

  /// Checks the history. An in-Realm history is a B+tree of binaries. Sync histories are claimed without
  /// interpretation.
  private func checkHistory() throws(EngineError) {
    if top.historyType > 4 { context.report("of the unknown type \(top.historyType)") }
    if top.historyType == 2 && top.historySchemaVersion > 1 {
      context.report("with the schema version \(top.historySchemaVersion)")
    }
    if top.historyRef == 0 { return }
    if top.historyType != 2 { return try context.claimAll(below: top.historyRef) }
    let count = try TreeCheck(context).check(top.historyRef) { leafRef, _ throws(EngineError) in
      try LeafCheck(context).blobs(context.claim(leafRef), isText: false, inChunks: true)
    }
    if UInt64(count) > snapshot.version {
      context.report("\(count) entries at version \(snapshot.version)", ref: top.historyRef)
    }
  }
}
