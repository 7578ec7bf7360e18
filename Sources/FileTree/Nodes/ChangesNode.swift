// `.realm/changes`: one line for each object that a commit of any program changes. It is a symbolic link to a pipe on
// which a program waits for the next commit.

import Glibc
import RealmJSON
import RealmPages

/// The link `changes`. Each lookup creates a new node, because the kernel caches a link's destination and each reader
/// needs a separate pipe.
struct ChangesNode: SymbolicLinkNode {
  let inode: InodeNumber

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    // The destination is not known until a program reads the link. Older kernels truncate it to the size.
    try tree.readable { view in view.rules.symbolicLink(inode, size: Int(PATH_MAX) - 1, view.modified) }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm/changes" }

  func destination(_ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    let feed: ChangeFeed
    do {
      feed = try ChangeFeed(
        tree.realm,
        classes: tree.options.classes,
        style: tree.options.json,
        holdLimit: tree.options.changeHoldLimit
      )
    } catch { throw .unavailable(error) }
    return try tree.handles.changePipes.make(feed, try tree.readable { view in view.rules })
  }
}
