// An open realm and access to its newest version.

import Glibc
package import Threads

/// An open realm.
///
/// A reader works on `latest()` and checks `isCurrent` afterwards; if it is false, the reader starts again. In a shared
/// realm other programs know which version is being read and do not reuse its space, so `isCurrent` stays true for a
/// second or two after a newer commit, and longer while there are no commits.
public final class Realm: Sendable {
  /// How the realm was opened.
  public let configuration: Configuration

  let reader: any VersionReader

  /// The file formats that can be read.
  public static let readableFormats: Set<Int> = Set(2...11).union(20...24)

  /// Opens a file for reading. Reads only the header and the top array.
  ///
  /// - Throws: `file` (such as `ENOENT`), `notARealm`, `keyNeeded`, `wrongKey`, `notEncrypted`, `unsupportedFormat`,
  ///   `unreached`, `damaged`, `inUse`, `contradictory`.
  public convenience init(_ configuration: Configuration) throws(EngineError) {
    try configuration.check()
    switch configuration.mode {
    case .shared: self.init(configuration, try Participant(configuration, .reader))
    case .immutable: self.init(configuration, try HeaderReader(gated: configuration))
    case .exclusive:
      let lock: ExclusiveLock
      do { lock = try ExclusiveLock(realmPath: configuration.path) } catch {
        if case .file(let code) = error.reason { throw EngineError(.file(code), error.description) }
        throw EngineError(.inUse, error.description)
      }
      self.init(configuration, try HeaderReader(gated: configuration), lock)
    }
  }

  /// Returns the newest readable version of a file whose header leads to no version, as a read-only realm, and the
  /// number of that version. When the header changes, `latest` follows the header again.
  ///
  /// Cost: a scan of the file.
  ///
  /// - Throws: `damaged` if no version is left, and the errors of opening a realm.
  public static func unreached(
    _ configuration: Configuration
  ) throws(EngineError) -> (realm: Realm, version: UInt64) {
    var configuration = configuration
    configuration.mode = .immutable
    guard let root = RealmRecovery.best(of: try RescuedRealm(configuration)) else {
      throw EngineError(.damaged, "\(configuration.path): no version of a realm is left in it")
    }
    let reader = try HeaderReader(configuration, unreached: root.ref, format: root.format)
    return (Realm(configuration, reader), root.version)
  }

  /// Leaves the sessions of all realms that this process has open, except those in which it writes. For a process that
  /// is about to exit: nothing can be read afterwards.
  package static func leaveSessions() { Participant.leaveAll() }

  /// Creates a realm that reads through `reader`.
  init(_ configuration: Configuration, _ reader: any VersionReader, _ lock: ExclusiveLock? = nil) {
    self.configuration = configuration
    self.reader = reader
    self.lock = lock
  }

  /// Held while the realm is open.
  private let lock: ExclusiveLock?

  /// Returns the newest version. Cheap if nothing changed: in a shared realm it checks which file is at the path and
  /// reads shared memory. A file that was replaced by a rename is opened again. If another process is truncating or
  /// rewriting the file, the error describes what was found.
  ///
  /// - Throws: `moved` if the file is no longer at its path, `file`, `damaged`, `inUse`.
  public func latest() throws(EngineError) -> Snapshot { try reader.latest(checksPath: true) }

  /// Like `latest()`, but checks the path only if `checksPath` is true. Pass false if `latest()` was called a moment
  /// ago, or if the path is checked later, as in a commit.
  package func latest(checksPath: Bool) throws(EngineError) -> Snapshot { try reader.latest(checksPath: checksPath) }

  /// True if everything read from `snapshot` until now is valid: no writer can have reused any of its bytes. Call it
  /// after reading, and discard what was read if it is false.
  public func isCurrent(_ snapshot: Snapshot) -> Bool { reader.isCurrent(snapshot) }

  /// Runs `body` on the version that `latest` returns, and again on a newer version if `isCurrent` is false afterwards.
  /// The result or error of such an attempt is discarded, so `body` must not keep anything itself. Returns nil after
  /// `attempts` attempts. If `pauses`, waits a little longer before each attempt after the third.
  ///
  /// - Throws: the error of `latest` or `body`.
  @inlinable
  public func read<R, E: Error>(
    attempts: Int,
    pauses: Bool = false,
    latest: () throws(E) -> Snapshot,
    _ body: (Snapshot) throws(E) -> R
  ) throws(E) -> R? {
    for attempt in 1...attempts {
      let snapshot = try latest()
      do {
        let result = try body(snapshot)
        if isCurrent(snapshot) { return result }
      } catch {
        if isCurrent(snapshot) { throw error }
      }
      if pauses, attempt > 2, attempt < attempts { Self.pause(attempt) }
    }
    return nil
  }

  @usableFromInline
  static func pause(_ attempt: Int) { usleep(useconds_t(min(100 * attempt, 2000))) }

  /// True if there seems to be a version newer than `snapshot`. Unlike `latest()`, this does not count as use of the
  /// realm: it neither keeps this process in the session nor makes it rejoin.
  public func hasChanged(since snapshot: Snapshot) -> Bool { reader.hasChanged(since: snapshot) }

  /// Waits up to `timeout` for a version newer than `snapshot`; true if there is one. Programs that use Realm's SDKs
  /// wake the caller at once through the pipe `FILE.note`, which is created if needed. Changes by other programs are
  /// noticed within 250 ms.
  public func waitForChange(since snapshot: Snapshot, timeout: Duration) -> Bool {
    reader.waitForChange(since: snapshot, until: .now.advanced(by: timeout))
  }

  /// The location of the file as of the last call of `latest()`.
  package var location: FileLocation { reader.location }

  /// When the newest version was last requested; nil if unknown, as for a realm opened in the mode `immutable`.
  package var lastUse: MonotonicTime? { reader.lastUse }

  /// Size, times, mode and owner of the realm file itself.
  ///
  /// - Throws: `file` if the file is no longer there.
  public func fileStatus() throws(EngineError) -> FileStatus { try reader.fileStatus() }

  /// Returns the newest version in the bytes of an unencrypted realm, which are copied. `name` is used in error
  /// messages.
  ///
  /// - Throws: `notARealm`, `damaged`, `unsupportedFormat`.
  public static func snapshot(of bytes: UnsafeRawBufferPointer, name: String = "memory") throws(EngineError) -> Snapshot
  {
    let pages = unsafe MemoryPages(bytes)
    return try HeaderReader.snapshot(pages, HeaderReader.header(of: pages, path: name, isEncrypted: false), path: name)
  }
}

extension Realm {
  /// Runs `body` on the newest version while no program can commit, with the realm that pins it. Writers of a shared
  /// realm are locked out. Where that is not possible, as for a file that cannot be written, no other program may have
  /// the realm open.
  ///
  /// - Throws: `inUse` if another program has it open, or has changed it meanwhile.
  package func withWriterLock<R>(
    timeout: Duration = RealmWriter.timeout,
    _ body: (Snapshot, Realm) -> R
  ) throws(EngineError) -> R {
    var writable = configuration
    writable.idleTime = nil
    // A realm that cannot be opened for writing can still be read.
    if configuration.mode == .shared, let writer = try? RealmWriter(writable) {
      do {
        return try writer.withWriterLock(timeout: timeout) { body($0, writer.realm) }
      } catch {
        if error.reason != .readOnly { throw error }
      }
    }
    let newest = try latest()
    try checkUnused()
    let outcome = body(newest, self)
    try checkUnused()
    if isCurrent(newest) { return outcome }
    throw EngineError(.inUse, "\(configuration.path): another program committed meanwhile; try again")
  }

  /// Throws `inUse` if another program has the realm open.
  private func checkUnused() throws(EngineError) {
    let path = configuration.path
    guard let other = LockHolders.ofRealm(at: path).first(where: { $0.processID != getpid() }) else { return }
    throw EngineError(
      .inUse,
      "\(path): \(other.description) has the realm open and may overwrite former versions at any time; close it there "
        + "first"
    )
  }
}
