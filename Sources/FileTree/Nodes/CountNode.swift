// `.count`: the number of objects of a directory.

import RealmPages

/// The file `.count`.
struct CountNode: FileNode {
  let inode: InodeNumber
  let selection: ObjectSelection

  private func text(_ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    try view.controlText(inode) { () throws(FileTreeError) in
      Array("\(try selection.count(try view.existing(selection.ordinal), view, tree))\n".utf8)
    }
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      let modified = try view.existing(selection.ordinal).stamp.touched
      return view.rules.file(inode, size: try text(view, tree).count, modified).readOnly.uncached
    }
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    try tree.openComputed(self, access, by: caller, nil, because: "it is computed") { view throws(FileTreeError) in
      try text(view, tree)
    }
  }
}

extension FileAttributes {
  /// The same without the permission to write.
  var readOnly: FileAttributes {
    FileAttributes(
      inode: inode,
      kind: kind,
      permissions: permissions & ~0o222,
      owner: owner,
      group: group,
      links: links,
      size: size,
      modifiedSeconds: modifiedSeconds,
      modifiedNanoseconds: modifiedNanoseconds,
      isCacheable: isCacheable
    )
  }
}
