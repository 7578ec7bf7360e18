// New realm files from old ones: copies of a version, and files that are rewritten in place in another form. Each file
// is completely written and durable before it gets its name, so that at any moment either the old file or the new one
// is at the path.

import Glibc
import Threads

/// Operations on whole realm files.
public enum RealmCopy {
  /// The size of the file before and after an operation.
  public struct Sizes: Sendable, Hashable {
    /// The size of the source file, in bytes.
    public let before: Int
    /// The size of the new file, in bytes.
    public let after: Int

    /// Creates the pair of sizes.
    public init(before: Int, after: Int) {
      self.before = before
      self.after = after
    }
  }

  /// Writes the newest version of a realm to a new file, without free space, encrypted if there is a key. The copy gets
  /// the owner and permissions of the realm.
  ///
  /// If `keepsHistory` is false, the history is left out, so that the copy of a synced realm is a local one.
  /// `isForWriting` makes the copy writable by its owner even if the realm is write-protected. If `verifies` is true,
  /// the copy is verified before it gets its name, and `damaged` is thrown if it is not sound. The version stays pinned
  /// in a shared realm; in an immutable one, the copy starts again if another program overwrites what is being read.
  /// Memory does not grow with the realm. Cost: reads and writes the whole realm.
  ///
  /// - Throws: the errors of opening the realm, `inUse` if other programs commit faster than it can be copied,
  ///   `cancelled`, or `file` if the copy cannot be written (`EEXIST` if the target exists). No partial file remains.
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
      do {
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
    throw EngineError(.inUse, "\(path): other programs commit faster than it can be copied; try again when they pause")
  }

  private static let attempts = 100

  /// Rewrites the newest version of a realm in place, without free space, encrypted with `key` or not encrypted.
  ///
  /// Returns nil and does nothing if `condition` is false for the file size and the number of bytes in use. No other
  /// program may have the realm open. Unless `verifies` is false, the new file is verified before it replaces the old
  /// one: if it is not sound, it is deleted, and the `damaged` error names the cause.
  public static func rewrite(
    _ configuration: Configuration,
    key: EncryptionKey?,
    where condition: (_ total: Int, _ used: Int) -> Bool = { _, _ in true },
    verifies: Bool = true,
    observer: CopyObserver? = nil
  ) throws(EngineError) -> Sizes? {
    try rewrite(configuration, key: key, where: condition, verifies: verifies, observer: observer, holding: nil)
  }

  /// Like `rewrite(_:key:where:verifies:observer:)`, for a caller that may already hold the replacement lock.
  static func rewrite(
    _ configuration: Configuration,
    key: EncryptionKey?,
    where condition: (_ total: Int, _ used: Int) -> Bool = { _, _ in true },
    verifies: Bool = true,
    observer: CopyObserver? = nil,
    holding lock: ReplacementLock?
  ) throws(EngineError) -> Sizes? {
    try withExclusiveAccess(configuration, holding: lock) { (snapshot) throws(EngineError) -> Sizes? in
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

  /// Creates a copy of a realm in `folder`, runs `body` on it, and replaces the realm with the copy if `body` returns
  /// true. No other program may have the realm open, and none can open it until the call returns; the copy must be
  /// closed when `body` returns. `folder` must be on the same file system.
  ///
  /// - Throws: `inUse` if another program has the realm open, `file`, or the error of `body`. The realm is then
  ///   unchanged.
  public static func exchange<E: Error>(
    _ configuration: Configuration,
    byCopyIn folder: String,
    _ body: (_ copy: String) throws(E) -> Bool
  ) throws(EngineError) -> Result<Bool, E> {
    let path = RealmLinks.file(configuration.path), copy = folder + "/copy.realm"
    return try withExclusiveAccess(configuration) { (snapshot) throws(EngineError) in
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
      let lock = try EngineError.locating(at: copy) { () throws(EngineError) in try lockWithTimeout(copy) }
      defer { withExtendedLifetime(lock) {} }
      let file = try FileHandle(path: path)
      guard unsafe rename(copy, path) == 0 else { throw .failed("rename", path, errno) }
      try file.syncDirectory()
      return .success(true)
    }
  }

  /// Acquires the exclusive lock of a realm whose last user may be about to close it.
  private static func lockWithTimeout(_ path: String) throws(EngineError) -> ExclusiveLock {
    let deadline = MonotonicTime.now.advanced(by: Session.timeout)
    while true {
      do { return try ExclusiveLock(realmPath: path) } catch {
        if error.reason != .inUse || MonotonicTime.now >= deadline { throw error }
        usleep(5000)
      }
    }
  }

  /// Replaces a realm with an empty one with the same key. No other program may have it open.
  static func empty(_ configuration: Configuration) throws(EngineError) {
    try withExclusiveAccess(configuration) { (_) throws(EngineError) in
      let path = RealmLinks.file(configuration.path)
      let source = try FileHandle(path: path), file = try NewFile(path: path)
      try RealmFileMaker.makeEmpty(RealmFileMaker.storage(of: FileStorage(file.handle), configuration))
      try file.takeProtection(of: source)
      try file.checkReplaces(source)
      try file.put(replacing: true)
    }
  }

  /// Calls `body` with the newest version, while no other program can open the realm.
  static func withExclusiveAccess<R>(
    _ configuration: Configuration,
    holding lock: ReplacementLock? = nil,
    _ body: (Snapshot) throws(EngineError) -> R
  ) throws(EngineError) -> R {
    // Read first, so that no lock file is created next to a file that is not a realm.
    let snapshot = try newest(configuration)
    let lock = try EngineError.locating(at: configuration.path) { () throws(EngineError) in
      try ExclusiveLock(realmPath: configuration.path, holding: lock)
    }
    defer { withExtendedLifetime((lock, snapshot)) {} }
    return try body(try newest(configuration))
  }

  private static func newest(_ configuration: Configuration) throws(EngineError) -> Snapshot {
    // The caller holds the lock, or acquires it and reads again, so no session is needed.
    var configuration = configuration
    configuration.mode = .immutable
    return try Realm(configuration).latest()
  }

  /// Writes a version to a new file and moves it to `target` when it is complete and passes `check`. Returns nil, and
  /// deletes the file, if `isValid` then returns false.
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
    // Open for writing, because a user who may create files in the directory could otherwise replace files that are
    // read-only for that user.
    let source = try FileHandle(path: realm, forWriting: replacing)
    // Report an existing file before the work rather than after it.
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

  /// The size of all nodes of a version in bytes, according to its free list.
  static func expectedSize(_ snapshot: Snapshot) -> Int {
    // An unreadable free list only makes the estimate worse; code that needs the list reports it.
    snapshot.logicalSize - ((try? snapshot.freeBytes()) ?? 0)
  }
}
