// The objects whose rows are not up to date. Commits that come while a server is slow or away are joined here, so no
// version of a realm waits for it: an object that changes a thousand times is one entry. What is too much for memory is
// no longer known object by object: the whole class is compared then.

import RealmPages

/// Objects that changed since the version that a replica has.
struct ChangedObjects {
  /// What changed in one class.
  struct Class {
    /// Fields of keys whose rows are to go. Those of objects that came back under the same key are written again, since
    /// rows go first.
    var removed: [[UInt8]] = []
    /// Objects whose rows are to be written, and whether their lists of links changed.
    var written: [ObjKey: Bool] = [:]
  }

  private(set) var classes: [TableKey: Class] = [:]
  /// Classes of which more changed than is kept.
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

  /// A row whose object has another key now, or is unknown.
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

  /// Forgets the objects of a class: all of it is to be compared.
  mutating func overflow(_ table: TableKey) {
    forget(table)
    overflowing.insert(table)
  }

  /// Forgets a class, which is up to date or gone.
  mutating func forget(_ table: TableKey) {
    if let gone = classes.removeValue(forKey: table) { count -= gone.removed.count + gone.written.count }
    overflowing.remove(table)
  }

  /// Takes rows that are to go.
  mutating func takeRemoved() -> [(table: TableKey, fields: [[UInt8]])] {
    var taken: [(TableKey, [[UInt8]])] = []
    for (table, changes) in classes where !changes.removed.isEmpty {
      taken.append((table, changes.removed))
      count -= changes.removed.count
      classes[table]?.removed = []
    }
    return taken
  }

  /// Takes up to `limit` objects of one class that are to be written, in the order of their keys.
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

  /// Adds what was taken and did not reach the database.
  mutating func restore(_ earlier: ChangedObjects) {
    for table in earlier.overflowing { overflow(table) }
    for (table, changes) in earlier.classes {
      for field in changes.removed { removeRow(field, of: table) }
      for (key, links) in changes.written { write(key, links: links, of: table) }
    }
  }
}
