// Keeping other programs out. Source: docs/format/5-coordination.md 5.3, 5.4.

import Glibc

/// An exclusive lock on `FILE.lock`: nobody else can take part in the realm while it is held.
final class ExclusiveLock: Sendable {
  private let descriptor: Int32

  /// Takes the lock, making the lock file if there is none; refuses at once if anybody takes part.
  init(realmPath: String) throws(TransactionError) {
    let path = realmPath + ".lock"
    let fd: Int32
    do throws(FileError) { fd = try Protection.openLock(path, besideRealm: realmPath) } catch {
      throw TransactionError(error)
    }
    guard flock(fd, LOCK_EX | LOCK_NB) == 0 else {
      let code = errno
      close(fd)
      if code == EWOULDBLOCK {
        throw TransactionError(
          .inUse,
          "\(realmPath): another program has the realm open: close it, or read with --immutable"
        )
      }
      throw TransactionError(FileError("flock", path, code))
    }
    // Who is waiting for us would take what a dead session left for a running one.
    if ftruncate(fd, 0) != 0 {
      let code = errno
      close(fd)
      throw TransactionError(FileError("ftruncate", path, code))
    }
    descriptor = fd
  }

  /// Lets others in. The lock file stays, empty of meaning, as the format wants it.
  deinit {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}
