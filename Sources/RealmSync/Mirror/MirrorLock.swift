// Ensures that only one process keeps a mirror up to date: it holds a file lock, which the kernel releases however the
// process ends.

import Glibc
import RealmPages
import Synchronization
import Threads

/// The right to keep a mirror up to date, released on deinit.
final class MirrorLock: Sendable {
  private struct LockedInode: Hashable {
    let device: UInt
    let inode: UInt
  }

  private let descriptor: Int32
  private let file: LockedInode

  /// The locks that this process holds.
  private static let held = Mutex<Set<LockedInode>>([])
  /// The time that a session of this process may take to end after its last user has released it.
  private static let closingTime = Duration.seconds(2)

  /// Acquires the lock of the mirror at `realm`, in the `.management` directory that all programs use next to a realm.
  /// Waits for a session of this process that is ending.
  init(realm: String) throws(SyncError) {
    let folder = realm + ".management", path = folder + "/realmfs-sync.lock"
    if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST {
      let code = errno, parent = folder.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      if code != ENOENT { throw SyncError(.failed("mkdir", folder, code)) }
      throw SyncError(.file(code), "\(parent.joined(separator: "/")): no such folder; create it first")
    }
    // A symbolic link with this name could redirect the lock file anywhere.
    let directory = unsafe open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
    guard directory >= 0 else { throw SyncError(.failed("open", folder, errno)) }
    defer { close(directory) }
    let flags = O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    descriptor = unsafe openat(directory, "realmfs-sync.lock", flags, 0o600)
    guard descriptor >= 0 else { throw SyncError(.failed("open", path, errno)) }
    var status = stat()
    unsafe fstat(descriptor, &status)
    file = LockedInode(device: UInt(status.st_dev), inode: UInt(status.st_ino))
    let end = MonotonicTime.now.advanced(by: Self.closingTime)
    var (code, isOurs) = Self.take(descriptor, file)
    while code == EWOULDBLOCK, isOurs, .now < end {
      usleep(5000)
      (code, isOurs) = Self.take(descriptor, file)
    }
    guard code == 0 else {
      close(descriptor)
      guard code == EWOULDBLOCK else {
        throw SyncError(.failed("flock", path, code))
      }
      let others = LockHolders.ofRealm(at: realm).filter { $0.processID != getpid() }.map(\.description)
      let unnamed = isOurs ? "this process" : "another process"
      let holder = others.isEmpty ? unnamed : others.joined(separator: " or ")
      let reason = "\(realm): \(holder) keeps the mirror up to date; read it there, or name another file"
      throw SyncError(.mirror, reason)
    }
  }

  /// Tries to acquire the lock. Returns 0 or an errno, and true if this process already held the lock.
  private static func take(_ descriptor: Int32, _ file: LockedInode) -> (code: Int32, isOurs: Bool) {
    held.withLock { held in
      let isOurs = held.contains(file)
      if flock(descriptor, LOCK_EX | LOCK_NB) != 0 { return (errno, isOurs) }
      held.insert(file)
      return (0, isOurs)
    }
  }

  deinit {
    Self.held.withLock { [file, descriptor] held in
      held.remove(file)
      // A child process shares the descriptor between fork and exec, so closing it does not release the lock.
      flock(descriptor, LOCK_UN)
    }
    close(descriptor)
  }
}
