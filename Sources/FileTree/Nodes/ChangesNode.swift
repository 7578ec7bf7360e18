// `.realm/changes`: a line for each object that a commit changes, whoever commits. It is a symbolic link to a pipe in
// which a program waits for the next commit.

import RealmJSON
import RealmPages

/// The link `changes`. Each lookup makes another one, because the kernel remembers where a link leads, and each reader
/// needs a pipe of its own.
struct ChangesNode: SymbolicLinkNode {
  let inode: InodeNumber

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    // Where it leads is not known before somebody asks.
    try tree.readable { view in view.rules.symbolicLink(inode, size: 0, view.modified) }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm/changes" }

  func destination(_ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    let feed: ChangeFeed
    do throws(EngineError) {
      feed = try ChangeFeed(tree.realm, classes: tree.options.classes, style: tree.options.json)
    } catch { throw .unavailable(error) }
    return try tree.changePipes.make(feed, try tree.readable { view in view.rules })
  }
}
