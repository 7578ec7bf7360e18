// Puts the tables of a damaged realm together from everything that a search finds: the version that is saved, other
// versions, tables that no version reaches, and clusters that no table reaches.

/// The tables of a damaged realm of format 10 or later.
final class CarvedRealm {
  private let realm: RescuedRealm
  private let arena: Arena
  private let structures: CarvedStructures
  /// The version that is completed; nil if the tables belong to none.
  let root: RescuedRealm.Root?
  /// True if not even the tables of the newest version remain, so that all objects of an older one may be outdated.
  private let isNewestLost: Bool
  /// The other versions that remain, newest first, with their readable tables.
  private let versions: [(version: UInt64, tables: [RescuedTable])]

  /// The tables by slot.
  private(set) var tables: [MergedTable] = []
  /// Descriptions of tables that are lost completely.
  private(set) var problems: [String] = []
  /// The number of clusters that have the form of several tables: their objects are not saved.
  private(set) var ambiguousClusters = 0

  /// One table on its way to `tables`.
  fileprivate struct Slot {
    let slot: Int
    var name: String
    /// The table in the version that is saved, if it can be read.
    var table: RescuedTable?
    var others: [MergedTable.Version] = []
    var problem: String?
  }

  /// Searches the file, and completes the tables of `best`, the best version that remains; nil if there is none.
  init(_ realm: RescuedRealm, completing best: RescuedRealm.Root?) {
    self.realm = realm
    arena = realm.arena(best?.format ?? realm.likelyFormat)
    let structures = CarvedStructures(arena)
    self.structures = structures
    let newest = structures.newestGroup
    // Without the version that the header selects, its tables may remain, and be newer than any version that remains.
    let isSelected = best.map { realm.direction == .version(ref: $0.ref) } ?? false
    let isOlder = best.map { best in
      newest.map { structures.isNewer($0.tables, than: realm.tableRefs(of: best) ?? []) } ?? false
    }
    let newer = isSelected || isOlder == false ? best : nil
    // The list of its tables may be lost.
    let root = newer.flatMap { realm.tableRefs(of: $0) == nil ? nil : $0 }
    self.root = root
    isNewestLost = root.map { !isSelected && realm.isOutdated($0) } ?? false
    versions = realm.roots.filter { $0.format >= 10 && $0.ref != root?.ref }
      .sorted { $0.version > $1.version }
      .map { ($0.version, realm.slots(of: $0).slots.compactMap(\.table)) }
    var slots = root.map { realm.slots(of: $0).slots.map { Slot($0) } } ?? searchedSlots(newest)
    for i in slots.indices { addOthers(&slots[i]) }
    merge(slots)
  }

  // MARK: slots

  /// The slots without a version that lists them: those of the newest group, or of all tables that were found.
  private func searchedSlots(_ newest: CarvedStructures.Group?) -> [Slot] {
    var slots: [Slot] = []
    if let newest {
      for (slot, ref) in newest.tables.enumerated() where ref != 0 {
        slots.append(Slot(slot: slot, name: "", table: table(ref, slot)))
      }
    }
    let known = Set(slots.map(\.slot))
    if newest == nil {
      var byKey: [TableKey: CarvedStructures.TableTop] = [:]
      for top in structures.tops where top.contentVersion >= byKey[top.key]?.contentVersion ?? 0 {
        byKey[top.key] = top
      }
      for (key, top) in byKey where byKey.keys.filter({ $0.slot == key.slot }).max() == key {
        slots.append(Slot(slot: key.slot, name: "", table: table(top.ref, key.slot)))
      }
    }
    let names = names(for: newest)
    // A table that lost its top array is known by its columns, if it has a name.
    if newest == nil {
      for form in structures.forms where !slots.contains(where: { $0.slot == form.table.slot }) {
        if !known.contains(form.table.slot), !(names[form.table.slot] ?? "").isEmpty {
          slots.append(Slot(slot: form.table.slot, name: ""))
        }
      }
    }
    slots.sort { $0.slot < $1.slot }
    for i in slots.indices { slots[i].name = names[slots[i].slot] ?? "" }
    return slots
  }

  private func table(_ ref: Int, _ slot: Int) -> RescuedTable? {
    ifReadable { () throws(EngineError) in try RescuedTable(arena, name: "", slot: slot, ref: ref) }
  }

  /// The names of tables by slot: of the leaf with as many names as the group has tables, or of the one with the most.
  private func names(for group: CarvedStructures.Group?) -> [Int: String] {
    let leaves = structures.names.compactMap { try? arena.node($0) }  // each was read during the search
    let fitting = leaves.filter { $0.count == group?.tables.count }
    guard let leaf = fitting.last ?? leaves.max(by: { ($0.count, $0.ref) < ($1.count, $1.ref) }) else { return [:] }
    var names: [Int: String] = [:]
    for slot in 0..<leaf.count {
      names[slot] = ifReadable { () throws(EngineError) in try StringLeaf.short(leaf, slot)?.string ?? "" }
    }
    return names
  }

  /// Adds the other versions of a table, newest first.
  private func addOthers(_ slot: inout Slot) {
    // The tag of a key differs between tables that had the same slot one after another.
    func isSame(_ table: RescuedTable) -> Bool {
      slot.table.map { $0.key == table.key } ?? (table.key.slot == slot.slot)
    }
    var known = Set([slot.table?.roots.first?.ref].compactMap { $0 })
    for (version, tables) in versions {
      for table in tables where isSame(table) && known.insert(table.roots.first?.ref ?? 0).inserted {
        slot.others.append((table, .version(version)))
      }
    }
    let tops = structures.tops.filter { $0.key.slot == slot.slot }
      .sorted { ($0.contentVersion, $0.ref) > ($1.contentVersion, $1.ref) }
    for top in tops {
      guard let table = table(top.ref, slot.slot), isSame(table), known.insert(table.roots.first?.ref ?? 0).inserted
      else { continue }
      slot.others.append((table, .table))
    }
    if slot.name.isEmpty {
      slot.name = slot.others.lazy.map(\.table.name).first { !$0.isEmpty } ?? names(for: nil)[slot.slot] ?? ""
    }
  }

  // MARK: merging

  private func merge(_ slots: [Slot]) {
    var drafts: [(slot: Slot, best: RescuedTable?, provenance: Provenance?, isLossy: Bool)] = []
    for var slot in slots {
      var best = slot.table?.named(slot.name), provenance: Provenance?
      if best == nil, let first = slot.others.first {
        slot.others.removeFirst()
        (best, provenance) = (first.table.named(slot.name), first.provenance)
      }
      for other in slot.others { best?.completeNames(from: other.table) }
      drafts.append((slot, best, provenance, isNewestLost || (best.map { hasLoss($0, slot.others) } ?? true)))
    }
    var strays: [Int: [RescuedTable]] = [:]
    if drafts.contains(where: \.isLossy) {
      var reached = BitSet(count: arena.limit / Node.alignment + 1), wanted: Set<TableKey> = []
      for draft in drafts {
        if let best = draft.best { mark(best, &reached) }
        if draft.isLossy {
          for other in draft.slot.others { mark(other.table, &reached) }
          wanted.formUnion(
            structures.forms.map(\.table).filter { key in
              draft.best.map { $0.key == key } ?? (key.slot == draft.slot.slot)
            }
          )
        }
      }
      let found = structures.strays(notIn: reached, of: wanted)
      ambiguousClusters = found.ambiguous
      for stray in found.strays {
        let form = structures.forms[stray.form]
        guard let draft = drafts.first(where: { $0.slot.slot == form.table.slot }), draft.isLossy else { continue }
        strays[form.table.slot, default: []].append(
          RescuedTable(
            arena,
            name: draft.slot.name,
            key: draft.best?.key ?? form.table,
            columns: form.columns,
            model: draft.best,
            roots: [RescuedTable.Root(ref: stray.ref, start: nil)]
          )
        )
      }
    }
    for draft in drafts {
      var own = strays[draft.slot.slot] ?? [], best = draft.best, provenance = draft.provenance
      if best == nil, !own.isEmpty {
        best = own.removeFirst()
        provenance = .clusters
        // The only tree of clusters of a table is its root, so its keys are known.
        if own.isEmpty { best = best?.beginning(at: 0) }
      }
      if best == nil {
        let name = draft.slot.name.isEmpty ? "table \(draft.slot.slot)" : draft.slot.name
        let form = structures.forms.last { $0.table.slot == draft.slot.slot }
        problems.append(draft.slot.problem ?? "\(name): no object\(form == nil ? " or property" : "") was found")
        if let form {
          best = RescuedTable(
            arena,
            name: draft.slot.name,
            key: form.table,
            columns: form.columns,
            model: nil,
            roots: []
          )
        }
      }
      guard let best else { continue }
      tables.append(MergedTable(best, provenance, others: draft.slot.others, strays: own))
    }
    completeTargets()
  }

  private func completeTargets() {
    let all = tables.map(\.best)
    for table in tables { table.completeTargets(from: all) }
  }

  /// True if no version of a table has all objects that the best one lost.
  private func hasLoss(_ best: RescuedTable, _ others: [MergedTable.Version]) -> Bool {
    var lost: [KeyRange] = [], isLossy = false
    for table in [best] + others.map(\.table) {
      var still: [KeyRange] = [], reached = 0
      let isFirst = table.roots.first?.ref == best.roots.first?.ref
      // The closures do not throw, so nothing is thrown here.
      try? table.forEachObject(
        Effort(arena),
        in: isFirst ? nil : lost,
        { _ in reached += 1 },
        onLoss: { (_, range) in
          if let range, isFirst { still.append(range) }
          if let range, !isFirst { still += lost.filter { $0.overlaps(range) }.map { $0.clamped(to: range) } }
          if range == nil, isFirst { isLossy = true }
        }
      )
      if isFirst, reached < best.claimedCount ?? 0 { isLossy = true }
      lost = still
      if lost.isEmpty { return isFirst ? isLossy : false }
    }
    return true
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
