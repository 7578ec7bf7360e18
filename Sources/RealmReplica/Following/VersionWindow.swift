// The version of a realm that is read, which moves on with the realm: no version is held for more than some hundredths
// of a second once there is a newer one. What differs between the old and the new version is added to the objects that
// changed, so rows that were made from the old one are still right or known to be out of date.

import RealmPages
import Threads

/// A property that has another name.
struct PropertyRename: Hashable {
  let className: String
  let from: String
  let to: String
}

/// Follows the versions of one realm. One thread at a time.
final class VersionWindow {
  let realm: Realm
  private(set) var hold: VersionHold
  /// What changed since the version that the replica has.
  var changed = ChangedObjects()
  /// Whether what changed is not known: everything is to be compared.
  var isLost = false
  /// True if the versions that were seen are not known to be those of one realm, each made from the one before.
  var isExchanged = false
  /// Classes that are to be compared because their schema changed, or that of what their rows show.
  var unsure: Set<TableKey> = []
  /// Whether the schema changed.
  var hasNewSchema = false
  /// Properties that have another name, in that order.
  var renamed: [PropertyRename] = []
  private var file: Int
  private var last = MonotonicTime.now

  /// How long a version is read after a newer one has come, before the window moves on.
  private static let patience: Int64 = 30_000_000

  init(_ realm: Realm) throws(EngineError) {
    self.realm = realm
    hold = try realm.hold()
    file = realm.standing.file
  }

  var snapshot: Snapshot { hold.snapshot }

  /// Moves on if there is a newer version and this one has been read for a while; whether it moved.
  func moveIfDue() throws(EngineError) -> Bool {
    guard MonotonicTime.coarse.nanoseconds - last.nanoseconds > Self.patience else { return false }
    // Where writers do not know what is read, only looking tells whether it is still there.
    guard realm.hasChanged(since: hold.snapshot) || !hold.isKnownToWriters else {
      last = .coarse
      return false
    }
    return try move()
  }

  /// Moves to the newest version; false if this is it.
  func move() throws(EngineError) -> Bool {
    last = .now
    if try realm.latest() === hold.snapshot { return false }
    let old = hold, new = try realm.hold()
    hold = new
    let isOtherFile = realm.standing.file != file
    file = realm.standing.file
    if isOtherFile || new.snapshot.version < old.snapshot.version {
      isExchanged = true
      isLost = true
      hasNewSchema = true
      renamed = []
      return true
    }
    // Without a place among the programs that have the realm open, only the file tells what became of it.
    if !new.isKnownToWriters { isExchanged = true }
    if new.snapshot.version == old.snapshot.version { return true }
    do throws(EngineError) { try add(from: old.snapshot, to: new.snapshot) } catch { isLost = true }
    if !realm.isCurrent(old.snapshot) || !realm.isCurrent(new.snapshot) { isLost = true }
    if isLost { hasNewSchema = true }
    return true
  }

  private func add(from old: Snapshot, to new: Snapshot) throws(EngineError) {
    let difference = try VersionDifference(from: old, to: new)
    for table in difference.tables {
      guard (table.new ?? table.old)?.className != nil else { continue }
      if !table.schema.isEmpty { try add(schemaOf: table, new) }
    }
    for table in difference.tables {
      guard let after = table.new, after.className != nil, after.kind != .embedded, table.old != nil else { continue }
      if unsure.contains(after.key) || changed.overflowing.contains(after.key) { continue }
      try add(table, after, difference)
    }
  }

  private func add(_ table: TableDifference, _ after: Table, _ difference: VersionDifference) throws(EngineError) {
    let changes = difference.changes(in: table)
    let keyProperty: Int?
    if case .property = KeyForm(after) { keyProperty = after.primaryKeyIndex } else { keyProperty = nil }
    let oldKeyProperty = keyProperty.flatMap { table.oldProperty($0) }
    let cursor = table.old.map { ObjectCursor($0) }
    let lists = Set(
      after.columns.indices.filter { after.columns[$0].type == .link && after.columns[$0].collection != nil }
    )
    func oldKey(_ key: ObjKey) throws(EngineError) -> [UInt8]? {
      guard let cursor, try cursor.seek(key) else { return nil }
      return try RowEncoder.key(of: cursor, oldKeyProperty)
    }
    while let change = try changes.next() {
      switch change {
      case .inserted(let key): changed.write(key, links: true, of: after.key)
      case .deleted(let key):
        if let field = try oldKey(key) { changed.remove(key, field: field, of: after.key) }
      case .updated(let key, let properties):
        let changesKey = keyProperty.map { properties.contains($0) } ?? false
        if changesKey, let field = try oldKey(key) { changed.removeRow(field, of: after.key) }
        changed.write(key, links: changesKey || properties.contains { lists.contains($0) }, of: after.key)
      }
      if changed.overflowing.contains(after.key) { return }
    }
  }

  /// Notes which classes are to be compared because of a schema that changed. A new property has values that no commit
  /// wrote.
  private func add(schemaOf table: TableDifference, _ new: Snapshot) throws(EngineError) {
    hasNewSchema = true
    guard let after = table.new else { return }
    if table.old == nil {
      // A class of its name may have been there before.
      if after.kind != .embedded { unsure.insert(after.key) }
      return
    }
    var isLocal = after.kind != .embedded
    for change in table.schema {
      switch change {
      case .propertyRenamed(let from, let to):
        renamed.append(PropertyRename(className: after.className ?? after.name, from: from, to: to))
      case .propertyAdded, .propertyRemoved, .propertyRetyped, .propertyIndex: break
      case .added, .removed, .renamed, .kind, .primaryKey: isLocal = false
      }
    }
    if isLocal {
      unsure.insert(after.key)
    } else {
      // Rows of other classes may show the names and primary keys of this one.
      for key in try new.tableKeys() { unsure.insert(key) }
    }
    for key in unsure { changed.forget(key) }
  }
}
