// Access to a realm that other programs may have open. A participant joins the session on the first access and leaves
// it when it has been idle, so that an app can compact or delete its realm although it is mounted.
//
// Readers get the newest version of the list, pinned: no writer overwrites it. A version that is no longer the newest
// stays pinned only for a short time; readers that take longer check with `isCurrent`.
//
// The file can be moved, replaced, removed or overwritten at any moment. `FileLocation` describes what is read then.
// Nothing is written to a file that is no longer at its path, or whose content is not what the session wrote to it.

import CLinux
import Glibc
import Synchronization
import Threads

/// This process's place in the session of a realm, and the newest version there. Snapshots that outlive the participant
/// keep the session joined.
final class Participant: VersionReader {
  /// The purpose for which the realm was opened.
  enum Role: Hashable {
    case reader
    case writer(create: Bool)
  }

  let configuration: Configuration
  private let role: Role
  private let state: Mutex<State>
  private let packedLocation = Atomic<Int>(0)
  /// The time of the last use, in nanoseconds of the monotonic clock.
  private let timeOfUse = Atomic<Int64>(0)
  private let listener = Mutex<PipeListener?>(nil)

  private struct State {
    /// Nil while not in a session.
    var session: Session?
    /// The file that was opened last.
    var file: FileHandle?
    /// The configuration with which the file was opened: without a key if the file was decrypted.
    var configuration: Configuration
    /// The name whose lock file coordinates the session.
    var lockedName = ""
    /// The stamp that the file had when it was known to hold `snapshot`.
    var stamp: FileHandle.Stamp?
    var space: PageSpace?
    /// The newest known version.
    var snapshot: Snapshot?
    /// Older versions that may still be pinned, and when each was superseded.
    var superseded: [(pin: Weak, since: MonotonicTime)] = []
    /// A version that this process held before it joined the session.
    var heldBefore: VersionPin?
    /// The reader of a file that is read without joining a session: an older format, a copy (until it is written to), a
    /// history that only servers use, a file that is no longer at its path, or a file that is in use under another
    /// name.
    var unsharedReader: HeaderReader?
    var location = FileLocation()
    /// When to try again to join a realm that is in use under another name.
    var nextTry: MonotonicTime?
    /// The target of commits.
    var storage: (any Storage)?
    var isWriting = false
    /// True if the process is about to end.
    var isOver = false
    var calls: UInt = 0
  }

  private struct Weak { weak var pin: VersionPin? }

  /// How long a version that is not held stays pinned after a newer one appeared.
  private static let pinLifetime = Duration.seconds(2)

  /// Opens a realm and joins the session. `wrap` can put a layer between the engine and the file, in the first session.
  init(
    _ configuration: Configuration,
    _ role: Role,
    over wrap: (any Storage) -> any Storage = { $0 }
  ) throws(EngineError) {
    (self.configuration, self.role) = (configuration, role)
    state = Mutex(State(configuration: configuration))
    try configuration.check()
    touch()
    try state.withLock { state throws(EngineError) in try enter(&state, over: wrap) }
    Self.all.withLock { $0.append(Listed(participant: self, identity: ObjectIdentifier(self))) }
  }

  /// Unless snapshots are still in use, the session is left when this returns, so that the file can be replaced.
  deinit {
    state.withLock { $0.session }?.finishWork()
    // Compare identities: a strong reference taken under the lock could be the last one, and `deinit` needs the lock.
    let identity = ObjectIdentifier(self)
    Self.all.withLock { $0.removeAll { $0.identity == identity } }
  }

  private struct Listed: Sendable {
    weak var participant: Participant?
    let identity: ObjectIdentifier
  }

  /// The participants of this process.
  private static let all = Mutex<[Listed]>([])

  /// Leaves all sessions permanently, so that no version stays pinned: for a process that ends while threads are still
  /// at work. `isCurrent` is false for anything they read afterwards. A participant in a transaction does not
  /// leave; to other programs it looks like one that crashed.
  static func leaveAll() {
    for listed in all.withLock({ $0 }) { listed.participant?.leavePermanently() }
  }

  private func leavePermanently() {
    state.withLock { state in
      if state.isWriting { return }
      state.isOver = true
      leave(&state)
    }
  }

  private var timeOfLastUse: MonotonicTime { MonotonicTime(nanoseconds: timeOfUse.load(ordering: .relaxed)) }

  var lastUse: MonotonicTime? { timeOfLastUse }

  private func touch() { timeOfUse.store(MonotonicTime.coarse.nanoseconds, ordering: .relaxed) }

  // MARK: reading

  func latest(checksPath: Bool) throws(EngineError) -> Snapshot {
    touch()
    return try state.withLock { state throws(EngineError) in try newest(&state, checksPath: checksPath) }
  }

  private func newest(_ state: inout State, checksPath: Bool = true) throws(EngineError) -> Snapshot {
    state.calls += 1
    if state.calls % Snapshot.readsBetweenTrims == 0, let space = state.space {
      space.limitResidentPages()
    }
    defer { packedLocation.store(state.location.packed, ordering: .relaxed) }
    // The check of the path can be skipped only if the file was still there at the last one.
    var checksPath = checksPath || state.session == nil || state.location.place != .here
    for _ in 0..<Self.attempts {
      if let snapshot = try newestHere(&state, checksPath: checksPath) { return snapshot }
      checksPath = true
    }
    throw EngineError(.inUse, "\(configuration.path): the file is being replaced repeatedly: try again later")
  }

  /// The number of attempts, without a pause, to open a file that keeps being replaced.
  private static let attempts = 4

  /// The newest version in the current session or file; nil if it had to be left or joined first, and the caller must
  /// retry.
  private func newestHere(_ state: inout State, checksPath: Bool) throws(EngineError) -> Snapshot? {
    guard let session = state.session else { return try newestOutside(&state) }
    let before = (participants: session.participants, newest: session.versions.newestSlot)
    // Reading `newestSlot` above touched the mapping, so a truncated lock file has been noticed.
    if session.lockFile.isUnusable, !state.isWriting, isLost(session, state) {
      leave(&state)
      return nil
    }
    let (place, stamp) = checksPath ? state.file?.locate() ?? (.here, nil) : (.here, nil)
    if place == .here {
      if state.location.place == .shared { state.location.place = .here }
    } else if place == .elsewhere || place == .nowhere {
      // Other programs that have the file open continue to use it, and commits that are not on disk yet belong to it.
      if session.participants == 1 && !state.isWriting {
        leave(&state)
        return nil
      }
      state.location.place = .shared
    }
    if let snapshot = state.snapshot, let pin = snapshot.pin, pin.isValid, pin.session === session,
      pin.listed.slot == session.versions.newestSlot, state.space?.isSpent == false
    {
      // A sole participant detects commits by programs that use another lock file: the header shows them.
      let isAlone = session.participants == 1 && !state.isWriting && configuration.inMemoryIdentifier == nil
      if stamp == nil || stamp == state.stamp || holds(snapshot, state, asNewest: isAlone, mayBeAhead: true) {
        if checksPath { state.stamp = stamp.flatMap { $0.isSettled ? $0 : nil } }
        return snapshot
      }
      if isAlone && holds(snapshot, state) {
        leave(&state)
        return nil
      }
    } else {
      do throws(EngineError) {
        if let snapshot = try advance(&state, session) {
          state.stamp = nil
          return snapshot
        }
      } catch {
        guard isLostAfterReads(session, state) else { throw error }
        if state.isWriting {
          // Commits that are not on disk yet are only in this session. The next writer publishes them and leaves it.
          if session.lockFile.isUnusable { throw error }
          guard let snapshot = try advance(&state, session, isLost: true) else {
            throw Self.overwritten(configuration.path)
          }
          state.stamp = nil
          return snapshot
        }
        leave(&state)
        return nil
      }
    }
    // Another program joined, committed or left in the meantime, so the file may have changed: try again.
    if before != (session.participants, session.versions.newestSlot) { return nil }
    // The version list has versions that the file does not hold, or lacks the newest one.
    if session.participants > 1 {
      throw EngineError(
        .moved,
        "\(configuration.path): the file was overwritten while programs have it open: close all of them"
      )
    }
    if state.isWriting { throw Self.overwritten(configuration.path) }
    leave(&state)
    state.location.generation += 1
    return nil
  }

  /// The newest version of a file whose session this process is not in; nil if this call joined the session.
  private func newestOutside(_ state: inout State) throws(EngineError) -> Snapshot? {
    if let unsharedReader = state.unsharedReader {
      switch state.location.place {
      case .gone where state.file?.place == .nowhere: return try unsharedReader.latest()
      case .gone: break
      case .otherName, .untrusted:
        if let next = state.nextTry, .now < next { return try unsharedReader.latest() }
      default:
        let (snapshot, header, _) = try unsharedReader.latestWithHeader()
        if state.file?.place != .elsewhere, !Self.canBeShared(snapshot, header) { return snapshot }
      }
    }
    try enter(&state)
    return try state.unsharedReader?.latest()
  }

  /// True if the file still holds `snapshot` at its ref and, if `asNewest`, the header refers to it. With
  /// `mayBeAhead`, a file that has its first commit still counts as holding the empty version while other participants
  /// exist: that commit is in the file before it is in the version list.
  private func holds(
    _ snapshot: Snapshot,
    _ state: State,
    asNewest: Bool = false,
    mayBeAhead: Bool = false
  ) -> Bool {
    guard let session = state.session, let file = state.file else { return false }
    // Content that cannot be read counts as absent.
    do {
      if snapshot.top.ref == 0 {
        let isShared = mayBeAhead && session.participants > 1
        // While a page is being written, it may read as neither its old nor its new content.
        guard let shown = try? HeaderReader(state.configuration, file).latest() else { return isShared }
        return shown.top.ref == 0 || isShared && shown.version > snapshot.version
      }
      let space: PageSpace
      if let key = state.configuration.encryptionKey {
        // Pages that were decrypted earlier do not show the current content of the file.
        let size = max(try file.status().size, 2 * PageCipher.pageSize)
        space = try DecryptedPages(file, key: key, physicalSize: size, marker: session.lockFile)
      } else {
        space = snapshot.arena.space
      }
      if asNewest {
        try space.require(0, Header.size)
        if Int(truncatingIfNeeded: Header.selectedTopRef(of: space)) != snapshot.top.ref { return false }
      }
      let arena = Arena(space, limit: space.size, format: snapshot.fileFormat)
      return try TopArray(arena, snapshot.top.ref) == snapshot.top
    } catch { return false }
  }

  /// Reads the newest version from the list; nil if the file does not hold it. `isLost` is true if other programs can
  /// no longer find the session and none is in it.
  private func advance(
    _ state: inout State,
    _ session: Session,
    isLost: Bool = false
  ) throws(EngineError) -> Snapshot? {
    if !isLost { try session.lockFile.checkIsInPlace() }
    let listed = try session.versions.pinNewest()
    let pin = VersionPin(session, listed)
    let space = try space(&state, session, covering: listed.logicalSize)
    let header = Header(topRef: listed.topRef, format: listed.topRef == 0 ? 0 : session.fileFormat)
    let snapshot: Snapshot
    do throws(EngineError) {
      snapshot = try HeaderReader.snapshot(
        space,
        header,
        path: configuration.path,
        pin: pin,
        swapsGuids: configuration.showsDotNetGuids
      )
    } catch {
      // Either damage, or the file was overwritten. In the second case its header differs or cannot be read.
      let found = try? HeaderReader(state.configuration).latest()
      if found?.top.ref == listed.topRef || found == nil && session.participants > 1 { throw error }
      return nil
    }
    if listed.topRef != 0, snapshot.version != listed.version { return nil }
    if let former = state.snapshot?.pin { state.superseded.append((Weak(pin: former), .coarse)) }
    (state.space, state.snapshot) = (space, snapshot)
    return snapshot
  }

  /// A page space that contains the newest version.
  private func space(_ state: inout State, _ session: Session, covering size: Int) throws(EngineError) -> PageSpace {
    guard let file = state.file else { throw EngineError(.inUse, "\(configuration.path): no file") }
    if let key = state.configuration.encryptionKey {
      // Pages shared with the previous version may have been encrypted again, so the IV slot of each page is checked.
      return try DecryptedPages(
        file,
        key: key,
        physicalSize: max(file.status().size, 2 * PageCipher.pageSize),
        marker: session.lockFile,
        after: state.space
      )
    }
    if let space = state.space, space.size >= size, !space.isSpent { return space }
    return try MappedFile(file, size: max(file.status().size, 1))
  }

  func isCurrent(_ snapshot: Snapshot) -> Bool {
    clinux_acquire_fence()
    if let pin = snapshot.pin {
      touch()
      return pin.isValid && !(snapshot.arena.space is MappedFile && snapshot.arena.space.isSpent)
    }
    return state.withLock { $0.unsharedReader }?.isCurrent(snapshot) ?? false
  }

  func hasChanged(since snapshot: Snapshot) -> Bool {
    let (session, unsharedReader) = state.withLock { ($0.session, $0.unsharedReader) }
    if let unsharedReader { return unsharedReader.hasChanged(since: snapshot) }
    guard let session else { return hasHeaderChanged(snapshot) }
    guard let pin = snapshot.pin, pin.session === session, pin.isValid else {
      return state.withLock { $0.snapshot.map { $0.version != snapshot.version } ?? true }
    }
    return pin.listed.slot != session.versions.newestSlot
  }

  /// Compares the header of the file with `snapshot` while not in a session.
  private func hasHeaderChanged(_ snapshot: Snapshot) -> Bool {
    let configuration = state.withLock { $0.configuration }
    // A file that cannot be read counts as changed.
    guard let (found, _, _) = try? HeaderReader(configuration).latestWithHeader() else { return true }
    return found.version != snapshot.version || found.top.ref != snapshot.top.ref
  }

  func waitForChange(since snapshot: Snapshot, until deadline: MonotonicTime) -> Bool {
    let listener = listener.withLock { listener in
      if listener == nil { listener = PipeListener(configuration) }
      return listener
    }
    while !hasChanged(since: snapshot) {
      let left = Duration.milliseconds(deadline.milliseconds)
      if left == .zero { return false }
      if let listener {
        listener.wait(min(left, Self.lookInterval))
      } else {
        usleep(useconds_t(min(deadline.milliseconds, 250) * 1000))
      }
    }
    return true
  }

  func fileStatus() throws(EngineError) -> FileStatus {
    let (file, unsharedReader) = state.withLock { ($0.file, $0.unsharedReader) }
    if let unsharedReader { return try unsharedReader.fileStatus() }
    guard let file else { throw .failed("fstat", configuration.path, EBADF) }
    return try file.status()
  }

  // MARK: joining and leaving

  /// True if a file with this content can be in a session that this process joins.
  private static func canBeShared(_ snapshot: Snapshot, _ header: Header) -> Bool {
    // No commit can replace the header of a copy. That includes a copy of an empty realm, but not a copy whose end is
    // missing.
    if header.topRef == 0 { return !header.isStreaming || !isCopyOfNothing(snapshot.arena.space) }
    if header.isStreaming || snapshot.fileFormat != 24 { return false }
    return snapshot.historyType == 0 || snapshot.historyType == 2 && snapshot.top.historySchemaVersion <= 1
      || snapshot.historyType == 3 && snapshot.top.historySchemaVersion == 12
  }

  /// True if the file has only zeros between the header and the footer of a copy.
  private static func isCopyOfNothing(_ space: PageSpace) -> Bool {
    if space.size > PageCipher.pageSize { return false }
    return (Header.size..<space.size - Header.footerSize).allSatisfy { space.byte(at: $0) == 0 }
  }

  /// Joins the session of the file at the path. Reads without joining if the file cannot be in a session with this
  /// process, if it is in use under another name, or if no file is at the path any more.
  private func enter(
    _ state: inout State,
    timeout: Duration? = nil,
    over wrap: (any Storage) -> any Storage = { $0 }
  ) throws(EngineError) {
    if state.isOver { throw EngineError(.inUse, "\(configuration.path): the process is about to end") }
    (state.unsharedReader, state.session, state.snapshot, state.space) = (nil, nil, nil, nil)
    if configuration.inMemoryIdentifier != nil {
      return try InMemoryFolder.locked { () throws(EngineError) in try tryEnter(&state, configuration, timeout, wrap)
      }
    }
    if let file = state.file, file.place == .nowhere {
      state.unsharedReader = try HeaderReader(state.configuration, file)
      state.location.place = .gone
      return
    }
    let former = state.file
    do throws(EngineError) { try tryEnter(&state, configuration, timeout, wrap) } catch {
      guard error.reason == .notEncrypted, former != nil else { throw error }
      // The file was decrypted since it was opened.
      var plain = configuration
      plain.encryptionKey = nil
      try tryEnter(&state, plain, timeout, wrap)
    }
    if let former, let file = state.file, file.device != former.device || file.inode != former.inode {
      state.location.generation += 1
    }
  }

  private func tryEnter(
    _ state: inout State,
    _ configuration: Configuration,
    _ timeout: Duration?,
    _ wrap: (any Storage) -> any Storage
  ) throws(EngineError) {
    let former = state.file
    var entry = Entry(configuration, lockedName: try RealmLinks.lockedName(of: configuration.path))
    switch role {
    case .reader: try enterReading(&entry, timeout ?? .zero)
    // A file that existed before and was removed is not created again.
    case .writer(let create):
      let isFirst = former == nil
      try enterWriting(&entry, create: create && isFirst, timeout ?? (isFirst ? Session.timeout : .zero), wrap)
    }
    if entry.session != nil, entry.file?.place == .elsewhere || entry.file?.place == .nowhere {
      entry.session?.leave()
      throw EngineError(.inUse, "\(configuration.path): the file was replaced while it was being opened: try again")
    }
    (state.session, state.unsharedReader, state.file, state.storage) =
      (entry.session, entry.unsharedReader, entry.file, entry.storage)
    (state.configuration, state.lockedName, state.stamp) = (configuration, entry.lockedName, nil)
    state.nextTry = entry.unsharedPlace != nil ? .now.advanced(by: Self.retryInterval) : nil
    state.location.place = entry.unsharedPlace ?? .here
    state.location.isEncrypted = configuration.encryptionKey != nil
  }

  /// How long a realm that is in use under another name is read before the next attempt to join.
  private static let retryInterval = Duration.seconds(1)

  /// The result of opening a file.
  private struct Entry {
    let configuration: Configuration
    let lockedName: String
    var session: Session?
    var unsharedReader: HeaderReader?
    var file: FileHandle?
    var storage: (any Storage)?
    /// The reason why `unsharedReader` reads a file that other programs have open.
    var unsharedPlace: FileLocation.Place?

    init(_ configuration: Configuration, lockedName: String) {
      (self.configuration, self.lockedName) = (configuration, lockedName)
    }
  }

  private func enterReading(_ entry: inout Entry, _ timeout: Duration) throws(EngineError) {
    let configuration = entry.configuration
    let probe = try HeaderReader(configuration)
    let (snapshot, header, _) = try probe.latestWithHeader()
    let file = try FileHandle(path: configuration.path)
    entry.file = file
    if !Self.canBeShared(snapshot, header) {
      try configuration.checkReached(snapshot, isUnshared: false)
      entry.unsharedReader = probe
      return
    }
    do throws(EngineError) {
      entry.session = try session(entry, file, forWriting: false, timeout) { () throws(EngineError) in
        try Self.firstVersion(configuration)
      }
    } catch {
      guard let place = error.unsharedPlace else { throw error }
      try configuration.checkReached(snapshot, isUnshared: true)
      (entry.unsharedReader, entry.unsharedPlace) = (probe, place)
    }
  }

  /// The version that a session begins with. At that time no other program has the realm open, so no first commit is in
  /// progress: a header without a top ref, in a file with nodes, has lost its version.
  private static func firstVersion(_ configuration: Configuration) throws(EngineError) -> FirstVersion {
    let (snapshot, header, _) = try HeaderReader(configuration).latestWithHeader()
    try configuration.checkReached(snapshot, isUnshared: false)
    guard canBeShared(snapshot, header) else {
      throw EngineError(.inUse, "\(configuration.path): the file changed while it was being opened: try again")
    }
    return FirstVersion(snapshot)
  }

  private func enterWriting(
    _ entry: inout Entry,
    create: Bool,
    _ timeout: Duration,
    _ wrap: (any Storage) -> any Storage
  ) throws(EngineError) {
    let configuration = entry.configuration
    let maker: RealmFileMaker, isNew: Bool
    maker = try RealmFileMaker(configuration, create: create, over: wrap)
    isNew = try maker.holdsNothing()
    (entry.file, entry.storage) = (maker.file, maker.storage)
    var probe: HeaderReader?, canBeShared = true
    if !isNew || !create {
      let reader = try HeaderReader(configuration)
      let (snapshot, header, _) = try reader.latestWithHeader()
      probe = reader
      if RealmWriter.refusal(snapshot) != nil {
        try configuration.checkReached(snapshot, isUnshared: true)
        entry.unsharedReader = reader
        return
      }
      canBeShared = Self.canBeShared(snapshot, header)
      if !canBeShared { try configuration.checkReached(snapshot, isUnshared: false) }
    }
    do throws(EngineError) {
      if !canBeShared {
        // The first save converts it.
        try Trust.check(maker.file, configuration)
        entry.unsharedReader = probe
        return
      }
      let session = try session(entry, maker.file, forWriting: true, timeout) { () throws(EngineError) in
        if create { try maker.makeEmptyIfNew() }
        // A copy may have replaced the file in the meantime; it has to be converted before a session begins.
        return try Self.firstVersion(configuration)
      }
      (maker.storage as? EncryptedStorage)?.marker = session.lockFile
      entry.session = session
    } catch {
      guard let place = error.unsharedPlace, let probe, timeout == .zero else { throw error }
      (entry.unsharedReader, entry.unsharedPlace) = (probe, place)
    }
  }

  /// Converts a copy that cannot be shared yet to a file of the usual form, and joins its session.
  private func convert(_ state: inout State, until deadline: MonotonicTime) throws(EngineError) {
    guard let storage = state.storage, let file = state.file else {
      throw EngineError(.inUse, "\(configuration.path): no file")
    }
    if file.place != .here { throw Self.moved(configuration.path) }
    let configuration = state.configuration
    let entry = Entry(configuration, lockedName: try RealmLinks.lockedName(of: configuration.path))
    // Holders of the version in the copy had no session to register it in.
    let isHeld = isHeldWithoutPin(upTo: .max)
    let timeout = Duration.milliseconds(deadline.milliseconds)
    let session = try session(entry, file, forWriting: true, timeout, until: deadline, holdsFirst: isHeld) {
      () throws(EngineError) in
      if file.place != .here { throw Self.moved(configuration.path) }
      let (snapshot, header, _) = try HeaderReader(configuration).latestWithHeader()
      try RealmFileMaker.prepare(storage, snapshot, header)
      return FirstVersion(try HeaderReader(configuration).latest())
    }
    (storage as? EncryptedStorage)?.marker = session.lockFile
    (state.unsharedReader, state.session, state.lockedName, state.stamp) = (nil, session, entry.lockedName, nil)
    state.heldBefore = session.first.map { VersionPin(session, $0) }
  }

  /// The error of a writer whose file is no longer at its path.
  static func moved(_ path: String) -> EngineError {
    EngineError(
      .moved,
      "\(path): the realm was moved, replaced or removed, so nothing is written to it; open it where it is now"
    )
  }

  private func session(
    _ entry: Entry,
    _ file: FileHandle,
    forWriting: Bool,
    _ timeout: Duration,
    until deadline: MonotonicTime? = nil,
    holdsFirst: Bool = false,
    begin: () throws(EngineError) -> FirstVersion
  ) throws(EngineError) -> Session {
    var configuration = entry.configuration
    if !configuration.path.isExactly(entry.lockedName) { configuration.path = entry.lockedName }
    return try Session(
      configuration,
      of: file,
      forWriting: forWriting,
      timeout: timeout,
      until: deadline,
      holdsFirst: holdsFirst,
      whenIdle: { [weak self] in self?.releaseIdleResources() },
      begin: begin
    )
  }

  /// Called every 500 ms, on the lock thread. Releases what is not needed, and leaves the session when no request came
  /// for the idle time.
  private func releaseIdleResources() {
    _ = state.withLockIfAvailable { state in
      guard let session = state.session else { return }
      let now = MonotonicTime.coarse
      state.superseded.removeAll { entry in
        guard let pin = entry.pin.pin, pin.isValid else { return true }
        if !pin.isHeld && now >= entry.since.advanced(by: Self.pinLifetime) { pin.revoke() }
        return false
      }
      if let pin = state.heldBefore, !isHeldWithoutPin(upTo: pin.listed.version) {
        pin.revoke()
        state.heldBefore = nil
      }
      if state.isWriting { return }
      if isLost(session, state) { return leave(&state) }
      if configuration.inMemoryIdentifier == nil, session.participants == 1, let place = state.file?.place,
        place == .elsewhere || place == .nowhere, !isAnythingHeld(state)
      {
        // A program that opens the file by its new name must not have to wait for this process.
        return leave(&state)
      }
      // If the owner of the file changed, the session is left at once; the next access reports the cause.
      if let file = state.file, !session.isTrusted(file, configuration), !isAnythingHeld(state) { return leave(&state) }
      let lastUse = timeOfLastUse
      let pin = state.snapshot?.pin
      if let pin, pin.isValid, !pin.isHeld, pin.listed.slot != session.versions.newestSlot,
        now >= lastUse.advanced(by: Self.pinLifetime)
      {
        pin.revoke()
      }
      if configuration.inMemoryIdentifier != nil { return }
      guard let idleTime = configuration.idleTime, now >= lastUse.advanced(by: idleTime) else { return }
      if !isAnythingHeld(state) { leave(&state) }
    }
  }

  /// True if other programs can no longer find the session, because its lock file was removed or spoiled, and this
  /// process can leave it: no other process participates, and no version of it is held.
  private func isLost(_ session: Session, _ state: State) -> Bool {
    if configuration.inMemoryIdentifier != nil { return false }
    let lockFile = session.lockFile, isUnusable = lockFile.isUnusable
    if !isUnusable && !lockFile.isGone || isAnythingHeld(state) { return false }
    // A process that died still counts as a participant, but holds no lock.
    if !isUnusable && session.participants == 1 { return true }
    return !LockHolders.areOthers(holding: lockFile.identity, near: configuration.path)
  }

  /// Like `isLost`, for a caller that cannot continue otherwise: waits a moment for reads of this process to end.
  private func isLostAfterReads(_ session: Session, _ state: State) -> Bool {
    if !session.lockFile.isUnusable && !session.lockFile.isGone { return false }
    for _ in 0..<Self.checksWhileReading {
      if isLost(session, state) { return true }
      if !isAnythingHeld(state) { return false }
      usleep(1000)
    }
    return false
  }

  private static let checksWhileReading = 100

  /// Leaves a session that other programs can no longer find, and calls `publish` while no other program has the realm
  /// open, so that commits that are not on disk yet are not lost. Does nothing if the session can still be found.
  func leaveLost(_ publish: (any Storage) throws(EngineError) -> Void) throws(EngineError) {
    try state.withLock { state throws(EngineError) in
      guard let session = state.session, let storage = state.storage, isLost(session, state) else { return }
      leave(&state)
      state.isWriting = false
      let lock = try ExclusiveLock(realmPath: state.lockedName)
      defer { withExtendedLifetime(lock) {} }
      try publish(storage)
    }
  }

  /// True if any version is held, rather than only read.
  private func isAnythingHeld(_ state: State) -> Bool {
    if let pin = state.heldBefore, isHeldWithoutPin(upTo: pin.listed.version) { return true }
    let pins = [state.snapshot?.pin] + state.superseded.map(\.pin.pin)
    return pins.contains { $0?.isHeld ?? false }
  }

  /// True if this process holds a version up to `version` that it has held since before it joined the session.
  private func isHeldWithoutPin(upTo version: UInt64) -> Bool {
    VersionRegistry.held.oldest(of: configuration.path).map { $0 <= version } ?? false
  }

  /// Leaves the session and runs `body`, which needs exclusive access to the realm and may replace its file; then joins
  /// again. Other programs of this package cannot replace the file in between, because this process keeps the
  /// replacement lock until it has rejoined. Reads by this process wait until then, and no thread may be in a
  /// transaction.
  func whileReplacing<R>(_ body: (Configuration, ReplacementLock) throws(EngineError) -> R) throws(EngineError) -> R {
    let lock = try ReplacementLock.take(configuration.path, until: .now.advanced(by: Session.timeout))
    defer { withExtendedLifetime(lock) {} }
    return try state.withLock { state throws(EngineError) in
      let path = configuration.path
      if state.location.place != .here || state.file?.place != .here { throw Self.moved(path) }
      if configuration.inMemoryIdentifier != nil {
        throw EngineError(.notApplicable, "\(path): a realm in memory has no file")
      }
      if let session = state.session {
        if session.participants > 1 {
          throw EngineError(.inUse, "\(path): another program has the realm open; close it there first")
        }
        if isAnythingHeld(state) {
          throw EngineError(.inUse, "\(path): a snapshot or a copy holds a version of the realm; remove it or wait")
        }
        leave(&state)
      }
      // The file that was open may be replaced.
      (state.unsharedReader, state.storage) = (nil, nil)
      let result: R
      do throws(EngineError) { result = try body(state.configuration, lock) } catch {
        // The next access tries again.
        try? enter(&state, timeout: .zero)
        throw error
      }
      // A file that `body` put there is the same realm.
      if let file = state.file, file.place == .elsewhere {
        state.file = try FileHandle(path: path)
      }
      // The replacement is complete even if joining fails; the next access joins again.
      try? rejoin(&state)
      return result
    }
  }

  /// Joins the session of a file that was just written as a copy.
  private func rejoin(_ state: inout State) throws(EngineError) {
    try enter(&state, timeout: .zero)
    if state.unsharedReader != nil, state.location.place == .here {
      try convert(&state, until: .now.advanced(by: Session.timeout))
    }
  }

  /// Leaves the session, and revokes every version that was read there.
  private func leave(_ state: inout State) {
    state.snapshot?.pin?.revoke()
    for entry in state.superseded { entry.pin.pin?.revoke() }
    state.superseded = []
    state.heldBefore?.revoke()
    state.heldBefore = nil
    state.session?.leave()
    state.session = nil
  }

  // MARK: writing

  /// Returns the session, which is not left until `endWriting`; nil for a file that is only read, or that has no
  /// session at this stage. Throws `moved` if the file is no longer at the path, unless the stage is `publish`.
  func beginWriting(_ stage: WritingStage, until deadline: MonotonicTime) throws(EngineError) -> Session? {
    touch()
    return try state.withLock { state throws(EngineError) in
      if stage == .publish, state.isWriting, let session = state.session { return session }
      if state.location.place == .otherName || state.location.place == .untrusted {
        try enter(&state, timeout: .milliseconds(deadline.milliseconds))
      }
      if let session = state.session, !state.isWriting, isLostAfterReads(session, state) { leave(&state) }
      var checksPath = true
      if case .edit(checksPath: false) = stage { checksPath = state.session == nil || state.location.place != .here }
      let snapshot = try newest(&state, checksPath: checksPath)
      if case .commit(let file?) = stage, file != state.location.generation { throw Self.moved(configuration.path) }
      if state.unsharedReader != nil, state.location.place == .here, RealmWriter.refusal(snapshot) == nil {
        if case .edit = stage {
          try checkPlace(state)
          return nil
        }
        try convert(&state, until: deadline)
      }
      guard let session = state.session else {
        if state.location.place == .gone { throw Self.moved(configuration.path) }
        return nil
      }
      if checksPath { try checkPlace(state) }  // otherwise the commit does
      try RealmLinks.checkNoOther(of: configuration.path, than: state.lockedName)
      state.isWriting = true
      return session
    }
  }

  /// Throws if the file is no longer at the path.
  private func checkPlace(_ state: State) throws(EngineError) {
    switch state.file?.place ?? .nowhere {
    case .here: return
    case .elsewhere, .nowhere: throw Self.moved(configuration.path)
    case .unknown(let code): throw .failed("stat", configuration.path, code)
    }
  }

  /// Throws `moved` if `base`, the version to build on, is no longer in the open file, or if that file is no longer at
  /// the path, unless `mayBeElsewhere` is true.
  func checkBeforeCommit(_ base: Snapshot, mayBeElsewhere: Bool = false) throws(EngineError) {
    try state.withLock { state throws(EngineError) in
      if !mayBeElsewhere { try checkPlace(state) }
      if !holds(base, state) { throw Self.overwritten(configuration.path) }
    }
  }

  /// The error of a writer whose file was overwritten.
  static func overwritten(_ path: String) -> EngineError {
    EngineError(.moved, "\(path): the realm was overwritten by something else, so nothing is written to it")
  }

  /// The version of the top array at `topRef`, if the header of the file refers to it; otherwise nil.
  func version(at topRef: Int) -> UInt64? {
    state.withLock { state in
      // A file that cannot be opened has no version.
      guard let file = state.file, let shown = try? HeaderReader(state.configuration, file).latest() else { return nil }
      return shown.top.ref == topRef ? shown.version : nil
    }
  }

  /// True if the session's file is no longer at the path, or no longer holds the newest version.
  var hasLostFile: Bool {
    state.withLock { state in
      if state.session == nil { return false }
      return state.file?.place != .here || state.snapshot.map { !holds($0, state) } ?? false
    }
  }

  /// True if commits seem impossible: the lock file was removed, truncated or overwritten, or programs use the realm
  /// under another name.
  var isObstructed: Bool {
    state.withLock { state in
      switch state.location.place {
      case .otherName, .untrusted: true
      case .here, .gone, .shared:
        state.session.map { session in
          session.lockFile.isGone || session.lockFile.isUnusable
            || RealmLinks.isOpenByOtherName(configuration.path, than: state.lockedName)
        } ?? false
      }
    }
  }

  /// Allows the session to be left again.
  func endWriting() {
    touch()
    state.withLock { $0.isWriting = false }
  }

  /// The open file.
  var file: FileHandle? { state.withLock { $0.file } }

  /// The target of commits, while in a session.
  var storage: (any Storage)? { state.withLock { $0.storage } }

  /// The state of the file that is shown.
  var location: FileLocation { FileLocation(packed: packedLocation.load(ordering: .relaxed)) }

  /// True while in the session.
  var isThere: Bool { state.withLock { $0.session != nil } }
}

extension FirstVersion {
  /// The version in the header of a file.
  fileprivate init(_ snapshot: Snapshot) {
    self.init(
      version: snapshot.version,
      topRef: snapshot.top.ref,
      logicalSize: snapshot.logicalSize,
      historyType: snapshot.historyType == 0 ? 2 : snapshot.historyType
    )
  }
}
