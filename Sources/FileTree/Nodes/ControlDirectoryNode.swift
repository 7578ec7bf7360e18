// `.realm`: facts about the realm itself. Its files are generated on request, once per version, so their sizes are also
// exact. A new file or directory needs one line in `entries`.

import RealmJSON
import RealmPages

/// The directory `.realm`.
struct ControlDirectoryNode: FixedDirectoryNode {
  let inode: InodeNumber
  let name = Array(".realm".utf8)

  /// An entry of the directory.
  private struct Entry {
    let name: StaticString
    var kind = NodeKind.file
    /// True if the entry exists only in a writable tree.
    var needsWriter = false
    /// True if the entry exists only in the tree of a synced realm.
    var needsSync = false
    /// True if only a tree that follows the realm has it.
    var needsNewest = false
    /// True if the entry exists only in a tree that follows the realm. It is not listed, because programs that read all
    /// files and follow links would block on it forever, and each lookup creates a new node.
    var isFollowing = false
    /// True if only a tree that follows the realm has it, and it is not listed: programs that read all files would read
    /// all objects again for each version.
    var isHidden = false
    /// True if the entry also exists in the tree of a transaction.
    var isStaged = false
    let make: @Sendable (InodeNumber) -> any Node
  }

  /// The entries, in the order in which they are listed.
  private static let entries: [Entry] = [
    Entry(name: "README") { ControlFileNode($0, "README", ControlTexts.readme, needsRealm: false) },
    Entry(name: "version", isStaged: true) { ControlFileNode($0, "version", ControlTexts.version) },
    Entry(name: "info.json") { ControlFileNode($0, "info.json", ControlTexts.info, isSteady: false) },
    Entry(name: "sync.json", needsSync: true) {
      ControlFileNode($0, "sync.json", ControlTexts.sync, isSteady: false, needsRealm: false)
    },
    // Statistics need a pass over the file, which a listing should not cause.
    Entry(name: "stats.json") { ControlFileNode($0, "stats.json", ControlTexts.statistics, isCheap: false) },
    Entry(name: "schema.json", isStaged: true) {
      ControlFileNode($0, "schema.json", ControlTexts.schema, target: SchemaTarget())
    },
    Entry(name: "schema", kind: .directory, isStaged: true) { SchemaDirectoryNode(inode: $0) },
    Entry(name: "tables", kind: .directory, isStaged: true) { TablesDirectoryNode(inode: $0) },
    Entry(name: "changes", kind: .symbolicLink, isFollowing: true) { ChangesNode(inode: $0) },
    Entry(name: "deleted", kind: .directory, needsNewest: true) { DeletedDirectoryNode(inode: $0) },
    Entry(name: "snapshots", kind: .directory, needsWriter: true) { SnapshotsDirectoryNode(inode: $0) },
    Entry(name: "versions", kind: .directory, needsNewest: true, isHidden: true) { FormerVersionsNode(inode: $0) },
    Entry(name: "tx", kind: .directory, needsWriter: true) { TransactionsDirectoryNode(inode: $0) },
    Entry(name: "errors", needsWriter: true, isStaged: true) { ErrorsNode(inode: $0) },
    Entry(name: "unsaved", needsWriter: true, isStaged: true) {
      ControlFileNode($0, "unsaved", ControlTexts.unsaved, isSteady: false, needsRealm: false)
    },
    Entry(name: "rejected", kind: .directory, needsWriter: true, isStaged: true) {
      KeptTextsNode(inode: $0, kind: .rejected)
    },
    Entry(name: "trash", kind: .directory, needsWriter: true) { KeptTextsNode(inode: $0, kind: .trash) },
    Entry(name: "compact", needsWriter: true) {
      ControlFileNode($0, "compact", ControlTexts.compact, target: CompactTarget())
    },
  ]

  /// The inode number of the entry called `name`.
  static func inode(of name: StaticString, _ tree: TreeContext) -> InodeNumber {
    guard let entry = entries.first(where: { $0.name.description == name.description }) else { return .root }
    return inode(of: entry, tree)
  }

  private static func inode(of entry: Entry, _ tree: TreeContext) -> InodeNumber {
    tree.namespace.nodes.inode(of: NodeIdentity(Self.self, 1, Array(entry.name.description.utf8)), entry.make)
  }

  private func entries(_ tree: TreeContext) -> [Entry] {
    Self.entries.filter { entry in
      if entry.needsSync, tree.options.syncReport == nil { return false }
      if entry.isFollowing || entry.needsNewest, !tree.views.isFollowing { return false }
      return (!entry.needsWriter || tree.drafts.saver != nil) && (entry.isStaged || tree.subtrees.staged == nil)
    }
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let subdirectories = entries(tree).count { $0.kind == .directory && !$0.isHidden }
    return try tree.readable { view in view.rules.directory(inode, subdirectories: subdirectories, view.modified) }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { ".realm" }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    guard let entry = entries(tree).first(where: { $0.name.description.utf8.elementsEqual(name) }) else {
      throw .notFound
    }
    if entry.isFollowing {
      return try tree.namespace.enter(
        NodeIdentity(Self.self, tree.handles.changePipes.newNumber(), name),
        isNamedByText: false,
        entry.make
      )
    }
    return try tree.namespace.node(Self.inode(of: entry, tree)).attributes(tree)
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    var listing = ShortListing(of: inode, in: .root, from: position, into: &sink)
    for (index, entry) in entries(tree).enumerated() where !entry.isFollowing && !entry.isHidden {
      let inode = Self.inode(of: entry, tree)
      let node = try tree.namespace.node(inode)
      try listing.add(entry.name.description.utf8, inode, entry.kind, index: index, to: &sink) {
        () throws(FileTreeError) in
        if !attributes { return nil }
        if let file = node as? ControlFileNode, !file.isCheap { return nil }
        return tree.handles.withOpenSizes(try node.attributes(tree))
      }
    }
    listing.addFiles(tree.namespace.overlay, to: &sink)
  }

  // MARK: changes

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    guard let entry = entries(tree).first(where: { $0.name.description.utf8.elementsEqual(name) }) else { return nil }
    return try tree.namespace.node(Self.inode(of: entry, tree)).replacementTarget(tree)
  }

  func removeDirectory(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.namespace.hasEntry(name, self) else { throw .notFound }
    throw .refused(.forbidden, "directories of .realm cannot be removed")
  }
}

/// A directory of `.realm` whose entries cannot be removed or renamed.
protocol FixedDirectoryNode: DirectoryNode {}

extension FixedDirectoryNode {
  func unlink(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.namespace.hasEntry(name, self) else { throw .notFound }
    throw .refused(.forbidden, "files of .realm cannot be removed")
  }

  func move(_ name: [UInt8], to goal: Overlay.Place, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.namespace.hasEntry(name, self) else { throw .notFound }
    throw .refused(.forbidden, "classes and the files of .realm cannot be renamed")
  }
}
