// Extended attributes: class, key and version of an object. They can be read by name but are not listed: tools that
// preserve attributes copy the listed ones, and they cannot be set here, so such a copy could not be restored.

import RealmJSON

extension FileTree {
  /// The attribute with the id of the process that serves the mount; `realmfs umount` waits for this process to end.
  package static let processAttribute = "user.realmfs.pid"

  /// Returns the value of an extended attribute as text.
  ///
  /// - Throws: `unsupportedAttribute` outside of namespace `user`, without reading the file; `noSuchAttribute`;
  ///   `refused(.noAccess)` if `caller` may not read it.
  public func extendedAttribute(
    _ inode: InodeNumber,
    _ name: String,
    by caller: Caller = Caller(user: 0, group: 0)
  ) throws(FileTreeError) -> String {
    // The kernel checks no permissions for attributes in the namespace `system`.
    if inode == .root, name == MountReport.attribute {
      guard tree.views.admits(caller) else { throw .refused(.noAccess, "the mount belongs to another user") }
      return JSONValue.object(MountReport(tree).facts).line
    }
    if name == TransactionOutcome.attribute, let node = tree.namespace.nodes.node(inode) as? SubtreeNode,
      let transaction = node.subtree as? StagedTransaction, node.inner == .root
    {
      guard transaction.isOwned(by: caller) else {
        throw .refused(.noAccess, "the transaction belongs to another user")
      }
      return transaction.outcome.description
    }
    guard name.hasPrefix("user.") else { throw .unsupportedAttribute }
    guard let value = try extendedAttributes(inode, for: caller.user).first(where: { $0.name == name })?.value else {
      throw .noSuchAttribute
    }
    return value
  }

  private func extendedAttributes(_ inode: InodeNumber, for user: UInt32) throws(FileTreeError) -> [ExtendedAttribute] {
    let place = try place(inode), tree = place.tree
    let node = try tree.namespace.node(place.inode)
    let path = tree.drafts.refusals.isEmpty ? nil : try node.shownPath(tree)
    let reason = path.flatMap { tree.drafts.refusals.reason(of: $0, for: user) }
    let attributes = try node.extendedAttributes(tree)
    return attributes + (reason.map { [ExtendedAttribute(name: "user.realmfs.error", value: $0)] } ?? [])
  }
}
