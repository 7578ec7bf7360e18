// Keeping other programs out. Source: docs/format/5-coordination.md 5.3, 5.4.

import Glibc
import Threads

/// An exclusive lock on `FILE.lock`: no other program can join the realm while it is held. Where symbolic links lead
/// to the file, the lock files of all their names are locked.
final class ExclusiveLock: Sendable {
  private let files: [LockedFile]
  private let claim: Claim?

  /// Takes the lock, making the lock file if there is none; refuses at once if anybody takes part.
  init(realmPath: String) throws(EngineError) {
    var files: [LockedFile] = []
    for name in RealmLinks.names(of: realmPath) {
      if let file = try LockedFile(realmPath: name, besides: files) { files.append(file) }
    }
    self.files = files
    // A realm that is made only now has no other name.
    guard let identity = files.first?.identity, let realm = try? FileHandle(path: realmPath) else {
      claim = nil
      return
    }
    claim = Claim(realm, lock: identity, until: .now)
    if claim == nil { throw EngineError(underOtherName: realmPath) }
  }
}

/// A lock file with an exclusive lock.
private final class LockedFile: Sendable {
  let identity: LockFile.Identity
  private let descriptor: Int32

  /// Nil if it is one of `others`.
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
    // Who is waiting for us would take what a dead session left for a running one.
    if ftruncate(fd, 0) != 0 { throw .failed("ftruncate", path, errno) }
  }

  /// Lets others in. The lock file stays, empty of meaning, as the format wants it.
  deinit {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
