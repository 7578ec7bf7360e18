// `.realm/schema`: one file per class with its schema; writing the file changes the schema.

import RealmJSON
import RealmNames
import RealmPages

/// The directory of the schema files.
struct SchemaDirectoryNode: FixedDirectoryNode {
  let inode: InodeNumber

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm/schema" }

  private func file(_ directory: TableDirectory, _ tree: TreeContext) -> SchemaFileNode {
    let ordinal = directory.ordinal
    let identity = NodeIdentity(SchemaFileNode.self, UInt64(ordinal))
    return SchemaFileNode(
      inode: tree.namespace.nodes.inode(of: identity) { SchemaFileNode(inode: $0, ordinal: ordinal) },
      ordinal: ordinal
    )
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view in view.rules.directory(inode, subdirectories: 0, view.modified) }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      let suffix = Array(NameEscaping.suffix.utf8)
      guard name.count > suffix.count, name.suffix(suffix.count) == suffix[...],
        let directory = view.classDirectory(Array(name.dropLast(suffix.count)))
      else { throw .notFound }
      return try file(directory, tree).attributes(directory, view)
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
      for directory in view.directories where directory.place != .tables {
        let file = file(directory, tree), name = directory.name + NameEscaping.suffix.utf8
        try listing.add(name, file.inode, .file, index: Int(directory.ordinal), to: &sink) { () throws(FileTreeError) in
          attributes ? tree.handles.withOpenSizes(try file.attributes(directory, view)) : nil
        }
      }
      listing.addFiles(tree.namespace.overlay, to: &sink)
    }
  }

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    NameEscaping.isPlainJSON(name) ? SchemaTarget(name: name) : nil
  }
}

/// The schema of a class as a file.
struct SchemaFileNode: FileNode {
  let inode: InodeNumber
  let ordinal: TableOrdinal

  private func text(_ directory: TableDirectory, _ view: VersionView) throws(FileTreeError) -> [UInt8] {
    try view.controlText(inode) { () throws(FileTreeError) in
      try ControlTexts.rendered("schema of \(directory.shownName)") { out throws(RenderError) in
        try SchemaRenderer.render(directory.table, of: view.snapshot, into: out)
      }
    }
  }

  fileprivate func attributes(
    _ directory: TableDirectory,
    _ view: VersionView
  ) throws(FileTreeError) -> FileAttributes {
    view.rules.file(inode, size: try text(directory, view).count, directory.stamp.modified)
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in try attributes(try view.existing(ordinal), view) }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    ".realm/schema/" + tree.namespace.shownName(of: ordinal) + NameEscaping.suffix
  }

  func extendedAttributes(_ tree: TreeContext) throws(FileTreeError) -> [ExtendedAttribute] {
    try tree.read { view throws(FileTreeError) in
      [try view.existing(ordinal).classAttribute, view.versionAttribute]
    }
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    try openComputed(access, by: caller, tree) { view throws(FileTreeError) in
      try text(try view.existing(ordinal), view)
    }
  }

  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget {
    let name = try tree.read { view throws(FileTreeError) in try view.existing(ordinal).name }
    return SchemaTarget(name: name + NameEscaping.suffix.utf8)
  }
}
