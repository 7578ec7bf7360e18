// Maps inodes to trees. A mount has one tree for the realm and one for each transaction, which uses its own inode
// numbers internally.

import Synchronization

extension FileTree {
  /// The place of an inode: in the tree of the realm or of a transaction.
  func place(_ inode: InodeNumber, _ request: Request = Request()) throws(FileTreeError) -> TreePlace {
    if tree.subtrees.transactions.wereAny, let node = tree.namespace.nodes.node(inode) as? SubtreeNode,
      node.subtree.isWritable
    {
      return TreePlace(tree: try node.subtree.context().serving(request), inode: node.inner, outside: node)
    }
    return TreePlace(tree: tree.serving(request), inode: inode, outside: nil)
  }
}

/// An inode in the tree that it belongs to.
struct TreePlace {
  var tree: TreeContext
  let inode: InodeNumber
  /// The node that the kernel knows, if the tree is that of a transaction.
  let outside: SubtreeNode?

  /// Attributes of this node with the inode number that the kernel knows.
  func shown(_ attributes: FileAttributes) -> FileAttributes {
    guard let outside else { return attributes }
    var attributes = outside.subtree.shown(attributes)
    attributes.inode = outside.inode
    return attributes
  }

  /// Attributes of an entry of this node; counts as a kernel lookup.
  func known(_ attributes: FileAttributes, _ main: TreeContext) -> FileAttributes {
    guard let outside else { return attributes }
    return SubtreeNode.enter(attributes, outside.subtree, main)
  }

  /// Records the kernel's inode number of a handle that was opened here and, for a transaction, its tree.
  func owning(_ file: OpenFile, shownAs inode: InodeNumber) -> OpenFile {
    file.shownInode = inode.value
    if outside != nil { file.home.withLock { $0 = tree.lasting } }
    return file
  }
}
