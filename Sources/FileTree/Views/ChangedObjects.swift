// Which objects have other texts than in the view before, so that only theirs get a new time: the mount knows what its
// own commits changed, and what others changed is found by what both versions share.

import RealmPages

/// The objects that changed between two views.
struct ChangedObjects {
  /// Those that the newer view has.
  var objects: [ObjectReference] = []
  /// The tables of which not all changed objects are known; any object of theirs may have changed.
  var unknown: Set<TableKey> = []
  /// Whether there are the same classes and objects in both.
  var namesStay = false
  /// Objects that the newer view has no more. They may be among `objects` instead.
  var removed: [ObjectReference] = []
  /// The tables of which not all removed objects are known.
  private var removedUnknown: Set<TableKey> = []

  init(namesStay: Bool = false) { self.namesStay = namesStay }

  /// True if all objects of a table are known that changed, came or went.
  func tellsAll(of table: TableKey) -> Bool { !unknown.contains(table) && !removedUnknown.contains(table) }

  /// Of a table in which more objects changed, all have the time of the table: to find them would hold up the first
  /// reader of the version.
  static let most = 10_000

  /// Finds them. Nil if any object of any table may have changed, as after a change of the schema, or if that cannot be
  /// found out from what both versions share.
  ///
  /// Precondition: that of `VersionDifference`. Cost: that of reading what changed.
  static func between(_ old: Snapshot, _ new: Snapshot) -> ChangedObjects? {
    do throws(EngineError) {
      let difference = try VersionDifference(from: old, to: new)
      guard difference.sharesNodes else { return nil }
      var found = ChangedObjects(namesStay: true)
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
      // What is damaged has the time of its table; reading it tells what is wrong.
      return nil
    }
  }
}

extension Table {
  /// Whether texts of its objects, and of objects that link to them, differ only where values do.
  fileprivate func looks(like other: Table) -> Bool {
    key == other.key && name.isExactly(other.name) && kind == other.kind && primaryKey?.key == other.primaryKey?.key
      && columns.elementsEqual(other.columns) { $0.key == $1.key && $0.name.isExactly($1.name) }
  }
}
