// Owner, modes and access: computed from the last view, so that they are known while the realm cannot be read.

import Glibc

extension Views {
  /// The owner of the realm as the mount shows it.
  var owner: UInt32 { lastRules?.owner ?? geteuid() }

  /// True if `caller` can enter the mount. Computed from memory, like the report.
  func admits(_ caller: Caller) -> Bool {
    if Caller.isTrusted(caller.user) { return true }
    guard options.admitsOtherUsers, let rules = lastRules else { return false }
    let mode = rules.directoryPermissions
    if caller.user == rules.owner { return mode & 0o100 != 0 }
    return mode & (caller.group == rules.group ? 0o010 : 0o001) != 0
  }

  /// Remembers a mode and group set for a file or directory whose current attributes are `present`.
  ///
  /// - Throws: `refused(.forbidden)` if the change sets another owner.
  func keep(
    _ change: MetadataChange,
    of inode: InodeNumber,
    now present: FileAttributes
  ) throws(FileTreeError) {
    if change.owner ?? present.owner != present.owner {
      throw .refused(.forbidden, "the owner is that of the realm file; mount with uid= for another one")
    }
    let permissions = change.permissions.map { $0 & 0o777 }
    if permissions ?? present.permissions == present.permissions, change.group ?? present.group == present.group {
      return
    }
    keptModes.set(inode, KeptModes.Entry(permissions: permissions, group: change.group))
  }
}
