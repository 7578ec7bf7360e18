// Locks that keep other programs out. Source: docs/format/5-coordination.md 5.3, 5.4.

import Glibc
import Threads

/// An exclusive lock on `FILE.lock`: no other program can join the realm while it is held. If the path is a symbolic
/// link, it locks the lock files of all names in the chain.
final class ExclusiveLock: Sendable {
  private let files: [LockedFile]
  private let claim: Claim?
  private let lock: ReplacementLock

  /// Acquires the lock, and creates the lock file if necessary. Throws at once if a program has joined the realm, or if
  /// another program holds the replacement lock.
  init(realmPath: String, holding lock: ReplacementLock? = nil) throws(EngineError) {
    if let lock { self.lock = lock } else { self.lock = try ReplacementLock(realmPath: realmPath) }
    var files: [LockedFile] = []
    for name in RealmLinks.names(of: realmPath) {
      if let file = try LockedFile(realmPath: name, besides: files) { files.append(file) }
    }
    self.files = files
    // A realm that does not exist yet has no other name.
    guard let identity = files.first?.identity, let realm = try? FileHandle(path: realmPath) else {
      claim = nil
      return
    }
    claim = Claim(realm, lock: identity, until: .now)
    if claim == nil { throw EngineError(underOtherName: realmPath) }
  }
}

/// The replacement lock: it lets one program at a time replace a realm or use it exclusively. A participant must leave
/// the session before it acquires the exclusive lock; until then, this lock keeps other programs of this package out.
/// It locks the directory `FILE.management`, which every participant creates and which outlives the realm file. Realm's
/// engine does not use it.
final class ReplacementLock: Sendable {
  private let descriptors: [Int32]

  /// Acquires the lock; throws `inUse` if another program holds it. Without that directory no participant exists that
  /// could hold it. On a file system without such locks this always succeeds.
  init(realmPath: String) throws(EngineError) {
    var descriptors: [Int32] = []
    var seen: [LockFile.Identity] = []
    for name in RealmLinks.names(of: realmPath) {
      let descriptor = unsafe open(name + ".management", O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
      if descriptor < 0 { continue }
      descriptors.append(descriptor)
      var status = stat()
      guard unsafe fstat(descriptor, &status) == 0, !seen.contains(LockFile.Identity(status)) else { continue }
      seen.append(LockFile.Identity(status))
      if flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK { continue }
      for descriptor in descriptors { close(descriptor) }
      throw EngineError(
        .inUse,
        "\(realmPath): another program is replacing the realm, or has it open exclusively: try again later"
      )
    }
    self.descriptors = descriptors
  }

  /// Acquires the lock, and waits until `deadline` if another program holds it.
  static func take(_ realmPath: String, until deadline: MonotonicTime) throws(EngineError) -> ReplacementLock {
    while true {
      do { return try ReplacementLock(realmPath: realmPath) } catch {
        if error.reason != .inUse || MonotonicTime.now >= deadline { throw error }
        usleep(1000)
      }
    }
  }

  deinit { for descriptor in descriptors { close(descriptor) } }
}

/// A lock file that is locked exclusively.
private final class LockedFile: Sendable {
  let identity: LockFile.Identity
  private let descriptor: Int32

  /// Locks the file; nil if it is one of `others`.
  init?(realmPath: String, besides others: [LockedFile]) throws(EngineError) {
    let path = realmPath + ".lock"
    let fd = try Protection.openLock(path, besideRealm: realmPath)
    descriptor = fd
    var status = stat()
    guard unsafe fstat(fd, &status) == 0 else {
      identity = LockFile.Identity(status)
      throw .failed("fstat", path, errno)
    }
    identity = LockFile.Identity(status)
    if others.contains(where: { $0.identity == LockFile.Identity(status) }) { return nil }
    guard flock(fd, LOCK_EX | LOCK_NB) == 0 else {
      if errno == EWOULDBLOCK {
        throw EngineError(
          .inUse,
          "\(realmPath): another program has the realm open: close it, or read with --immutable"
        )
      }
      throw .failed("flock", path, errno)
    }
    // A process that waits for the lock would mistake the data of a dead session for a live one.
    if ftruncate(fd, 0) != 0 { throw .failed("ftruncate", path, errno) }
  }

  /// Releases the lock. The file stays, without content, as the format requires.
  deinit {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
