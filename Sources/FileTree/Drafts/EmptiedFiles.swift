// Files that were emptied and closed. That changes no object and no value, but the next program that writes to the file
// begins a new text.

import Synchronization

/// Files that were emptied and closed, and not opened for writing since.
final class EmptiedFiles: Sendable {
  private let inodes = Mutex<Set<InodeNumber>>([])
  /// True if there are any, so that opening a file costs nothing where there are none.
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
