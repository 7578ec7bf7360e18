// Files that were emptied and closed. This changes no object or value, but the next program that writes to the file
// begins a new text, if the object has not changed since.

import RealmPages
import Synchronization

/// Files that were emptied and closed, and have not been opened for writing since.
final class EmptiedFiles: Sendable {
  /// The time of the last change to each file, as of when it was closed.
  private let times = Mutex<[InodeNumber: Timestamp]>([:])
  /// False if no file was ever emptied, so that opening a file then costs nothing.
  private let isUsed = Atomic<Bool>(false)
  private let limit: Int

  /// Remembers up to `limit` files. Adding one more drops all others.
  init(limit: Int = 10_000) { self.limit = limit }

  /// Records a file that was closed empty, and when it last changed.
  func note(_ inode: InodeNumber, changed time: Timestamp) {
    isUsed.store(true, ordering: .releasing)
    times.withLock { times in
      if times.count >= limit { times.removeAll() }
      times[inode] = time
    }
  }

  /// Forgets a file. Returns the time of its last change before it was closed empty; nil if it was not.
  @discardableResult
  func take(_ inode: InodeNumber) -> Timestamp? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return times.withLock { $0.removeValue(forKey: inode) }
  }
}
