// What every callback needs, reached through the session's user data.

import CFuse
import FileTree
import Glibc
import Synchronization

/// One mount.
final class Bridge: Sendable {
  let tree: FileTree
  let kernel = KernelCache()
  let notifier: Notifier

  /// For how many seconds the kernel may trust a name. New versions are announced to it, so this bounds only how long a
  /// missed announcement can matter.
  static let entryTimeout = 10.0
  /// The same for attributes.
  static let attributeTimeout = 10.0

  init(_ tree: FileTree) throws(FileTreeError) {
    self.tree = tree
    notifier = try Notifier(tree, kernel)
  }

  private let lastRead = Atomic<UInt64>(0)

  /// A number for a read that may have to wait; never 0.
  func nextRead() -> UInt64 { lastRead.wrappingAdd(1, ordering: .relaxed).newValue }

  /// The mount that a request belongs to.
  static func of(_ request: fuse_req_t) -> Unmanaged<Bridge> {
    // The session was made with a pointer to a bridge, which lives longer than the session.
    unsafe Unmanaged<Bridge>.fromOpaque(fuse_req_userdata(request).unsafelyUnwrapped)
  }

  /// An entry that the kernel may remember, as long as it does not change by itself.
  func entry(_ attributes: FileAttributes) -> fuse_entry_param {
    var entry = fuse_entry_param()
    entry.ino = attributes.inode.value
    entry.generation = 1
    entry.attr = status(attributes)
    entry.attr_timeout = attributes.isCacheable ? Self.attributeTimeout : 0
    entry.entry_timeout = attributes.isCacheable ? Self.entryTimeout : 0
    return entry
  }
}
