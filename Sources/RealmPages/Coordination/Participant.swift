// Access to a realm that other programs may have open. A participant joins the session on the first access and leaves
// it when it has been idle, so that an app can compact or delete its realm although it is mounted.
//
// Readers get the newest version of the list, pinned: no writer overwrites it. A version that is no longer the newest
// stays pinned only for a short time (`PinnedVersions`); readers that take longer check with `isCurrent`.
//
// Participant+Newest.swift finds the newest version and follows the file; Participant+Session.swift joins and leaves
// sessions; Participant+Writing.swift is the part that a writer uses. `FileLocation` describes what is read if the
// file (`OpenedFile`) was moved, replaced, removed or overwritten.

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
  let role: Role
  let state: Mutex<State>
  let packedLocation = Atomic<Int>(0)
  /// The time of the last use, in nanoseconds of the monotonic clock.
  private let timeOfUse = Atomic<Int64>(0)
  private let listener = Mutex<PipeListener?>(nil)

  struct State {
    /// Nil while not in a session.
    var session: Session?
    var file: OpenedFile
    var versions = PinnedVersions()
    /// The reader of a file that is read without joining a session: an older format, a copy (until it is written to), a
    /// history that only servers use, a file that is no longer at its path, or a file that is in use under another
    /// name.
    var unsharedReader: HeaderReader?
    var location = FileLocation()
    /// When to try again to join a realm that is in use under another name.
    var nextTry: MonotonicTime?
    var isWriting = false
    /// True if the process is about to end.
    var isOver = false
    var calls: UInt = 0
  }

  /// Opens a realm and joins the session. `wrap` can put a layer between the engine and the file, in the first session.
  init(
    _ configuration: Configuration,
    _ role: Role,
    over wrap: (any Storage) -> any Storage = { $0 }
  ) throws(EngineError) {
    (self.configuration, self.role) = (configuration, role)
    state = Mutex(State(file: OpenedFile(configuration)))
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

  var timeOfLastUse: MonotonicTime { MonotonicTime(nanoseconds: timeOfUse.load(ordering: .relaxed)) }

  var lastUse: MonotonicTime? { timeOfLastUse }

  /// Records a use of the realm.
  func touch() { timeOfUse.store(MonotonicTime.coarse.nanoseconds, ordering: .relaxed) }

  // MARK: reading

  func latest(checksPath: Bool) throws(EngineError) -> Snapshot {
    touch()
    return try state.withLock { state throws(EngineError) in try newest(&state, checksPath: checksPath) }
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
      return state.withLock { $0.versions.newest.map { $0.version != snapshot.version } ?? true }
    }
    return pin.listed.slot != session.versions.newestSlot
  }

  /// Compares the header of the file with `snapshot` while not in a session.
  private func hasHeaderChanged(_ snapshot: Snapshot) -> Bool {
    let configuration = state.withLock { $0.file.configuration }
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
    let (file, unsharedReader) = state.withLock { ($0.file.handle, $0.unsharedReader) }
    if let unsharedReader { return try unsharedReader.fileStatus() }
    guard let file else { throw .failed("fstat", configuration.path, EBADF) }
    return try file.status()
  }

  /// The open file.
  var file: FileHandle? { state.withLock { $0.file.handle } }

  /// The target of commits, while in a session.
  var storage: (any Storage)? { state.withLock { $0.file.storage } }

  /// The state of the file that is shown.
  var location: FileLocation { FileLocation(packed: packedLocation.load(ordering: .relaxed)) }

  /// True while in the session.
  var isThere: Bool { state.withLock { $0.session != nil } }
}
