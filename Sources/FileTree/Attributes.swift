// What stat shows: sizes, times, owner and mode. Owner and mode follow from the realm file's, or from the mount
// options.

import RealmPages

/// Whether a node holds others.
public enum NodeKind: Sendable, Hashable {
  case directory, file
}

/// The attributes of a node.
public struct FileAttributes: Sendable, Hashable {
  /// The number of the file or directory.
  public internal(set) var inode: InodeNumber
  /// Whether it is a file or a directory.
  public let kind: NodeKind
  /// Permission bits, without the type.
  public let permissions: UInt32
  /// User id.
  public let owner: UInt32
  /// Group id.
  public let group: UInt32
  /// For a directory 2 and one for each subdirectory.
  public let links: UInt32
  /// Bytes that reading the file gives, exactly; 0 for a directory and for an object that cannot be read.
  public let size: Int
  /// Seconds since 1970 of the last change, and nanoseconds within.
  public let modifiedSeconds: Int64
  /// The fraction of the modification time in nanoseconds.
  public let modifiedNanoseconds: Int32
}

/// Who may do what, the same for all nodes of one kind.
struct AccessRules: Sendable, Hashable {
  let owner: UInt32
  let group: UInt32
  let filePermissions: UInt32
  let directoryPermissions: UInt32

  private static let read: UInt32 = 0o444

  init(_ status: FileStatus, _ options: MountOptions) {
    owner = options.uid ?? status.owner
    group = options.gid ?? status.group
    let readable = status.mode & Self.read
    filePermissions = (options.fmask ?? options.umask).map { Self.read & ~$0 } ?? readable
    // A directory that can be listed can be entered.
    directoryPermissions = (options.dmask ?? options.umask).map { 0o555 & ~$0 } ?? readable | readable >> 2
  }

  func file(_ inode: InodeNumber, size: Int, _ modified: Timestamp, links: UInt32 = 1) -> FileAttributes {
    FileAttributes(
      inode: inode,
      kind: .file,
      permissions: filePermissions,
      owner: owner,
      group: group,
      links: links,
      size: size,
      modifiedSeconds: modified.seconds,
      modifiedNanoseconds: modified.nanoseconds
    )
  }

  func directory(_ inode: InodeNumber, subdirectories: Int, _ modified: Timestamp) -> FileAttributes {
    FileAttributes(
      inode: inode,
      kind: .directory,
      permissions: directoryPermissions,
      owner: owner,
      group: group,
      links: UInt32(clamping: 2 + subdirectories),
      size: 0,
      modifiedSeconds: modified.seconds,
      modifiedNanoseconds: modified.nanoseconds
    )
  }
}
