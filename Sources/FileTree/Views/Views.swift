// The newest view of the realm, and the one loop that makes reads of it safe.
//
// A version stays readable for a moment only after a newer one has come, and in an immutable mount not at all: other
// writers may reuse what it refers to. Every operation therefore works on the newest version and asks afterwards
// whether what it read can be trusted; if not, it is thrown away and read again. Nothing read is handed out or
// remembered before that check.

import Glibc
import RealmPages
import Synchronization
import Threads

/// What a row of views changed, for whoever remembers names and attributes.
struct ViewNews {
  /// Whether all of them have the same classes and objects.
  private(set) var namesStay = true
  /// The objects that changed, if the names stay.
  private(set) var inodes: Set<InodeNumber> = []

  /// With more objects than that, all that is remembered of names is forgotten instead.
  private static let most = 1000

  mutating func add(_ changed: [InodeNumber], namesStay stay: Bool) {
    if stay && namesStay { inodes.formUnion(changed) }
    if stay && inodes.count <= Self.most { return }
    (namesStay, inodes) = (false, [])
  }
}

/// The versions of a realm as trees.
final class Views: Sendable {
  /// Which objects the mount's own commits changed.
  let ownChanges = OwnChanges()
  let lineSizes = LineSizes()
  let objectTimes = ObjectTimes()
  let keptModes = KeptModes()
  /// Called, on whichever thread, when a version is seen that was not seen before.
  let observer = Observer()
  let registry: TableRegistry
  private let realm: Realm
  private let options: TreeOptions
  private let objectInodes: InodeTable
  /// Nil for a tree that only shows.
  private let writer: RealmWriter?
  private let condition: RealmCondition
  private let newest = Mutex<VersionView?>(nil)
  /// The one version that is shown instead of the newest.
  let held: VersionHold?
  /// Counts the reads of that version.
  private let heldReads = Atomic<UInt>(0)
  private let news = Mutex(ViewNews())
  /// Held while a view is made, so that it is made once.
  private let making = Mutex<Void>(())

  /// How often a read is tried while commits keep coming, which takes up to a fifth of a second.
  private static let attempts = 100
  /// The same of a version that is held: once it cannot be trusted, it never can.
  private static let heldAttempts = 3

  init(
    _ realm: Realm,
    _ writer: RealmWriter?,
    _ options: TreeOptions,
    _ objectInodes: InodeTable,
    _ nodes: NodeTable,
    _ condition: RealmCondition,
    showing held: VersionHold? = nil
  ) {
    self.realm = realm
    self.writer = writer
    self.options = options
    self.objectInodes = objectInodes
    self.condition = condition
    self.held = held
    registry = TableRegistry(nodes)
  }

  /// Whether the newest version is shown, and not one for good.
  var isFollowing: Bool { held == nil }

  /// Runs `body` on the newest view, again while commits come in between. Results and errors count only if the view was
  /// still the newest when `body` ended; `body` must not keep anything by itself.
  func read<T>(_ body: (VersionView) throws(FileTreeError) -> T) throws(FileTreeError) -> T {
    let attempts = isFollowing ? Self.attempts : Self.heldAttempts
    let result = try realm.read(attempts: attempts, pauses: true, latest: newestSnapshot) {
      (snapshot) throws(FileTreeError) in try body(view(of: snapshot))
    }
    guard let result else { throw isFollowing ? .busy : .stale }
    return result
  }

  /// Runs `body` like `read`; while the realm cannot be read, on the last view that there was. For what the view knows
  /// without reading the file: names of classes, modes, what was refused.
  func readable<T>(_ body: (VersionView) throws(FileTreeError) -> T) throws(FileTreeError) -> T {
    do throws(FileTreeError) { return try read(body) } catch {
      guard case .unavailable = error, let view = newest.withLock({ $0 }) else { throw error }
      return try body(view)
    }
  }

  /// Owner and modes as the last view has them, without looking for a newer one; nil before the first.
  var lastRules: AccessRules? { newest.withLock { $0?.rules } }

  private func newestSnapshot() throws(FileTreeError) -> Snapshot {
    if let held {
      let reads = heldReads.wrappingAdd(1, ordering: .relaxed).newValue
      if reads % Snapshot.readsBetweenLooks == 0 { held.snapshot.limitResidentPages() }
      return held.snapshot
    }
    do throws(EngineError) {
      let snapshot = try newestSettled()
      condition.note(realm.standing)
      return snapshot
    } catch {
      condition.note(error)
      throw .unavailable(error)
    }
  }

  /// The newest version, after commits that are not on disk yet have reached the file that they were made in, if the
  /// path does not lead there any more.
  private func newestSettled() throws(EngineError) -> Snapshot {
    // Asked first, because another thread may be settling while this one looks.
    if options.groupCommit > 0, let writer, writer.hasUnsynced {
      for _ in 0..<Self.looks {
        do throws(EngineError) {
          let snapshot = try realm.latest()
          if realm.standing.place != .shared { return snapshot }
        } catch {
          if error.reason != .moved { throw error }
        }
        if !settle() { usleep(1000) }
      }
    }
    return try realm.latest()
  }

  /// How often a thread looks that finds another one settling.
  private static let looks = 3
  /// How long it waits for that.
  private static let settlingPatience = Duration.milliseconds(500)

  /// Brings what waits for `-o group_commit` to disk, or gives it up where that cannot be any more, unless another
  /// thread is saving for long; whether there was something.
  private func settle() -> Bool {
    guard let writer, writer.hasUnsynced else { return false }
    do throws(EngineError) { try writer.sync(timeout: Self.settlingPatience) } catch {
      if error.reason == .busy { return false }
      options.log?("the last saves are not on disk: \(error)")
    }
    return true
  }

  /// The view of the version that a transaction changes. No other program can commit meanwhile, so what is read in it
  /// counts.
  func view(of transaction: borrowing WriteTransaction) throws(FileTreeError) -> VersionView {
    try view(of: transaction.base)
  }

  private func view(of snapshot: Snapshot) throws(FileTreeError) -> VersionView {
    if let view = newest.withLock({ $0 }), view.snapshot === snapshot { return view }
    let (view, isNew, namesStay) = try making.withLock { _ throws(FileTreeError) -> (VersionView, Bool, Bool) in
      let previous = newest.withLock { $0 }
      if let previous, previous.snapshot === snapshot { return (previous, false, true) }
      let (view, changed) = try make(snapshot, previous)
      // Times of a view that was read from reused space would be carried on.
      guard realm.isCurrent(snapshot) else { throw .busy }
      let namesStay = changed?.namesStay ?? false
      lineSizes.note(view, changed)
      newest.withLock { $0 = view }
      return (view, previous != nil, namesStay)
    }
    if isNew { observer.notify(namesStay: namesStay) }
    return view
  }

  /// The view of a version, and what differs from the one before; nil if that is not known.
  private func make(
    _ snapshot: Snapshot,
    _ previous: VersionView?
  ) throws(FileTreeError) -> (VersionView, ChangedObjects?) {
    let status: FileStatus
    do { status = try realm.fileStatus() } catch { throw .unavailable(error) }
    let own = previous.flatMap { ownChanges.changes(after: $0.snapshot.version, upTo: snapshot.version) }
    let changed = own ?? previous.flatMap { found(since: $0, snapshot) }
    let view: VersionView
    do throws(EngineError) {
      view = try VersionView(
        VersionView.Source(
          snapshot: snapshot,
          status: status,
          fileIdentity: UInt64(realm.standing.file),
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

  /// What views have shown since the last call. One caller at a time.
  func takeNews() -> ViewNews {
    news.withLock { news in
      defer { news = ViewNews() }
      return news
    }
  }

  /// The number of an object, without counting a reference.
  func number(_ ordinal: TableOrdinal, _ key: ObjKey) -> InodeNumber {
    InodeNumber(object: ordinal, key) ?? objectInodes.number(of: ordinal, key)
  }

  /// What commits of others changed, if the former version can still be read.
  private func found(since previous: VersionView, _ snapshot: Snapshot) -> ChangedObjects? {
    guard previous.fileIdentity == UInt64(realm.standing.file), realm.isCurrent(previous.snapshot) else { return nil }
    let found = ChangedObjects.between(previous.snapshot, snapshot)
    return realm.isCurrent(previous.snapshot) ? found : nil
  }
}

extension VersionView {
  /// The table with this ordinal; `stale` if it is gone.
  func existing(_ ordinal: TableOrdinal) throws(FileTreeError) -> TableDirectory {
    guard let directory = directory(ordinal) else { throw .stale }
    return directory
  }
}
