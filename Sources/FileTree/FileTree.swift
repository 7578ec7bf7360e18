// The tree: the newest view of the realm, and the one loop that makes reads of it safe.
//
// A version stays readable for a moment only after a newer one has come, and in an immutable mount not at all: other
// writers may reuse what it refers to. Every operation therefore works on the newest version and asks afterwards
// whether what it read can be trusted; if not, it is thrown away and read again. Nothing read is handed out or
// remembered before that check.

import Glibc
public import RealmPages
import Synchronization
import Threads

/// A realm as a tree of directories and files. All operations may be called from any number of threads.
public final class FileTree: Sendable {
  /// What the user chose.
  public let options: MountOptions
  let realm: Realm
  let registry = TableRegistry()
  let inodes = InodeTable()
  let texts: TextCache
  let openFiles = OpenFiles()
  let statistics = StatisticsMemory()
  /// Nil for a tree that only shows.
  let saver: Saver?
  let overlay: Overlay
  let ownChanges = OwnChanges()
  let objectTimes = ObjectTimes()
  let refusals = RefusalLog()
  let deletions = RecentDeletions()
  /// Names that the kernel must look up again.
  public let staleNames = StaleNames()
  let damageLog: DamageLog
  /// How many entries a directory stream lists with attributes unasked.
  let listingBudget: Int
  private let newest = Mutex<VersionView?>(nil)
  /// Held while a view is made, so that it is made once.
  private let making = Mutex<Void>(())
  private let versionObserver = Observer()

  /// How often a read is tried while commits keep coming, which takes up to a fifth of a second.
  private static let attempts = 100

  /// Shows `realm` as a tree. Reads the schema, and no objects.
  ///
  /// - Throws: `noSuchClass` if the options ask for a class that is not there; `damaged`, `unavailable`, `busy`.
  public convenience init(_ realm: Realm, options: MountOptions) throws(FileTreeError) {
    try self.init(realm, options: options, listingBudget: DirectoryStream.usualBudget, texts: TextCache())
  }

  /// Shows the realm of `writer` as a tree that can be changed.
  public convenience init(_ writer: RealmWriter, options: MountOptions) throws(FileTreeError) {
    try self.init(
      writer.realm,
      writer,
      options: options,
      listingBudget: DirectoryStream.usualBudget,
      texts: TextCache()
    )
  }

  init(
    _ realm: Realm,
    _ writer: RealmWriter? = nil,
    options: MountOptions,
    listingBudget: Int,
    texts: TextCache
  ) throws(FileTreeError) {
    self.realm = realm
    self.options = options
    overlay = Overlay(MemoryBudget(options.memoryLimit))
    saver = writer.map { [ownChanges] in Saver($0, options, ownChanges) }
    self.listingBudget = listingBudget
    self.texts = texts
    damageLog = DamageLog(options.log)
    try read { view throws(FileTreeError) in
      let available = view.directories.compactMap { $0.table.kind == .embedded ? nil : $0.table.className }
      for name in options.classes ?? [] where !available.contains(name) {
        throw .noSuchClass(name, available: available)
      }
    }
  }

  /// Whether files can be made, written and removed.
  public var isWritable: Bool { saver != nil }

  /// Sets what is called, on whichever thread, when a version is seen that was not seen before.
  public func observeVersions(_ body: @escaping @Sendable () -> Void) { versionObserver.set(body) }

  /// Looks whether there is a new version.
  public func refresh() throws(FileTreeError) {
    try read { _ in }
  }

  // MARK: reading

  /// Runs `body` on the newest view, again while commits come in between. Results and errors count only if the view was
  /// still the newest when `body` ended; `body` must not keep anything by itself.
  func read<T>(_ body: (VersionView) throws(FileTreeError) -> T) throws(FileTreeError) -> T {
    var attempt = 0
    while true {
      let snapshot = try newestSnapshot()
      do throws(FileTreeError) {
        let result = try body(try view(of: snapshot))
        if realm.isCurrent(snapshot) { return result }
      } catch {
        if realm.isCurrent(snapshot) { throw error }
      }
      attempt += 1
      if attempt == Self.attempts { throw .busy }
      if attempt > 2 { usleep(useconds_t(min(100 * attempt, 2000))) }
    }
  }

  private func newestSnapshot() throws(FileTreeError) -> Snapshot {
    do { return try realm.latest() } catch { throw .unavailable(error) }
  }

  private func view(of snapshot: Snapshot) throws(FileTreeError) -> VersionView {
    if let view = newest.withLock({ $0 }), view.snapshot === snapshot { return view }
    let (view, isNew) = try making.withLock { _ throws(FileTreeError) -> (VersionView, Bool) in
      let previous = newest.withLock { $0 }
      if let previous, previous.snapshot === snapshot { return (previous, false) }
      let view = try make(snapshot, previous)
      // Times of a view that was read from reused space would be carried on.
      guard realm.isCurrent(snapshot) else { throw .busy }
      newest.withLock { $0 = view }
      return (view, previous != nil)
    }
    if isNew { versionObserver.notify() }
    return view
  }

  private func make(_ snapshot: Snapshot, _ previous: VersionView?) throws(FileTreeError) -> VersionView {
    let status: FileStatus
    do { status = try realm.fileStatus() } catch { throw .unavailable(error) }
    let changed = previous.flatMap { ownChanges.objects(after: $0.snapshot.version, upTo: snapshot.version) }
    let view: VersionView
    do throws(FormatError) {
      view = try VersionView(
        VersionView.Source(
          snapshot: snapshot,
          status: status,
          fileIdentity: RealmFile.identity(realm.configuration.path),
          options: options,
          registry: registry,
          previous: previous,
          now: MonotonicTime.now,
          changesAreKnown: changed != nil,
          objectTimes: objectTimes,
          isWritable: saver != nil
        )
      )
    } catch {
      throw .damaged("the realm", error)
    }
    let time = Clock.time()
    for object in changed ?? [] {
      guard let directory = view.directory(of: object.table) else { continue }
      objectTimes.set(time, of: number(directory, object.key), version: snapshot.version)
    }
    return view
  }

  // MARK: nodes

  /// What an inode stands for; `stale` if nothing.
  func node(_ inode: InodeNumber) throws(FileTreeError) -> TreeNode {
    if inode.isHashed {
      guard let (ordinal, key) = inodes.object(inode) else { throw .stale }
      return .object(ordinal, key)
    }
    guard let node = inode.spelledNode else { throw .stale }
    switch node {
    case .fixed(.errors), .fixed(.rejected), .fixed(.compact), .rejectedDirectory: if saver == nil { throw .stale }
    default: break
    }
    if case .memory = node, case .object(let ordinal, let key) = overlay.node(inode) { return .object(ordinal, key) }
    return node
  }

  /// A file in memory that the kernel knows; `stale` if it is forgotten.
  func memoryFile(_ inode: InodeNumber) throws(FileTreeError) -> MemoryFile {
    guard case .file(let file) = overlay.node(inode) else { throw .stale }
    return file
  }

  /// The number of an object, without counting a reference.
  func number(_ directory: TableDirectory, _ key: ObjKey) -> InodeNumber {
    InodeNumber(spelling: .object(directory.ordinal, key)) ?? inodes.number(of: directory.ordinal, key)
  }

  /// Takes back `lookups` references that the kernel held on an inode: one for each lookup and each entry of a listing
  /// with attributes.
  public func forget(_ inode: InodeNumber, lookups: UInt64) {
    if inode.isHashed { inodes.forget(inode, lookups: lookups) }
    if case .memory = inode.spelledNode { overlay.forget(inode, lookups: lookups) }
  }
}

extension VersionView {
  /// The table with this ordinal; `stale` if it is gone.
  func existing(_ ordinal: TableOrdinal) throws(FileTreeError) -> TableDirectory {
    guard let directory = directory(ordinal) else { throw .stale }
    return directory
  }
}
