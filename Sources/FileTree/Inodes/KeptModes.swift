// Modes and groups that programs set. Copying programs give a file the mode of its source, and fail if they cannot; the
// realm has no place for it, so it is kept in memory as long as the mount lasts.

import Synchronization

/// The modes and groups of files and directories that have others than the realm file.
final class KeptModes: Sendable {
  /// What was set for one of them; nil where nothing was.
  struct Entry: Sendable {
    var permissions: UInt32?
    var group: UInt32?
  }

  private let entries = Mutex<[InodeNumber: Entry]>([:])
  /// True if there are any, so that a mount in which nothing is set pays nothing.
  private let isUsed = Atomic<Bool>(false)
  private let limit: Int

  /// Keeps up to `limit` entries. With one more, all are forgotten.
  init(limit: Int = 100_000) { self.limit = limit }

  /// Keeps what is set for a file or directory.
  func set(_ inode: InodeNumber, _ entry: Entry) {
    isUsed.store(true, ordering: .releasing)
    entries.withLock { entries in
      if entries.count >= limit, entries[inode] == nil { entries.removeAll() }
      var kept = entries[inode] ?? Entry()
      kept.permissions = entry.permissions ?? kept.permissions
      kept.group = entry.group ?? kept.group
      entries[inode] = kept
    }
  }

  /// Forgets what was set for a file that is gone.
  func forget(_ inode: InodeNumber) {
    if isUsed.load(ordering: .acquiring) { entries.withLock { $0[inode] = nil } }
  }

  /// What was set for a file or directory; nil if nothing was.
  func entry(of inode: InodeNumber) -> Entry? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return entries.withLock { $0[inode] }
  }
}
