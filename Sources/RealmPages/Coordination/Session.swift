// This process's membership in the session of a realm, from joining to leaving.
// Source: docs/format/5-coordination.md 5.3 to 5.10.
//
// A robust mutex must be unlocked by the thread that locked it. The write mutex is held for a whole transaction, so it
// is locked on a thread of the session, unless the transaction promises to stay on its thread: switching between two
// threads costs more than everything else in a small commit. The other mutexes are held only within single calls, by
// the calling thread. This process never waits on the condition variables of the lock file, because a process that is
// killed while it waits blocks all others forever. For the same reason a broadcast may hang, so broadcasts are made on
// a separate thread.

import CLinux
import Glibc
import Synchronization
import Threads

/// The state of the realm at the beginning of a session.
struct FirstVersion {
  let version: UInt64
  let topRef: Int
  let logicalSize: Int
  /// 2 for a local realm, 3 for a synced one.
  let historyType: Int
}

/// Membership among the programs that have a realm open.
final class Session: @unchecked Sendable {
  // Unchecked: only the holder of the write mutex accesses `writeLockHolder`, `pipes` guard themselves, the rest is
  // constant.
  let path: String
  let lockFile: LockFile
  let versions: VersionList
  /// The file format of the session.
  let fileFormat: Int
  /// The first version of the session, if this process began the session with `holdsFirst`.
  let first: ListedVersion?
  private let locks: WorkerThread
  private let broadcaster: CommitBroadcaster
  private let pipes: [NamedPipe]
  private let isInMemory: Bool
  private let claim: Claim
  private let isOver = Atomic<Bool>(false)
  private let announcing = Atomic<Bool>(false)
  private var writeLockHolder = Holder.unlocked

  /// The thread that locked the write mutex.
  private enum Holder {
    case unlocked
    case lockThread
    case thread(pthread_t)
  }

  /// The time limit for joining.
  static let timeout = Duration.seconds(10)
  /// How long a writer waits for writers with earlier tickets. Source: docs/format/5-coordination.md 5.7.
  private static let ticketTimeout = Duration.milliseconds(500)
  /// The history schema versions of current SDKs, by history type. Source: docs/format/6-history.md 6.1.
  private static let historySchemas: [Int8: UInt16] = [2: 1, 3: 12]

  /// Joins the session of the realm in `file`, or begins one. The lock file is next to the path of `configuration`.
  ///
  /// `begin` prepares the file for a new session, while no other program can join; if `holdsFirst` is true, the version
  /// that `begin` returns stays held. `whenIdle` is called from time to time on the lock thread. While programs use the
  /// file with another lock file, this waits for `timeout`, then throws an error that reports it. The time limit for
  /// everything else is `limit`, by default `Session.timeout` from now.
  init(
    _ configuration: Configuration,
    of file: FileHandle,
    forWriting: Bool,
    timeout: Duration,
    until limit: MonotonicTime? = nil,
    holdsFirst: Bool = false,
    whenIdle: @escaping @Sendable () -> Void = {},
    begin: () throws(EngineError) -> FirstVersion
  ) throws(EngineError) {
    let path = configuration.path, isInMemory = configuration.inMemoryIdentifier != nil
    let deadline = limit ?? .now.advanced(by: Self.timeout)
    let (lockFile, claim) = try Self.filesBeside(file, configuration, deadline, timeout)
    let versions = VersionList(lockFile)
    let idle: @Sendable () -> Void = { [weak lockFile] in
      whenIdle()
      lockFile.map(Self.recoverAbandonedMutex)
    }
    guard let thread = WorkerThread(interval: .milliseconds(500), whenIdle: idle) else {
      throw .failed("pthread_create", path, EAGAIN)
    }
    do throws(EngineError) {
      (fileFormat, first) = try thread.run { () throws(EngineError) in
        try lockFile.lock(clinux_control_mutex, until: deadline)
        defer { lockFile.unlock(clinux_control_mutex) }
        let info = unsafe lockFile.info
        var first: ListedVersion?
        if unsafe info.pointee.participants == 0 {
          try unsafe Self.fill(info, versions, try begin(), configuration)
          first = holdsFirst ? try versions.pinNewest() : nil
        } else if let incompatibility = unsafe Self.incompatibility(
          info.pointee,
          forWriting: forWriting,
          isInMemory: isInMemory
        ) {
          throw EngineError(.inUse, "\(path): \(incompatibility)")
        }
        unsafe info.pointee.participants &+= 1
        return unsafe (Int(info.pointee.file_format), first)
      }
    } catch {
      thread.stop()
      throw error
    }
    guard let broadcaster = CommitBroadcaster(lockFile) else {
      thread.stop()
      throw .failed("pthread_create", path, EAGAIN)
    }
    (self.path, self.lockFile, self.versions, self.broadcaster, locks) = (path, lockFile, versions, broadcaster, thread)
    self.claim = claim
    pipes = NamedPipe.paths(configuration).map { NamedPipe($0) }
    self.isInMemory = isInMemory
  }

  /// Opens or creates the files that programs share next to the realm; files of another kind are not changed.
  private static func filesBeside(
    _ file: FileHandle,
    _ configuration: Configuration,
    _ deadline: MonotonicTime,
    _ timeout: Duration
  ) throws(EngineError) -> (LockFile, Claim) {
    let path = configuration.path, pipes = NamedPipe.paths(configuration)
    try AuxiliaryFile.checkFolder(path + ".management")
    for pipe in pipes { try AuxiliaryFile.checkPipe(pipe) }
    // Nothing is created next to a realm whose session this process does not join.
    try Trust.check(file, configuration)
    let lockFile = try LockFile(configuration, deadline: deadline)
    guard let claim = Claim(file, lock: lockFile.identity, until: .now.advanced(by: timeout)) else {
      throw EngineError(underOtherName: file.path)
    }
    try Protection.makeDirectory(path + ".management", besideRealm: path)
    if configuration.fifoFolder != nil, !Protection.makePipe(pipes[0], besideRealm: path) {
      throw .failed("mkfifo", pipes[0], errno)
    }
    return (lockFile, claim)
  }

  /// True if this process may share memory with the owners of `file` and the lock file; also if that cannot be
  /// determined.
  func isTrusted(_ file: FileHandle, _ configuration: Configuration) -> Bool {
    do {
      try Trust.check(file, configuration)
      try lockFile.checkOwner(configuration)
    } catch { return error.reason != .untrusted }
    return true
  }

  deinit {
    leave()
    locks.stop()
    broadcaster.stop()
  }

  /// Initializes the shared state of a new session.
  private static func fill(
    _ info: UnsafeMutablePointer<clinux_shared_info>,
    _ versions: VersionList,
    _ first: FirstVersion,
    _ configuration: Configuration
  ) throws(EngineError) {
    unsafe info.pointee.durability = configuration.inMemoryIdentifier == nil ? 0 : 1
    unsafe info.pointee.history_type = Int8(first.historyType)
    unsafe info.pointee.history_schema = historySchemas[Int8(first.historyType)] ?? 0
    unsafe info.pointee.file_format = 24
    unsafe clinux_store_64(clinux_version_count(info), 1)
    unsafe info.pointee.latest_version = first.version
    unsafe info.pointee.initiator_pid = configuration.encryptionKey == nil ? 0 : UInt64(getpid())
    try versions.reset(
      ListedVersion(slot: 0, version: first.version, topRef: first.topRef, logicalSize: first.logicalSize)
    )
  }

  /// The reason why this process cannot join a running session; nil if it can.
  private static func incompatibility(_ info: clinux_shared_info, forWriting: Bool, isInMemory: Bool) -> String? {
    if unsafe isInMemory && info.durability != 1 { return "another program uses the realm as an on-disk realm" }
    if unsafe !isInMemory && info.durability != 0 { return "another program uses the realm as an in-memory realm" }
    let isKnown = unsafe historySchemas[info.history_type] == info.history_schema
    if unsafe forWriting && info.history_type == 3 {
      return "a program with sync has the realm open: read with --read-only"
    }
    if unsafe !isKnown && (forWriting || info.history_type != 0) {
      return
        unsafe "another program has the realm open with history \(info.history_type), schema \(info.history_schema)"
    }
    if unsafe info.file_format != 24 && (forWriting || !Realm.readableFormats.contains(Int(info.file_format))) {
      return unsafe "an older program has the realm open with file format \(info.file_format): close it"
    }
    return nil
  }

  /// Repairs a mutex whose holder died: otherwise a program that opens the realm with realm-core would hang. Acquiring
  /// the mutex repairs it. Source: docs/format/5-coordination.md 5.2.
  private static func recoverAbandonedMutex(_ lockFile: LockFile) {
    // Held by a live process, or broken beyond repair: leave it unchanged in both cases.
    guard (try? lockFile.lock(clinux_control_mutex, until: .now)) != nil else { return }
    lockFile.unlock(clinux_control_mutex)
  }

  /// The number of participants, including those that died without leaving.
  var participants: Int { unsafe Int(lockFile.info.pointee.participants) }

  /// True if a commit of this process may be in the header but not in the version list: while the commit is in
  /// progress, or after a failed sync. If the session is left in this state, the participant count is not decremented,
  /// as after a crash: it shows other programs the origin of the version in the header.
  var isAnnouncing: Bool {
    get { announcing.load(ordering: .relaxed) }
    set { announcing.store(newValue, ordering: .relaxed) }
  }

  /// Waits for pending work of the lock thread, which keeps the session alive until then.
  func finishWork() { locks.run {} }

  /// Leaves the session and releases all versions. The session cannot be used afterwards.
  func leave() {
    if isOver.exchange(true, ordering: .acquiringAndReleasing) { return }
    versions.close()
    locks.run {
      if case .lockThread = writeLockHolder { unlockForWriting() }
      if isAnnouncing { return }
      // On timeout, leave without decrementing, as after a crash: the count stays too high until the session ends.
      guard (try? lockFile.lock(clinux_control_mutex, until: .now.advanced(by: Self.timeout))) != nil else { return }
      let count = unsafe lockFile.info.pointee.participants
      unsafe lockFile.info.pointee.participants = max(count, 1) - 1
      lockFile.unlock(clinux_control_mutex)
    }
    claim.release()
    lockFile.releaseLock()
    if isInMemory { InMemoryFolder.cleanUp() }
  }

  // MARK: writing

  /// Acquires the write lock, in the order in which the writers of all programs requested it. Waits at most half a
  /// second for a writer with an earlier ticket, which may have died. Throws `busy` if the lock is not acquired by
  /// `deadline`. If `staysOnThread` is true, the caller must call `unlock` on the thread that called this.
  func lockForWriting(until deadline: MonotonicTime, staysOnThread: Bool) throws(EngineError) {
    if staysOnThread {
      try lockForWriting(until: deadline, .thread(pthread_self()))
    } else {
      try locks.run { () throws(EngineError) in try lockForWriting(until: deadline, .lockThread) }
    }
  }

  private func lockForWriting(until deadline: MonotonicTime, _ holder: Holder) throws(EngineError) {
    let info = unsafe lockFile.info
    try lockFile.checkIsInPlace()
    let ticket = unsafe clinux_add_32(clinux_next_ticket(info), 1)
    do { try lockFile.lock(clinux_write_mutex, until: deadline) } catch {
      // If no later ticket was issued, return ours, so that no writer waits for it.
      _ = unsafe clinux_swap_32(clinux_next_ticket(info), ticket &+ 1, ticket)
      throw error
    }
    let ticketDeadline = MonotonicTime.now.advanced(by: Self.ticketTimeout)
    while unsafe Int32(bitPattern: ticket &- clinux_load_32(clinux_next_served(info))) > 0,
      MonotonicTime.now < ticketDeadline
    {
      lockFile.unlock(clinux_write_mutex)
      usleep(500)
      try lockFile.lock(clinux_write_mutex, until: deadline)
    }
    unsafe clinux_store_32(clinux_next_served(info), ticket)
    writeLockHolder = holder
    if unsafe clinux_load_8(clinux_in_critical_phase(info)) != 0 {
      unlockForWriting()
      throw EngineError(
        .inUse,
        "\(path): a program died while it announced a commit: close all programs that have the realm open"
      )
    }
  }

  /// Runs `body`, which writes to the file, on the thread that holds the write lock. When a process is killed, each of
  /// its threads ends separately, after its current system call. The lock becomes free when the thread that holds it
  /// has ended; another thread could still be writing then, over the data of the next writer.
  func onLockThread<R, E: Error>(_ body: () throws(E) -> R) throws(E) -> R {
    if case .lockThread = writeLockHolder { return try locks.run(body) }
    return try body()
  }

  /// Unlocks for the next writer. Notifies listeners if `hasCommitted` is true.
  func unlock(hasCommitted: Bool) {
    switch writeLockHolder {
    case .unlocked: return
    case .lockThread: locks.post { [self] in unlockAndNotify(hasCommitted) }
    case .thread(let id):
      precondition(pthread_equal(id, pthread_self()) != 0, "a transaction left the thread that it was to stay on")
      unlockAndNotify(hasCommitted)
    }
  }

  private func unlockAndNotify(_ hasCommitted: Bool) {
    unlockForWriting()
    if hasCommitted { for pipe in pipes { pipe.wakeListeners() } }
    broadcaster.broadcast(newCommit: hasCommitted)
  }

  /// Called on the thread that locked.
  private func unlockForWriting() {
    writeLockHolder = .unlocked
    unsafe clinux_store_32(clinux_next_served(lockFile.info), clinux_load_32(clinux_next_served(lockFile.info)) &+ 1)
    lockFile.unlock(clinux_write_mutex)
  }

  /// Keeps other programs from joining while `body` changes the size of the file.
  func withoutJoining<R, E: Error>(
    _ body: () throws(E) -> R,
    orElse translate: (EngineError) -> E
  ) throws(E) -> R {
    do { try lockFile.lock(clinux_control_mutex, until: .now.advanced(by: Self.timeout)) } catch {
      throw translate(error)
    }
    defer { lockFile.unlock(clinux_control_mutex) }
    return try body()
  }

  /// Publishes a written version to all participants. `count` is the number of versions before it.
  func announce(_ result: Committer.Result, count: Int) throws(EngineError) {
    let info = unsafe lockFile.info
    do {
      unsafe clinux_store_8(clinux_in_critical_phase(info), 1)
      // If announcing fails, the next writer resets the header to the previous version.
      defer { unsafe clinux_store_8(clinux_in_critical_phase(info), 0) }
      try versions.add(version: result.version, topRef: result.topRef, logicalSize: result.logicalSize)
    }
    // On timeout, skip this: the version list already has the number.
    guard (try? lockFile.lock(clinux_control_mutex, until: .now.advanced(by: Self.timeout))) != nil else { return }
    unsafe clinux_store_64(clinux_version_count(info), UInt64(count + 1))
    unsafe info.pointee.latest_version = result.version
    lockFile.unlock(clinux_control_mutex)
  }
}

/// The thread that broadcasts the condition variables. A broadcast may hang forever if a waiting process was killed.
final class CommitBroadcaster: Sendable {
  private let lockFile: LockFile
  private let thread: WorkerThread
  private let pending = Atomic<Int>(0)

  init?(_ lockFile: LockFile) {
    guard let thread = WorkerThread() else { return nil }
    (self.lockFile, self.thread) = (lockFile, thread)
  }

  /// Wakes writers that wait for their turn and processes that wait for a commit. Does nothing while earlier broadcasts
  /// hang.
  func broadcast(newCommit: Bool) {
    let info = unsafe lockFile.info
    // A process that started to wait before the unlock is seen here; one that starts later sees the new state.
    let isAwaited = unsafe newCommit && clinux_shared_is_awaited(info, clinux_new_commit)
    if unsafe !isAwaited && !clinux_shared_is_awaited(info, clinux_pick_next_writer) { return }
    if pending.load(ordering: .relaxed) > 8 { return }
    pending.add(1, ordering: .relaxed)
    thread.post { [self] in
      if newCommit { unsafe clinux_shared_broadcast(lockFile.info, clinux_new_commit) }
      unsafe clinux_shared_broadcast(lockFile.info, clinux_pick_next_writer)
      pending.subtract(1, ordering: .relaxed)
    }
  }

  func stop() { thread.stop() }
}
