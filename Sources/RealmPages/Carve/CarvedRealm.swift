// Assembles the tables of a damaged realm from everything that a search finds: the version that is saved, other
// versions, tables that no version reaches, and clusters that no table reaches.

/// The tables of a damaged realm of format 10 or later.
final class CarvedRealm {
  private let arena: Arena
  private var structures: CarvedStructures
  /// The tops and forms that were found, by the slot of their table.
  private let tops: [Int: [CarvedStructures.TableTop]]
  private var forms: [Int: [CarvedStructures.Form]]
  /// The classes of the given schema, as tables without objects.
  private var models: [TableKey: RescuedTable] = [:]
  /// The tables whose properties are those of the given schema.
  private var described: Set<TableKey> = []
  /// The budget for tables that are read from their top arrays.
  private let effort: Effort
  /// The version that is completed; nil if the tables belong to none.
  let root: RescuedRealm.Root?
  /// True if some tables of the newest version do not remain, so that all objects of an older one may be outdated.
  private let isNewestLost: Bool

  /// The tables by slot.
  private(set) var tables: [MergedTable] = []
  /// Descriptions of tables that are lost completely.
  private(set) var problems: [String] = []
  /// The number of clusters that have the form of several tables: their objects are not saved.
  private(set) var ambiguousClusters = 0
  /// True if the file has so many false nodes that the search ended early.
  var isIncomplete: Bool { structures.isIncomplete || effort.isSpent }

  /// True if anything of a table was found in the file.
  var isUseful: Bool { tables.contains { !$0.refs.isEmpty || !described.contains($0.key) } }

  /// A table that is being assembled for `tables`.
  fileprivate struct Slot {
    let slot: Int
    var name: String
    /// The ref of its top array; nil if unknown.
    var ref: Int?
    /// The table in the version that is saved, if it can be read.
    var table: RescuedTable?
    var others: [MergedTable.Version] = []
    var problem: String?
  }

  /// Searches the file, and completes the tables of `best`, the best version that remains; nil if there is none.
  /// Classes whose properties are lost get those of `schema`, another realm.
  init(_ realm: RescuedRealm, completing best: RescuedRealm.Root?, schema: Snapshot? = nil) {
    arena = realm.arena(best?.format ?? realm.likelyFormat)
    let structures = CarvedStructures(arena)
    self.structures = structures
    tops = Dictionary(grouping: structures.tops.values) { $0.key.slot }
    forms = Dictionary(grouping: structures.forms) { $0.table.slot }
    effort = Effort(arena)
    let newest = structures.newestGroup
    // Without the version that the header selects, its tables may remain, and be newer than any version that remains.
    let isSelected = best.map { realm.direction == .version(ref: $0.ref) } ?? false
    let isOlder = best.map { best in
      let refs = realm.tableRefs(of: best) ?? []
      return structures.isOutdated(refs) || newest.map { structures.isNewer($0.tables, than: refs) } ?? false
    }
    let newer = isSelected || isOlder == false ? best : nil
    // The list of its tables may be lost.
    let root = newer.flatMap { realm.tableRefs(of: $0) == nil ? nil : $0 }
    self.root = root
    isNewestLost =
      root.map { !isSelected && realm.isOutdated($0) } ?? newest.map { structures.isOutdated($0.tables) } ?? true
    // The other versions that remain, newest first, with their readable tables by slot.
    let versions = realm.roots.filter { $0.format >= 10 && $0.ref != root?.ref }
      .sorted { $0.version > $1.version }
      .map { root in
        let tables = realm.slots(of: root).slots.compactMap(\.table).map { ($0.key.slot, $0) }
        return (version: root.version, tables: Dictionary(tables) { first, _ in first })
      }
    var slots = root.map { realm.slots(of: $0).slots.map { Slot($0) } } ?? searchedSlots(newest)
    if let root, let refs = realm.tableRefs(of: root) {
      for i in slots.indices where slots[i].slot < refs.count { slots[i].ref = refs[slots[i].slot] }
    }
    readTables(&slots)
    for i in slots.indices { addOthers(&slots[i], versions) }
    if slots.contains(where: \.name.isEmpty) {
      let names = names(for: nil)
      for i in slots.indices where slots[i].name.isEmpty { slots[i].name = names[slots[i].slot] ?? "" }
    }
    if let schema { addClasses(of: schema, &slots) }
    merge(slots)
  }

  // MARK: slots

  /// The slots if no version lists them: those of the newest group, or of all tables found if the file has more table
  /// names than the group has tables, or later states of these.
  private func searchedSlots(_ group: CarvedStructures.Group?) -> [Slot] {
    var slots: [Int: Slot] = [:]
    let most = structures.names.compactMap { (try? arena.node($0))?.count }.max() ?? 0  // each was read before
    let newest = group.flatMap { $0.tables.count < most || structures.isOutdated($0.tables) ? nil : $0 }
    let names = names(for: newest)
    if let newest {
      for (slot, ref) in newest.tables.enumerated() where ref != 0 {
        slots[slot] = Slot(slot: slot, name: "", ref: ref, table: table(ref, slot))
      }
    } else {
      for (slot, tops) in tops {
        // A slot may have had several tables, of which the last has the greatest key.
        let newest = tops.max { ($0.key, $0.contentVersion, $0.ref) < ($1.key, $1.contentVersion, $1.ref) }
        if let newest { slots[slot] = Slot(slot: slot, name: "", table: table(newest.ref, slot)) }
      }
      // A table without a top array is identified by its columns, if it has a name.
      for slot in forms.keys where slots[slot] == nil && !(names[slot] ?? "").isEmpty {
        slots[slot] = Slot(slot: slot, name: "")
      }
    }
    for slot in slots.keys { slots[slot]?.name = names[slot] ?? "" }
    return slots.values.sorted { $0.slot < $1.slot }
  }

  /// Reads the tables that are not known but whose refs are.
  private func readTables(_ slots: inout [Slot]) {
    for i in slots.indices where slots[i].table == nil {
      if let ref = slots[i].ref { slots[i].table = table(ref, slots[i].slot, named: slots[i].name) }
    }
  }

  /// Gives the classes of `schema` whose properties are lost in this file those of `schema`, and names to classes and
  /// properties that have lost only these.
  private func addClasses(of schema: Snapshot, _ slots: inout [Slot]) {
    let keys = ifReadable { () throws(EngineError) in try schema.tableKeys() } ?? []
    let classes = keys.compactMap { key in ifReadable { () throws(EngineError) in try schema.table(key) } ?? nil }
      .filter { $0.className != nil && $0.damage == nil }
    for i in slots.indices where slots[i].name.isEmpty {
      guard let known = columns(of: slots[i]) else { continue }
      let fitting = classes.filter { table in
        known.isNamed(like: table.columns) && !slots.contains { $0.name == table.name }
      }
      if fitting.count == 1 { slots[i].name = fitting[0].name }
    }
    var places: [TableKey: Int] = [:]
    for table in classes {
      if let index = slots.firstIndex(where: { $0.name == table.name }) {
        places[table.key] = index
      } else if root == nil || slots.contains(where: \.name.isEmpty) {
        // Otherwise the file does not have the class.
        places[table.key] = slots.count
        // Its columns may be found although its name is not.
        let taken = Set(slots.map(\.slot))
        let fitting = forms.filter { slot, forms in
          !taken.contains(slot) && forms.contains { $0.isNamed(like: table.columns) }
        }
        let free = (taken.union(forms.keys).max() ?? -1) + 1
        slots.append(Slot(slot: fitting.count == 1 ? fitting.first?.key ?? free : free, name: table.name))
      }
    }
    let targets = places.mapValues { key(of: slots[$0]) }
    let known = Set(slots.compactMap { $0.table?.key })
    var lost: [(table: Table, form: CarvedStructures.LostClass)] = []
    for table in classes {
      guard let index = places[table.key] else { continue }
      let slot = slots[index].slot,
        columns = table.columns.map { $0.leading(to: $0.targetTable.flatMap { targets[$0] }) }
      slots[index].table?.complete(from: columns, known)
      for i in forms[slot]?.indices ?? 0..<0 {
        guard let form = forms[slot]?[i], let named = form.columns.named(like: columns) else { continue }
        if form.madeUpNames > 0 { forms[slot]?[i] = form.with(named) }
        let completed = named.leading(like: columns, unlessIn: known)
        models[form.table] = RescuedTable(arena, table, key: form.table, columns: completed)
      }
      if self.columns(of: slots[index]) != nil { continue }
      let key = key(of: slots[index])
      lost.append((table, CarvedStructures.LostClass(key: key, columns: columns, hiddenCount: table.backlinks.count)))
    }
    if lost.isEmpty { return }
    let first = structures.forms.count
    structures.addForms(of: lost.map(\.form))
    for form in structures.forms[first...] {
      guard let (table, _) = lost.first(where: { $0.form.key == form.table }) else { continue }
      forms[form.table.slot, default: []].append(form)
      models[form.table] = RescuedTable(arena, table, key: form.table, columns: form.columns)
      described.insert(form.table)
      problems.append("\(table.className ?? table.name): its properties; those of the given schema are used")
    }
    readTables(&slots)
  }

  /// The columns of a table, if they are known.
  private func columns(of slot: Slot) -> [Column]? {
    slot.table?.columns ?? slot.others.first?.table.columns ?? forms[slot.slot]?.last?.columns
  }

  /// The key of a table; its tag is known only if a part of the table was found.
  private func key(of slot: Slot) -> TableKey {
    slot.table?.key ?? slot.others.first?.table.key ?? forms[slot.slot]?.last?.table ?? TableKey(UInt32(slot.slot))
  }

  /// The table whose top array is at `ref`, with the columns of another version if its own are lost; nil if it cannot
  /// be read.
  private func table(_ ref: Int, _ slot: Int, named name: String = "") -> RescuedTable? {
    // A slot that several tables have used has the columns of each of them.
    let known = forms[slot] ?? [], spare = known.allSatisfy { $0.table == known[0].table } ? known.last : nil
    return ifReadable { () throws(EngineError) in
      let table = try RescuedTable(arena, name: name, slot: slot, ref: ref, spare: spare)
      // Many tops can share one spec.
      try effort.enter(tableOf: table.columns.count, at: ref)
      return table
    }
  }

  /// The names of tables by slot: of the leaf with as many names as the group has tables, or of the one with the most.
  private func names(for group: CarvedStructures.Group?) -> [Int: String] {
    let leaves = structures.names.compactMap { try? arena.node($0) }  // each was read during the search
    let fitting = leaves.filter { $0.count == group?.tables.count }
    guard let leaf = fitting.last ?? leaves.max(by: { ($0.count, $0.ref) < ($1.count, $1.ref) }) else { return [:] }
    var names: [Int: String] = [:]
    for slot in 0..<leaf.count {
      names[slot] = ifReadable { () throws(EngineError) in try StringLeaf.name(leaf, slot) }
    }
    return names
  }

  /// Adds the other versions of a table, newest first.
  private func addOthers(_ slot: inout Slot, _ versions: [(version: UInt64, tables: [Int: RescuedTable])]) {
    // The tag of a key differs between tables that had the same slot one after another.
    let key = slot.table?.key
    func isSame(_ table: RescuedTable) -> Bool { key.map { $0 == table.key } ?? true }
    var known = Set([slot.table?.roots.first?.ref].compactMap { $0 })
    for (version, tables) in versions {
      guard let table = tables[slot.slot], isSame(table), known.insert(table.roots.first?.ref ?? 0).inserted else {
        continue
      }
      slot.others.append((table, .version(version)))
    }
    for top in (tops[slot.slot] ?? []).sorted(by: { ($0.contentVersion, $0.ref) > ($1.contentVersion, $1.ref) }) {
      if effort.isSpent { break }
      guard let table = table(top.ref, slot.slot), isSame(table), known.insert(table.roots.first?.ref ?? 0).inserted
      else { continue }
      slot.others.append((table, .table))
    }
    if slot.name.isEmpty { slot.name = slot.others.lazy.map(\.table.name).first { !$0.isEmpty } ?? "" }
  }

  // MARK: merging

  private func merge(_ slots: [Slot]) {
    var drafts = slots.map { slot in (slot: slot, table: mergedTable(slot), strays: [RescuedTable]()) }
    let lossy = drafts.indices.filter {
      // A table of another version may lack objects.
      isNewestLost || drafts[$0].slot.table == nil || drafts[$0].table?.lacksObjects(Effort(arena)) ?? true
    }
    if !lossy.isEmpty {
      var reached = BitSet(count: arena.limit / Node.alignment + 1), wanted: [TableKey: Int] = [:]
      for draft in drafts { if let table = draft.table { mark(table.best, &reached) } }
      for index in lossy {
        let slot = drafts[index].slot
        for other in slot.others { mark(other.table, &reached) }
        for form in forms[slot.slot] ?? [] where drafts[index].table.map({ $0.key == form.table }) ?? true {
          wanted[form.table] = index
        }
      }
      let found = structures.strays(notIn: reached, of: Set(wanted.keys))
      ambiguousClusters = found.ambiguous
      for stray in found.strays {
        let form = structures.forms[stray.form]
        guard let index = wanted[form.table] else { continue }
        // A schema may have the names that the file has lost.
        let model = models[form.table]?.columns ?? [],
          isNamed = form.madeUpNames > 0 && model.map(\.key) == form.columns.map(\.key)
        drafts[index].strays.append(
          RescuedTable(
            arena,
            name: drafts[index].slot.name,
            key: drafts[index].table?.key ?? form.table,
            columns: isNamed ? model : form.columns,
            model: drafts[index].table?.best ?? models[form.table],
            roots: [RescuedTable.Root(ref: stray.ref, start: nil)]
          )
        )
      }
    }
    for draft in drafts {
      if draft.slot.table == nil, draft.slot.problem != nil, draft.table != nil {
        problems.append("\(draft.slot.name): its table in this version")
      }
      if let table = draft.table, draft.slot.table == nil, draft.strays.count == 1 {
        // As below. The content of the other versions is older.
        tables.append(MergedTable(draft.strays[0].beginning(at: 0), .clusters, others: table.versions))
      } else if let table = draft.table {
        table.strays = draft.strays
        tables.append(table)
      } else if let first = draft.strays.first {
        // The only tree of clusters of a table is its root, so its keys are known.
        let best = draft.strays.count == 1 ? first.beginning(at: 0) : first
        tables.append(MergedTable(best, .clusters, others: [], strays: Array(draft.strays.dropFirst())))
      } else {
        addEmptyTable(draft.slot)
      }
    }
    let all = tables.map(\.best)
    for table in tables {
      table.completeTargets(from: all)
      table.correctKind(Effort(arena))
    }
  }

  /// The best version of a table, with the others; nil if there is none.
  private func mergedTable(_ slot: Slot) -> MergedTable? {
    var others = slot.others, best = slot.table, provenance: Provenance?
    if best == nil, !others.isEmpty { (best, provenance) = others.removeFirst() }
    guard var best = best?.named(slot.name) else { return nil }
    for other in others { best.completeNames(from: other.table) }
    return MergedTable(best, provenance, others: others)
  }

  /// Adds a table of which no object was found, with its properties if they were found.
  private func addEmptyTable(_ slot: Slot) {
    let name = slot.name.isEmpty ? "table \(slot.slot)" : slot.name, form = forms[slot.slot]?.last
    problems.append(slot.problem ?? "\(name): no object\(form == nil ? " or property" : "") was found")
    guard let form else { return }
    let table = RescuedTable(
      arena,
      name: slot.name,
      key: form.table,
      columns: form.columns,
      model: models[form.table],
      roots: []
    )
    tables.append(MergedTable(table, nil, others: []))
  }

  /// Adds the clusters of a table, and the leaves of their columns, to `reached`.
  private func mark(_ table: RescuedTable, _ reached: inout BitSet) {
    var pending = table.roots.map(\.ref)
    let effort = Effort(arena)
    while let ref = pending.popLast() {
      // A node that cannot be read has no readable children.
      guard let node = try? arena.refs(ref, slots: 1), (try? effort.spend(node.byteSize, at: ref)) != nil,
        reached.insert(ref / Node.alignment)
      else { continue }
      let first = node.isInner ? Layout.InnerCluster.firstChild : 0
      for slot in min(first, node.count)..<node.count {
        // All slots exist, so nothing is thrown.
        guard let child = try? node.int(slot), child > 0, child & 7 == 0, child < arena.limit else { continue }
        if node.isInner {
          pending.append(Int(child))
        } else {
          _ = reached.insert(Int(child) / Node.alignment)
        }
      }
    }
  }
}

extension CarvedRealm.Slot {
  fileprivate init(_ slot: RescuedRealm.Slot) {
    (self.slot, name, table, problem) = (slot.slot, slot.name, slot.table, slot.problem)
  }
}
