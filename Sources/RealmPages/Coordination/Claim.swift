// One lock file for one realm file. Programs that have a realm open agree through the lock file beside the name that
// they opened, so two names of one file (hard links, symbolic links, a name that it had before) are two sessions that
// do not know of each other, and each overwrites what the other commits. Programs of this package therefore mark the
// realm file itself with the lock file that they use: an open file description lock on one byte far beyond its end,
// whose position tells the lock file. Realm's engine locks nothing there, so it is not disturbed, and not kept out
// either.

import CLinux
import Glibc
import Synchronization
import Threads

/// The mark of one participant on a realm file.
final class Claim: Sendable {
  private let file: FileHandle
  private let position: Int64
  private let isOver = Atomic<Bool>(false)

  fileprivate static let start: Int64 = 1 << 62
  private static let count: Int64 = 1 << 32

  /// Marks the file that `lock` is the lock file of. Waits until `deadline` while programs use another lock file for
  /// it; nil if they go on. A file system without such locks allows everything.
  init?(_ file: FileHandle, lock: LockFile.Identity, until deadline: MonotonicTime) {
    self.file = file
    var hash = UInt64(lock.device) &* 0x9e37_79b9_7f4a_7c15 ^ UInt64(lock.inode)
    hash = (hash ^ hash >> 32) &* 0xff51_afd7_ed55_8ccd
    position = Self.start + Int64(hash >> 32)
    while true {
      // Who marks first and looks then is seen by everyone who looks later.
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

  /// Whether another lock file is in use for the file.
  private var isContested: Bool {
    let before = clinux_is_claimed(file.descriptor, Self.start, position - Self.start)
    let behind = clinux_is_claimed(file.descriptor, position + 1, Self.start + Self.count - position - 1)
    return before > 0 || behind > 0
  }

  /// Takes the mark back.
  func release() {
    if isOver.exchange(true, ordering: .acquiringAndReleasing) { return }
    clinux_disclaim(file.descriptor, position)
  }
}

/// The turn of one who makes the first changes to a copy, which has no lock file yet that would tell whose turn it is.
/// Programs of this package wait for one another; Realm's engine is not kept out.
final class CopyTurn: Sendable {
  let file: FileHandle

  private static let position = Claim.start - 1

  /// Waits until `deadline` for those who have the turn, then throws `busy`. On a file system without such locks
  /// everyone has the turn.
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
