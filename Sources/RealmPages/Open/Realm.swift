// An open realm and the way to its newest version.

import Glibc
package import Threads

/// An open realm.
///
/// Readers work on `latest()` and ask `isCurrent` afterwards; when the answer is no, they start again. In a shared
/// realm other programs know what we read and leave it alone, so that the answer is yes for as long as a second or two
/// after a newer version has come, and longer while there are no commits.
public final class Realm: Sendable {
  /// How the realm was opened.
  public let configuration: Configuration

  let reader: any VersionReader

  /// The formats that are read.
  public static let readableFormats: Set<Int> = Set(2...11).union(20...24)

  /// Opens a file for reading. Reads the header and the top array, nothing else.
  public convenience init(_ configuration: Configuration) throws(EngineError) {
    try configuration.check()
    switch configuration.mode {
    case .shared: self.init(configuration, try Participant(configuration, .reader))
    case .immutable: self.init(configuration, try HeaderReader(gated: configuration))
    case .exclusive:
      let lock: ExclusiveLock
      do throws(EngineError) { lock = try ExclusiveLock(realmPath: configuration.path) } catch {
        if case .file(let code) = error.reason { throw EngineError(.file(code), error.description) }
        throw EngineError(.inUse, error.description)
      }
      self.init(configuration, try HeaderReader(gated: configuration), lock)
    }
  }

  /// The newest version that can be read in a file whose header leads to none, for reading alone, and its number. As
  /// soon as the header changes, `latest` goes by the header again.
  ///
  /// Cost: a search through the file.
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

  /// Leaves the sessions of all realms that this process has open, but for those in which it writes. For a process that
  /// is about to end: nothing can be read afterwards.
  package static func leaveSessions() { Participant.leaveAll() }

  /// Shows what a reader finds.
  init(_ configuration: Configuration, _ reader: any VersionReader, _ lock: ExclusiveLock? = nil) {
    self.configuration = configuration
    self.reader = reader
    self.lock = lock
  }

  /// Held for as long as the realm is open.
  private let lock: ExclusiveLock?

  /// The newest version. Cheap when nothing changed: in a shared realm a look at shared memory, without a system call.
  /// A file that was replaced by rename is opened again. While a file is being cut or rewritten by another process, the
  /// error says what was found.
  public func latest() throws(EngineError) -> Snapshot { try reader.latest() }

  /// Whether what was read from `snapshot` up to now is what it holds: no writer can have reused a byte of it. Ask
  /// after reading, and discard what was read when the answer is no.
  public func isCurrent(_ snapshot: Snapshot) -> Bool { reader.isCurrent(snapshot) }

  /// Runs `body` on the version that `latest` finds, and again on a newer one when `isCurrent` says no afterwards: what
  /// `body` returned or threw counts for nothing then, so it must not keep anything itself. Nil after so many
  /// `attempts`. If it `pauses`, it waits a little longer before each attempt after the third.
  @inlinable
  public func read<R, E: Error>(
    attempts: Int,
    pauses: Bool = false,
    latest: () throws(E) -> Snapshot,
    _ body: (Snapshot) throws(E) -> R
  ) throws(E) -> R? {
    for attempt in 1...attempts {
      let snapshot = try latest()
      do throws(E) {
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

  /// Whether there seems to be a newer version than `snapshot`. Unlike `latest()` this is no reason to stay among those
  /// who have the realm open, nor to go back there.
  public func hasChanged(since snapshot: Snapshot) -> Bool { reader.hasChanged(since: snapshot) }

  /// Waits until there is a newer version than `snapshot`, at most for `timeout`; whether there is. Programs that use
  /// Realm's SDKs wake us at once, through the pipe `FILE.note`, which is made; changes by others are seen within a
  /// quarter of a second.
  public func waitForChange(since snapshot: Snapshot, timeout: Duration) -> Bool {
    reader.waitForChange(since: snapshot, until: .now.advanced(by: timeout))
  }

  /// What became of the file at the last call of `latest()`.
  package var standing: Standing { reader.standing }

  /// When the newest version was last asked for; nil if that is not known, as of a realm that is opened immutable.
  package var lastUse: MonotonicTime? { reader.lastUse }

  /// Size, times, mode and owner of the realm file itself.
  public func fileStatus() throws(EngineError) -> FileStatus { try reader.fileStatus() }

  /// The newest version in a copy of the bytes of a realm that is not encrypted. `name` shapes the messages.
  public static func snapshot(of bytes: UnsafeRawBufferPointer, name: String = "memory") throws(EngineError) -> Snapshot
  {
    let pages = unsafe MemoryPages(bytes)
    return try HeaderReader.snapshot(pages, HeaderReader.header(of: pages, path: name, isEncrypted: false), path: name)
  }
}
