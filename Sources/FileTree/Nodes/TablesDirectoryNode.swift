// `.realm/tables`: the tables that are not classes; objects are named by object key.

import RealmPages

/// The directory of the SDK's internal tables.
struct TablesDirectoryNode: DirectoryNode {
  let inode: InodeNumber

  /// The inode number of the directory.
  static func inode(_ tree: TreeContext) -> InodeNumber { ControlDirectoryNode.inode(of: "tables", tree) }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view in view.rules.directory(inode, subdirectories: view.internalDirectoryCount, view.modified) }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm/tables" }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      guard let directory = view.internalDirectory(name) else { throw .notFound }
      return view.attributes(of: directory)
    }
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    let parent = tree.namespace.control.inode
    try tree.read { view throws(FileTreeError) in
      var listing = ShortListing(of: inode, in: parent, from: position, into: &sink)
      for directory in view.directories where directory.place == .tables {
        try listing.add(directory.name, directory.inode, .directory, index: Int(directory.ordinal), to: &sink) {
          attributes ? view.attributes(of: directory) : nil
        }
      }
    }
  }
}
