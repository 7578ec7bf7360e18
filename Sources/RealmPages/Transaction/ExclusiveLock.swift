// Keeping other programs out while a realm is open for writing. Source: format/5-coordination.md 5.3, 5.4. Sharing the
// session with them will replace this: it is the one place that knows how writers exclude each other.

import Glibc

/// An exclusive lock on `FILE.lock`: nobody else can take part in the realm while it is held.
final class ExclusiveLock: Sendable {
  private let descriptor: Int32

  /// Takes the lock, making the lock file if there is none; refuses at once if anybody takes part.
  init(realmPath: String) throws(TransactionError) {
    let path = realmPath + ".lock"
    let fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o644)
    guard fd >= 0 else { throw TransactionError(FileError("open", path, errno)) }
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
    descriptor = fd
  }

  /// Lets others in. The lock file stays, empty of meaning, as the format wants it.
  deinit {
    flock(descriptor, LOCK_UN)
    close(descriptor)
  }
}

/// One writer at a time within the process.
final class WriterGate: @unchecked Sendable {
  // Unchecked: pthread primitives guard `isTaken`.
  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var isTaken = false

  init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
  }

  deinit {
    pthread_cond_destroy(condition)
    pthread_mutex_destroy(mutex)
    condition.deallocate()
    mutex.deallocate()
  }

  /// Waits until no other thread is in, and goes in.
  func enter() {
    pthread_mutex_lock(mutex)
    while isTaken { pthread_cond_wait(condition, mutex) }
    isTaken = true
    pthread_mutex_unlock(mutex)
  }

  /// Lets the next one in; from any thread.
  func leave() {
    pthread_mutex_lock(mutex)
    isTaken = false
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }
}
