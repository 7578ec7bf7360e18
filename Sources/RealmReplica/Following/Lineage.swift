// The facts of a version by which a later file is judged. A Realm file has no identity of its own: neither the schema
// nor the number of a version tells one user's realm from another's. What only grows in one realm is the number of its
// version and, for each table, the number of commits that changed it. Source: docs/format/2-model.md M2, slot 6.

import RealmPages

/// The file of a version, and how many commits had changed each of its classes.
struct Lineage: Equatable {
  /// The number of the file in its file system; 0 if there is no file.
  let inode: UInt64
  /// By table key; empty for formats that do not count.
  private let changes: [UInt32: UInt64]

  /// The lineage of a version in the file with that number.
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

  /// Reads `text`; nil if it is not the text of a lineage.
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

  /// The form that the database keeps.
  var text: String {
    ([String(inode)] + changes.sorted { $0.key < $1.key }.map { "\($0.key):\($0.value)" }).joined(separator: " ")
  }

  /// True if `later` can be `commits` commits after this version: each commit changes a class once or not at all.
  func canBecome(_ later: Lineage, after commits: UInt64) -> Bool {
    changes.allSatisfy { key, count in
      guard let now = later.changes[key] else { return true }
      return now >= count && now - count <= commits
    }
  }

  /// True if `later` still has one of the classes, or there were none.
  func sharesClass(with later: Lineage) -> Bool {
    changes.isEmpty || changes.keys.contains { later.changes[$0] != nil }
  }
}
