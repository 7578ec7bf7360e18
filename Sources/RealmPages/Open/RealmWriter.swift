// A realm that is open for writing: one transaction after the other, wherever they go.

import Synchronization
import Threads

/// A realm that this process writes to.
///
/// A commit that fails leaves the file at the former version, and the next transaction can try again: after space
/// was made on a full disk, for example. Only when the system fails to bring data to disk, it is unknown what is
/// there; then every later transaction is refused, until the file is opened again.
///
/// It lets one transaction of this process at a time in and hands what it commits to a `CommitTarget`. Each type
/// around it has one job:
///
/// - `SharedWriter`: commits to a file that other programs may have open. It takes turns with their writers.
/// - `ExclusiveWriter`: commits to a file or memory that only this process has open.
/// - `Branch`: commits to memory, over a version of another realm.
/// - `Participant`: reads a shared realm. It joins and leaves sessions, pins versions and follows the file. A
///   `SharedWriter` has one, and so has a shared `Realm`.
/// - `Session`: one stay of a participant among the programs that have the realm open: the lock file, its mutexes and
///   the version list, from joining to leaving.
///
/// A mount writes through `FileTree`'s `Saver`: a transaction for each save, and what the commit means for the tree.
public final class RealmWriter: Sendable {
  /// The realm for reading; it sees each commit at once.
  public let realm: Realm

  private let gate = WriterGate()
  private let target: any CommitTarget
  /// The failed sync after which nothing is certain.
  private let failure = Mutex<EngineError?>(nil)
  /// Where the nodes of large transactions go; nil if they stay in memory.
  let spill: Slab.Spill?
  /// Whether it is the sync client of a mirror, which alone writes it.
  private let writesMirror: Bool
  /// Where the changes of transactions go instead of the file.
  private let link = Mutex(UplinkSlot())

  /// How long `begin` and `sync` wait for other writers unless told otherwise.
  public static let patience = Duration.seconds(10)

  /// Opens a file for writing, and makes it if it does not exist and `create` is set. In an immutable realm nothing
  /// can be written.
  public convenience init(_ configuration: Configuration, create: Bool = false) throws(EngineError) {
    try self.init(configuration, create: create, over: { $0 })
  }

  /// Opens a file with something between the engine and the file, that records what is written or makes it fail. It is
  /// there until the realm was idle for the first time. `heap` is what a transaction has in ordinary memory.
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
      throw EngineError(.readOnly, "\(configuration.path): the realm was to be opened for reading only")
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
      throw EngineError(.readOnly, "\(configuration.path): the realm was to be opened without changing it")
    }
  }

  /// Opens a mirror of a synced realm for its sync client; makes the file if it does not exist.
  package convenience init(mirror configuration: Configuration) throws(EngineError) {
    try self.init(configuration, create: true, over: { $0 }, writesMirror: true)
  }

  /// Where the changes of transactions go instead of the file: to the server of a mirror. Nil: to the file.
  package var uplink: (any Uplink)? {
    get { link.withLock { $0.uplink } }
    set { link.withLock { $0.uplink = newValue } }
  }

  /// Opens a realm in memory, which holds nothing if the memory is new.
  package init(memory: MemoryStorage) throws(EngineError) {
    (spill, writesMirror) = (nil, false)
    let writer = try ExclusiveWriter(memory: memory)
    target = writer
    realm = Realm(writer.reader.configuration, writer.reader)
  }

  /// Opens a branch of another realm.
  init(_ branch: Branch, name: String) {
    // What a branch holds is committed by the writer of the realm that it builds on.
    (spill, writesMirror) = (nil, true)
    target = branch
    realm = Realm(Configuration(path: name), branch)
  }

  deinit {
    // Who needs to know whether grouped commits reached the disk has called sync().
    try? sync()
  }

  /// The error of a writer of a realm whose file is not at its path any more.
  package static func hasMoved(_ path: String) -> String { Participant.moved(path).description }

  /// Why a version cannot be written on, in words: sync history, an older format. Nil if it can.
  public static func reasonAgainst(writing snapshot: Snapshot) -> String? {
    refusal(snapshot, writesMirror: false)?.description
  }

  /// Why a version cannot be written on; nil if it can. A mirror is refused to all but its sync client.
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
        "file format \(snapshot.fileFormat): only format 24 is written; 'realmfs upgrade' brings the file to it"
      )
    }
    return nil
  }

  // MARK: transactions

  /// Begins a transaction on the newest version. While another thread or another program has one, it waits; it throws
  /// `busy` when that takes longer than `timeout`. Writers of all programs have their turn in the order in which they
  /// came.
  public func begin(timeout: Duration = RealmWriter.patience) throws(EngineError) -> WriteTransaction {
    try begin(timeout, staysOnThread: false)
  }

  /// Begins a transaction that must end on the thread that called this; it ends the process otherwise. A small
  /// transaction is much faster so.
  package func beginOnThisThread(
    timeout: Duration = RealmWriter.patience
  ) throws(EngineError) -> WriteTransaction {
    try begin(timeout, staysOnThread: true)
  }

  /// Begins a transaction that is committed to the file even where an uplink takes those of others.
  package func beginReplaying(timeout: Duration = RealmWriter.patience) throws(EngineError) -> WriteTransaction {
    try begin(timeout, staysOnThread: false, nil)
  }

  /// Begins a transaction for a caller that cannot be told that the server of a mirror is away: `commit` tells.
  package func beginUnready(timeout: Duration) throws(EngineError) -> WriteTransaction {
    try begin(timeout, staysOnThread: false, tellsLater: true)
  }

  private func begin(
    _ timeout: Duration,
    staysOnThread: Bool,
    tellsLater: Bool = false
  ) throws(EngineError) -> WriteTransaction {
    let turn = try uplink.map { (uplink) throws(EngineError) in
      try UplinkTurn(uplink, until: .now.advanced(by: timeout), tellsLater: tellsLater)
    }
    return try begin(timeout, staysOnThread: staysOnThread, turn)
  }

  private func begin(
    _ timeout: Duration,
    staysOnThread: Bool,
    _ turn: UplinkTurn?
  ) throws(EngineError) -> WriteTransaction {
    let snapshot = try enter(.edit, until: .now.advanced(by: timeout), staysOnThread: staysOnThread)
    do throws(EngineError) {
      if let refusal = Self.refusal(snapshot, writesMirror: writesMirror) { throw refusal }
      try checkVersions()
    } catch {
      end()
      throw error
    }
    return try WriteTransaction(self, base: snapshot, turn)
  }

  /// Begins what looks like a transaction on `snapshot`, to find out whether changes would be refused. It waits for
  /// nobody, keeps nobody waiting, and cannot be committed. What it finds counts only if `Realm.isCurrent` says
  /// afterwards that the snapshot could be read.
  package static func rehearse(on snapshot: Snapshot) throws(EngineError) -> WriteTransaction {
    if let refusal = refusal(snapshot) { throw refusal }
    return try WriteTransaction(rehearsingOn: snapshot)
  }

  /// Throws if nothing can be committed until a user does something about it: programs use the realm by another name,
  /// or its lock file was removed while others have it open. Waits like `begin` for that to end; returns at once if
  /// there is no such obstacle.
  package func checkObstacles(timeout: Duration = RealmWriter.patience) throws(EngineError) {
    if !target.isObstructed { return }
    _ = try enter(.edit, until: .now.advanced(by: timeout), staysOnThread: true)
    end()
  }

  /// Makes a file that nothing was committed to since it was made, such as a copy, one in which versions in use are
  /// known to writers. It holds what it held; any other file stays as it is.
  package func takePart(timeout: Duration = RealmWriter.patience) throws(EngineError) {
    let snapshot = try enter(.commit(file: nil), until: .now.advanced(by: timeout), staysOnThread: true)
    defer { end() }
    if let refusal = Self.refusal(snapshot, writesMirror: writesMirror) { throw refusal }
  }

  /// Throws if one version more would be one too many.
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

  /// Whether there are grouped commits that `sync` would bring to disk.
  package var hasUnsynced: Bool { target.hasUnpublished }

  /// Returns when every commit so far is on disk, the grouped ones too; waits like `begin`.
  public func sync(timeout: Duration = RealmWriter.patience) throws(EngineError) {
    guard target.hasUnpublished else { return }
    let newest = try enter(.publish, until: .now.advanced(by: timeout), staysOnThread: true)
    defer { end() }
    try noting { () throws(EngineError) in try target.publishNewest(newest) }
  }

  /// Runs `body` on the newest version while no writer can commit, in this program or another; waits like `begin`.
  /// Throws `readOnly` for a version that is not written on, as `begin` does: who does write on it is not kept out.
  public func whileNobodyCommits<R>(
    timeout: Duration = RealmWriter.patience,
    _ body: (Snapshot) -> R
  ) throws(EngineError) -> R {
    let snapshot = try enter(.edit, until: .now.advanced(by: timeout), staysOnThread: true)
    defer { end() }
    if let refusal = Self.refusal(snapshot, writesMirror: writesMirror) { throw refusal }
    return body(snapshot)
  }

  /// Writes the file anew, without free space, and puts it in its place when it is on disk. The realm stays open: who
  /// reads meanwhile waits. Throws `inUse` if another program has the realm open or holds a version; of a
  /// realm that is read-only or in memory, `notApplicable`. Cost: reading and writing all of it.
  public func compact(timeout: Duration = RealmWriter.patience) throws(EngineError) -> RealmCopy.Sizes? {
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

  /// Remembers a failed sync: nothing may be built on what is perhaps not on disk.
  private func noting<R>(_ body: () throws(EngineError) -> R) throws(EngineError) -> R {
    do throws(EngineError) { return try body() } catch {
      if error.isFailedSync { failure.withLock { $0 = error } }
      throw error
    }
  }
}
