// A file in memory: a scratch file, or a file that becomes an object when it is saved. From then on, its inode number
// refers to the object.

import RealmPages

/// A file with its bytes in memory.
struct MemoryNode: FileNode {
  let file: MemoryFile
  var inode: InodeNumber { file.inode }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let links: UInt32 = tree.namespace.overlay.place(of: inode) == nil ? 0 : 1
    return try tree.readable { view in view.rules.file(file, links: links) }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    guard let place = tree.namespace.overlay.place(of: inode) else { return nil }
    let name = String(decoding: place.name, as: UTF8.self)
    return try tree.namespace.node(place.directory).shownPath(tree).map { $0 + "/" + name } ?? name
  }

  func change(_ change: MetadataChange, _ tree: TreeContext) throws(FileTreeError) {
    file.set(change)
  }

  func setTime(_ time: Timestamp, _ tree: TreeContext) throws(FileTreeError) { file.set(time) }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates, file.role == .refusedText || file.role == .formerText {
      throw .refused(.forbidden, "a kept text can only be read and removed; save the text in the object's own file")
    }
    if access.truncates {
      file.truncate(to: 0)
      // The reason of an earlier failed write does not apply to the new bytes.
      if tree.drafts.refusals.mayHaveAny, let path = try shownPath(tree) {
        tree.drafts.refusals.clear(path, of: caller.user)
      }
    }
    let isObject = try tree.drafts.target(of: Draft(file)) != nil
    let decision = tree.handles.openFiles.open(inode, Draft(file), for: caller.process)
    let opened = OpenFile(inode, Draft(file), access, decision, isWatched: isObject, opener: caller.process)
    // In the meantime, the last handle was closed, the text was refused and the name was freed.
    if file.role == .file, file.hasFailed, file.object == nil, tree.namespace.overlay.place(of: inode) == nil {
      tree.drafts.release(opened)
      throw .stale
    }
    return opened
  }

  func resize(to size: Int, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) { file.truncate(to: size) }
}
