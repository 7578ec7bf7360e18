// When the text of objects last changed, as far as commits seen tell. A commit moves the time of the objects that it
// changed (ChangedObjects.swift); where these are not known, of all objects of the tables that it changed.
//
// Invariant: a stamp changes whenever any text of the table's objects may have changed, and times never go back.

import RealmPages
import Threads

/// The last change of the objects of one table.
struct ChangeStamp: Sendable, Hashable {
  /// The generation of the view in which the change was noticed; texts of equal stamps are equal.
  var generation: UInt64
  /// Shown as mtime of objects that have no time of their own.
  var modified: Timestamp
  /// The version since which `modified` holds; times of single objects that were set before count no more.
  var version: UInt64
  /// Shown as mtime of the directory: the last change of any object.
  var touched: Timestamp
  /// When it was noticed; nil for what was there when the mount began.
  var noticed: MonotonicTime?
}

/// The stamps of all tables of one version.
struct ChangeTimes: Sendable {
  private struct Known {
    let fingerprint: UInt64
    let stamp: ChangeStamp
  }

  private var known: [TableOrdinal: Known] = [:]

  /// The times of a mount's first view: everything has the realm file's own time.
  init() {}

  /// The stamp of a table; nil for a table of another version.
  subscript(ordinal: TableOrdinal) -> ChangeStamp? { known[ordinal]?.stamp }

  /// The times of the next view.
  ///
  /// - Parameters:
  ///   - tables: all tables of its version, with their ordinals
  ///   - file: distinguishes the realm file from one that replaced it
  ///   - stamp: what tables get that changed
  ///   - changed: the objects that changed; nil if all can have
  /// - Returns: the times of the new version
  func advanced(
    to tables: [(ordinal: TableOrdinal, table: Table)],
    file: UInt64,
    stamp: ChangeStamp,
    changed: ChangedObjects?
  ) -> ChangeTimes {
    let fingerprints = Fingerprints(tables.map(\.table), file: file)
    var next = ChangeTimes()
    for (ordinal, table) in tables {
      let fingerprint = fingerprints.ofTexts(table)
      if let old = known[ordinal], old.fingerprint == fingerprint {
        next.known[ordinal] = old
      } else {
        var new = stamp
        // Commits within one tick of the file system's clock still have different times.
        if let old = known[ordinal]?.stamp {
          if !(old.touched < new.touched) { new.touched = old.touched.nextNanosecond }
          let areKnown = changed.map { !$0.unknown.contains(table.key) } ?? false
          (new.modified, new.version) = areKnown ? (old.modified, old.version) : (new.touched, new.version)
        }
        next.known[ordinal] = Known(fingerprint: fingerprint, stamp: new)
      }
    }
    return next
  }
}

/// Numbers that differ when texts can differ.
private struct Fingerprints {
  private let byKey: [TableKey: Table]
  private let schema: UInt64

  init(_ tables: [Table], file: UInt64) {
    byKey = Dictionary(tables.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    // Texts name classes (in Mixed links) and show the primary keys of other tables, so all depend on these.
    var schema = file
    for table in tables {
      schema = Self.mix(schema, UInt64(table.key.value))
      for byte in table.name.utf8 { schema = Self.mix(schema, UInt64(byte)) }
      schema = Self.mix(schema, UInt64(bitPattern: table.primaryKey?.key.value ?? -1))
    }
    self.schema = schema
  }

  /// A number that changes with the content of the table and of the embedded objects that its texts include. That of a
  /// link's target does not count: the text shows its primary key, which never changes, and when the target is deleted,
  /// the link itself is changed.
  func ofTexts(_ table: Table) -> UInt64 {
    var seen: Set<TableKey> = [table.key]
    var pending = [table]
    var fingerprint = schema
    while let next = pending.popLast() {
      fingerprint = Self.mix(Self.mix(fingerprint, UInt64(next.key.value)), next.contentVersion)
      for column in next.columns where column.type == .link {
        guard let key = column.targetTable, let target = byKey[key], target.kind == .embedded else { continue }
        if seen.insert(key).inserted { pending.append(target) }
      }
    }
    return fingerprint
  }

  /// A step of FNV-1a, over words.
  private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    let product = (hash ^ word) &* 0x0000_0100_0000_01b3
    return product ^ product >> 29
  }
}

extension Timestamp {
  static func < (a: Timestamp, b: Timestamp) -> Bool { (a.seconds, a.nanoseconds) < (b.seconds, b.nanoseconds) }

  /// The smallest later time, for times after 1970.
  var nextNanosecond: Timestamp {
    nanoseconds < 999_999_999
      ? Timestamp(seconds: seconds, nanoseconds: nanoseconds + 1)
      : Timestamp(seconds: seconds + 1, nanoseconds: 0)
  }
}
