// The properties of a version that decide whether a later file continues it. A Realm file has no identity: neither the
// schema nor the version number distinguishes the realms of two users. In one realm, only the version number and each
// table's count of commits that changed it always grow. Source: docs/format/2-model.md M2, slot 6.

import RealmPages

/// The file of a version, and the number of commits that had changed each of its classes.
struct Lineage: Equatable {
  /// The inode number of the file; 0 if there is no file.
  let inode: UInt64
  /// Commit counts by table key; empty for formats that do not count.
  private let changes: [UInt32: UInt64]

  /// Creates the lineage of a version in the file with inode number `inode`.
  init(_ snapshot: Snapshot, inode: UInt64) throws(EngineError) {
    self.inode = inode
    var changes: [UInt32: UInt64] = [:]
    if snapshot.fileFormat >= 10 {
      for key in try snapshot.tableKeys() {
        guard let table = try snapshot.table(key), table.className != nil, table.damage == nil else { continue }
        changes[key.value] = table.contentVersion
      }
    }
    self.changes = changes
  }

  /// Parses `text`; nil if it is not a valid lineage.
  init?(_ text: String) {
    let words = text.split(separator: " ")
    guard let first = words.first, let inode = UInt64(first) else { return nil }
    var changes: [UInt32: UInt64] = [:]
    for word in words.dropFirst() {
      let pair = word.split(separator: ":")
      guard pair.count == 2, let key = UInt32(pair[0]), let count = UInt64(pair[1]) else { return nil }
      changes[key] = count
    }
    (self.inode, self.changes) = (inode, changes)
  }

  /// The text form that is stored in the database.
  var text: String {
    ([String(inode)] + changes.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }).joined(separator: " ")
  }

  /// True if `later` can be `commits` commits after this version: each commit changes a class at most once.
  func canBecome(_ later: Lineage, after commits: UInt64) -> Bool {
    changes.allSatisfy { key, count in
      guard let now = later.changes[key] else { return true }
      return now >= count && now - count <= commits
    }
  }

  /// True if `later` still has one of the classes, or if there were no classes.
  func sharesClass(with later: Lineage) -> Bool {
    changes.isEmpty || changes.keys.contains { later.changes[$0] != nil }
  }
}
