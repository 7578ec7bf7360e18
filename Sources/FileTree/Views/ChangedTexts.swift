// Determines the objects whose texts differ from the previous view, so that only these receive a new time. The mount
// knows the changes of its own commits; changes of other programs are found by comparing both versions, skipping the
// nodes they share.

import RealmPages

/// The objects that changed between two views.
struct ChangedTexts {
  /// The changed objects that exist in the newer view.
  var objects: [ObjectReference] = []
  /// The tables whose changed objects are not all known; any of their objects may have changed.
  var unknown: Set<TableKey> = []
  /// True if both views have the same classes and objects.
  var namesStay = false
  /// Objects that no longer exist in the newer view. They may be listed in `objects` instead.
  var removed: [ObjectReference] = []
  /// The tables whose removed objects are not all known.
  private var removedUnknown: Set<TableKey> = []

  init(namesStay: Bool = false) { self.namesStay = namesStay }

  /// True if all changed, added and removed objects of a table are known.
  func isComplete(of table: TableKey) -> Bool { !unknown.contains(table) && !removedUnknown.contains(table) }

  /// The maximum number of changed objects per table. With more, all objects receive the time of the table, because
  /// finding the changed ones would delay the first reader of the version.
  static let most = 10_000

  /// Finds the changes between two versions. Returns nil if any object of any table may have changed, as after a schema
  /// change, or if the versions do not share nodes.
  ///
  /// Precondition: that of `VersionDifference`. Cost: that of reading the changes.
  static func between(_ old: Snapshot, _ new: Snapshot) -> ChangedTexts? {
    do {
      let difference = try VersionDifference(from: old, to: new)
      guard difference.sharesNodes else { return nil }
      var found = ChangedTexts(namesStay: true)
      for table in difference.tables {
        guard let before = table.old, let after = table.new, before.looks(like: after) else { return nil }
        if after.kind == .embedded { continue }
        let first = found.objects.count, firstRemoved = found.removed.count, changes = difference.changes(in: table)
        while let change = try changes.next() {
          switch change {
          case .updated: break
          case .inserted: found.namesStay = false
          case .deleted:
            found.namesStay = false
            if found.removed.count - firstRemoved < most {
              found.removed.append(ObjectReference(table: after.key, key: change.key))
            } else {
              found.removedUnknown.insert(after.key)
            }
            continue
          }
          if found.objects.count - first == most {
            found.objects.removeLast(most)
            found.unknown.insert(after.key)
            found.namesStay = false
            break
          }
          found.objects.append(ObjectReference(table: after.key, key: change.key))
        }
      }
      return found
    } catch {
      // Damaged objects receive the time of their table; reading them reports the damage.
      return nil
    }
  }
}

extension Table {
  /// True if equal values are rendered as equal texts in both versions of the table, even in objects that link to its
  /// objects.
  fileprivate func looks(like other: Table) -> Bool {
    key == other.key && name.isExactly(other.name) && kind == other.kind && primaryKey?.key == other.primaryKey?.key
      && columns.elementsEqual(other.columns) { $0.key == $1.key && $0.name.isExactly($1.name) }
  }
}
