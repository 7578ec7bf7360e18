// statfs: the numbers that df shows.

import Glibc
import RealmNames
import RealmPages

/// Statistics of the file system.
public struct FileSystemStatus: Sendable, Hashable {
  /// The unit of the block counts, in bytes.
  public let blockSize: UInt
  /// The blocks that the realm file uses, plus the free blocks.
  public let blocks: UInt64
  /// Free blocks.
  public let freeBlocks: UInt64
  /// Free blocks for unprivileged users.
  public let availableBlocks: UInt64
  /// The objects, plus the free files.
  public let files: UInt64
  /// Free files of the file system that holds the realm file.
  public let freeFiles: UInt64
  /// The maximum length of a name in bytes.
  public let longestName: UInt
}

extension FileTree {
  /// Returns the realm file's size as used space, and the free space of the file system that holds it.
  public func fileSystemStatus() throws(FileTreeError) -> FileSystemStatus {
    let (size, objects) = try tree.read { view in
      let shown = view.directories.filter { $0.place == .root }
      return (view.fileSize, shown.reduce(0) { $0 &+ UInt64(clamping: $1.table.objectCount) })
    }
    let host = HostFileSystem.fileSystem(tree.realm.configuration.path)
    let blockSize = max(host?.f_frsize ?? 4096, 1)
    let used = (UInt64(clamping: size) + UInt64(blockSize) - 1) / UInt64(blockSize)
    let free = UInt64(host?.f_bfree ?? 0), available = UInt64(host?.f_bavail ?? 0)
    let freeFiles = UInt64(host?.f_ffree ?? 0)
    return FileSystemStatus(
      blockSize: blockSize,
      blocks: used &+ free,
      freeBlocks: free,
      availableBlocks: available,
      files: objects &+ freeFiles,
      freeFiles: freeFiles,
      longestName: UInt(NameEscaping.longestName)
    )
  }
}
