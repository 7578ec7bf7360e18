// One version of the realm as a tree: its directories, times, render contexts and cached texts. Immutable except for
// its caches. A view is created from the previous one, so that unchanged tables keep their ordinals and times.

import RealmJSON
import RealmPages
import Synchronization
import Threads

/// The tree at one version.
final class VersionView: Sendable {
  let snapshot: Snapshot
  /// Counts the views of a mount, from 1.
  let generation: UInt64
  /// All tables, in the order in which the mount first saw them.
  let directories: [TableDirectory]
  let rules: AccessRules
  /// The time of the version: the modification time of the realm file.
  let modified: Timestamp
  /// The realm file's size in bytes.
  let fileSize: Int
  /// Distinguishes the realm file from one that replaced it.
  let fileIdentity: UInt64
  let contexts: RenderContextPool
  /// The texts of the control files of this version. A text may be stored here before it is validated: if validation
  /// fails, the view is not used again.
  let controlTexts = Mutex<[InodeNumber: [UInt8]]>([:])

  /// The deleted objects of this version, once they have been searched for, or the reason why they cannot be shown.
  let deletedTexts = Mutex<Result<DeletedTexts, FileTreeError>?>(nil)

  /// The sizes of texts of this version that are generated while they are read.
  let streamSizes = StreamSizes()

  /// The results of queries with DISTINCT and LIMIT in this version.
  let selections = SelectionMemory()

  private let times: ChangeTimes
  private let objectTimes: ObjectTimes
  private let positions: [TableOrdinal: Int]
  private let roots: [[UInt8]: Int]
  private let internals: [[UInt8]: Int]
  private let classes: [[UInt8]: Int]

  /// The inputs for creating a view.
  struct Source {
    let snapshot: Snapshot
    let status: FileStatus
    /// Distinguishes the realm file from one that replaced it.
    let fileIdentity: UInt64
    let options: TreeOptions
    let registry: TableRegistry
    let previous: VersionView?
    /// The current time on the monotonic clock.
    let now: MonotonicTime
    /// The objects that changed since the previous view; nil if any object may have changed.
    let changed: ChangedTexts?
    let objectTimes: ObjectTimes
    let keptModes: KeptModes
    /// True if the mount is writable.
    let isWritable: Bool
  }

  init(_ source: Source) throws(EngineError) {
    let previous = source.previous
    snapshot = source.snapshot
    generation = (previous?.generation ?? 0) + 1
    rules = AccessRules(source.status, source.options, isWritable: source.isWritable, source.keptModes)
    modified = source.status.modified
    fileSize = source.status.size
    fileIdentity = source.fileIdentity
    contexts = RenderContextPool(source.snapshot, source.options.json)

    var tables: [(registered: TableRegistry.Registered, table: Table)] = []
    for key in try source.snapshot.tableKeys() {
      guard let table = try source.snapshot.table(key), let registered = source.registry.register(table) else {
        continue
      }
      tables.append((registered, table))
    }
    tables.sort { $0.registered.ordinal < $1.registered.ordinal }

    let stamp = ChangeStamp(
      generation: generation,
      modified: source.status.modified,
      version: source.snapshot.version,
      touched: source.status.modified,
      noticed: previous == nil ? nil : source.now
    )
    let times = (previous?.times ?? ChangeTimes()).advanced(
      to: tables.map { ($0.registered.ordinal, $0.table) },
      file: source.fileIdentity,
      stamp: stamp,
      changed: source.changed
    )
    self.times = times
    objectTimes = source.objectTimes
    directories = tables.map { registered, table in
      TableDirectory(table, registered, Self.place(of: table, source.options), times[registered.ordinal] ?? stamp)
    }
    var positions: [TableOrdinal: Int] = [:]
    var roots: [[UInt8]: Int] = [:], internals: [[UInt8]: Int] = [:], classes: [[UInt8]: Int] = [:]
    for (position, directory) in directories.enumerated() {
      positions[directory.ordinal] = position
      if directory.table.className != nil { classes[directory.name] = position }
      switch directory.place {
      case .root: roots[directory.name] = position
      case .tables: internals[directory.name] = position
      case .nowhere: break
      }
    }
    self.positions = positions
    self.roots = roots
    self.internals = internals
    self.classes = classes
  }

  private static func place(of table: Table, _ options: TreeOptions) -> TableDirectory.Place {
    guard let name = table.className else { return .tables }
    if table.kind == .embedded { return .nowhere }
    return options.classes.map { $0.contains(name) } ?? true ? .root : .nowhere
  }

  /// The table with this ordinal; nil if it does not exist in this version.
  func directory(_ ordinal: TableOrdinal) -> TableDirectory? { positions[ordinal].map { directories[$0] } }

  /// The attributes of an object whose text has `size` bytes.
  @inline(__always)
  func attributes(of inode: InodeNumber, in directory: TableDirectory, size: Int) -> FileAttributes {
    let attributes = rules.file(inode, size: size, modified(inode, in: directory))
    return directory.isChangeable ? attributes : attributes.readOnly
  }

  /// The time of the last change to the text of an object.
  @inline(__always)
  func modified(_ inode: InodeNumber, in directory: TableDirectory) -> Timestamp {
    let stamp = directory.stamp
    return objectTimes.time(of: inode, since: stamp.version) ?? stamp.modified
  }

  /// Records individual times for the objects that a commit changed, and returns their inode numbers. `isOwn` is true
  /// if this mount made the commit, just now.
  func noteChanges(
    _ changed: ChangedTexts,
    isOwn: Bool,
    _ number: (TableOrdinal, ObjKey) -> InodeNumber
  ) -> [InodeNumber] {
    var last: TableDirectory?, inodes: [InodeNumber] = []
    for object in changed.objects {
      if last?.table.key != object.table { last = directory(of: object.table) }
      guard let directory = last else { continue }
      let inode = number(directory.ordinal, object.key)
      inodes.append(inode)
      if !isOwn { objectTimes.move(inode, to: directory.stamp.touched, version: snapshot.version) }
    }
    if isOwn { objectTimes.set(Timestamp.now, of: inodes, version: snapshot.version) }
    return inodes
  }

  /// The table with this key.
  func directory(of key: TableKey) -> TableDirectory? { directories.first { $0.table.key == key } }

  /// The class directory with this name in the root.
  func rootDirectory(_ name: [UInt8]) -> TableDirectory? { roots[name].map { directories[$0] } }

  /// The directory with this name in `.realm/tables`.
  func internalDirectory(_ name: [UInt8]) -> TableDirectory? { internals[name].map { directories[$0] } }

  /// The class with this escaped name, whether or not it is shown.
  func classDirectory(_ name: [UInt8]) -> TableDirectory? { classes[name].map { directories[$0] } }

  /// The number of directories in the root, `.realm` included.
  var rootDirectoryCount: Int { roots.count + 1 }
  /// The number of directories in `.realm/tables`.
  var internalDirectoryCount: Int { internals.count }
}
