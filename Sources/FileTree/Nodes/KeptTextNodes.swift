// `.realm/rejected` contains refused texts. `.realm/trash` contains the texts of objects before they were changed or
// deleted. In both, texts are arranged by class and name, as files in memory that can be read and removed. A refused
// text is in a directory that only the user who wrote it can enter: CLASS for the owner of the realm, CLASS@UID for
// other users.

import Glibc
import RealmPages

/// The reason for keeping a text.
enum KeptTexts: UInt8, Sendable {
  case rejected, trash

  /// The name of the directory in `.realm`.
  var name: StaticString {
    switch self {
    case .rejected: "rejected"
    case .trash: "trash"
    }
  }

  /// The inode number of the directory.
  func directory(_ tree: TreeContext) -> InodeNumber { ControlDirectoryNode.inode(of: name, tree) }

  /// The inode number of the directory for a class and, for refused texts, a user. Schemas have no class: with neither
  /// class nor user it is the directory that holds all classes.
  func directory(of ordinal: TableOrdinal?, user: UInt32? = nil, _ tree: TreeContext) -> InodeNumber {
    if ordinal == nil, user == nil { return directory(tree) }
    let name = [rawValue] + (user.map { Array("\($0)".utf8) } ?? []) + (ordinal == nil ? [0] : [])
    return tree.namespace.nodes.inode(of: NodeIdentity(KeptTextsOfClassNode.self, UInt64(ordinal ?? 0), name)) {
      KeptTextsOfClassNode(inode: $0, kind: self, ordinal: ordinal, user: user)
    }
  }

  fileprivate var takesNoFiles: FileTreeError {
    switch self {
    case .rejected: .refused(.forbidden, "this directory holds refused texts; files cannot be created in it")
    case .trash: .refused(.forbidden, "this directory holds former texts; files cannot be created in it")
    }
  }
}

/// The directory of all kept texts of one kind.
struct KeptTextsNode: ShortDirectoryNode {
  let inode: InodeNumber
  let kind: KeptTexts

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm/\(kind.name)" }

  /// The classes with kept texts, in the order in which they were first seen. Texts of a class that no longer exists
  /// are still listed.
  private func classes(_ tree: TreeContext) throws(FileTreeError) -> [(name: [UInt8], node: KeptTextsOfClassNode)] {
    if kind == .trash { try tree.drafts.trash.unpack(tree) }
    var names: Set<[UInt8]> = []
    return tree.namespace.overlay.directoriesWithFiles
      .compactMap { tree.namespace.nodes.node($0) as? KeptTextsOfClassNode }
      .filter { $0.kind == kind }
      .sorted { $0.inode.value < $1.inode.value }
      .map { node in
        let name = node.name(tree)
        // A new class uses the name of a deleted one.
        return (names.insert(name).inserted ? name : name + Array("~\(node.ordinal ?? 0)".utf8), node)
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

  func parent(_ tree: TreeContext) -> InodeNumber { tree.namespace.control.inode }

  func entries(_ tree: TreeContext) throws(FileTreeError) -> [ListedEntry] {
    try classes(tree).map { name, node in
      // Inode numbers of these nodes are never reused.
      ListedEntry(name: name, inode: node.inode, kind: .directory, index: Int(node.inode.value))
    }
  }

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    throw kind.takesNoFiles
  }
}

/// The kept texts of a class or of schemas; refused texts are those of one user.
struct KeptTextsOfClassNode: ShortDirectoryNode {
  let inode: InodeNumber
  let kind: KeptTexts
  /// Nil for schemas.
  let ordinal: TableOrdinal?
  /// The user who wrote the texts; nil if they belong to all users.
  let user: UInt32?

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.readable { view in
      let attributes = view.rules.directory(inode, subdirectories: 0, view.modified)
      guard let user else { return attributes }
      return attributes.owned(by: Caller(user: user, group: view.rules.group), permissions: 0o700).uncached
    }
  }

  /// The name of the directory.
  func name(_ tree: TreeContext) -> [UInt8] {
    let name = ordinal.flatMap { tree.views.registry.name($0) } ?? []
    guard let user, user != tree.views.owner else { return name }
    return name + Array("@\(user)".utf8)
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    ".realm/\(kind.name)/" + String(decoding: name(tree), as: UTF8.self)
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes { throw .notFound }

  func parent(_ tree: TreeContext) -> InodeNumber { kind.directory(tree) }

  func entries(_ tree: TreeContext) -> [ListedEntry] { [] }

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    throw kind.takesNoFiles
  }
}

/// Identifies a text that may be refused, by class and name.
struct RejectedText: Sendable {
  /// Nil for a schema.
  let ordinal: TableOrdinal?
  let name: [UInt8]

  /// The place in `.realm/rejected` of this text as written by `user`.
  func place(of user: UInt32, _ tree: TreeContext) -> Overlay.Place {
    let isOwners = ordinal == nil && user == tree.views.owner
    let directory = KeptTexts.rejected.directory(of: ordinal, user: isOwners ? nil : user, tree)
    return Overlay.Place(directory: directory, name: name)
  }
}
