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

  /// The classes of which a text was refused.
  private func classes(_ view: VersionView, _ tree: TreeContext) -> [(directory: TableDirectory, inode: InodeNumber)] {
    view.directories.filter { $0.place == .root }
      .map { ($0, Self.inode(of: $0.ordinal, tree)) }
      .filter { tree.overlay.hasFiles($0.inode) }
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.readable { view in
      view.rules.directory(inode, subdirectories: classes(view, tree).count, view.modified)
    }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.readable { view throws(FileTreeError) in
      guard let found = classes(view, tree).first(where: { $0.directory.name == name }) else { throw .notFound }
      return view.rules.directory(found.inode, subdirectories: 0, view.modified)
    }
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    let parent = tree.control.inode
    try tree.readable { view throws(FileTreeError) in
      var listing = ShortListing(of: inode, in: parent, from: position, into: &sink)
      for (directory, inode) in classes(view, tree) {
        try listing.add(directory.name, inode, .directory, index: Int(directory.ordinal), to: &sink) { nil }
      }
      listing.addFiles(tree.overlay, to: &sink)
    }
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

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.readable { view in view.rules.directory(inode, subdirectories: 0, view.modified) }
  }

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
