// A realm that other programs can have open. It takes its place among them with the first access, and gives it up when
// there are no more requests, so that an app can compact or delete its realm although it is mounted.
//
// Readers get the newest version of the list, pinned: no writer overwrites it. A version that is not the newest any
// more stays pinned for a short while only; `isCurrent` tells who reads longer.
//
// The file can be moved, replaced, removed or overwritten at any moment. What is read then is what `Standing` says;
// nothing is written to a file that its path does not lead to, or that holds something else than what we wrote to it.

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
  private let state: Mutex<State>
  private let packedStanding = Atomic<Int>(0)
  /// Nanoseconds of the monotonic clock.
  private let timeOfUse = Atomic<Int64>(0)
  private let listener = Mutex<PipeListener?>(nil)

  private struct State {
    /// Nil while we are not there.
    var session: Session?
    /// The file that we had open last.
    var file: FileHandle?
    /// How it was opened: without a key if it needs none any more.
    var configuration: Configuration
    /// The name beside which the lock file of the session is.
    var lockedName = ""
    /// The stamp of the file when it was known to hold `snapshot`.
    var stamp: FileHandle.Stamp?
    var space: PageSpace?
    /// The newest version that we know of.
    var snapshot: Snapshot?
    /// Versions after which newer ones came, and since when.
    var superseded: [(pin: Weak, since: MonotonicTime)] = []
    /// A version that was held here before we took part.
    var heldBefore: VersionPin?
    /// A file that we read without taking part: an older format, a copy (until it is written to), a history that
    /// only servers have, a file that its path does not lead to, one that is in use under another name.
    var bystander: HeaderReader?
    /// Where we are.
    var standing = Standing()
    /// When to try again to take part in a realm that is in use under another name.
    var nextTry: MonotonicTime?
    /// Where commits go.
    var storage: (any Storage)?
    var isWriting = false
    /// Whether the process is about to end.
    var isOver = false
    var calls: UInt = 0
  }

  private struct Weak { weak var pin: VersionPin? }

  /// How long a version stays pinned after a newer one has come, unless it is held.
  private static let grace = Duration.seconds(2)

  /// Opens a realm and joins the session. `wrap` puts something between the engine and the file, for the first session.
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

  /// Without snapshots that are still in use, we are gone when this returns, so that the file can be replaced.
  deinit {
    state.withLock { $0.session }?.finishWork()
    // By identity: a look at the others under the lock could be the last reference to one, whose end needs the lock.
    let identity = ObjectIdentifier(self)
    Self.all.withLock { $0.removeAll { $0.identity == identity } }
  }

  private struct Listed: Sendable {
    weak var participant: Participant?
    let identity: ObjectIdentifier
  }

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

  private var timeOfLastUse: MonotonicTime { MonotonicTime(nanoseconds: timeOfUse.load(ordering: .relaxed)) }

  var lastUse: MonotonicTime? { timeOfLastUse }

  private func touch() { timeOfUse.store(MonotonicTime.coarse.nanoseconds, ordering: .relaxed) }

  // MARK: reading

  func latest() throws(EngineError) -> Snapshot {
    touch()
    return try state.withLock { state throws(EngineError) in try newest(&state) }
  }

  private func newest(_ state: inout State) throws(EngineError) -> Snapshot {
    state.calls += 1
    if state.calls % Snapshot.readsBetweenLooks == 0, let space = state.space {
      space.limitResidentPages()
    }
    defer { packedStanding.store(state.standing.packed, ordering: .relaxed) }
    for _ in 0..<Self.attempts {
      if let snapshot = try newestHere(&state) { return snapshot }
    }
    throw EngineError(.inUse, "\(configuration.path): the file is replaced again and again: try again later")
  }

  /// How often a file that is replaced meanwhile is opened anew at once.
  private static let attempts = 4

  /// The newest version where we are; nil if we had to go elsewhere first.
  private func newestHere(_ state: inout State) throws(EngineError) -> Snapshot? {
    guard let session = state.session else { return try newestOutside(&state) }
    let before = (participants: session.participants, newest: session.versions.newestSlot)
    // The look at the list has shown whether there is one.
    if session.lockFile.isSpoiled, !state.isWriting, isLost(session, state) {
      leave(&state)
      return nil
    }
    let (place, stamp) = state.file?.look() ?? (.here, nil)
    if place == .here {
      if state.standing.place == .shared { state.standing.place = .here }
    } else if place == .elsewhere || place == .nowhere {
      // Others who have the file open go on with it, and so do commits that are not on disk yet.
      if session.participants == 1 && !state.isWriting {
        leave(&state)
        return nil
      }
      state.standing.place = .shared
    }
    if let snapshot = state.snapshot, let pin = snapshot.pin, pin.isValid, pin.session === session,
      pin.listed.slot == session.versions.newestSlot, state.space?.isSpent == false
    {
      // Who is alone in the session sees commits by programs that have another lock file: in the header.
      let isAlone = session.participants == 1 && !state.isWriting && configuration.inMemoryIdentifier == nil
      if stamp == nil || stamp == state.stamp || holds(snapshot, state, asNewest: isAlone, mayBeAhead: true) {
        state.stamp = stamp.flatMap { $0.isSettled ? $0 : nil }
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
        guard becomesLost(session, state) else { throw error }
        if state.isWriting {
          // Commits that are not on disk yet are only in this session. The next writer publishes them and leaves it.
          if session.lockFile.isSpoiled { throw error }
          return try advance(&state, session, isLost: true)
        }
        leave(&state)
        return nil
      }
    }
    // Another program came, committed or left while we looked: its first commit makes any file another one.
    if before != (session.participants, session.versions.newestSlot) { return nil }
    // The version list tells of versions that the file does not hold, or not of the newest.
    if session.participants > 1 {
      throw EngineError(
        .moved,
        "\(configuration.path): the file was overwritten while programs have it open: close all of them"
      )
    }
    if state.isWriting { throw Self.overwritten(configuration.path) }
    leave(&state)
    state.standing.file += 1
    return nil
  }

  /// The newest version of a file in whose session we are not; nil if we are now.
  private func newestOutside(_ state: inout State) throws(EngineError) -> Snapshot? {
    if let bystander = state.bystander {
      switch state.standing.place {
      case .gone where state.file?.place == .nowhere: return try bystander.latest()
      case .gone: break
      case .otherName, .untrusted:
        if let next = state.nextTry, .now < next { return try bystander.latest() }
      default:
        let (snapshot, header, _) = try bystander.latestWithHeader()
        if state.file?.place != .elsewhere, !Self.takesPart(snapshot, header) { return snapshot }
      }
    }
    try enter(&state)
    return try state.bystander?.latest()
  }

  /// Whether the file still holds a version where it was; if `asNewest`, whether its header leads there. If another
  /// program `mayBeAhead`, a file in which there is something is no other file than that in which there was nothing:
  /// the first commit is in it before it is in the version list.
  private func holds(
    _ snapshot: Snapshot,
    _ state: State,
    asNewest: Bool = false,
    mayBeAhead: Bool = false
  ) -> Bool {
    guard let session = state.session, let file = state.file else { return false }
    // What cannot be read is not there.
    do {
      if snapshot.top.ref == 0 {
        let isShared = mayBeAhead && session.participants > 1
        // A page that is being written may be neither.
        guard let shown = try? HeaderReader(state.configuration, file).latest() else { return isShared }
        return shown.top.ref == 0 || isShared && shown.version > snapshot.version
      }
      let space: PageSpace
      if let key = state.configuration.encryptionKey {
        // Pages that were decrypted before tell nothing of the file.
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

  /// Takes the newest version from the list; nil if the file does not hold it. `isLost` says that other programs cannot
  /// find the session any more, and none is in it.
  private func advance(
    _ state: inout State,
    _ session: Session,
    isLost: Bool = false
  ) throws(EngineError) -> Snapshot? {
    if !isLost { try session.lockFile.checkIsInPlace() }
    let listed = try session.versions.grabNewest()
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
      // Damage, or a file that was overwritten: if it is another one, its header tells, or there is none.
      let found = try? HeaderReader(state.configuration).latest()
      if found?.top.ref == listed.topRef || found == nil && session.participants > 1 { throw error }
      return nil
    }
    if listed.topRef != 0, snapshot.version != listed.version { return nil }
    if let former = state.snapshot?.pin { state.superseded.append((Weak(pin: former), .coarse)) }
    (state.space, state.snapshot) = (space, snapshot)
    return snapshot
  }

  /// Bytes that show the newest version.
  private func space(_ state: inout State, _ session: Session, covering size: Int) throws(EngineError) -> PageSpace {
    guard let file = state.file else { throw EngineError(.inUse, "\(configuration.path): no file") }
    if let key = state.configuration.encryptionKey {
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
    let configuration = state.withLock { $0.configuration }
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

  func fileStatus() throws(EngineError) -> FileStatus {
    let (file, bystander) = state.withLock { ($0.file, $0.bystander) }
    if let bystander { return try bystander.fileStatus() }
    guard let file else { throw .failed("fstat", configuration.path, EBADF) }
    return try file.status()
  }

  // MARK: coming and going

  /// Whether a file with this content can be in a session of ours.
  private static func takesPart(_ snapshot: Snapshot, _ header: Header) -> Bool {
    // The header of a copy is one that no commit can replace; a copy of nothing, too, but not one that lost its end.
    if header.topRef == 0 { return !header.isStreaming || !isCopyOfNothing(snapshot.arena.space) }
    if header.isStreaming || snapshot.fileFormat != 24 { return false }
    return snapshot.historyType == 0 || snapshot.historyType == 2 && snapshot.top.historySchemaVersion <= 1
      || snapshot.historyType == 3 && snapshot.top.historySchemaVersion == 12
  }

  /// Whether there is nothing between the header and the footer of a copy.
  private static func isCopyOfNothing(_ space: PageSpace) -> Bool {
    if space.size > PageCipher.pageSize { return false }
    return (Header.size..<space.size - Header.footerSize).allSatisfy { space.byte(at: $0) == 0 }
  }

  /// Takes our place in the session of the file that the path leads to; or reads without one what cannot be in a
  /// session of ours, what is in use under another name, and a file that the path led to before it led nowhere.
  private func enter(
    _ state: inout State,
    patience: Duration? = nil,
    over wrap: (any Storage) -> any Storage = { $0 }
  ) throws(EngineError) {
    if state.isOver { throw EngineError(.inUse, "\(configuration.path): the process is about to end") }
    (state.bystander, state.session, state.snapshot, state.space) = (nil, nil, nil, nil)
    if configuration.inMemoryIdentifier != nil {
      return try InMemoryFolder.locked { () throws(EngineError) in try takePlace(&state, configuration, patience, wrap)
      }
    }
    if let file = state.file, file.place == .nowhere {
      state.bystander = try HeaderReader(state.configuration, file)
      state.standing.place = .gone
      return
    }
    let former = state.file
    do throws(EngineError) { try takePlace(&state, configuration, patience, wrap) } catch {
      guard error.reason == .notEncrypted, former != nil else { throw error }
      // It was decrypted since we opened it.
      var plain = configuration
      plain.encryptionKey = nil
      try takePlace(&state, plain, patience, wrap)
    }
    if let former, let file = state.file, file.device != former.device || file.inode != former.inode {
      state.standing.file += 1
    }
  }

  private func takePlace(
    _ state: inout State,
    _ configuration: Configuration,
    _ patience: Duration?,
    _ wrap: (any Storage) -> any Storage
  ) throws(EngineError) {
    let former = state.file
    var entry = Entry(configuration, lockedName: try RealmLinks.lockedName(of: configuration.path))
    switch role {
    case .reader: try enterReading(&entry, patience ?? .zero)
    // What was there and is not any more is not made anew.
    case .writer(let create):
      let isFirst = former == nil
      try enterWriting(&entry, create: create && isFirst, patience ?? (isFirst ? Session.patience : .zero), wrap)
    }
    if entry.session != nil, entry.file?.place == .elsewhere || entry.file?.place == .nowhere {
      entry.session?.leave()
      throw EngineError(.inUse, "\(configuration.path): the file was replaced while it was being opened: try again")
    }
    (state.session, state.bystander, state.file, state.storage) =
      (entry.session, entry.bystander, entry.file, entry.storage)
    (state.configuration, state.lockedName, state.stamp) = (configuration, entry.lockedName, nil)
    state.nextTry = entry.apart != nil ? .now.advanced(by: Self.retryInterval) : nil
    state.standing.place = entry.apart ?? .here
    state.standing.isEncrypted = configuration.encryptionKey != nil
  }

  /// How long a realm that is in use under another name is read without another try.
  private static let retryInterval = Duration.seconds(1)

  /// What opening a file comes to.
  private struct Entry {
    let configuration: Configuration
    let lockedName: String
    var session: Session?
    var bystander: HeaderReader?
    var file: FileHandle?
    var storage: (any Storage)?
    /// Why `bystander` reads what others have open.
    var apart: Standing.Place?

    init(_ configuration: Configuration, lockedName: String) {
      (self.configuration, self.lockedName) = (configuration, lockedName)
    }
  }

  private func enterReading(_ entry: inout Entry, _ patience: Duration) throws(EngineError) {
    let configuration = entry.configuration
    let probe = try HeaderReader(configuration)
    let (snapshot, header, _) = try probe.latestWithHeader()
    let file = try FileHandle(path: configuration.path)
    entry.file = file
    if !Self.takesPart(snapshot, header) {
      try configuration.checkReached(snapshot, isBystander: false)
      entry.bystander = probe
      return
    }
    do throws(EngineError) {
      entry.session = try session(entry, file, forWriting: false, patience) { () throws(EngineError) in
        try Self.firstVersion(configuration)
      }
    } catch {
      guard let place = error.apart else { throw error }
      try configuration.checkReached(snapshot, isBystander: true)
      (entry.bystander, entry.apart) = (probe, place)
    }
  }

  /// The version that a session begins with. No other program has the realm open then, so no first commit is under way:
  /// a header that leads to no version, before nodes, has lost it.
  private static func firstVersion(_ configuration: Configuration) throws(EngineError) -> FirstVersion {
    let (snapshot, header, _) = try HeaderReader(configuration).latestWithHeader()
    try configuration.checkReached(snapshot, isBystander: false)
    guard takesPart(snapshot, header) else {
      throw EngineError(.inUse, "\(configuration.path): the file changed while it was being opened: try again")
    }
    return FirstVersion(snapshot)
  }

  private func enterWriting(
    _ entry: inout Entry,
    create: Bool,
    _ patience: Duration,
    _ wrap: (any Storage) -> any Storage
  ) throws(EngineError) {
    let configuration = entry.configuration
    let maker: RealmFileMaker, isNew: Bool
    maker = try RealmFileMaker(configuration, create: create, over: wrap)
    isNew = try maker.holdsNothing()
    (entry.file, entry.storage) = (maker.file, maker.storage)
    var probe: HeaderReader?, takesPart = true
    if !isNew || !create {
      let reader = try HeaderReader(configuration)
      let (snapshot, header, _) = try reader.latestWithHeader()
      probe = reader
      if RealmWriter.refusal(snapshot) != nil {
        try configuration.checkReached(snapshot, isBystander: true)
        entry.bystander = reader
        return
      }
      takesPart = Self.takesPart(snapshot, header)
      if !takesPart { try configuration.checkReached(snapshot, isBystander: false) }
    }
    do throws(EngineError) {
      if !takesPart {
        // The first save makes it one that does.
        try Trust.check(maker.file, configuration)
        entry.bystander = probe
        return
      }
      let session = try session(entry, maker.file, forWriting: true, patience) { () throws(EngineError) in
        if create { try maker.makeEmptyIfNew() }
        // A copy may have taken its place meanwhile, which is converted before a session begins.
        return try Self.firstVersion(configuration)
      }
      (maker.storage as? EncryptedStorage)?.marker = session.lockFile
      entry.session = session
    } catch {
      guard let place = error.apart, let probe, patience == .zero else { throw error }
      (entry.bystander, entry.apart) = (probe, place)
    }
  }

  /// Turns a copy that cannot be shared yet into a file of the usual form, and joins its session.
  private func convert(_ state: inout State, until deadline: MonotonicTime) throws(EngineError) {
    guard let storage = state.storage, let file = state.file else {
      throw EngineError(.inUse, "\(configuration.path): no file")
    }
    if file.place != .here { throw Self.moved(configuration.path) }
    let configuration = state.configuration
    let entry = Entry(configuration, lockedName: try RealmLinks.lockedName(of: configuration.path))
    // Who holds the version that the copy has had no session to tell of it.
    let isHeld = isHeldWithoutPin(upTo: .max)
    let patience = Duration.milliseconds(deadline.milliseconds)
    let session = try session(entry, file, forWriting: true, patience, until: deadline, holdsFirst: isHeld) {
      () throws(EngineError) in
      if file.place != .here { throw Self.moved(configuration.path) }
      let (snapshot, header, _) = try HeaderReader(configuration).latestWithHeader()
      try RealmFileMaker.prepare(storage, snapshot, header)
      return FirstVersion(try HeaderReader(configuration).latest())
    }
    (storage as? EncryptedStorage)?.marker = session.lockFile
    (state.bystander, state.session, state.lockedName, state.stamp) = (nil, session, entry.lockedName, nil)
    state.heldBefore = session.first.map { VersionPin(session, $0) }
  }

  /// The error of a writer whose file is gone.
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
    _ patience: Duration,
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
      patience: patience,
      until: deadline,
      holdsFirst: holdsFirst,
      whenIdle: { [weak self] in self?.lookAround() },
      begin: begin
    )
  }

  /// Called twice a second, on the thread that locks: releases what is not needed, and everything when no request came
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
      if let pin = state.heldBefore, !isHeldWithoutPin(upTo: pin.listed.version) {
        pin.revoke()
        state.heldBefore = nil
      }
      if state.isWriting { return }
      if isLost(session, state) { return leave(&state) }
      if configuration.inMemoryIdentifier == nil, session.participants == 1, let place = state.file?.place,
        place == .elsewhere || place == .nowhere, !isAnythingHeld(state)
      {
        // Whoever opens the file by its new name must not have to wait for us.
        return leave(&state)
      }
      // A file that was given away is left at once; the next access returns the cause.
      if let file = state.file, !session.isTrusted(file, configuration), !isAnythingHeld(state) { return leave(&state) }
      let lastUse = timeOfLastUse
      let pin = state.snapshot?.pin
      if let pin, pin.isValid, !pin.isHeld, pin.listed.slot != session.versions.newestSlot,
        now >= lastUse.advanced(by: Self.grace)
      {
        pin.revoke()
      }
      if configuration.inMemoryIdentifier != nil { return }
      guard let idleTime = configuration.idleTime, now >= lastUse.advanced(by: idleTime) else { return }
      if !isAnythingHeld(state) { leave(&state) }
    }
  }

  /// True if other programs can no longer find the session, because its lock file was removed or spoiled, and it can be
  /// left for another one: no other process is in it that could go on, and no version of it is held.
  private func isLost(_ session: Session, _ state: State) -> Bool {
    if configuration.inMemoryIdentifier != nil { return false }
    let lockFile = session.lockFile, isSpoiled = lockFile.isSpoiled
    if !isSpoiled && !lockFile.isGone || isAnythingHeld(state) { return false }
    // Who died still counts as a participant, but holds nothing.
    if !isSpoiled && session.participants == 1 { return true }
    return !LockHolders.areOthers(holding: lockFile.identity, near: configuration.path)
  }

  /// Like `isLost`, for a caller that cannot continue otherwise: waits a moment for reads of this process to end.
  private func becomesLost(_ session: Session, _ state: State) -> Bool {
    if !session.lockFile.isSpoiled && !session.lockFile.isGone { return false }
    for _ in 0..<Self.looksWhileReading {
      if isLost(session, state) { return true }
      if !isAnythingHeld(state) { return false }
      usleep(1000)
    }
    return false
  }

  private static let looksWhileReading = 100

  /// Leaves a session that nobody can find any more, and calls `publish` while no other program has the realm open:
  /// what was committed there, and is not on disk, could not be brought there otherwise. Does nothing in any other one.
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

  /// Whether some version is relied on for longer than a moment.
  private func isAnythingHeld(_ state: State) -> Bool {
    if let pin = state.heldBefore, isHeldWithoutPin(upTo: pin.listed.version) { return true }
    let pins = [state.snapshot?.pin] + state.superseded.map(\.pin.pin)
    return pins.contains { $0?.isHeld ?? false }
  }

  /// Whether this process holds a version of before we took part, up to `version`.
  private func isHeldWithoutPin(upTo version: UInt64) -> Bool {
    VersionRegistry.held.oldest(of: configuration.path).map { $0 <= version } ?? false
  }

  /// Leaves the session and runs `body`, which needs the realm for itself and may put another file in its place; then
  /// joins again. Other programs of this package cannot replace the file in between: until we are back, the turn to do
  /// that is ours. No thread of this process reads meanwhile, and none may be in a transaction.
  func whileReplacing<R>(_ body: (Configuration, ReplacementTurn) throws(EngineError) -> R) throws(EngineError) -> R {
    let turn = try ReplacementTurn.take(configuration.path, until: .now.advanced(by: Session.patience))
    defer { withExtendedLifetime(turn) {} }
    return try state.withLock { state throws(EngineError) in
      let path = configuration.path
      if state.standing.place != .here || state.file?.place != .here { throw Self.moved(path) }
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
      // What was open is not what is there afterwards.
      (state.bystander, state.storage) = (nil, nil)
      let result: R
      do throws(EngineError) { result = try body(state.configuration, turn) } catch {
        // The next access tries again.
        try? enter(&state, patience: .zero)
        throw error
      }
      // A file that we put there ourselves is the same realm.
      if let file = state.file, file.place == .elsewhere {
        state.file = try FileHandle(path: path)
      }
      // The replacement is complete even if joining fails; the next access joins again.
      try? rejoin(&state)
      return result
    }
  }

  /// Joins the session of a file that was just written, which has the form of a copy.
  private func rejoin(_ state: inout State) throws(EngineError) {
    try enter(&state, patience: .zero)
    if state.bystander != nil, state.standing.place == .here {
      try convert(&state, until: .now.advanced(by: Session.patience))
    }
  }

  /// Gives up our place, and with it everything that was read there.
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

  /// The session, which we do not leave until `endWriting`; nil for a file that we only look at, or that has none at
  /// this stage. Throws `moved` if the path does not lead to the file any more, unless it is only to be published.
  func beginWriting(_ stage: WritingStage, until deadline: MonotonicTime) throws(EngineError) -> Session? {
    touch()
    return try state.withLock { state throws(EngineError) in
      if stage == .publish, state.isWriting, let session = state.session { return session }
      if state.standing.place == .otherName || state.standing.place == .untrusted {
        try enter(&state, patience: .milliseconds(deadline.milliseconds))
      }
      if let session = state.session, !state.isWriting, becomesLost(session, state) { leave(&state) }
      let snapshot = try newest(&state)
      if case .commit(let file?) = stage, file != state.standing.file { throw Self.moved(configuration.path) }
      if state.bystander != nil, state.standing.place == .here, RealmWriter.refusal(snapshot) == nil {
        if stage == .edit {
          try checkPlace(state)
          return nil
        }
        try convert(&state, until: deadline)
      }
      guard let session = state.session else {
        if state.standing.place == .gone { throw Self.moved(configuration.path) }
        return nil
      }
      try checkPlace(state)
      try RealmLinks.checkNoOther(of: configuration.path, than: state.lockedName)
      state.isWriting = true
      return session
    }
  }

  /// Throws if a commit would not go to the file that the path leads to.
  private func checkPlace(_ state: State) throws(EngineError) {
    switch state.file?.place ?? .nowhere {
    case .here: return
    case .elsewhere, .nowhere: throw Self.moved(configuration.path)
    case .unknown(let code): throw .failed("stat", configuration.path, code)
    }
  }

  /// Throws if `base`, on which something is to be written, is not in the file at the path any more; or, if it
  /// `mayBeElsewhere`, not in the file.
  func checkBeforeCommit(_ base: Snapshot, mayBeElsewhere: Bool = false) throws(EngineError) {
    try state.withLock { state throws(EngineError) in
      if !mayBeElsewhere { try checkPlace(state) }
      if !holds(base, state) { throw Self.overwritten(configuration.path) }
    }
  }

  /// The error of a writer whose file holds something else now.
  static func overwritten(_ path: String) -> EngineError {
    EngineError(.moved, "\(path): the realm was overwritten by something else, so nothing is written to it")
  }

  /// The version of the top array at `topRef` in the file; nil if there is none.
  func version(at topRef: Int) -> UInt64? {
    state.withLock { state in
      // What does not open has none.
      guard let file = state.file, let shown = try? HeaderReader(state.configuration, file).latest() else { return nil }
      return shown.top.ref == topRef ? shown.version : nil
    }
  }

  /// Whether the path does not lead to the file of the session any more, or to something else in it.
  var hasLostFile: Bool {
    state.withLock { state in
      if state.session == nil { return false }
      return state.file?.place != .here || state.snapshot.map { !holds($0, state) } ?? false
    }
  }

  /// True if commits seem impossible: the lock file is gone or spoiled, or programs use the realm by another name.
  var isObstructed: Bool {
    state.withLock { state in
      switch state.standing.place {
      case .otherName, .untrusted: true
      case .here, .gone, .shared:
        state.session.map { session in
          session.lockFile.isGone || session.lockFile.isSpoiled
            || RealmLinks.isOpenByOtherName(configuration.path, than: state.lockedName)
        } ?? false
      }
    }
  }

  /// We may leave again.
  func endWriting() {
    touch()
    state.withLock { $0.isWriting = false }
  }

  /// The file that is open.
  var file: FileHandle? { state.withLock { $0.file } }

  /// Where commits go, while there is a session.
  var storage: (any Storage)? { state.withLock { $0.storage } }

  /// Where we are.
  var standing: Standing { Standing(packed: packedStanding.load(ordering: .relaxed)) }

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
