// What stat shows: sizes, times, owner and mode. Owner and mode follow from the realm file's, or from the mount
// options.

import RealmPages

/// Whether a node holds others.
public enum NodeKind: Sendable, Hashable {
  case directory, file, symbolicLink
}

/// The attributes of a node.
public struct FileAttributes: Sendable, Hashable {
  /// The number of the file or directory.
  public internal(set) var inode: InodeNumber
  /// Whether it is a file or a directory.
  public let kind: NodeKind
  /// Permission bits, without the type.
  public internal(set) var permissions: UInt32
  /// User id.
  public internal(set) var owner: UInt32
  /// Group id.
  public internal(set) var group: UInt32
  /// For a directory 2 and one for each subdirectory.
  public let links: UInt32
  /// Bytes that reading the file gives, exactly; 0 for a directory and for an object that cannot be read.
  public internal(set) var size: Int
  /// What the kernel is to take for the size of the file, if handles are open that read other texts than the one that
  /// asks: see `OpenFiles.Sizes`. Nil where that is `size`.
  var keptSize: Int?
  /// What the kernel is to take for the size of the file.
  public var kernelSize: Int { keptSize ?? size }
  /// Seconds since 1970 of the last change, and nanoseconds within.
  public let modifiedSeconds: Int64
  /// The fraction of the modification time in nanoseconds.
  public let modifiedNanoseconds: Int32
  /// Whether name and attributes stay as they are until a commit; those of files in memory change at any time.
  public internal(set) var isCacheable = true
}

extension FileAttributes {
  /// The same node as one that belongs to `owner`.
  func owned(by owner: Caller, permissions: UInt32) -> FileAttributes {
    var attributes = self
    (attributes.owner, attributes.group, attributes.permissions) = (owner.user, owner.group, permissions)
    return attributes
  }
}

/// Who may do what, the same for all nodes of one kind.
struct AccessRules: Sendable {
  /// What programs set for single files and directories.
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
    // A directory that can be listed can be entered.
    directoryPermissions =
      (options.dmask ?? options.umask).map { (shown | 0o111) & ~$0 } ?? allowed | (allowed & 0o444) >> 2
  }

  /// The attributes of a file in memory, which has its own owner, mode and time.
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
