// The status of a mount: the extended attribute `system.realmfs.status` of its root. It is computed from memory only,
// so requesting it neither reads the realm nor counts as use. For an attribute in the namespace `user`, the kernel
// would first request the attributes of the root, which counts as use.

import Glibc
package import RealmJSON
import RealmPages
import Threads

/// A mount, as `realmfs status` shows it.
package struct MountReport: Equatable, Sendable {
  /// The mode in which a realm is mounted.
  package enum Mode: String, Sendable {
    case readWrite = "read-write"
    case readOnly = "read-only"
    /// Read-only and invisible to other programs.
    case immutable
  }

  /// The process that serves the mount.
  package let process: Int32
  /// The path of the realm.
  package let file: String
  package let mode: Mode
  /// Seconds since the last use of the realm; nil if unknown.
  package let idleSeconds: Int?
  /// The number of snapshots.
  package let snapshots: Int

  /// The attribute of the root that contains the report.
  package static let attribute = "system.realmfs.status"

  /// Creates a report.
  package init(process: Int32, file: String, mode: Mode, idleSeconds: Int?, snapshots: Int) {
    (self.process, self.file, self.mode) = (process, file, mode)
    (self.idleSeconds, self.snapshots) = (idleSeconds, snapshots)
  }

  /// Parses the value of the attribute; nil if it is invalid.
  package init?(_ text: [UInt8]) {
    guard let facts = JSONValue(report: text), let file = facts["file"]?.string,
      let process = facts["pid"]?.number.flatMap({ Int32(exactly: $0) }), process > 0,
      let mode = facts["mode"]?.string.flatMap(Mode.init(rawValue:)), let snapshots = facts["snapshots"]?.number
    else { return nil }
    self.init(
      process: process,
      file: file,
      mode: mode,
      idleSeconds: facts["idleSeconds"]?.number,
      snapshots: snapshots
    )
  }

  init(_ tree: TreeContext) {
    let realm = tree.realm
    let idle = realm.lastUse.map { MonotonicTime.coarse.nanoseconds - $0.nanoseconds }
    self.init(
      process: getpid(),
      file: realm.configuration.path,
      mode: tree.drafts.saver != nil ? .readWrite : realm.configuration.mode == .immutable ? .immutable : .readOnly,
      idleSeconds: idle.map { max(0, Int($0 / 1_000_000_000)) },
      snapshots: tree.subtrees.snapshots.all.count
    )
  }

  /// The members of the report.
  package var facts: [(String, JSONValue)] {
    [
      ("file", .string(file)), ("pid", .number(Int(process))), ("mode", .string(mode.rawValue)),
      ("idleSeconds", idleSeconds.map { .number($0) } ?? .null), ("snapshots", .number(snapshots)),
    ]
  }
}
