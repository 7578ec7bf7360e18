// Modes and groups that programs set. Programs that copy files set the mode of the source, and fail if they cannot. A
// realm cannot store modes, so they are kept in memory until the mount ends.

import Synchronization

/// The modes and groups of files and directories that differ from those of the realm file.
final class KeptModes: Sendable {
  /// The attributes that were set; nil for those that were not.
  struct Entry: Sendable {
    var permissions: UInt32?
    var group: UInt32?
  }

  private let entries = Mutex<[InodeNumber: Entry]>([:])
  /// False if nothing was ever set, so that lookups cost nothing.
  private let isUsed = Atomic<Bool>(false)
  private let limit: Int

  /// Keeps up to `limit` entries. Adding one more drops all others.
  init(limit: Int = 100_000) { self.limit = limit }

  /// Records the attributes set for a file or directory.
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

  /// Forgets the attributes of a deleted file.
  func forget(_ inode: InodeNumber) {
    if isUsed.load(ordering: .acquiring) { entries.withLock { $0[inode] = nil } }
  }

  /// Returns the attributes set for a file or directory; nil if there are none.
  func entry(of inode: InodeNumber) -> Entry? {
    if !isUsed.load(ordering: .acquiring) { return nil }
    return entries.withLock { $0[inode] }
  }
}
