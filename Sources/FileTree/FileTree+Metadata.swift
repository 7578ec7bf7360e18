// chmod, chown, utimens and truncate. Owner and mode of objects follow from the realm file, so only a change to what
// they are already succeeds; times are kept in memory.

import RealmPages

/// What setattr changes; nil leaves as it is.
public struct MetadataChange: Sendable {
  /// Permission bits, without the type.
  public var permissions: UInt32?
  /// User id.
  public var owner: UInt32?
  /// Group id.
  public var group: UInt32?
  /// Bytes.
  public var size: Int?
  /// The modification time.
  public var modified: Time?

  /// A time to set.
  public enum Time: Sendable {
    /// The present.
    case now
    /// Another one.
    case at(seconds: Int64, nanoseconds: Int32)
  }

  /// No change.
  public init() {}
}

extension FileTree {
  /// Changes attributes and returns what they are then. `file` is the handle that a truncation came by, if any.
  public func change(
    _ inode: InodeNumber,
    _ file: OpenFile?,
    _ change: MetadataChange,
    by caller: Caller
  ) throws(FileTreeError) -> FileAttributes {
    guard saver != nil else { throw .readOnly }
    let present = try attributes(inode)
    if case .memory = try node(inode) {
      try memoryFile(inode).update { metadata in
        metadata.permissions = change.permissions ?? metadata.permissions
        metadata.owner = change.owner ?? metadata.owner
        metadata.group = change.group ?? metadata.group
      }
    } else if change.permissions ?? present.permissions != present.permissions
      || change.owner ?? present.owner != present.owner || change.group ?? present.group != present.group
    {
      throw .refused(.forbidden, "owner and mode are those of the realm file; mount with uid=, gid=, umask= for others")
    }
    if let size = change.size {
      if present.kind == .directory { throw .isADirectory }
      if size < 0 { throw .refused(.invalid, "a negative size") }
      try resize(inode, file, to: size, by: caller)
    }
    if let modified = change.modified { try setTime(inode, modified) }
    return try attributes(inode)
  }

  private func setTime(_ inode: InodeNumber, _ time: MetadataChange.Time) throws(FileTreeError) {
    let stamp: Timestamp
    switch time {
    case .now: stamp = Clock.time()
    case .at(let seconds, let nanoseconds): stamp = Timestamp(seconds: seconds, nanoseconds: nanoseconds)
    }
    switch try node(inode) {
    case .memory: try memoryFile(inode).update { $0.modified = stamp }
    case .object(let ordinal, let key):
      let (number, version) = try read { view throws(FileTreeError) in
        (self.number(try view.existing(ordinal), key), view.snapshot.version)
      }
      objectTimes.set(stamp, of: number, version: version)
    default: return  // directories and computed files have the time of the last commit
    }
  }
}
