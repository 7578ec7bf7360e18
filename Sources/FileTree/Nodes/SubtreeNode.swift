// A node of a tree below the tree of a mount, such as a transaction or a snapshot. The tree below numbers its nodes
// itself; the kernel knows each by the number of its `SubtreeNode`. Another kind of tree needs a `Subtree` and a
// directory that enters its root.

import RealmPages

/// A node of a tree below the tree of a mount.
struct SubtreeNode: DirectoryNode {
  let inode: InodeNumber
  let subtree: any Subtree
  /// The inode number in the tree below.
  let inner: InodeNumber
  /// True for a command file such as `.commit`. After it has ended the transaction, its attributes can still be read.
  let isCommand: Bool

  static func identity(_ subtree: any Subtree, _ inner: InodeNumber) -> NodeIdentity {
    NodeIdentity(SubtreeNode.self, subtree.number, [type(of: subtree).kind.rawValue] + Array(String(inner.value).utf8))
  }

  /// The attributes of a node of a tree below, which has just been looked up there; counts as a kernel lookup.
  ///
  /// The kernel's lookups are counted here. The tree below counts one lookup, which lasts as long as that tree.
  static func enter(_ attributes: FileAttributes, _ subtree: any Subtree, _ main: TreeContext) -> FileAttributes {
    let inner = attributes.inode
    var attributes = subtree.shown(attributes)
    attributes.inode = main.namespace.nodes.enter(identity(subtree, inner)) {
      // A tree that has since ended has no nodes.
      let node = (try? subtree.context())?.namespace.nodes.node(inner)
      return SubtreeNode(inode: $0, subtree: subtree, inner: inner, isCommand: node is TransactionCommandNode)
    }
    return attributes
  }

  private func node() throws(FileTreeError) -> (any Node, TreeContext) {
    let tree = try subtree.context()
    return (try tree.namespace.node(inner), tree)
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    if let last = try subtree.attributesAfterEnd(self, tree) { return last }
    let (node, inside) = try node()
    return shown(try node.attributes(inside))
  }

  func entryAttributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let (node, inside) = try node()
    return shown(try node.entryAttributes(inside))
  }

  private func shown(_ attributes: FileAttributes) -> FileAttributes {
    var attributes = subtree.shown(attributes)
    attributes.inode = inode
    return attributes
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    let (node, inside) = try node()
    let home = subtree.shownPath(tree)
    return try node.shownPath(inside).map { home + "/" + $0 } ?? home
  }

  func extendedAttributes(_ tree: TreeContext) throws(FileTreeError) -> [ExtendedAttribute] {
    let (node, inside) = try node()
    return try node.extendedAttributes(inside)
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    if inner == .root, let own = try subtree.ownEntry(name, tree) { return own }
    let (node, inside) = try node()
    return Self.enter(try inside.namespace.lookUp(name, in: node), subtree, tree)
  }

  func openDirectory(_ tree: TreeContext) throws(FileTreeError) -> DirectoryStream {
    let (node, inside) = try node()
    return DirectoryStream(self, found: try node.openDirectory(inside).found)
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    let (node, inside) = try node()
    var renumbering = RenumberingSink(sink) { tree.namespace.nodes.number(of: Self.identity(subtree, $0)) }
    defer { sink = renumbering.sink }
    try node.list(stream, from: position, attributes: false, into: &renumbering, inside)
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates { throw .readOnly }
    let (node, inside) = try node()
    let file = try node.open(access, by: caller, inside)
    if file.maySeedPageCache { inside.handles.openFiles.seeded(file) }
    defer { inside.drafts.release(file) }
    switch file.content {
    case .stream(let stream):
      return OpenFile(inode, tree.handles.openFiles.openStream(inode, stream, for: caller.process), stream: stream)
    case .text(let text):
      return OpenFile(inode, tree.handles.openFiles.open(inode, text, .unchanged, for: caller.process), text: text)
    case .draft: throw .readOnly
    }
  }

  func destination(_ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    let (node, inside) = try node()
    return try node.destination(inside)
  }

  // MARK: changes

  func change(_ change: MetadataChange, _ tree: TreeContext) throws(FileTreeError) { throw .readOnly }
  func setTime(_ time: Timestamp, _ tree: TreeContext) throws(FileTreeError) { throw .readOnly }
  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    throw .readOnly
  }
  func unlink(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) { throw .readOnly }
  func move(_ name: [UInt8], to goal: Overlay.Place, _ tree: TreeContext) throws(FileTreeError) { throw .readOnly }
  func makeDirectory(_ name: [UInt8], mode: UInt32, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    throw .readOnly
  }

  func removeDirectory(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    throw .readOnly
  }

  func resize(to size: Int, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) { throw .readOnly }
}
