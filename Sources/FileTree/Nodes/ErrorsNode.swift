// `.realm/errors`: the last refusals and their reasons. A reason may quote a text; only the user who wrote the text can
// see the quotation. Content and size therefore depend on the user, and the kernel must not cache them.

import RealmPages

/// The last refusals, one JSON object per line.
struct ErrorsNode: FileNode {
  let inode: InodeNumber

  /// The attributes for root; see `Namespace.withOwnSize`.
  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let size = tree.drafts.refusals.text(for: 0).count
    return try tree.readable { view in view.rules.file(inode, size: size, view.modified).readOnly.uncached }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm/errors" }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates { _ = try draftTarget(tree) }
    let text = tree.drafts.refusals.text(for: caller.user)
    return OpenFile(inode, tree.handles.openFiles.open(inode, text, .live, for: caller.process), text: text)
  }

  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget {
    throw .refused(.forbidden, ".realm/errors is computed")
  }
}
