// The newest view of the realm, and the loop that makes all reads of it safe.
//
// A version stays readable only briefly after a newer one is committed, and not at all in an immutable mount: other
// writers may reuse its space. Every operation therefore works on the newest version and then checks whether the data
// it read was valid; if not, the result is discarded and the read repeated. Invariant: no data is returned or cached
// before that check.

import Glibc
import RealmJSON
import RealmPages
import Synchronization
import Threads

/// Provides views of the newest version of a realm.
final class Views: Sendable {
  /// The objects that the mount's own commits changed.
  let ownChanges = OwnChanges()
  let lineSizes = LineSizes()
  let objectTimes = ObjectTimes()
  let keptModes = KeptModes()
  /// Called on any thread when a new version is first seen.
  let observer = CommitObserver()
  let registry: TableRegistry
  /// The cached texts of objects.
  let texts: TextCache
  let statistics = StatisticsMemory()
  let damageLog: DamageLog
  private let realm: Realm
  let options: TreeOptions
  private let objectInodes: InodeTable
  /// Nil for a read-only tree.
  private let writer: RealmWriter?
  private let condition: RealmCondition
  private let newest = Mutex<VersionView?>(nil)
  /// The version that is shown instead of the newest.
  let held: VersionHold?
  /// Counts the reads of `held`.
  private let heldReads = Atomic<UInt>(0)
  private let news = Mutex(ViewChanges())
  /// Held while a view is created, so that each view is created once.
  private let making = Mutex<Void>(())

  /// The maximum number of attempts of a read while commits continue to arrive, which takes up to 200 ms.
  private static let attempts = 100
  /// Like `attempts`, but for a held version: once it is invalid, it stays invalid.
  private static let heldAttempts = 3

  init(
    _ realm: Realm,
    _ writer: RealmWriter?,
    _ options: TreeOptions,
    _ namespace: Namespace.State,
    texts: TextCache,
    showing held: VersionHold? = nil,
    report: @escaping @Sendable (String) -> Void
  ) {
    self.realm = realm
    self.writer = writer
    self.options = options
    objectInodes = namespace.objectInodes
    self.texts = texts
    condition = RealmCondition(realm.configuration.path, report)
    damageLog = DamageLog(report)
    self.held = held
    registry = TableRegistry(namespace.nodes)
  }

  /// True if the tree follows the newest version; false if it shows a held one.
  var isFollowing: Bool { held == nil }

  /// Runs `body` on the newest view and repeats it if there was a commit in the meantime. Results and errors are valid
  /// only if the view was still the newest when `body` ended, so `body` must not store anything itself. The first read
  /// of a request checks which file the path of the realm refers to; without a request, each read does.
  func read<T>(
    _ request: Request?,
    _ body: (VersionView) throws(FileTreeError) -> T
  ) throws(FileTreeError) -> T {
    let attempts = isFollowing ? Self.attempts : Self.heldAttempts
    var checksPath = request?.takePathCheck() ?? true
    let result = try realm.read(
      attempts: attempts,
      pauses: true,
      latest: { () throws(FileTreeError) in
        // A version that proved invalid may belong to a file that was moved.
        defer { checksPath = true }
        return try newestSnapshot(checksPath: checksPath)
      },
      { (snapshot) throws(FileTreeError) in try body(view(of: snapshot)) }
    )
    guard let result else { throw isFollowing ? .busy : .stale }
    return result
  }

  /// Runs `body` like `read`, or on the last known view while the realm cannot be read. For data that a view provides
  /// without reading the file: names of classes, modes, refusals.
  func readable<T>(
    _ request: Request?,
    _ body: (VersionView) throws(FileTreeError) -> T
  ) throws(FileTreeError) -> T {
    do { return try read(request, body) } catch {
      guard case .unavailable = error, let view = newest.withLock({ $0 }) else { throw error }
      return try body(view)
    }
  }

  /// The owner and modes of the last view, without checking for a newer one; nil before the first view.
  var lastRules: AccessRules? { newest.withLock { $0?.rules } }

  private func newestSnapshot(checksPath: Bool) throws(FileTreeError) -> Snapshot {
    if let held {
      let reads = heldReads.wrappingAdd(1, ordering: .relaxed).newValue
      if reads % Snapshot.readsBetweenTrims == 0 { held.snapshot.limitResidentPages() }
      return held.snapshot
    }
    do {
      let snapshot = checksPath ? try newestSettled() : try realm.latest(checksPath: false)
      condition.note(realm.location)
      return snapshot
    } catch {
      condition.note(error)
      throw .unavailable(error)
    }
  }

  /// The newest version. If the path no longer refers to the open file, pending group commits are first synced to the
  /// file in which they were made.
  private func newestSettled() throws(EngineError) -> Snapshot {
    // Check this first: another thread may be syncing at the same time.
    if options.groupCommit > 0, let writer, writer.hasUnsynced {
      for _ in 0..<Self.syncAttempts {
        do {
          let snapshot = try realm.latest()
          if realm.location.place != .shared { return snapshot }
        } catch {
          if error.reason != .moved { throw error }
        }
        if !syncDelayed() { usleep(1000) }
      }
    }
    return try realm.latest()
  }

  /// The number of retries while another thread is syncing.
  private static let syncAttempts = 3
  /// The time to wait for another thread's save.
  private static let syncTimeout = Duration.milliseconds(500)

  /// Syncs commits delayed by `-o group_commit`, or abandons them if that is no longer possible. Returns false if there
  /// were none, or if another thread kept the writer busy.
  private func syncDelayed() -> Bool {
    guard let writer, writer.hasUnsynced else { return false }
    do { try writer.sync(timeout: Self.syncTimeout) } catch {
      if error.reason == .busy { return false }
      options.log?("the last saves are not on disk: \(error)")
    }
    return true
  }

  /// The view of the version that a transaction is based on. No other program can commit during the transaction, so
  /// reads of the view are valid.
  func view(of transaction: borrowing WriteTransaction) throws(FileTreeError) -> VersionView {
    try view(of: transaction.base)
  }

  private func view(of snapshot: Snapshot) throws(FileTreeError) -> VersionView {
    if let view = newest.withLock({ $0 }), view.snapshot === snapshot { return view }
    let (view, isNew, namesStay) = try making.withLock { _ throws(FileTreeError) -> (VersionView, Bool, Bool) in
      let previous = newest.withLock { $0 }
      if let previous, previous.snapshot === snapshot { return (previous, false, true) }
      let (view, changed) = try make(snapshot, previous)
      // Invalid times of a view read from reused space would carry over to later views.
      guard realm.isCurrent(snapshot) else { throw .busy }
      let namesStay = changed?.namesStay ?? false
      lineSizes.note(view, changed)
      newest.withLock { $0 = view }
      return (view, previous != nil, namesStay)
    }
    if isNew { observer.notify(namesStay: namesStay) }
    return view
  }

  /// Creates the view of a version. Returns it with the changes since the previous view; nil if those are unknown.
  private func make(
    _ snapshot: Snapshot,
    _ previous: VersionView?
  ) throws(FileTreeError) -> (VersionView, ChangedTexts?) {
    let status: FileStatus
    do { status = try realm.fileStatus() } catch { throw .unavailable(error) }
    let own = previous.flatMap { ownChanges.changes(after: $0.snapshot.version, upTo: snapshot.version) }
    let changed = own ?? previous.flatMap { found(since: $0, snapshot) }
    let view: VersionView
    do {
      view = try VersionView(
        VersionView.Source(
          snapshot: snapshot,
          status: status,
          fileIdentity: UInt64(realm.location.generation),
          options: options,
          registry: registry,
          previous: previous,
          now: MonotonicTime.now,
          changed: changed,
          objectTimes: objectTimes,
          keptModes: keptModes,
          isWritable: writer != nil
        )
      )
    } catch {
      throw .damaged("the realm", error)
    }
    let inodes = changed.map { view.noteChanges($0, isOwn: own != nil, number) } ?? []
    news.withLock { $0.add(inodes, namesStay: changed?.namesStay ?? false) }
    return (view, changed)
  }

  /// Returns and resets the changes since the last call. Must not be called concurrently.
  func takeChanges() -> ViewChanges {
    news.withLock { news in
      defer { news = ViewChanges() }
      return news
    }
  }

  /// The inode number of an object, without counting a reference.
  func number(_ ordinal: TableOrdinal, _ key: ObjKey) -> InodeNumber {
    InodeNumber(object: ordinal, key) ?? objectInodes.number(of: ordinal, key)
  }

  /// The inode number of an object, without counting a reference.
  func number(_ directory: TableDirectory, _ key: ObjKey) -> InodeNumber { number(directory.ordinal, key) }

  /// The changes by commits of other programs; nil if the previous version can no longer be read.
  private func found(since previous: VersionView, _ snapshot: Snapshot) -> ChangedTexts? {
    guard previous.fileIdentity == UInt64(realm.location.generation), realm.isCurrent(previous.snapshot) else {
      return nil
    }
    let found = ChangedTexts.between(previous.snapshot, snapshot)
    return realm.isCurrent(previous.snapshot) ? found : nil
  }
}

extension VersionView {
  /// Renders an object.
  ///
  /// - Throws: `stale` if it does not exist, `damaged` if it cannot be read.
  func text(of key: ObjKey, _ directory: TableDirectory) throws(FileTreeError) -> [UInt8] {
    let text: [UInt8]?
    do {
      text = try contexts.lend { context throws(RenderError) in try context.render(directory.table, key) }
    } catch {
      throw .damaged(place: "\(directory.shownName)/", problem: error.description)
    }
    guard let text else { throw .stale }
    return text
  }

  /// The table with this ordinal.
  ///
  /// - Throws: `stale` if it was deleted.
  func existing(_ ordinal: TableOrdinal) throws(FileTreeError) -> TableDirectory {
    guard let directory = directory(ordinal) else { throw .stale }
    return directory
  }
}
