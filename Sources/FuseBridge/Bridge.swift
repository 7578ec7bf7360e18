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
  /// The same for both where nothing ever changes.
  private static let frozenTimeout = 86_400.0

  /// Whether texts are put into the page cache before a program asks for them: see `storeNextTexts`.
  private let storesAhead: Bool
  private let isStoring = Atomic(false)

  /// `threads` is how many serve.
  init(_ tree: FileTree, threads: Int) throws(FileTreeError) {
    self.tree = tree
    storesAhead = tree.isFrozen && threads > 1
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
    entry.attr_timeout = attributeTimeout(attributes)
    entry.entry_timeout = attributes.isCacheable ? tree.isFrozen ? Self.frozenTimeout : Self.entryTimeout : 0
    return entry
  }

  /// For how many seconds the kernel may remember attributes.
  func attributeTimeout(_ attributes: FileAttributes) -> Double {
    if !attributes.isCacheable { return 0 }
    return tree.isFrozen ? Self.frozenTimeout : Self.attributeTimeout
  }

  /// Puts the texts of the objects that come next into the page cache, where a program reads one object after another
  /// of a frozen tree: it asks for one of many then. Called by the thread that answers the read of `inode`, which is
  /// to do so in `answer`: when the program has a start over which it does not catch up with this thread, if ever.
  ///
  /// The kernel lets a store wait for a page that another program is reading, thus for a read that a thread still has
  /// to answer. At most one thread stores at a time, so another one is there to answer it.
  func storeNextTexts(behind inode: InodeNumber, _ answer: () -> Void) {
    guard storesAhead, !isStoring.exchange(true, ordering: .acquiring) else { return }
    defer { isStoring.store(false, ordering: .releasing) }
    var count = 0
    tree.nextTexts(behind: inode) { inode, text in
      if count == Self.headStart { answer() }
      count += 1
      return kernel.store(text, of: inode)
    }
  }

  /// So many texts are stored before the program goes on. Where it comes to a text before this thread does, both wait
  /// for a third.
  private static let headStart = 32
}
