// The version of a realm that is being read. It advances with the realm: once a newer version exists, the old one is
// held for only a few hundredths of a second. The difference between the two is added to the changed objects, so rows
// built from the old version are either still correct or known to be out of date.

import RealmPages
import Threads

/// A renamed property.
struct PropertyRename: Hashable {
  let className: String
  let from: String
  let to: String
}

/// Follows the versions of one realm. Not thread-safe: one thread at a time.
final class VersionWindow {
  let realm: Realm
  private(set) var hold: VersionHold
  /// The changes since the version that the replica contains.
  var changed = PendingChanges()
  /// True if the changes are unknown: everything must be compared.
  var isLost = false
  /// True if the versions seen are not known to be consecutive versions of one realm.
  var isExchanged = false
  /// Classes to be compared because of a change to their schema, or to the schema of classes that their rows refer to.
  var unsure: Set<TableKey> = []
  /// True if the schema changed.
  var hasNewSchema = false
  /// Renamed properties, in the order of renaming.
  var renamed: [PropertyRename] = []
  private var file: Int
  private var last = MonotonicTime.now

  /// The time for which a version is still read after a newer one exists, in nanoseconds.
  private static let readTime: Int64 = 30_000_000

  init(_ realm: Realm) throws(EngineError) {
    self.realm = realm
    hold = try realm.hold()
    file = realm.location.generation
  }

  var snapshot: Snapshot { hold.snapshot }

  /// Moves to the newest version if there is one and the current version has been read for a while; returns true if it
  /// moved.
  func moveIfDue() throws(EngineError) -> Bool {
    guard MonotonicTime.coarse.nanoseconds - last.nanoseconds > Self.readTime else { return false }
    // If writers do not know which version is read, only a check of the file shows whether it still exists.
    guard realm.hasChanged(since: hold.snapshot) || !hold.isKnownToWriters else {
      last = .coarse
      return false
    }
    return try move()
  }

  /// Moves to the newest version; returns false if the window is already there.
  func move() throws(EngineError) -> Bool {
    last = .now
    if try realm.latest() === hold.snapshot { return false }
    let old = hold, new = try realm.hold()
    hold = new
    let isOtherFile = realm.location.generation != file
    file = realm.location.generation
    if isOtherFile || new.snapshot.version < old.snapshot.version {
      isExchanged = true
      isLost = true
      hasNewSchema = true
      renamed = []
      return true
    }
    // If the realm is not among the programs known to the lock file, the history between the versions is not known.
    if !new.isKnownToWriters { isExchanged = true }
    if new.snapshot.version == old.snapshot.version { return true }
    do { try add(from: old.snapshot, to: new.snapshot) } catch { isLost = true }
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
    if case .property = RowKeyForm(after) { keyProperty = after.primaryKeyIndex } else { keyProperty = nil }
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

  /// Records the classes to be compared because of a schema change. The default values of a new property are not part
  /// of any commit.
  private func add(schemaOf table: TableDifference, _ new: Snapshot) throws(EngineError) {
    hasNewSchema = true
    guard let after = table.new else { return }
    if table.old == nil {
      // A class with this name may have existed before.
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
      // Rows of other classes may contain the names and primary keys of this class.
      for key in try new.tableKeys() { unsure.insert(key) }
    }
    for key in unsure { changed.forget(key) }
  }
}
