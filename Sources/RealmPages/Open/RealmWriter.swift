// A realm that is open for writing: one transaction at a time, to any commit target.

import Synchronization
import Threads

/// A realm that this process writes to.
///
/// A failed commit leaves the file at the previous version, and the next transaction can try again, for example after
/// space has been freed on a full disk. The exception is a failed sync: the content of the disk is then unknown, and
/// every later transaction is refused until the file is opened again.
///
/// It admits one transaction of this process at a time and passes its commit to a `CommitTarget`. A mount writes
/// through `FileTree`'s `Saver`, which maps saves to transactions and commits to changes of the tree.
public final class RealmWriter: Sendable {
  /// The realm for reading. It sees each commit at once.
  public let realm: Realm

  private let gate = WriterGate()
  private let target: any CommitTarget
  /// The failed sync after which every transaction is refused.
  private let failure = Mutex<EngineError?>(nil)
  /// The file for the nodes of large transactions; nil if they stay in memory.
  let spill: Slab.Spill?
  /// True if this is the sync client of a mirror, the mirror's only writer.
  private let writesMirror: Bool
  /// The destination of the changes of transactions, instead of the file.
  private let link = Mutex(UplinkSlot())

  /// How long `begin` and `sync` wait for other writers by default.
  public static let timeout = Duration.seconds(10)

  /// Opens a file for writing, and creates it if it does not exist and `create` is set.
  ///
  /// - Throws: `readOnly` if the configuration is immutable or read-only.
  public convenience init(_ configuration: Configuration, create: Bool = false) throws(EngineError) {
    try self.init(configuration, create: create, over: { $0 })
  }

  /// Opens a file with a layer between the engine and the file that records writes or makes them fail. The layer is
  /// used until the realm is idle for the first time. `heap` is the ordinary memory that a transaction may use, in
  /// bytes.
  package init(
    _ configuration: Configuration,
    create: Bool,
    over wrap: (any Storage) -> any Storage,
    heap: Int? = nil,
    writesMirror: Bool = false
  ) throws(EngineError) {
    self.writesMirror = writesMirror
    let isSpilling = configuration.encryptionKey == nil && configuration.inMemoryIdentifier == nil
    var spill = isSpilling ? Slab.Spill(realm: configuration.path) : nil
    if let heap { spill?.heap = heap }
    self.spill = spill
    try configuration.check()
    if configuration.isReadOnly || configuration.showsDotNetGuids {
      throw EngineError(.readOnly, "\(configuration.path): the realm is open read-only")
    }
    let create = create || configuration.inMemoryIdentifier != nil
    switch configuration.mode {
    case .shared:
      let writer = try SharedWriter(configuration, create: create, over: wrap)
      target = writer
      realm = Realm(configuration, writer.participant)
    case .exclusive:
      let writer = try ExclusiveWriter(configuration, create: create, over: wrap)
      target = writer
      realm = Realm(configuration, writer.reader)
    case .immutable:
      throw EngineError(.readOnly, "\(configuration.path): the realm is open as immutable")
    }
  }

  /// Opens a mirror of a synced realm for its sync client; creates the file if it does not exist.
  package convenience init(mirror configuration: Configuration) throws(EngineError) {
    try self.init(configuration, create: true, over: { $0 }, writesMirror: true)
  }

  /// Receives the changes of transactions instead of the file and sends them to the server of a mirror. If nil, changes
  /// are written to the file.
  package var uplink: (any Uplink)? {
    get { link.withLock { $0.uplink } }
    set { link.withLock { $0.uplink = newValue } }
  }

  /// Opens a realm in memory, which is empty if the memory is new.
  package init(memory: MemoryStorage) throws(EngineError) {
    (spill, writesMirror) = (nil, false)
    let writer = try ExclusiveWriter(memory: memory)
    target = writer
    realm = Realm(writer.reader.configuration, writer.reader)
  }

  /// Opens a branch of another realm.
  init(_ branch: Branch, name: String) {
    // The content of a branch is committed by the writer of its base realm.
    (spill, writesMirror) = (nil, true)
    target = branch
    realm = Realm(Configuration(path: name), branch)
  }

  deinit {
    // Callers that need durability call sync() first.
    try? sync()
  }

  /// The error message of a writer whose realm file is no longer at its path.
  package static func hasMoved(_ path: String) -> String { EngineError.moved(path).description }

  /// The reason why commits cannot build on a version, such as sync history or an older format; nil if they can.
  public static func reasonAgainst(writing snapshot: Snapshot) -> String? {
    refusal(snapshot, writesMirror: false)?.description
  }

  /// The error if commits cannot build on a version; nil if they can. Only its sync client may write to a mirror.
  static func refusal(_ snapshot: Snapshot, writesMirror: Bool = true) -> EngineError? {
    if !writesMirror, snapshot.isMirror {
      return EngineError(
        .readOnly,
        "the realm is a mirror of a synced one, which only its sync client may write: mount it with --sync; "
          + "'realmfs convert --local' makes a copy that can be changed"
      )
    }
    if snapshot.historyType > 2 {
      return EngineError(
        .readOnly,
        "the realm has sync history, which only a sync client may write; 'realmfs convert --local' makes a copy "
          + "that can be changed"
      )
    }
    if snapshot.fileFormat != 24 && snapshot.fileFormat != 0 {
      return EngineError(
        .readOnly,
        "file format \(snapshot.fileFormat): only format 24 is written; 'realmfs upgrade' converts the file"
      )
    }
    return nil
  }

  // MARK: transactions

  /// Begins a transaction on the newest version. Waits while another thread or program has one; throws `busy` if that
  /// takes longer than `timeout`. Writers of all programs get their turn in order of arrival.
  ///
  /// - Throws: `busy`, `readOnly` if the version cannot be written, `moved`, `inUse`, `tooManyVersions`, `poisoned`
  ///   after a failed sync, `file`, `damaged`; in a mirror also `offline`.
  public func begin(timeout: Duration = RealmWriter.timeout) throws(EngineError) -> WriteTransaction {
    try begin(timeout, staysOnThread: false)
  }

  /// Begins a transaction that must end on the calling thread; ending it elsewhere aborts the process. Much faster for
  /// small transactions. Unless `checksPath` is true, relies on an earlier check of the path; the commit checks again.
  package func beginOnThisThread(
    timeout: Duration = RealmWriter.timeout,
    checksPath: Bool = true
  ) throws(EngineError) -> WriteTransaction {
    // The commit of a mirror is sent to its server, without a check of the path.
    try begin(timeout, staysOnThread: true, checksPath: checksPath || uplink != nil)
  }

  /// Begins a transaction that is committed to the file even if an uplink receives other transactions.
  package func beginReplaying(timeout: Duration = RealmWriter.timeout) throws(EngineError) -> WriteTransaction {
    try begin(timeout, staysOnThread: false, checksPath: true, nil)
  }

  /// Like `begin`, but succeeds even if the sync server of a mirror is unreachable: `commit` then throws `offline`.
  package func beginUnready(timeout: Duration) throws(EngineError) -> WriteTransaction {
    try begin(timeout, staysOnThread: false, reportsLater: true)
  }

  private func begin(
    _ timeout: Duration,
    staysOnThread: Bool,
    checksPath: Bool = true,
    reportsLater: Bool = false
  ) throws(EngineError) -> WriteTransaction {
    let permit = try uplink.map { (uplink) throws(EngineError) in
      try UploadPermit(uplink, until: .now.advanced(by: timeout), reportsLater: reportsLater)
    }
    return try begin(timeout, staysOnThread: staysOnThread, checksPath: checksPath, permit)
  }

  private func begin(
    _ timeout: Duration,
    staysOnThread: Bool,
    checksPath: Bool,
    _ permit: UploadPermit?
  ) throws(EngineError) -> WriteTransaction {
    let snapshot = try enter(
      .edit(checksPath: checksPath),
      until: .now.advanced(by: timeout),
      staysOnThread: staysOnThread
    )
    do throws(EngineError) {
      if let refusal = Self.refusal(snapshot, writesMirror: writesMirror) { throw refusal }
      try checkVersions()
    } catch {
      end()
      throw error
    }
    return try WriteTransaction(self, base: snapshot, permit)
  }

  /// Begins a trial transaction on `snapshot`, to find out whether changes would be refused. It acquires no lock and
  /// cannot be committed. Its results are valid only if `Realm.isCurrent` is true for the snapshot afterwards.
  package static func rehearse(on snapshot: Snapshot) throws(EngineError) -> WriteTransaction {
    if let refusal = refusal(snapshot) { throw refusal }
    return try WriteTransaction(rehearsingOn: snapshot)
  }

  /// Throws if commits are blocked until a user intervenes: programs use the realm under another name, or its lock file
  /// was removed while others have it open. Waits like `begin` for the obstacle to be removed; returns at once if there
  /// is none.
  package func checkObstacles(timeout: Duration = RealmWriter.timeout) throws(EngineError) {
    if !target.isObstructed { return }
    _ = try enter(.edit, until: .now.advanced(by: timeout), staysOnThread: true)
    end()
  }

  /// Converts a file to which nothing was committed since it was created, such as a copy, to a form in which writers
  /// can tell which versions are in use. Its content does not change. Any other file is not touched.
  package func convertPristineCopy(timeout: Duration = RealmWriter.timeout) throws(EngineError) {
    let snapshot = try enter(.commit(file: nil), until: .now.advanced(by: timeout), staysOnThread: true)
    defer { end() }
    if let refusal = Self.refusal(snapshot, writesMirror: writesMirror) { throw refusal }
  }

  /// Throws if one more version would exceed the limit.
  private func checkVersions() throws(EngineError) {
    guard let limit = realm.configuration.maximumActiveVersions else { return }
    let count = try target.activeVersions()
    if count >= limit {
      throw EngineError(
        .tooManyVersions,
        "\(realm.configuration.path): \(count) versions are in use, and one more would pass the limit of \(limit); "
          + "try again when readers have moved on"
      )
    }
  }

  /// True if there are grouped commits that `sync` would write to disk.
  package var hasUnsynced: Bool { target.hasUnpublished }

  /// Returns when all commits, including grouped ones, are on disk. Waits like `begin`.
  ///
  /// - Throws: `busy`, `poisoned`, `moved` if the commits are lost with their file, `file`.
  public func sync(timeout: Duration = RealmWriter.timeout) throws(EngineError) {
    guard target.hasUnpublished else { return }
    let newest = try enter(.publish, until: .now.advanced(by: timeout), staysOnThread: true)
    defer { end() }
    try noting { () throws(EngineError) in try target.publishNewest(newest) }
  }

  /// Runs `body` on the newest version while no writer in any program can commit. Waits like `begin`. Throws `readOnly`
  /// for a version that `begin` would refuse, because its writers cannot be locked out.
  public func withWriterLock<R>(
    timeout: Duration = RealmWriter.timeout,
    _ body: (Snapshot) -> R
  ) throws(EngineError) -> R {
    let snapshot = try enter(.edit, until: .now.advanced(by: timeout), staysOnThread: true)
    defer { end() }
    if let refusal = Self.refusal(snapshot, writesMirror: writesMirror) { throw refusal }
    return body(snapshot)
  }

  /// Rewrites the file without free space, and replaces the original once the new file is on disk. The realm stays
  /// open; readers wait until then. Throws `inUse` if another program has the realm open or holds a version, `readOnly`
  /// if commits cannot build on the version, and `notApplicable` unless the realm is a shared file. Cost: reading and
  /// writing the whole file.
  public func compact(timeout: Duration = RealmWriter.timeout) throws(EngineError) -> RealmCopy.Sizes? {
    let path = realm.configuration.path
    do throws(EngineError) {
      try sync(timeout: timeout)
      let snapshot = try enter(.edit, until: .now.advanced(by: timeout), staysOnThread: true)
      target.end()
      if let refusal = Self.refusal(snapshot, writesMirror: writesMirror) {
        gate.leave()
        throw refusal
      }
    } catch { throw error.at(path) }
    defer { gate.leave() }
    return try target.rewrite()
  }

  func commit(_ group: GroupEditor, base: Snapshot, _ durability: Durability) throws(EngineError) -> UInt64 {
    try noting { () throws(EngineError) in try target.commit(group, base: base, durability) }
  }

  /// Ends a transaction, committed or not.
  func end() {
    target.end()
    gate.leave()
  }

  private func enter(
    _ stage: WritingStage,
    until deadline: MonotonicTime,
    staysOnThread: Bool
  ) throws(EngineError) -> Snapshot {
    guard gate.enter(until: deadline) else {
      throw EngineError(.busy, "\(realm.configuration.path): another transaction of this program takes too long")
    }
    do throws(EngineError) {
      if let failure = failure.withLock({ $0 }) {
        throw EngineError(
          .poisoned,
          "an earlier commit failed to reach the disk, so the file must be opened again: \(failure)"
        )
      }
      return try noting { () throws(EngineError) in
        try target.begin(stage, until: deadline, staysOnThread: staysOnThread)
      }
    } catch {
      gate.leave()
      throw error
    }
  }

  /// Records a failed sync: later commits must not build on data that may not be on disk.
  private func noting<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
    do { return try body() } catch {
      if error.isFailedSync { failure.withLock { $0 = error } }
      throw error
    }
  }
}
