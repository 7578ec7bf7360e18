// New realm files from old ones: copies of a version, and files that take their own place in another form. Each file is
// written whole beside its place, brought to disk and only then named, so there is the old file or the new one at any
// moment.

import Glibc
import Threads

/// Operations on whole realm files.
public enum RealmCopy {
  /// What an operation did to the size of the file.
  public struct Sizes: Sendable, Hashable {
    /// The size of the file that was read, in bytes.
    public let before: Int
    /// The size of the file that was made, in bytes.
    public let after: Int

    /// Takes both sizes.
    public init(before: Int, after: Int) {
      self.before = before
      self.after = after
    }
  }

  /// Writes the newest version of a realm to a new file, without free space, encrypted if there is a key. The copy
  /// takes the protection of the realm. `keepsHistory` false leaves the history out, so that the copy is a local realm
  /// even if the other is a synced one; `isForWriting` lets the owner write to it even if the realm is
  /// write-protected. `verifies` reads the copy back and checks it before it gets its name: `damaged` then says that it
  /// is not sound. A shared realm leaves the version alone meanwhile; with an immutable one it starts again when
  /// another program writes over what is being read. Memory does not grow with the realm. Cost: reading and writing
  /// all of it.
  public static func write(
    _ configuration: Configuration,
    to target: String,
    key: EncryptionKey?,
    keepsHistory: Bool = true,
    isForWriting: Bool = false,
    verifies: Bool = false,
    observer: CopyObserver? = nil
  ) throws(EngineError) -> Sizes {
    let path = configuration.path, realm: Realm
    realm = try Realm(configuration)
    for _ in 0..<attempts {
      let hold = try realm.hold()
      let snapshot = hold.snapshot
      defer { withExtendedLifetime(hold) {} }
      do throws(EngineError) {
        let sizes = try write(
          VersionWriter(snapshot, keepsHistory: keepsHistory),
          of: path,
          to: target,
          key: key,
          replacing: false,
          expected: expectedSize(snapshot),
          check: verifies ? CopyCheck(original: snapshot) : nil,
          observer: observer,
          isForWriting: isForWriting,
          if: { realm.isCurrent(snapshot) }
        )
        if let sizes { return sizes }
      } catch {
        if error.reason != .damaged || realm.isCurrent(snapshot) { throw error }
      }
    }
    throw EngineError(.inUse, "\(path): other programs commit faster than it can be copied; try again when they rest")
  }

  private static let attempts = 100

  /// Writes the newest version of a realm anew in its place, without free space, under `key` or plain. Nil, and
  /// nothing is done, if `condition` does not hold of the size and the part of it that is in use. Nobody else may have
  /// the realm open. The new file is read back and checked before it takes the place of the old one, unless `verifies`
  /// is false: one that is not sound is dropped, and `damaged` says why.
  public static func rewrite(
    _ configuration: Configuration,
    key: EncryptionKey?,
    where condition: (_ total: Int, _ used: Int) -> Bool = { _, _ in true },
    verifies: Bool = true,
    observer: CopyObserver? = nil
  ) throws(EngineError) -> Sizes? {
    try rewrite(configuration, key: key, where: condition, verifies: verifies, observer: observer, holding: nil)
  }

  /// The same for a caller that has the turn already.
  static func rewrite(
    _ configuration: Configuration,
    key: EncryptionKey?,
    where condition: (_ total: Int, _ used: Int) -> Bool = { _, _ in true },
    verifies: Bool = true,
    observer: CopyObserver? = nil,
    holding turn: ReplacementTurn?
  ) throws(EngineError) -> Sizes? {
    try alone(configuration, holding: turn) { (snapshot) throws(EngineError) -> Sizes? in
      let used = expectedSize(snapshot)
      if !condition(snapshot.logicalSize, used) { return nil }
      let file = RealmLinks.file(configuration.path)
      return try write(
        VersionWriter(snapshot),
        of: file,
        to: file,
        key: key,
        replacing: true,
        expected: used,
        check: verifies ? CopyCheck(original: snapshot) : nil,
        observer: observer
      )
    }
  }

  /// Makes a copy of a realm in `folder`, lets `body` work on it, and puts it in the place of the realm if `body` says
  /// so. Nobody else may have the realm open, nor the copy when `body` has ended; and while it lasts, nobody can.
  /// `folder` must be on the same file system.
  public static func exchange<E: Error>(
    _ configuration: Configuration,
    byCopyIn folder: String,
    _ body: (_ copy: String) throws(E) -> Bool
  ) throws(EngineError) -> Result<Bool, E> {
    let path = RealmLinks.file(configuration.path), copy = folder + "/copy.realm"
    return try alone(configuration) { (snapshot) throws(EngineError) in
      _ = try write(
        VersionWriter(snapshot),
        of: path,
        to: copy,
        key: configuration.encryptionKey,
        replacing: false,
        expected: expectedSize(snapshot),
        check: nil,
        observer: nil
      )
      let answer: Bool
      do throws(E) { answer = try body(copy) } catch { return .failure(error) }
      if !answer { return .success(false) }
      let lock = try EngineError.locating(at: copy) { () throws(EngineError) in try lockSoon(copy) }
      defer { withExtendedLifetime(lock) {} }
      let file = try FileHandle(path: path)
      guard unsafe rename(copy, path) == 0 else { throw .failed("rename", path, errno) }
      try file.syncDirectory()
      return .success(true)
    }
  }

  /// An exclusive lock on a realm whose last user may be about to close it.
  private static func lockSoon(_ path: String) throws(EngineError) -> ExclusiveLock {
    let deadline = MonotonicTime.now.advanced(by: Session.patience)
    while true {
      do throws(EngineError) { return try ExclusiveLock(realmPath: path) } catch {
        if error.reason != .inUse || MonotonicTime.now >= deadline { throw error }
        usleep(5000)
      }
    }
  }

  /// Puts an empty realm in the place of one, under the same key. No other program may have it open.
  static func empty(_ configuration: Configuration) throws(EngineError) {
    try alone(configuration) { (_) throws(EngineError) in
      let path = RealmLinks.file(configuration.path)
      let source = try FileHandle(path: path), file = try NewFile(path: path)
      try RealmFileMaker.makeEmpty(RealmFileMaker.storage(of: FileStorage(file.handle), configuration))
      try file.takeProtection(of: source)
      try file.checkReplaces(source)
      try file.put(replacing: true)
    }
  }

  /// Calls `body` with the newest version while no other program can have the realm open.
  static func alone<R>(
    _ configuration: Configuration,
    holding turn: ReplacementTurn? = nil,
    _ body: (Snapshot) throws(EngineError) -> R
  ) throws(EngineError) -> R {
    // Nothing is made beside a file that is no realm.
    let snapshot = try newest(configuration)
    let lock = try EngineError.locating(at: configuration.path) { () throws(EngineError) in
      try ExclusiveLock(realmPath: configuration.path, holding: turn)
    }
    defer { withExtendedLifetime((lock, snapshot)) {} }
    return try body(try newest(configuration))
  }

  private static func newest(_ configuration: Configuration) throws(EngineError) -> Snapshot {
    // The lock is ours, so no place in a session is needed.
    var configuration = configuration
    configuration.mode = .immutable
    return try Realm(configuration).latest()
  }

  /// Writes a version to a file that is put at `target` when it is complete and passes `check`, if `isValid` still says
  /// so; nil if not.
  static func write(
    _ version: VersionWriter,
    of realm: String,
    to target: String,
    key: EncryptionKey?,
    replacing: Bool,
    expected: Int,
    check: CopyCheck?,
    observer: CopyObserver?,
    isForWriting: Bool = false,
    if isValid: () -> Bool = { true }
  ) throws(EngineError) -> Sizes? {
    // Whoever may make files in a folder could put others in the place of those that they may not write to.
    let source = try FileHandle(path: realm, forWriting: replacing)
    // A file that is in the way is better found before the work than after it.
    if unsafe !replacing && access(target, F_OK) == 0 { throw .failed("open", target, EEXIST) }
    let file = try NewFile(path: target)
    try version.write(to: file.handle, key: key, path: realm, expected: expected, observer: observer)
    if !isValid() { return nil }
    try check?.run(file.handle, key: key, path: realm)
    try file.takeProtection(of: source, addingForOwner: isForWriting ? 0o200 : 0)
    let sizes = Sizes(before: try source.status().size, after: try file.handle.status().size)
    if replacing { try file.checkReplaces(source) }
    try file.put(replacing: replacing)
    return sizes
  }

  /// The bytes that all nodes of a version take, by its free list.
  static func expectedSize(_ snapshot: Snapshot) -> Int {
    // An unreadable free list costs an estimate, and is reported by who needs it.
    snapshot.logicalSize - ((try? snapshot.freeBytes()) ?? 0)
  }
}
