// `.realm/deleted/CLASS/KEY.json`: deleted objects whose last state is certainly still in the file. The texts are those
// of the newest version: after a commit, objects may appear, and others may be overwritten.

import RealmPages

/// The directory `.realm/deleted`.
struct DeletedDirectoryNode: ShortDirectoryNode {
  let inode: InodeNumber

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm/deleted" }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    // Their number takes a search of the file, which `ls -l .realm` does not need: a link count of 1 means unknown.
    try tree.readable { view in view.rules.directory(inode, subdirectories: -1, view.modified).readOnly.uncached }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    guard try tree.deletedTexts().directory(name) != nil else { throw .notFound }
    return try tree.namespace.enter(DeletedClassNode.identity(name)) { DeletedClassNode(inode: $0, name: name) }
  }

  func parent(_ tree: TreeContext) -> InodeNumber { tree.namespace.control.inode }

  func entries(_ tree: TreeContext) throws(FileTreeError) -> [ListedEntry] {
    try tree.deletedTexts().directories.enumerated().map { index, directory in
      let number = tree.namespace.nodes.number(of: DeletedClassNode.identity(directory.name))
      return ListedEntry(name: directory.name, inode: number, kind: .directory, index: index)
    }
  }

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    throw DeletedObjectNode.takesNoFiles
  }
}

/// The directory of the deleted objects of a class.
struct DeletedClassNode: ShortDirectoryNode {
  let inode: InodeNumber
  /// The name of the directory.
  let name: [UInt8]

  static func identity(_ name: [UInt8]) -> NodeIdentity { NodeIdentity(DeletedClassNode.self, 0, name) }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    ".realm/deleted/" + String(decoding: name, as: UTF8.self)
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.readable { view in view.rules.directory(inode, subdirectories: 0, view.modified).readOnly.uncached }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    guard try tree.deletedTexts().file(name, in: self.name) != nil else { throw .notFound }
    return try tree.namespace.enter(DeletedObjectNode.identity(name, in: self.name)) {
      DeletedObjectNode(inode: $0, directory: self.name, name: name)
    }
  }

  func entries(_ tree: TreeContext) throws(FileTreeError) -> [ListedEntry] {
    let files = try tree.deletedTexts().directory(name)?.files ?? []
    return files.enumerated().map { index, file in
      let number = tree.namespace.nodes.number(of: DeletedObjectNode.identity(file.name, in: name))
      return ListedEntry(name: file.name, inode: number, kind: .file, index: index)
    }
  }

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    throw DeletedObjectNode.takesNoFiles
  }
}

/// A deleted object as a file.
struct DeletedObjectNode: FileNode {
  let inode: InodeNumber
  /// The name of the directory of its class.
  let directory: [UInt8]
  let name: [UInt8]

  static func identity(_ name: [UInt8], in directory: [UInt8]) -> NodeIdentity {
    NodeIdentity(DeletedObjectNode.self, UInt64(directory.count), directory + name)
  }

  fileprivate static let takesNoFiles = FileTreeError.refused(
    .forbidden,
    "this directory shows deleted objects; copy a text to the directory of its class to create the object again"
  )

  private func file(_ tree: TreeContext) throws(FileTreeError) -> DeletedTexts.File {
    guard let file = try tree.deletedTexts().file(name, in: directory) else { throw .stale }
    return file
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let size = try file(tree).text.count
    return try tree.readable { view in view.rules.file(inode, size: size, view.modified).readOnly.uncached }
  }

  func extendedAttributes(_ tree: TreeContext) throws(FileTreeError) -> [ExtendedAttribute] {
    try file(tree).attributes
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    ".realm/deleted/" + String(decoding: directory + [UInt8(ascii: "/")] + name, as: UTF8.self)
  }

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    if access.writes || access.truncates { throw Self.takesNoFiles }
    let text = try file(tree).text
    return OpenFile(inode, tree.handles.openFiles.open(inode, text, .live, for: caller.process), text: text)
  }
}
