// Finds the differences between two versions of a realm using the nodes that they share. A commit writes changed nodes
// to new positions and leaves all other nodes unchanged. In two versions of one file, equal refs are therefore equal
// subtrees, and a comparison opens only the nodes above changed leaves: the cost is proportional to the number of
// changes, not to the size of the realm.

/// The differences between two versions of a realm.
///
/// Tables, properties and objects are matched by their keys, which stay the same from version to version. So both
/// snapshots must come from one realm: from one file, or from a file and its copy. Versions in one file of format 24,
/// plain or encrypted, share nodes. Others are compared by content: the result is the same, but the cost is that of
/// reading both.
///
/// Precondition: no part of either version has been overwritten. Writers reuse space that a version freed, and then
/// equal refs no longer mean equal content. Every reader depends on this: hold both versions with a `VersionHold`, or
/// keep writers from committing, and check `Realm.isCurrent` for both after reading. If either is not current, discard
/// the result.
///
/// Not thread-safe: use it from one thread at a time.
public final class VersionDifference {
  /// The older version.
  public let old: Snapshot
  /// The newer version.
  public let new: Snapshot
  /// True if the versions share nodes, so that the cost is proportional to the number of changes.
  public let sharesNodes: Bool
  /// The tables that may differ, by slot. A table is listed if one of its nodes differs, or one of the embedded objects
  /// that its objects own; the difference need not be visible.
  public private(set) var tables: [TableDifference] = []

  /// The maximum number of owners of changed embedded objects in memory at a time.
  let ownerLimit: Int
  private var pairings: [TableKey: TablePairing] = [:]
  /// For each top-level table, the embedded tables below it with differences.
  private var embedded: [TableKey: [TableKey]] = [:]

  /// Compares two versions of one realm. See the precondition above.
  ///
  /// Cost: reads the schemas of the tables that differ.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public convenience init(from old: Snapshot, to new: Snapshot) throws(EngineError) {
    let (before, after) = (old.arena.space, new.arena.space)
    let isOneFile = before.isOfSameFile(as: after) || after.isOfSameFile(as: before)
    try self.init(from: old, to: new, sharing: isOneFile && old.fileFormat == 24 && new.fileFormat == 24)
  }

  /// Compares by refs if `sharing`, otherwise by content.
  init(from old: Snapshot, to new: Snapshot, sharing: Bool, ownerLimit: Int = 1 << 16) throws(EngineError) {
    (self.old, self.new, self.ownerLimit, sharesNodes) = (old, new, ownerLimit, sharing)
    if sharing && old.top.ref == new.top.ref { return }
    var slots = try changedSlots()
    try addLinkingTables(to: &slots)
    var listed: Set<Int> = slots
    for slot in slots.sorted() {
      guard let table = try new.table(slot: slot), try isEmbeddedInBoth(table.key) else { continue }
      for owner in try topLevelOwners(of: table) {
        embedded[owner, default: []].append(table.key)
        listed.insert(owner.slot)
      }
    }
    for slot in listed.sorted() {
      let (before, after) = (try old.table(slot: slot), try new.table(slot: slot))
      if let before, let after, before.key == after.key {
        tables.append(TableDifference(old: before, new: after, self))
      } else {
        if let before { tables.append(TableDifference(old: before, new: nil, self)) }
        if let after { tables.append(TableDifference(old: nil, new: after, self)) }
      }
    }
  }

  /// The objects of a table that differ, in ascending order of their keys, starting after `key`.
  ///
  /// An embedded object is part of the object that owns it, so embedded tables have no changes here.
  public func changes(in table: TableDifference, after key: ObjKey = .none) -> ObjectChanges {
    ObjectChanges(self, table, after: key)
  }

  // MARK: tables

  /// The slots whose tables have another name or another root, or exist in only one version.
  private func changedSlots() throws(EngineError) -> Set<Int> {
    let before = Dictionary(uniqueKeysWithValues: try old.tableSlots().map { ($0.slot, $0.ref) })
    let after = Dictionary(uniqueKeysWithValues: try new.tableSlots().map { ($0.slot, $0.ref) })
    let namesAreShared = sharesNodes && old.top.namesRef == new.top.namesRef
    var changed: Set<Int> = []
    for slot in Set(before.keys).union(after.keys) {
      if sharesNodes, before[slot] == after[slot] {
        if namesAreShared { continue }
        if try (old.table(slot: slot)?.name).isExactly(new.table(slot: slot)?.name) { continue }
      }
      changed.insert(slot)
    }
    return changed
  }

  /// Adds the tables with links to a table that has become embedded or is no longer embedded: such links have changed
  /// their meaning but not their value. Also adds tables with links to a damaged table, whose changes cannot be
  /// determined.
  private func addLinkingTables(to slots: inout Set<Int>) throws(EngineError) {
    var targets: Set<Int> = []
    for slot in slots {
      guard let before = try old.table(slot: slot), let after = try new.table(slot: slot) else { continue }
      let isDamaged = before.damage != nil || after.damage != nil
      if isDamaged || (before.kind == .embedded) != (after.kind == .embedded) { targets.insert(slot) }
    }
    if targets.isEmpty { return }
    for version in [old, new] {
      for (slot, _) in try version.tableSlots() {
        let columns = try version.table(slot: slot)?.columns ?? []
        if columns.contains(where: { $0.targetTable.map { targets.contains($0.slot) } ?? false }) {
          slots.insert(slot)
        }
      }
    }
  }

  /// True if a table is embedded in both versions.
  func isEmbeddedInBoth(_ key: TableKey) throws(EngineError) -> Bool {
    guard try old.table(key)?.kind == .embedded else { return false }
    return try new.table(key)?.kind == .embedded
  }

  /// The top-level tables whose objects own objects of an embedded table, at any depth, according to the newer schema.
  private func topLevelOwners(of table: Table) throws(EngineError) -> [TableKey] {
    var owners: Set<TableKey> = [], seen: Set<TableKey> = [table.key], pending = [table]
    while let next = pending.popLast() {
      for (origin, _) in next.linkSources where seen.insert(origin).inserted {
        guard let origin = try new.table(origin) else { continue }
        if origin.kind == .embedded { pending.append(origin) } else { owners.insert(origin.key) }
      }
    }
    return owners.sorted()
  }

  /// The embedded tables with differences whose objects may belong to objects of a top-level table.
  func embeddedTables(below key: TableKey) throws(EngineError) -> [TablePairing] {
    var pairings: [TablePairing] = []
    for table in embedded[key] ?? [] {
      if let pairing = try pairing(of: table) { pairings.append(pairing) }
    }
    return pairings
  }

  // MARK: pairings

  /// The matching of a table's properties in both versions; nil if one version does not have the table.
  func pairing(of key: TableKey) throws(EngineError) -> TablePairing? {
    if let known = pairings[key] { return known }
    guard let before = try old.table(key), let after = try new.table(key) else { return nil }
    if let damage = before.damage ?? after.damage { throw damage }
    let pairing = try TablePairing(before, after, sharesNodes: sharesNodes) { (column) throws(EngineError) in
      try self.linkMeaning(old: column.old, new: column.new)
    }
    pairings[key] = pairing
    return pairing
  }

  private func linkMeaning(old before: Column, new after: Column) throws(EngineError) -> LinkMeaning {
    let former = try before.targetTable.flatMap { (key) throws(EngineError) in try old.table(key) }
    let target = try after.targetTable.flatMap { (key) throws(EngineError) in try new.table(key) }
    if let damage = former?.damage ?? target?.damage { throw damage }
    let wasEmbedded = former?.kind == .embedded, isEmbedded = target?.kind == .embedded
    if !wasEmbedded && !isEmbedded { return .reference }
    guard let former, let target, wasEmbedded && isEmbedded, former.key == target.key else { return .changed }
    return .embedded(target.key)
  }
}
