// The times of the last changes to the texts of objects, as far as observed commits determine them. A commit advances
// the time of the objects it changed (ChangedTexts.swift) or, if those are unknown, of all objects in the tables it
// changed.
//
// Invariant: a stamp changes whenever any text of the table's objects may have changed, and times never go backwards.

import CLinux
import RealmPages
import Threads

/// The last change of the objects of one table.
struct ChangeStamp: Sendable, Hashable {
  /// The generation of the view in which the change was noticed; texts with equal stamps are equal.
  var generation: UInt64
  /// The mtime of objects without an individual time.
  var modified: Timestamp
  /// The version since which `modified` holds. It overrides individual times set before that version.
  var version: UInt64
  /// The mtime of the directory: the last change of any object.
  var touched: Timestamp
  /// When the change was noticed; nil for the state at the start of the mount.
  var noticed: MonotonicTime?
}

/// The stamps of all tables of one version.
struct ChangeTimes: Sendable {
  private struct Known {
    let fingerprint: UInt64
    let stamp: ChangeStamp
  }

  private var known: [TableOrdinal: Known] = [:]

  /// The times of a mount's first view: everything has the time of the realm file.
  init() {}

  /// The stamp of a table; nil for a table that is not in this version.
  subscript(ordinal: TableOrdinal) -> ChangeStamp? { known[ordinal]?.stamp }

  /// The times of the next view.
  ///
  /// - Parameters:
  ///   - tables: all tables of its version, with their ordinals
  ///   - file: distinguishes the realm file from one that replaced it
  ///   - stamp: the stamp for changed tables
  ///   - changed: the objects that changed; nil if any object may have changed
  /// - Returns: the times of the new version
  func advanced(
    to tables: [(ordinal: TableOrdinal, table: Table)],
    file: UInt64,
    stamp: ChangeStamp,
    changed: ChangedTexts?
  ) -> ChangeTimes {
    let fingerprints = Fingerprints(tables.map(\.table), file: file)
    var next = ChangeTimes()
    for (ordinal, table) in tables {
      let fingerprint = fingerprints.ofTexts(table)
      if let old = known[ordinal], old.fingerprint == fingerprint {
        next.known[ordinal] = old
      } else {
        var new = stamp
        // Commits within one tick of the file system's clock must still have different times.
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

/// Fingerprints of tables, which differ if texts may differ.
private struct Fingerprints {
  private let byKey: [TableKey: Table]
  private let schema: UInt64

  init(_ tables: [Table], file: UInt64) {
    byKey = Dictionary(tables.map { ($0.key, $0) }, uniquingKeysWith: { first, _ in first })
    // Texts contain class names (in Mixed links) and primary keys of other tables, so every fingerprint depends on
    // these.
    var schema = file
    for table in tables {
      schema = Self.mix(schema, UInt64(table.key.value))
      for byte in table.name.utf8 { schema = Self.mix(schema, UInt64(byte)) }
      schema = Self.mix(schema, UInt64(bitPattern: table.primaryKey?.key.value ?? -1))
    }
    self.schema = schema
  }

  /// A fingerprint that changes with the content of the table and of the embedded objects in its texts. The content of
  /// a link's target does not matter: the text shows its primary key, which never changes, and deleting the target
  /// changes the link itself.
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

  /// One step of a hash over words.
  private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
    let product = clinux_fnv_step(hash, word)
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
