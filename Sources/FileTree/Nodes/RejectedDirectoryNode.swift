// `.realm/rejected`: the texts that were refused, by class and name. They are files in memory that can be read and
// removed.

import RealmPages

/// The directory of the refused texts.
struct RejectedDirectoryNode: DirectoryNode {
  let inode: InodeNumber

  /// The number of the directory.
  static func inode(_ tree: TreeContext) -> InodeNumber { ControlDirectoryNode.inode(of: "rejected", tree) }

  /// The directory of the refused texts of a class.
  static func inode(of ordinal: TableOrdinal, _ tree: TreeContext) -> InodeNumber {
    tree.nodes.inode(of: NodeIdentity(RejectedClassNode.self, UInt64(ordinal))) {
      RejectedClassNode(inode: $0, ordinal: ordinal)
    }
  }

  /// The classes of which a text was refused, in the order in which they were met. A class may be gone; its texts are
  /// there all the same.
  private func classes(_ tree: TreeContext) -> [(name: [UInt8], node: RejectedClassNode)] {
    var names: Set<[UInt8]> = []
    return tree.overlay.directoriesWithFiles
      .compactMap { tree.nodes.node($0) as? RejectedClassNode }
      .sorted { $0.ordinal < $1.ordinal }
      .map { node in
        let name = tree.views.registry.name(node.ordinal) ?? []
        // A class that was made anew under the name of one that is gone.
        return (names.insert(name).inserted ? name : name + Array("~\(node.ordinal)".utf8), node)
      }
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let count = classes(tree).count
    return try tree.readable { view in view.rules.directory(inode, subdirectories: count, view.modified) }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    guard let found = classes(tree).first(where: { $0.name == name }) else { throw .notFound }
    return try found.node.attributes(tree)
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    var listing = ShortListing(of: inode, in: tree.control.inode, from: position, into: &sink)
    for (name, node) in classes(tree) {
      try listing.add(name, node.inode, .directory, index: Int(node.ordinal), to: &sink) { nil }
    }
    listing.addFiles(tree.overlay, to: &sink)
  }

  func saveTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any SaveTarget)? {
    throw Self.takesNoFiles
  }

  static let takesNoFiles = FileTreeError.refused(
    .forbidden,
    "this directory holds refused texts; it takes no files"
  )
}

/// The refused texts of a class.
struct RejectedClassNode: DirectoryNode {
  let inode: InodeNumber
  let ordinal: TableOrdinal

  /// Whoever may write here removes only texts of their own.
  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.readable { view in view.rules.directory(inode, subdirectories: 0, view.modified, isSticky: true) }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { tree.shownName(of: ordinal) }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes { throw .notFound }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    var listing = ShortListing(
      of: inode,
      in: RejectedDirectoryNode.inode(tree),
      from: position,
      into: &sink
    )
    listing.addFiles(tree.overlay, to: &sink)
  }

  func saveTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any SaveTarget)? {
    throw RejectedDirectoryNode.takesNoFiles
  }
}
