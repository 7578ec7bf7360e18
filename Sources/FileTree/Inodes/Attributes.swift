// The attributes that stat returns: sizes, times, owner and mode. Owner and mode are those of the realm file, or those
// set by mount options.

import RealmPages

/// The type of a node.
public enum NodeKind: Sendable, Hashable {
  case directory, file, symbolicLink
}

/// The attributes of a node.
public struct FileAttributes: Sendable, Hashable {
  /// The inode number.
  public internal(set) var inode: InodeNumber
  /// The type of the node.
  public let kind: NodeKind
  /// Permission bits, without the type.
  public internal(set) var permissions: UInt32
  /// User id.
  public internal(set) var owner: UInt32
  /// Group id.
  public internal(set) var group: UInt32
  /// The link count; for a directory, 2 plus one for each subdirectory.
  public let links: UInt32
  /// The exact number of bytes that reading the file returns; 0 for a directory and for an object that cannot be read.
  public internal(set) var size: Int
  /// The size that the kernel keeps for the file, if open handles read texts other than that of the requesting process:
  /// see `OpenFiles.Sizes`. Nil if it equals `size`.
  var keptSize: Int?
  /// The size that the kernel keeps for the file.
  public var kernelSize: Int { keptSize ?? size }
  /// The modification time in seconds since 1970.
  public let modifiedSeconds: Int64
  /// The fraction of the modification time in nanoseconds.
  public let modifiedNanoseconds: Int32
  /// True if name and attributes do not change before the next commit. Those of files in memory can change at any time.
  public internal(set) var isCacheable = true
}

extension FileAttributes {
  /// Returns the attributes with another owner, group and mode.
  func owned(by owner: Caller, permissions: UInt32) -> FileAttributes {
    var attributes = self
    (attributes.owner, attributes.group, attributes.permissions) = (owner.user, owner.group, permissions)
    return attributes
  }
}

/// Owner, group and permissions, shared by all nodes of a type.
struct AccessRules: Sendable {
  /// Modes and groups that programs set for single files and directories.
  let keptModes: KeptModes
  let owner: UInt32
  let group: UInt32
  let filePermissions: UInt32
  let directoryPermissions: UInt32

  init(_ status: FileStatus, _ options: TreeOptions, isWritable: Bool, _ keptModes: KeptModes) {
    self.keptModes = keptModes
    owner = options.uid ?? status.owner
    group = options.gid ?? status.group
    let shown: UInt32 = isWritable ? 0o666 : 0o444
    let allowed = status.mode & shown
    filePermissions = (options.fmask ?? options.umask).map { shown & ~$0 } ?? allowed
    // A directory that can be listed can also be entered.
    directoryPermissions =
      (options.dmask ?? options.umask).map { (shown | 0o111) & ~$0 } ?? allowed | (allowed & 0o444) >> 2
  }

  /// Returns the attributes of a file in memory, which has a separate owner, mode and time.
  func file(_ file: MemoryFile, links: UInt32 = 1) -> FileAttributes {
    let metadata = file.metadata
    return FileAttributes(
      inode: file.inode,
      kind: .file,
      permissions: metadata.permissions,
      owner: metadata.owner,
      group: metadata.group,
      links: links,
      size: file.size,
      modifiedSeconds: metadata.modified.seconds,
      modifiedNanoseconds: metadata.modified.nanoseconds,
      isCacheable: false
    )
  }

  func file(_ inode: InodeNumber, size: Int, _ modified: Timestamp, links: UInt32 = 1) -> FileAttributes {
    let kept = keptModes.entry(of: inode)
    return FileAttributes(
      inode: inode,
      kind: .file,
      permissions: kept?.permissions ?? filePermissions,
      owner: owner,
      group: kept?.group ?? group,
      links: links,
      size: size,
      modifiedSeconds: modified.seconds,
      modifiedNanoseconds: modified.nanoseconds
    )
  }

  func directory(
    _ inode: InodeNumber,
    subdirectories: Int,
    _ modified: Timestamp,
    isSticky: Bool = false
  ) -> FileAttributes {
    let kept = keptModes.entry(of: inode)
    return FileAttributes(
      inode: inode,
      kind: .directory,
      permissions: (kept?.permissions ?? directoryPermissions) | (isSticky ? 0o1000 : 0),
      owner: owner,
      group: kept?.group ?? group,
      links: UInt32(clamping: 2 + subdirectories),
      size: 0,
      modifiedSeconds: modified.seconds,
      modifiedNanoseconds: modified.nanoseconds
    )
  }
}
