// One lock file per realm file. Programs coordinate through the lock file next to the name by which they opened the
// realm, so programs that open one file under two names (hard links, symbolic links, a previous name) form two sessions
// that are unaware of each other, and each overwrites the other's commits. Programs of this package therefore mark the
// realm file itself with the lock file they use: an open file description lock on one byte far beyond the end of the
// file, at an offset derived from the lock file's identity. Realm's engine places no locks there, so it is neither
// disturbed nor kept out.

import CLinux
import Glibc
import Synchronization
import Threads

/// One participant's mark on a realm file.
final class Claim: Sendable {
  private let file: FileHandle
  private let position: Int64
  private let isOver = Atomic<Bool>(false)

  fileprivate static let start: Int64 = 1 << 62
  private static let count: Int64 = 1 << 32

  /// Marks the file whose lock file is `lock`. Waits until `deadline` while other programs use another lock file for
  /// the file; nil if they still do at the deadline. On a file system without such locks this always succeeds.
  init?(_ file: FileHandle, lock: LockFile.Identity, until deadline: MonotonicTime) {
    self.file = file
    var hash = UInt64(lock.device) &* 0x9e37_79b9_7f4a_7c15 ^ UInt64(lock.inode)
    hash = (hash ^ hash >> 32) &* 0xff51_afd7_ed55_8ccd
    position = Self.start + Int64(hash >> 32)
    while true {
      // Mark first, then check: a program that checks later sees this mark.
      if clinux_claim(file.descriptor, position) != 0 || !isContested { return }
      clinux_disclaim(file.descriptor, position)
      if MonotonicTime.now >= deadline {
        isOver.store(true, ordering: .relaxed)
        return nil
      }
      usleep(useconds_t.random(in: 1000..<20_000))
    }
  }

  deinit { release() }

  /// True if another lock file is in use for the file.
  private var isContested: Bool {
    let before = clinux_is_claimed(file.descriptor, Self.start, position - Self.start)
    let behind = clinux_is_claimed(file.descriptor, position + 1, Self.start + Self.count - position - 1)
    return before > 0 || behind > 0
  }

  /// Removes the mark.
  func release() {
    if isOver.exchange(true, ordering: .acquiringAndReleasing) { return }
    clinux_disclaim(file.descriptor, position)
  }
}

/// The lock that a writer holds while it writes the first changes to a copy, which has no lock file yet. Programs of
/// this package wait for one another; Realm's engine is not kept out.
final class CopyLock: Sendable {
  let file: FileHandle

  private static let position = Claim.start - 1

  /// Waits until `deadline` for the lock, then throws `busy`. On a file system without such locks it always succeeds.
  init(_ file: FileHandle, until deadline: MonotonicTime) throws(EngineError) {
    self.file = file
    while true {
      let code = clinux_claim_alone(file.descriptor, Self.position)
      if code != EAGAIN && code != EACCES { return }
      if MonotonicTime.now >= deadline {
        throw EngineError(.busy, "\(file.path): another program keeps the realm locked; try again later")
      }
      usleep(useconds_t.random(in: 500..<5_000))
    }
  }

  deinit { clinux_disclaim(file.descriptor, Self.position) }
}
