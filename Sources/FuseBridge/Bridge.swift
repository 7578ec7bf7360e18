// The state that every callback needs. The session's user data points to it.

import CFuse
import FileTree
import Glibc

/// One mount.
final class Bridge: Sendable {
  let tree: FileTree
  let loop: ServingLoop
  let kernel = KernelCache()
  let notifier: Notifier

  /// The time in seconds for which the kernel may cache a name. The kernel is notified of new versions, so this only
  /// limits the effect of a missed notification.
  static let entryTimeout = 10.0
  /// Like `entryTimeout`, for attributes.
  static let attributeTimeout = 10.0
  /// The timeout for names and attributes of a frozen tree.
  private static let frozenTimeout = 86_400.0

  /// Stores texts in the page cache before a program requests them; nil if disabled. It occupies a serving thread.
  let textsAhead: TextsAhead?

  /// Creates a mount served by up to `threads` threads.
  init(_ tree: FileTree, _ loop: ServingLoop, threads: Int) throws(FileTreeError) {
    self.tree = tree
    self.loop = loop
    textsAhead = tree.isFrozen && threads > 1 ? TextsAhead() : nil
    notifier = try Notifier(tree, kernel)
  }

  /// The mount that a request belongs to.
  static func of(_ request: fuse_req_t) -> Unmanaged<Bridge> {
    // The session was created with a pointer to a bridge, which outlives the session.
    unsafe Unmanaged<Bridge>.fromOpaque(fuse_req_userdata(request).unsafelyUnwrapped)
  }

  /// An entry in the kernel's format, which may be cached if `attributes.isCacheable`.
  func entry(_ attributes: FileAttributes) -> fuse_entry_param {
    var entry = fuse_entry_param()
    entry.ino = attributes.inode.value
    entry.generation = 1
    entry.attr = status(attributes, size: attributes.kernelSize)
    entry.attr_timeout = attributeTimeout(attributes)
    entry.entry_timeout = attributes.isCacheable ? tree.isFrozen ? Self.frozenTimeout : Self.entryTimeout : 0
    return entry
  }

  /// The time in seconds for which the kernel may cache attributes.
  func attributeTimeout(_ attributes: FileAttributes) -> Double {
    if !attributes.isCacheable { return 0 }
    return tree.isFrozen ? Self.frozenTimeout : Self.attributeTimeout
  }

  /// Replies to a read of a complete file of a frozen tree, and stores the following texts in the page cache.
  func answer(_ request: ParkedRequest, with text: [UInt8], of inode: InodeNumber) {
    guard let textsAhead else { return request.answer(.success(text)) }
    textsAhead.answer(inode, tree, onStart: { loop.call() }, store: { kernel.store($0, of: $1) }) {
      request.answer(.success(text))
    }
  }
}
