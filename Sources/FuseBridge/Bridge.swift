// What every callback needs, reached through the session's user data.

import CFuse
import FileTree
import Glibc
import Synchronization

/// One mount.
final class Bridge: Sendable {
  let tree: FileTree
  let loop: ServingLoop
  let kernel = KernelCache()
  let notifier: Notifier

  /// For how many seconds the kernel may trust a name. New versions are announced to it, so this bounds only how long a
  /// missed announcement can matter.
  static let entryTimeout = 10.0
  /// The same for attributes.
  static let attributeTimeout = 10.0
  /// The same for both where nothing ever changes.
  private static let frozenTimeout = 86_400.0

  /// What puts texts into the page cache before a program asks for them; nil where nothing does. It takes a thread for
  /// itself.
  let textsAhead: TextsAhead?

  /// `threads` is how many serve.
  init(_ tree: FileTree, _ loop: ServingLoop, threads: Int) throws(FileTreeError) {
    self.tree = tree
    self.loop = loop
    textsAhead = tree.isFrozen && threads > 1 ? TextsAhead() : nil
    notifier = try Notifier(tree, kernel)
  }

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
    entry.attr = status(attributes, size: attributes.kernelSize)
    entry.attr_timeout = attributeTimeout(attributes)
    entry.entry_timeout = attributes.isCacheable ? tree.isFrozen ? Self.frozenTimeout : Self.entryTimeout : 0
    return entry
  }

  /// For how many seconds the kernel may remember attributes.
  func attributeTimeout(_ attributes: FileAttributes) -> Double {
    if !attributes.isCacheable { return 0 }
    return tree.isFrozen ? Self.frozenTimeout : Self.attributeTimeout
  }

  /// Answers a read of a file of a frozen tree, which has no other bytes, and stores the texts that come next.
  func answer(_ request: ParkedRequest, with text: [UInt8], of inode: InodeNumber) {
    guard let textsAhead else { return request.answer(.success(text)) }
    textsAhead.answer(inode, tree, onStart: { loop.call() }, store: { kernel.store($0, of: $1) }) {
      request.answer(.success(text))
    }
  }
}
