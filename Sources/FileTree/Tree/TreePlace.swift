// A mount has one tree for the realm and one for each transaction, whose inodes have other numbers inside.

import Synchronization

extension FileTree {
  /// Where an inode is: in the realm's tree, or in that of a transaction.
  func place(_ inode: InodeNumber) throws(FileTreeError) -> TreePlace {
    if tree.transactions.wereAny, let node = tree.nodes.node(inode) as? StagedNode {
      return TreePlace(tree: try node.transaction.context(), inode: node.inner, outside: node)
    }
    return TreePlace(tree: tree, inode: inode, outside: nil)
  }
}

/// A node in the tree that it belongs to.
struct TreePlace {
  let tree: TreeContext
  let inode: InodeNumber
  /// What the kernel knows, if the tree is that of a transaction.
  let outside: StagedNode?

  /// Attributes of this node, as the kernel knows it.
  func shown(_ attributes: FileAttributes) -> FileAttributes {
    guard let outside else { return attributes }
    var attributes = attributes.uncached
    attributes.inode = outside.inode
    return attributes
  }

  /// Attributes of an entry of this node, which the kernel then knows.
  func known(_ attributes: FileAttributes, _ main: TreeContext) -> FileAttributes {
    guard let outside else { return attributes }
    return StagedNode.enter(attributes, outside.transaction, main)
  }

  /// A handle that was opened in the tree.
  func owning(_ file: OpenFile, shownAs inode: InodeNumber) -> OpenFile {
    file.shownInode = inode.value
    if outside != nil { file.home.withLock { $0 = tree } }
    return file
  }
}
