// A realm that other programs can have open. It takes its place among them with the first access, and gives it up when
// nobody asks for anything any more, so that an app can compact or delete its realm although it is mounted.
//
// Readers get the newest version of the list, pinned: nobody overwrites it. A version that is not the newest any more
// stays pinned for a short while only; `isCurrent` tells who reads longer.

import CLinux
import Glibc
import Synchronization
import Threads

/// Our place in the session of a realm, and the newest version there. Snapshots that outlive it keep the place.
final class Participant: VersionReader {
  /// What we want there.
  enum Role: Hashable {
    case reader
    case writer(create: Bool)
  }

  let configuration: Configuration
  private let role: Role
  private let state = Mutex(State())
  /// Nanoseconds of the monotonic clock.
  private let lastUse = Atomic<Int64>(0)
  private let listener = Mutex<PipeListener?>(nil)

  private struct State {
    /// Nil while we are not there.
    var session: Session?
    var file: FileHandle?
    var space: PageSpace?
    /// The newest version that we know of.
    var snapshot: Snapshot?
    /// Versions after which newer ones came, and since when.
    var superseded: [(pin: Weak, since: MonotonicTime)] = []
    /// A file that we read without taking part: an older format, a copy (until somebody writes to it), a history that
    /// only servers have.
    var bystander: HeaderReader?
    /// Where commits go.
    var storage: (any Storage)?
    var isWriting = false
    /// Whether the process is about to end.
    var isOver = false
    var calls = 0
  }

  private struct Weak { weak var pin: VersionPin? }

  /// How long a version stays pinned after a newer one has come, unless it is held.
  private static let grace = Duration.seconds(2)

  /// Opens a realm and joins the session. `wrap` puts something between the engine and the file, for the first session.
  init(
    _ configuration: Configuration,
    _ role: Role,
    over wrap: (any Storage) -> any Storage = { $0 }
  ) throws(OpenError) {
    (self.configuration, self.role) = (configuration, role)
    try configuration.check()
    touch()
    try state.withLock { state throws(OpenError) in try enter(&state, over: wrap) }
    Self.all.withLock { $0.append(Listed(participant: self)) }
  }

  /// Without snapshots that are still in use, we are gone when this returns, so that the file can be replaced.
  deinit {
    state.withLock { $0.session }?.finishWork()
    Self.all.withLock { $0.removeAll { $0.participant == nil } }
  }

  private struct Listed: Sendable { weak var participant: Participant? }

  /// Those of this process.
  private static let all = Mutex<[Listed]>([])

  /// Leaves all sessions for good, so that no version stays pinned: for a process that ends while threads are still at
  /// work. What they read after that is not current. One in a transaction stays, and is to others as after a crash.
  static func leaveAll() {
    for listed in all.withLock({ $0 }) { listed.participant?.leaveForGood() }
  }

  private func leaveForGood() {
    state.withLock { state in
      if state.isWriting { return }
      state.isOver = true
      leave(&state)
    }
  }

  private func touch() { lastUse.store(MonotonicTime.coarse.nanoseconds, ordering: .relaxed) }

  // MARK: reading

  func latest() throws(OpenError) -> Snapshot {
    touch()
    return try state.withLock { state throws(OpenError) in try newest(&state) }
  }

  private func newest(_ state: inout State) throws(OpenError) -> Snapshot {
    state.calls += 1
    if state.calls & 511 == 0, let space = state.space { HeaderReader.limitResidentPages(space) }
    if state.session == nil, state.bystander == nil { try enter(&state) }
    if let bystander = state.bystander {
      let (snapshot, header, _) = try bystander.latestWithHeader()
      let wasReplaced = state.file?.wasReplaced() ?? false
      if !wasReplaced && !Self.takesPart(snapshot, header) { return snapshot }
      try enter(&state)
      if let bystander = state.bystander { return try bystander.latest() }
    }
    if state.file?.wasReplaced() ?? false { try follow(&state) }
    guard let session = state.session else { throw OpenError(.inUse, "\(configuration.path): no session") }
    if let snapshot = state.snapshot, let pin = snapshot.pin, pin.isValid, pin.session === session,
      pin.listed.slot == session.versions.newestSlot, state.space?.isSpent == false
    {
      return snapshot
    }
    return try advance(&state, session)
  }

  /// Goes on with the file that took the place of the one we have, as a `mv` without regard for who has it open does.
  private func follow(_ state: inout State) throws(OpenError) {
    if let session = state.session, session.participants > 1 {
      throw OpenError(
        .inUse,
        "\(configuration.path): the file was replaced while several programs have it open: close all of them"
      )
    }
    leave(&state)
    try enter(&state)
  }

  /// Takes the newest version from the list.
  private func advance(_ state: inout State, _ session: Session) throws(OpenError) -> Snapshot {
    do throws(SessionError) { try session.lockFile.checkIsInPlace() } catch { throw OpenError(error) }
    let listed: ListedVersion
    do throws(SessionError) { listed = try session.versions.grabNewest() } catch { throw OpenError(error) }
    let pin = VersionPin(session, listed)
    let space = try space(&state, session, covering: listed.logicalSize)
    let snapshot = try HeaderReader.snapshot(
      space,
      Header(topRef: listed.topRef, format: listed.topRef == 0 ? 0 : session.fileFormat),
      path: configuration.path,
      pin: pin
    )
    if let former = state.snapshot?.pin { state.superseded.append((Weak(pin: former), .coarse)) }
    (state.space, state.snapshot) = (space, snapshot)
    return snapshot
  }

  /// Bytes that show the newest version.
  private func space(_ state: inout State, _ session: Session, covering size: Int) throws(OpenError) -> PageSpace {
    guard let file = state.file else { throw OpenError(.inUse, "\(configuration.path): no file") }
    do throws(FileError) {
      if let key = configuration.encryptionKey {
        // Pages that this version shares with the former one may have been encrypted anew, so each one's slot is asked.
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
    } catch { throw OpenError(error) }
  }

  func isCurrent(_ snapshot: Snapshot) -> Bool {
    clinux_acquire_fence()
    if let pin = snapshot.pin {
      touch()
      return pin.isValid && !(snapshot.arena.space is MappedFile && snapshot.arena.space.isSpent)
    }
    return state.withLock { $0.bystander }?.isCurrent(snapshot) ?? false
  }

  func hasChanged(since snapshot: Snapshot) -> Bool {
    let (session, bystander) = state.withLock { ($0.session, $0.bystander) }
    if let bystander { return bystander.hasChanged(since: snapshot) }
    guard let session else { return hasChangedBehindUs(snapshot) }
    guard let pin = snapshot.pin, pin.session === session, pin.isValid else {
      return state.withLock { $0.snapshot.map { $0.version != snapshot.version } ?? true }
    }
    return pin.listed.slot != session.versions.newestSlot
  }

  /// What the header of the file tells while we are not there.
  private func hasChangedBehindUs(_ snapshot: Snapshot) -> Bool {
    // A file that cannot be read has changed.
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

  func fileStatus() throws(OpenError) -> FileStatus {
    let (file, bystander) = state.withLock { ($0.file, $0.bystander) }
    if let bystander { return try bystander.fileStatus() }
    do throws(FileError) {
      guard let file else { throw FileError("fstat", configuration.path, EBADF) }
      return try file.status()
    } catch { throw OpenError(error) }
  }

  // MARK: coming and going

  /// Whether a file with this content can be in a session of ours.
  private static func takesPart(_ snapshot: Snapshot, _ header: Header) -> Bool {
    if header.topRef == 0 { return true }
    if header.isStreaming || snapshot.fileFormat != 24 { return false }
    return snapshot.historyType == 0 || snapshot.historyType == 2 && snapshot.top.historySchemaVersion <= 1
      || snapshot.historyType == 3 && snapshot.top.historySchemaVersion == 12
  }

  private func enter(_ state: inout State, over wrap: (any Storage) -> any Storage = { $0 }) throws(OpenError) {
    if state.isOver { throw OpenError(.inUse, "\(configuration.path): the process is about to end") }
    (state.bystander, state.session, state.snapshot, state.space) = (nil, nil, nil, nil)
    if configuration.inMemoryIdentifier == nil { return try takePlace(&state, over: wrap) }
    try InMemoryFolder.locked { () throws(OpenError) in try takePlace(&state, over: wrap) }
  }

  private func takePlace(_ state: inout State, over wrap: (any Storage) -> any Storage) throws(OpenError) {
    switch role {
    case .reader: try enterReading(&state)
    case .writer(let create): try enterWriting(&state, create: create, over: wrap)
    }
    try checkIsInPlace(&state)
  }

  /// While we were not there, somebody may have replaced the file; now nobody does.
  private func checkIsInPlace(_ state: inout State) throws(OpenError) {
    if let file = state.file, state.session != nil, file.wasReplaced() {
      state.session?.leave()
      state.session = nil
      throw OpenError(.inUse, "\(configuration.path): the file was replaced while it was being opened: try again")
    }
  }

  private func enterReading(_ state: inout State) throws(OpenError) {
    let probe = try HeaderReader(configuration)
    let (snapshot, header, _) = try probe.latestWithHeader()
    if !Self.takesPart(snapshot, header) {
      (state.bystander, state.file) = (probe, nil)
      return
    }
    state.session = try session(forWriting: false) { () throws(OpenError) in
      let (snapshot, header, _) = try HeaderReader(self.configuration).latestWithHeader()
      guard Self.takesPart(snapshot, header) else {
        throw OpenError(.inUse, "\(self.configuration.path): the file changed while it was being opened: try again")
      }
      return FirstVersion(snapshot)
    }
    do throws(FileError) { state.file = try FileHandle(path: configuration.path) } catch { throw OpenError(error) }
  }

  private func enterWriting(
    _ state: inout State,
    create: Bool,
    over wrap: (any Storage) -> any Storage
  ) throws(OpenError) {
    let maker: RealmFileMaker, isNew: Bool
    do throws(FileError) {
      maker = try RealmFileMaker(configuration, create: create, over: wrap)
      isNew = try maker.holdsNothing()
    } catch { throw OpenError(error) }
    if !isNew || !create {
      let probe = try HeaderReader(configuration)
      let (snapshot, header, _) = try probe.latestWithHeader()
      if RealmWriter.refusal(snapshot) != nil || !Self.takesPart(snapshot, header) {
        (state.bystander, state.file, state.storage) = (probe, maker.file, maker.storage)
        return
      }
    }
    let session = try session(forWriting: true) { () throws(OpenError) in
      do throws(FileError) {
        if create { try maker.makeEmptyIfNew() }
      } catch { throw OpenError(error) }
      return FirstVersion(try HeaderReader(self.configuration).latest())
    }
    (maker.storage as? EncryptedStorage)?.marker = session.lockFile
    (state.session, state.file, state.storage) = (session, maker.file, maker.storage)
  }

  /// Turns a copy that nobody can share yet into a file of the usual form, and joins its session.
  private func convert(_ state: inout State) throws(OpenError) {
    guard let storage = state.storage, let file = state.file else {
      throw OpenError(.inUse, "\(configuration.path): no file")
    }
    let session = try session(forWriting: true) { () throws(OpenError) in
      if file.wasReplaced() {
        throw OpenError(.inUse, "\(self.configuration.path): the file was replaced meanwhile: try again")
      }
      let (snapshot, header, _) = try HeaderReader(self.configuration).latestWithHeader()
      do throws(FileError) { try RealmFileMaker.prepare(storage, snapshot, header) } catch { throw OpenError(error) }
      return FirstVersion(try HeaderReader(self.configuration).latest())
    }
    (storage as? EncryptedStorage)?.marker = session.lockFile
    (state.bystander, state.session) = (nil, session)
    try checkIsInPlace(&state)
  }

  private func session(
    forWriting: Bool,
    begin: () throws(OpenError) -> FirstVersion
  ) throws(OpenError) -> Session {
    try Session(
      configuration,
      forWriting: forWriting,
      whenIdle: { [weak self] in self?.lookAround() },
      begin: begin
    )
  }

  /// Called twice a second, on the thread that locks: lets go of what nobody needs, and of everything when nobody came
  /// for a while.
  private func lookAround() {
    _ = state.withLockIfAvailable { state in
      guard let session = state.session else { return }
      let now = MonotonicTime.coarse
      state.superseded.removeAll { entry in
        guard let pin = entry.pin.pin, pin.isValid else { return true }
        if !pin.isHeld && now >= entry.since.advanced(by: Self.grace) { pin.revoke() }
        return false
      }
      if state.isWriting { return }
      let lastUse = MonotonicTime(nanoseconds: lastUse.load(ordering: .relaxed))
      let pin = state.snapshot?.pin
      if let pin, pin.isValid, !pin.isHeld, pin.listed.slot != session.versions.newestSlot,
        now >= lastUse.advanced(by: Self.grace)
      {
        pin.revoke()
      }
      if configuration.inMemoryIdentifier != nil { return }
      guard let idleTime = configuration.idleTime, now >= lastUse.advanced(by: idleTime) else { return }
      if pin?.isHeld ?? false || state.superseded.contains(where: { $0.pin.pin?.isHeld ?? false }) { return }
      leave(&state)
    }
  }

  /// Gives up our place and runs `body`, which needs the realm for itself; with the next access we are back. Nobody
  /// here reads meanwhile, and nobody may be in a transaction.
  func whileAway<R>(_ body: () throws(CopyError) -> R) throws(CopyError) -> R {
    try state.withLock { state throws(CopyError) in
      let path = configuration.path
      if configuration.inMemoryIdentifier != nil {
        throw CopyError(.notApplicable, "\(path): a realm in memory has no file")
      }
      if let session = state.session {
        if session.participants > 1 {
          throw CopyError(.inUse, "\(path): another program has the realm open; close it there first")
        }
        let pins = [state.snapshot?.pin] + state.superseded.map(\.pin.pin)
        if pins.contains(where: { $0?.isHeld ?? false }) {
          throw CopyError(.inUse, "\(path): somebody holds a version of the realm, such as a snapshot or a copy")
        }
        leave(&state)
      }
      return try body()
    }
  }

  /// Gives up our place, and with it everything that was read there.
  private func leave(_ state: inout State) {
    state.snapshot?.pin?.revoke()
    for entry in state.superseded { entry.pin.pin?.revoke() }
    state.superseded = []
    state.session?.leave()
    state.session = nil
  }

  // MARK: writing

  /// The session, which we do not leave until `endWriting`; nil for a file that we only look at. With the next look at
  /// the newest version we may find out that the file was replaced, and have another session then.
  func beginWriting() throws(OpenError) -> Session? {
    touch()
    return try state.withLock { state throws(OpenError) in
      if state.session == nil || state.file?.wasReplaced() ?? false {
        let snapshot = try newest(&state)
        if state.bystander != nil, RealmWriter.refusal(snapshot) == nil { try convert(&state) }
      }
      state.isWriting = state.session != nil
      return state.session
    }
  }

  /// We may leave again.
  func endWriting() {
    touch()
    state.withLock { $0.isWriting = false }
  }

  /// Where commits go, while there is a session.
  var storage: (any Storage)? { state.withLock { $0.storage } }

  /// Whether we have a place in the session now.
  var isThere: Bool { state.withLock { $0.session != nil } }
}

extension FirstVersion {
  /// The version that the header of a file shows.
  fileprivate init(_ snapshot: Snapshot) {
    self.init(
      version: snapshot.version,
      topRef: snapshot.top.ref,
      logicalSize: snapshot.logicalSize,
      historyType: snapshot.historyType == 0 ? 2 : snapshot.historyType
    )
  }
}
