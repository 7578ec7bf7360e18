// Commits to a realm that other programs may have open. Source: docs/format/3-commit.md 3.5 to 3.7,
// docs/format/5-coordination.md 5.7.

import Glibc
import Synchronization
import Threads

/// A realm that this process shares with others. The version list determines the newest version. The header may lag
/// behind it, or show a version whose writer died before announcing it.
final class SharedWriter: CommitTarget {
  let participant: Participant
  private let state = Mutex(State())

  private typealias WriteLock = (session: Session, base: ListedVersion, hasCommitted: Bool)

  private struct State {
    /// The session and the version that the current transaction holds; nil between transactions, and before the first
    /// commit to a copy.
    var lock: WriteLock?
    /// The writer lock of a transaction on a copy, the copy's number (`FileLocation.generation`), and how long its
    /// commit may wait: the time that was left when the lock was acquired.
    var copy: (lock: CopyLock, file: Int, timeout: Duration)?
    /// The last grouped commit, if the header did not show it when it was made.
    var unpublished: Committer.Result?
    /// The version that the header shows until then, held so that a crash leads back to an intact version.
    var onDisk: (session: Session, slot: Int, topRef: Int)?
    /// The session in which the size of the file was corrected.
    weak var preparedSession: Session?
  }

  /// Opens a file and joins the session.
  init(
    _ configuration: Configuration,
    create: Bool,
    over wrap: (any Storage) -> any Storage
  ) throws(EngineError) {
    participant = try Participant(configuration, .writer(create: create), over: wrap)
  }

  /// Grouped commits that were not published leave the header at the version before them. Keeps that version from being
  /// overwritten until another writer updates the header.
  deinit {
    if let onDisk = state.withLock({ $0.onDisk }) { onDisk.session.versions.abandon(onDisk.slot) }
  }

  var isObstructed: Bool { participant.isObstructed }

  var hasUnpublished: Bool { state.withLock { $0.unpublished != nil } }

  func begin(
    _ stage: WritingStage,
    until deadline: MonotonicTime,
    staysOnThread: Bool
  ) throws(EngineError) -> Snapshot {
    if stage == .publish { return try enter(.publish, until: deadline, staysOnThread).0 }
    // Publish commits to the file they were made in before looking for another file.
    if hasUnpublished, participant.hasLostFile {
      let (newest, _) = try enter(.publish, until: deadline, true)
      defer { end() }
      try publishNewest(newest)
    }
    while true {
      let (number, copy) = (participant.location.generation, state.withLock { $0.copy })
      let (snapshot, session) = try enter(stage, until: deadline, staysOnThread)
      if session == nil, RealmWriter.refusal(snapshot) == nil {
        if let copy, copy.file == number, copy.lock.file === participant.file { return snapshot }
      } else if snapshot.pin?.session === session {
        state.withLock { $0.copy = nil }
        return snapshot
      }
      // The file was replaced before the lock was acquired, so the lock is that of another file.
      end()
      // A copy: acquire its lock, then check again, as another program may have changed it in the meantime.
      guard session == nil, let file = participant.file else { continue }
      let lock = try CopyLock(file, until: deadline)
      state.withLock { $0.copy = (lock, participant.location.generation, .milliseconds(deadline.milliseconds)) }
    }
  }

  /// Locks out other writers of the session. Returns the newest version and the session. There is no session,
  /// and the version is not pinned in one, for a file that cannot be written to or is still to be converted.
  private func enter(
    _ stage: WritingStage,
    until deadline: MonotonicTime,
    _ staysOnThread: Bool
  ) throws(EngineError) -> (Snapshot, Session?) {
    try publishLost()
    let session: Session
    // No session: either a file that cannot be written to, which the caller detects, or a copy.
    guard let joined = try participant.beginWriting(stage, until: deadline) else {
      return (try participant.latest(checksPath: false), nil)
    }
    session = joined
    do {
      try session.lockForWriting(until: deadline, staysOnThread: staysOnThread)
      let base = try session.versions.pinNewest()
      state.withLock { $0.lock = (session, base, false) }
    } catch {
      session.unlock(hasCommitted: false)
      // Leaving the session would lose grouped commits.
      if !hasUnpublished { participant.endWriting() }
      throw error
    }
    // `beginWriting` has checked the path, or relies on an earlier check; the commit checks again.
    do { return (try participant.latest(checksPath: false), session) } catch {
      let error = stage == .publish ? abandonIfMoved(error) : error
      end()
      throw error
    }
  }

  /// Drops commits that were to be published in a file that has other content now. Returns the error to throw.
  private func abandonIfMoved(_ error: EngineError) -> EngineError {
    if error.reason != .moved { return error }
    clearUnpublished()
    return EngineError(.moved, "\(error); the last commits, which were not on disk yet, are lost")
  }

  func activeVersions() throws(EngineError) -> Int {
    guard let session = state.withLock({ $0.lock?.session }) else { return 0 }
    return try session.versions.purge().count
  }

  /// Rewrites the file if no other program has it open.
  func rewrite() throws(EngineError) -> RealmCopy.Sizes? {
    try participant.whileReplacing { (configuration, lock) throws(EngineError) in
      try RealmCopy.rewrite(configuration, key: configuration.encryptionKey, holding: lock)
    }
  }

  func end() {
    state.withLock { $0.copy = nil }
    guard let lock = state.withLock({ $0.lock.take() }) else { return }
    lock.session.versions.release(lock.base.slot)
    lock.session.unlock(hasCommitted: lock.hasCommitted)
    if !hasUnpublished { participant.endWriting() }
  }

  func commit(_ group: GroupEditor, base: Snapshot, _ durability: Durability) throws(EngineError) -> UInt64 {
    let (present, unpublished) = state.withLock { ($0.lock, $0.unpublished) }
    let lock: WriteLock
    if let present { lock = present } else { lock = try self.lockCopy(from: base) }
    guard let storage = participant.storage else { throw EngineError(.inUse, "no session") }
    return try lock.session.onLockThread { () throws(EngineError) in
      try commit(group, base: base, durability, lock, storage, isUnpublished: unpublished?.topRef == base.top.ref)
    }
  }

  /// Begins the commit of a transaction on a copy, which is converted to the usual form only now. If another program
  /// committed first, throws `busy`.
  private func lockCopy(from base: Snapshot) throws(EngineError) -> WriteLock {
    let path = participant.configuration.path, copy = state.withLock { $0.copy }
    let (newest, _) = try enter(.commit(file: copy?.file), until: .now.advanced(by: copy?.timeout ?? .zero), false)
    guard let lock = state.withLock({ $0.lock }) else { throw EngineError(.inUse, "\(path): no session") }
    if newest.top.ref != base.top.ref || newest.version != base.version {
      throw EngineError(.busy, "\(path): another program changed this copy first: try again")
    }
    return lock
  }

  private func commit(
    _ group: GroupEditor,
    base: Snapshot,
    _ durability: Durability,
    _ lock: WriteLock,
    _ storage: any Storage,
    isUnpublished: Bool
  ) throws(EngineError) -> UInt64 {
    let session = lock.session
    try checkContent(base)
    try session.lockFile.checkIsInPlace()
    let reachable = try session.versions.purge()
    // If the header shows a version other than our base, a writer died before announcing that version. We are about to
    // overwrite that version, so first point the header back at our base. While there are grouped commits, the header
    // may also show an older version, which is in the list.
    var header = try selected(storage)
    try check(header.topRef, base, session)
    let isOlder = isUnpublished ? try session.versions.contains(topRef: header.topRef) : false
    if header.topRef != base.top.ref, !isOlder {
      try publish(Self.result(base), storage, replacing: header.slot)
      header = (1 - header.slot, base.top.ref)
    }
    let result = try write(group, storage, base, reachable, session)
    switch durability {
    case .full:
      // Until the version is announced, the header may show a version that is not in the list.
      session.isAnnouncing = true
      do { try publish(result, storage, replacing: header.slot) } catch {
        session.isAnnouncing = error.isFailedSync
        throw error
      }
    case .grouped:
      try storage.flush()
      if header.topRef == base.top.ref { keepOnDiskVersion(lock.session, lock.base) }
    }
    try session.announce(result, count: reachable.count)
    session.isAnnouncing = false
    state.withLock {
      $0.lock?.hasCommitted = true
      if durability == .grouped { $0.unpublished = result }
    }
    return result.version
  }

  /// Throws if the file at the path no longer contains `base`.
  private func checkContent(_ base: Snapshot, mayBeElsewhere: Bool = false) throws(EngineError) {
    try participant.checkBeforeCommit(base, mayBeElsewhere: mayBeElsewhere)
  }

  /// Throws if the header leads to something that no writer of the session can have left: the file was overwritten, or
  /// a program that uses another lock file committed to it.
  private func check(_ topRef: Int, _ base: Snapshot, _ session: Session) throws(EngineError) {
    if topRef == base.top.ref { return }
    // An older version, while a program has grouped commits.
    if try session.versions.contains(topRef: topRef) { return }
    // The version of a writer that died before announcing it, or could not, and therefore still counts as a
    // participant.
    let isOfSession = session.participants > 1 || session.isAnnouncing
    if isOfSession, participant.version(at: topRef) == base.version + 1 { return }
    throw .overwritten(participant.configuration.path)
  }

  /// Writes everything except the header. No program can join during the call.
  private func write(
    _ group: GroupEditor,
    _ storage: any Storage,
    _ base: Snapshot,
    _ reachable: VersionList.Reachable,
    _ session: Session
  ) throws(EngineError) -> Committer.Result {
    try session.withoutJoining(
      { () throws(EngineError) in
        do throws(EngineError) {
          try ready(storage, base, reachable, session)
          let (oldest, versions) = (reachable.oldest, reachable.versions)
          return try Committer(group: group, storage: storage, base: base.top, oldest: oldest, reachable: versions)
            .write()
        } catch {
          // Undo the growth of the file if no program can have noticed it; otherwise the next commit uses the space.
          if !error.isFailedSync && session.participants == 1 {
            try? RealmFileMaker.trim(storage, to: max(base.logicalSize, reachable.largestSize))  // best effort
          }
          throw error
        }
      },
      orElse: { $0 }
    )
  }

  /// Prepares the file for writing, once per session: makes the header durable, truncates what a crash left at the end
  /// if no program can use it, and completes the last pages.
  private func ready(
    _ storage: any Storage,
    _ base: Snapshot,
    _ reachable: VersionList.Reachable,
    _ session: Session
  ) throws(EngineError) {
    if state.withLock({ $0.preparedSession === session }) { return }
    try RealmFileMaker.secureHeader(storage)
    if base.top.ref != 0, session.participants == 1 {
      try RealmFileMaker.trim(storage, to: max(base.logicalSize, reachable.largestSize))
    }
    try RealmFileMaker.completePages(storage)
    if base.top.ref == 0 { try RealmFileMaker.markFirstCommit(storage) }
    state.withLock { $0.preparedSession = session }
  }

  func publishNewest(_ newest: Snapshot) throws(EngineError) {
    guard hasUnpublished, let storage = participant.storage, let session = state.withLock({ $0.lock?.session }) else {
      return
    }
    try session.onLockThread { () throws(EngineError) in
      let header: (slot: Int, topRef: Int)
      do throws(EngineError) {
        try checkContent(newest, mayBeElsewhere: true)
        header = try selected(storage)
        try check(header.topRef, newest, session)
      } catch {
        throw abandonIfMoved(error)
      }
      // Another writer may have committed, and thereby published our commits.
      if header.topRef == newest.top.ref { return clearUnpublished() }
      try publish(Self.result(newest), storage, replacing: header.slot)
    }
  }

  /// Publishes the grouped commits of a session whose lock file was removed, so that the session can be left.
  private func publishLost() throws(EngineError) {
    let (unpublished, onDisk) = state.withLock { ($0.unpublished, $0.onDisk) }
    guard let unpublished, let onDisk else { return }
    try participant.leaveLost { (storage) throws(EngineError) in
      let header = try selected(storage)
      if header.topRef == unpublished.topRef { return clearUnpublished() }
      if header.topRef != onDisk.topRef {
        throw abandonIfMoved(.overwritten(participant.configuration.path))
      }
      try publish(unpublished, storage, replacing: header.slot)
    }
  }

  // MARK: the header

  /// Returns the selected slot of the header and the top ref in it. Call it only between commits: pending writes are
  /// discarded.
  private func selected(_ storage: any Storage) throws(EngineError) -> (slot: Int, topRef: Int) {
    storage.begin { [] }
    let bytes = try storage.read(Header.size, at: 0)
    guard bytes.count == Header.size else { throw .failed("read", storage.name, EIO) }
    let slot = Int(bytes[Layout.Header.flags] & 1)
    let place = Layout.Header.topRef(slot)
    let ref = bytes[place..<place + 8].reversed().reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
    return (slot, Int(truncatingIfNeeded: ref))
  }

  private static func result(_ version: Snapshot) -> Committer.Result {
    Committer.Result(topRef: version.top.ref, logicalSize: version.logicalSize, version: version.version)
  }

  private func publish(
    _ result: Committer.Result,
    _ storage: any Storage,
    replacing slot: Int
  ) throws(EngineError) {
    try Committer.publish(result, storage, replacing: slot)
    clearUnpublished()
  }

  private func clearUnpublished() {
    let onDisk = state.withLock { state in
      state.unpublished = nil
      return state.onDisk.take()
    }
    if let onDisk { onDisk.session.versions.release(onDisk.slot) }
  }

  /// Keeps grouped commits from overwriting the version that the header shows.
  private func keepOnDiskVersion(_ session: Session, _ version: ListedVersion) {
    session.versions.hold(version.slot)
    let former = state.withLock { state in
      defer { state.onDisk = (session, version.slot, version.topRef) }
      return state.onDisk
    }
    if let former { former.session.versions.release(former.slot) }
  }
}
