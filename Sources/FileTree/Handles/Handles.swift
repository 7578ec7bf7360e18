// The open files of a tree: what they read and how the kernel caches it.

/// The open files of a tree.
final class Handles: Sendable {
  let openFiles: OpenFiles
  /// Files read without handles in a frozen tree.
  let frozenFiles = FrozenFiles()
  /// The pipes that `.realm/changes` links to.
  let changePipes = ChangePipes()

  /// Creates an empty set. If it `seedsPageCache`, texts may be stored in the page cache at open.
  init(seedsPageCache: Bool) { openFiles = OpenFiles(seedsPageCache: seedsPageCache) }

  /// The attributes with the file size that a thread sees through the open handles of the inode; 0 for no particular
  /// thread. If handles read different texts, the kernel must not cache the attributes.
  func withOpenSizes(
    _ attributes: FileAttributes,
    for thread: Int32 = 0,
    of inode: InodeNumber? = nil
  ) -> FileAttributes {
    guard attributes.kind == .file,
      let sizes = openFiles.sizes(of: inode ?? attributes.inode, stored: attributes.size, for: thread)
    else { return attributes }
    var attributes = attributes
    attributes.keptSize = max(attributes.kernelSize, sizes.kept)
    attributes.size = sizes.reported
    if !sizes.areEqual { attributes.isCacheable = false }
    return attributes
  }
}
