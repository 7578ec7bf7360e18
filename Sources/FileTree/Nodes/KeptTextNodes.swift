// `.realm/rejected`, the texts that were refused, and `.realm/trash`, the texts that objects had before they were
// changed or deleted: both by class and name. They are files in memory that can be read and removed.

import RealmPages

/// What texts are kept for.
enum KeptTexts: UInt8, Sendable {
  case rejected, trash

  /// The name of their directory in `.realm`.
  var name: StaticString {
    switch self {
    case .rejected: "rejected"
    case .trash: "trash"
    }
  }

  /// The number of their directory.
  func directory(_ tree: TreeContext) -> InodeNumber { ControlDirectoryNode.inode(of: name, tree) }

  /// The number of the directory of a class in there.
  func directory(of ordinal: TableOrdinal, _ tree: TreeContext) -> InodeNumber {
    tree.nodes.inode(of: NodeIdentity(KeptTextsOfClassNode.self, UInt64(ordinal), [rawValue])) {
      KeptTextsOfClassNode(inode: $0, kind: self, ordinal: ordinal)
    }
  }

  fileprivate var takesNoFiles: FileTreeError {
    switch self {
    case .rejected: .refused(.forbidden, "this directory holds refused texts; it takes no files")
    case .trash: .refused(.forbidden, "this directory holds former texts of objects; it takes no files")
    }
  }
}

/// The directory of all kept texts of a kind.
struct KeptTextsNode: ShortDirectoryNode {
  let inode: InodeNumber
  let kind: KeptTexts

  /// The classes of which a text is kept, in the order in which they were met. A class may be gone; its texts are there
  /// all the same.
  private func classes(_ tree: TreeContext) throws(FileTreeError) -> [(name: [UInt8], node: KeptTextsOfClassNode)] {
    if kind == .trash { try tree.trash.unpack(tree) }
    var names: Set<[UInt8]> = []
    return tree.overlay.directoriesWithFiles
      .compactMap { tree.nodes.node($0) as? KeptTextsOfClassNode }
      .filter { $0.kind == kind }
      .sorted { $0.ordinal < $1.ordinal }
      .map { node in
        let name = tree.views.registry.name(node.ordinal) ?? []
        // A class that was made anew under the name of one that is gone.
        return (names.insert(name).inserted ? name : name + Array("~\(node.ordinal)".utf8), node)
      }
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let count = try classes(tree).count
    return try tree.readable { view in view.rules.directory(inode, subdirectories: count, view.modified) }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    guard let found = try classes(tree).first(where: { $0.name == name }) else { throw .notFound }
    return try found.node.attributes(tree)
  }

  func parent(_ tree: TreeContext) -> InodeNumber { tree.control.inode }

  func entries(_ tree: TreeContext) throws(FileTreeError) -> [ListedEntry] {
    try classes(tree).map { name, node in
      ListedEntry(name: name, inode: node.inode, kind: .directory, index: Int(node.ordinal))
    }
  }

  func saveTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any SaveTarget)? {
    throw kind.takesNoFiles
  }
}

/// The kept texts of a class.
struct KeptTextsOfClassNode: ShortDirectoryNode {
  let inode: InodeNumber
  let kind: KeptTexts
  let ordinal: TableOrdinal

  /// Refused texts belong to who wrote them, and may be removed by that user alone.
  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.readable { view in
      view.rules.directory(inode, subdirectories: 0, view.modified, isSticky: kind == .rejected)
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { tree.shownName(of: ordinal) }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes { throw .notFound }

  func parent(_ tree: TreeContext) -> InodeNumber { kind.directory(tree) }

  func entries(_ tree: TreeContext) -> [ListedEntry] { [] }

  func saveTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any SaveTarget)? {
    throw kind.takesNoFiles
  }
}
