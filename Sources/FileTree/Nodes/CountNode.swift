// `.count`: the number of objects in a directory.

import RealmPages

/// The file `.count`.
struct CountNode: FileNode {
  let inode: InodeNumber
  let selection: ObjectSelection

  /// The text for the newest version. Query results are counted outside of a read, which would start over at each
  /// commit.
  private func text(_ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    let (view, known) = try tree.read { view throws(FileTreeError) in
      let count = try view.existing(selection.ordinal).table.objectCount
      return (view, selection.isWhole ? Self.text(count) : view.knownControlText(inode))
    }
    if let known { return known }
    let count = try selection.keys(tree).count
    return try view.controlText(inode) { Self.text(count) }
  }

  private static func text(_ count: Int) -> [UInt8] { Array("\(count)\n".utf8) }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let size = try text(tree).count
    return try tree.read { view throws(FileTreeError) in
      view.rules.file(inode, size: size, try view.existing(selection.ordinal).stamp.touched).readOnly.uncached
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    selection.conditions.isEmpty ? tree.namespace.shownName(of: selection.ordinal) + "/.count" : nil
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    let text = try text(tree)
    return try openComputed(access, by: caller, tree) { _ in text }
  }
}

extension FileAttributes {
  /// A copy without write permission.
  var readOnly: FileAttributes {
    var attributes = self
    attributes.permissions &= ~0o222
    return attributes
  }
}
