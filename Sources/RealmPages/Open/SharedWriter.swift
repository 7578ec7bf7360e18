// Commits to a realm that other programs may have open. Source: docs/format/3-commit.md 3.5 to 3.7,
// docs/format/5-coordination.md 5.7.

import Glibc
import Synchronization
import Threads

/// A realm that this process shares with others. The version list says what the newest version is; the header may lag
/// behind, or show a version of a writer that died before it could announce it.
final class SharedWriter: CommitTarget {
  let participant: Participant
  private let state = Mutex(State())

  private typealias Turn = (session: Session, base: ListedVersion, hasCommitted: Bool)

  private struct State {
    /// The session and the version that the present transaction holds; nil between transactions, and before the first
    /// commit to a copy.
    var turn: Turn?
    /// The turn of a transaction on a copy, and which of the files that the path led to that is.
    /// Its commit may wait as long as was left of the time to wait when it began.
    var copy: (turn: CopyTurn, file: Int, patience: Duration)?
    /// The last grouped commit, if the header did not show it when it was made.
    var unpublished: Committer.Result?
    /// The version that the header shows meanwhile, held so that a crash leads back to something whole.
    var onDisk: (session: Session, slot: Int, topRef: Int)?
    /// The session in which the size of the file was put right.
    weak var readied: Session?
  }

  /// Opens a file and joins the session.
  init(
    _ configuration: Configuration,
    create: Bool,
    over wrap: (any Storage) -> any Storage
  ) throws(EngineError) {
    participant = try Participant(configuration, .writer(create: create), over: wrap)
  }

  /// Grouped commits that did not come to the disk: the header goes on leading to the version before them, which nobody
  /// may overwrite until another writer has led it on.
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
    // What was committed goes to the file that it was committed to, before we look for another one.
    if hasUnpublished, participant.hasLostFile {
      let (newest, _) = try enter(.publish, until: deadline, true)
      defer { end() }
      try publishNewest(newest)
    }
    while true {
      let (number, copy) = (participant.standing.file, state.withLock { $0.copy })
      let (snapshot, session) = try enter(stage, until: deadline, staysOnThread)
      if session == nil, RealmWriter.refusal(snapshot) == nil {
        if let copy, copy.file == number, copy.turn.file === participant.file { return snapshot }
      } else if snapshot.pin?.session === session {
        state.withLock { $0.copy = nil }
        return snapshot
      }
      // The file was replaced before we had our turn: it is another file's turn that we have.
      end()
      // A copy, whose turn we need to have, and to look again: somebody else may have changed it meanwhile.
      guard session == nil, let file = participant.file else { continue }
      let turn = try CopyTurn(file, until: deadline)
      state.withLock { $0.copy = (turn, participant.standing.file, .milliseconds(deadline.milliseconds)) }
    }
  }

  /// Excludes other writers of the session that we are in. Returns the newest version, and the session: nil, as its
  /// version has none, for a file that we do not write to, or not yet.
  private func enter(
    _ stage: WritingStage,
    until deadline: MonotonicTime,
    _ staysOnThread: Bool
  ) throws(EngineError) -> (Snapshot, Session?) {
    try publishLost()
    let session: Session
    // No session: a file that is not written to, as the caller finds out, or a copy.
    guard let joined = try participant.beginWriting(stage, until: deadline) else {
      return (try participant.latest(), nil)
    }
    session = joined
    do throws(EngineError) {
      try session.lockForWriting(until: deadline, staysOnThread: staysOnThread)
      let base = try session.versions.grabNewest()
      state.withLock { $0.turn = (session, base, false) }
    } catch {
      session.unlock(hasCommitted: false)
      // Grouped commits are lost with the session.
      if !hasUnpublished { participant.endWriting() }
      throw error
    }
    do throws(EngineError) { return (try participant.latest(), session) } catch {
      let error = stage == .publish ? abandonIfMoved(error) : error
      end()
      throw error
    }
  }

  /// Gives up commits that were to be published in a file that holds something else now; the error to throw.
  private func abandonIfMoved(_ error: EngineError) -> EngineError {
    if error.reason != .moved { return error }
    allIsPublished()
    return EngineError(.moved, "\(error); what was committed last, and not on disk yet, is lost")
  }

  func activeVersions() throws(EngineError) -> Int {
    guard let session = state.withLock({ $0.turn?.session }) else { return 0 }
    return try session.versions.purge().count
  }

  /// Rewrites the file while no other program has it open.
  func rewrite() throws(EngineError) -> RealmCopy.Sizes? {
    try participant.whileReplacing { (configuration, turn) throws(EngineError) in
      try RealmCopy.rewrite(configuration, key: configuration.encryptionKey, holding: turn)
    }
  }

  func end() {
    state.withLock { $0.copy = nil }
    guard let turn = state.withLock({ $0.turn.take() }) else { return }
    turn.session.versions.release(turn.base.slot)
    turn.session.unlock(hasCommitted: turn.hasCommitted)
    if !hasUnpublished { participant.endWriting() }
  }

  func commit(_ group: GroupEditor, base: Snapshot, _ durability: Durability) throws(EngineError) -> UInt64 {
    let (present, unpublished) = state.withLock { ($0.turn, $0.unpublished) }
    let turn: Turn
    if let present { turn = present } else { turn = try self.turn(onCopy: base) }
    guard let storage = participant.storage else { throw EngineError(.inUse, "no session") }
    return try turn.session.whereLocked { () throws(EngineError) in
      try commit(group, base: base, durability, turn, storage, isUnpublished: unpublished?.topRef == base.top.ref)
    }
  }

  /// The turn of a transaction on a copy, which becomes a file of the usual form only now. Whoever was faster keeps
  /// what it committed.
  private func turn(onCopy base: Snapshot) throws(EngineError) -> Turn {
    let path = participant.configuration.path, copy = state.withLock { $0.copy }
    let (newest, _) = try enter(.commit(file: copy?.file), until: .now.advanced(by: copy?.patience ?? .zero), false)
    guard let turn = state.withLock({ $0.turn }) else { throw EngineError(.inUse, "\(path): no session") }
    if newest.top.ref != base.top.ref || newest.version != base.version {
      throw EngineError(.busy, "\(path): another program changed this copy first: try again")
    }
    return turn
  }

  private func commit(
    _ group: GroupEditor,
    base: Snapshot,
    _ durability: Durability,
    _ turn: Turn,
    _ storage: any Storage,
    isUnpublished: Bool
  ) throws(EngineError) -> UInt64 {
    let session = turn.session
    try checkContent(base)
    try session.lockFile.checkIsInPlace()
    let reachable = try session.versions.purge()
    // A header that shows something else than what we build on was left by a writer that died before it announced its
    // version. We are about to overwrite that version, so the header must lead back first. It may also show an older
    // version, which is in the list, while we have grouped commits.
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
      // Until it is announced, the header may show a version that the list does not have.
      session.isAnnouncing = true
      do throws(EngineError) { try publish(result, storage, replacing: header.slot) } catch {
        session.isAnnouncing = error.isFailedSync
        throw error
      }
    case .grouped:
      try storage.flush()
      if header.topRef == base.top.ref { keepOnDiskVersion(turn.session, turn.base) }
    }
    try session.announce(result, count: reachable.count)
    session.isAnnouncing = false
    state.withLock {
      $0.turn?.hasCommitted = true
      if durability == .grouped { $0.unpublished = result }
    }
    return result.version
  }

  /// Throws if `base` is not in the file at the path any more.
  private func checkContent(_ base: Snapshot, mayBeElsewhere: Bool = false) throws(EngineError) {
    try participant.checkBeforeCommit(base, mayBeElsewhere: mayBeElsewhere)
  }

  /// Throws if the header leads to what no writer of the session can have left: the file was overwritten, or a program
  /// that uses another lock file committed to it.
  private func check(_ topRef: Int, _ base: Snapshot, _ session: Session) throws(EngineError) {
    if topRef == base.top.ref { return }
    // An older version, while a program has grouped commits.
    if try session.versions.contains(topRef: topRef) { return }
    // Of a writer that died before it announced its version, or could not, and so counts as a participant still.
    let isOfSession = session.participants > 1 || session.isAnnouncing
    if isOfSession, participant.version(at: topRef) == base.version + 1 { return }
    throw Participant.overwritten(participant.configuration.path)
  }

  /// Writes all but the header, while no program can join.
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
          // Space that the file had grown by is given back, if no program can have noticed it; otherwise the next
          // commit uses it.
          if !error.isFailedSync && session.participants == 1 {
            try? RealmFileMaker.trim(storage, to: max(base.logicalSize, reachable.largestSize))  // likewise
          }
          throw error
        }
      },
      orElse: { $0 }
    )
  }

  /// Gives back what a crash left at the end of the file, if no program can use it. Once a session.
  private func ready(
    _ storage: any Storage,
    _ base: Snapshot,
    _ reachable: VersionList.Reachable,
    _ session: Session
  ) throws(EngineError) {
    if state.withLock({ $0.readied === session }) { return }
    try RealmFileMaker.secureHeader(storage)
    if base.top.ref != 0, session.participants == 1 {
      try RealmFileMaker.trim(storage, to: max(base.logicalSize, reachable.largestSize))
    }
    try RealmFileMaker.completePages(storage)
    if base.top.ref == 0 { try RealmFileMaker.markFirstCommit(storage) }
    state.withLock { $0.readied = session }
  }

  func publishNewest(_ newest: Snapshot) throws(EngineError) {
    guard hasUnpublished, let storage = participant.storage, let session = state.withLock({ $0.turn?.session }) else {
      return
    }
    try session.whereLocked { () throws(EngineError) in
      let header: (slot: Int, topRef: Int)
      do throws(EngineError) {
        try checkContent(newest, mayBeElsewhere: true)
        header = try selected(storage)
        try check(header.topRef, newest, session)
      } catch {
        throw abandonIfMoved(error)
      }
      // Another writer may have committed, and thereby published ours.
      if header.topRef == newest.top.ref { return allIsPublished() }
      try publish(Self.result(newest), storage, replacing: header.slot)
    }
  }

  /// Shows grouped commits of a session whose lock file is gone, so that it can be left.
  private func publishLost() throws(EngineError) {
    let (unpublished, onDisk) = state.withLock { ($0.unpublished, $0.onDisk) }
    guard let unpublished, let onDisk else { return }
    try participant.leaveLost { (storage) throws(EngineError) in
      let header = try selected(storage)
      if header.topRef == unpublished.topRef { return allIsPublished() }
      if header.topRef != onDisk.topRef {
        throw abandonIfMoved(Participant.overwritten(participant.configuration.path))
      }
      try publish(unpublished, storage, replacing: header.slot)
    }
  }

  // MARK: the header

  /// The slot of the header that is selected, and where it leads. Only between commits: what waits to be written is
  /// lost.
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
    allIsPublished()
  }

  private func allIsPublished() {
    let onDisk = state.withLock { state in
      state.unpublished = nil
      return state.onDisk.take()
    }
    if let onDisk { onDisk.session.versions.release(onDisk.slot) }
  }

  /// Keeps the version that the header shows from being overwritten by the commits of the group.
  private func keepOnDiskVersion(_ session: Session, _ version: ListedVersion) {
    session.versions.hold(version.slot)
    let former = state.withLock { state in
      defer { state.onDisk = (session, version.slot, version.topRef) }
      return state.onDisk
    }
    if let former { former.session.versions.release(former.slot) }
  }
}
