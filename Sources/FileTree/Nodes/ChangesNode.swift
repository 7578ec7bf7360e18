// `.realm/changes`: a line for each object that a commit changes, whoever commits. Reading it waits for the next
// commit.

import RealmJSON
import RealmPages

/// The file `changes`.
struct ChangesNode: FileNode {
  let inode: InodeNumber

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let size = tree.changeStreams.size
    return try tree.readable { view in view.rules.file(inode, size: size, view.modified).readOnly.uncached }
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates { throw .refused(.forbidden, ".realm/changes is computed") }
    // The tree of a snapshot shows one version, in which nothing changes.
    if !tree.views.isFollowing { throw .refused(.unsupported, "nothing changes in a snapshot") }
    let feed: ChangeFeed
    do throws(EngineError) {
      feed = try ChangeFeed(tree.realm, classes: tree.options.classes, style: tree.options.json)
    } catch { throw .unavailable(error) }
    return OpenFile(inode, tree.openFiles.openStream(inode, nil), changes: try tree.changeStreams.open(feed))
  }
}
