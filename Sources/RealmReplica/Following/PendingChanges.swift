// The objects whose rows are out of date. Commits that arrive while a server is slow or unreachable are merged here, so
// no version of a realm has to be held: an object that changes a thousand times is one entry. If a class has too many
// changes for memory, they are dropped and the whole class is compared instead.

import RealmPages

/// The objects that changed since the version that the replica contains.
struct PendingChanges {
  /// The changes in one class.
  struct Class {
    /// Key fields of rows to be removed. Removals are executed first, so an object that was created again under the
    /// same key is written afterwards.
    var removed: [[UInt8]] = []
    /// Objects whose rows must be written, with true if their lists of links changed.
    var written: [ObjKey: Bool] = [:]
  }

  private(set) var classes: [TableKey: Class] = [:]
  /// Classes with more changes than can be kept.
  private(set) var overflowing: Set<TableKey> = []
  private(set) var count = 0
  let limit: Int

  init(limit: Int = 200_000) { self.limit = limit }

  var isEmpty: Bool { count == 0 && overflowing.isEmpty }

  mutating func write(_ key: ObjKey, links: Bool, of table: TableKey) {
    guard hasRoom(for: table) else { return }
    let known = classes[table, default: Class()].written.updateValue(links, forKey: key)
    if known == nil { count += 1 }
    if known == true { classes[table]?.written[key] = true }
  }

  mutating func remove(_ key: ObjKey, field: [UInt8], of table: TableKey) {
    guard hasRoom(for: table) else { return }
    if classes[table]?.written.removeValue(forKey: key) != nil { count -= 1 }
    removeRow(field, of: table)
  }

  /// Adds a row to be removed because its object now has a different key or is unknown.
  mutating func removeRow(_ field: [UInt8], of table: TableKey) {
    guard hasRoom(for: table) else { return }
    classes[table, default: Class()].removed.append(field)
    count += 1
  }

  private mutating func hasRoom(for table: TableKey) -> Bool {
    if overflowing.contains(table) { return false }
    if count < limit { return true }
    overflow(table)
    return false
  }

  /// Replaces the changes of a class with a comparison of the whole class.
  mutating func overflow(_ table: TableKey) {
    forget(table)
    overflowing.insert(table)
  }

  /// Drops the changes of a class that is up to date or was removed.
  mutating func forget(_ table: TableKey) {
    if let gone = classes.removeValue(forKey: table) { count -= gone.removed.count + gone.written.count }
    overflowing.remove(table)
  }

  /// Removes and returns all rows to be removed from the replica.
  mutating func takeRemoved() -> [(table: TableKey, fields: [[UInt8]])] {
    var taken: [(TableKey, [[UInt8]])] = []
    for (table, changes) in classes where !changes.removed.isEmpty {
      taken.append((table, changes.removed))
      count -= changes.removed.count
      classes[table]?.removed = []
    }
    return taken
  }

  /// Removes and returns up to `limit` objects of one class to be written, ordered by key.
  mutating func takeWritten(_ limit: Int) -> (table: TableKey, objects: [(key: ObjKey, links: Bool)])? {
    guard let table = classes.first(where: { !$0.value.written.isEmpty })?.key,
      var written = classes[table]?.written
    else { return nil }
    classes[table]?.written = [:]
    var taken: [(key: ObjKey, links: Bool)] = []
    if written.count <= limit {
      taken = written.map { ($0.key, $0.value) }
      written = [:]
    } else {
      for key in Array(written.keys.prefix(limit)) {
        if let links = written.removeValue(forKey: key) { taken.append((key, links)) }
      }
    }
    classes[table]?.written = written
    count -= taken.count
    return (table, taken.sorted { $0.key < $1.key })
  }

  /// Adds changes that were taken but did not reach the database.
  mutating func restore(_ earlier: PendingChanges) {
    for table in earlier.overflowing { overflow(table) }
    for (table, changes) in earlier.classes {
      for field in changes.removed { removeRow(field, of: table) }
      for (key, links) in changes.written { write(key, links: links, of: table) }
    }
  }
}
