// One process keeps a mirror up to date: it holds a lock, which the kernel takes back however the process ends.

import Glibc
import RealmPages

/// The right to keep a mirror up to date. Given back when the value goes.
final class MirrorLock: Sendable {
  private let descriptor: Int32

  /// Takes the lock of the mirror at `realm`, in the folder that all programs have beside a realm.
  init(realm: String) throws(SyncError) {
    let folder = realm + ".management", path = folder + "/realmfs-sync.lock"
    if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST {
      let code = errno, parent = folder.split(separator: "/", omittingEmptySubsequences: false).dropLast()
      if code != ENOENT { throw SyncError(.failed("mkdir", folder, code)) }
      throw SyncError(.file(code), "\(parent.joined(separator: "/")): no such folder, so no mirror can be made there")
    }
    descriptor = unsafe open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0o600)
    guard descriptor >= 0 else { throw SyncError(.failed("open", path, errno)) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      let code = errno
      close(descriptor)
      guard code == EWOULDBLOCK else {
        throw SyncError(.failed("flock", path, code))
      }
      let holders = LockHolders.ofRealm(at: realm).filter { $0.processID != getpid() }.map(\.description)
      throw SyncError(
        .mirror,
        "\(realm): \(holders.isEmpty ? "another process" : holders.joined(separator: " or ")) keeps the mirror up to "
          + "date; read it there, or name another file"
      )
    }
  }

  deinit { close(descriptor) }
}
