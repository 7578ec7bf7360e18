// Files that were emptied and closed. This changes no object or value, but the next program that writes to the file
// begins a new text.

import Synchronization

/// Files that were emptied and closed, and have not been opened for writing since.
final class EmptiedFiles: Sendable {
  private let inodes = Mutex<Set<InodeNumber>>([])
  /// False if no file was ever emptied, so that opening a file then costs nothing.
  private let isUsed = Atomic<Bool>(false)
  private let limit: Int

  /// Remembers up to `limit` files. Adding one more drops all others.
  init(limit: Int = 10_000) { self.limit = limit }

  /// Records a file that was closed empty.
  func note(_ inode: InodeNumber) {
    isUsed.store(true, ordering: .releasing)
    inodes.withLock { inodes in
      if inodes.count >= limit { inodes.removeAll() }
      inodes.insert(inode)
    }
  }

  /// Returns true if a file was closed empty, and forgets it.
  func take(_ inode: InodeNumber) -> Bool {
    if !isUsed.load(ordering: .acquiring) { return false }
    return inodes.withLock { $0.remove(inode) != nil }
  }
}
