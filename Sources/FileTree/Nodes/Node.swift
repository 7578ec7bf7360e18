// The protocol of all files and directories. Each kind is one type in a file of this directory; operations that it does
// not implement are refused by the defaults here, with the errno that POSIX specifies. A new kind needs only its file
// and one line in the directory that creates it.
//
// Invariant: nodes hold no data of the realm. They hold only the names of the data, which they read from the newest
// version at each call.

import RealmPages

/// An extended attribute and its value.
struct ExtendedAttribute {
  let name: String
  let value: String
}

/// A file, directory or symbolic link, with the operations that the kernel can request.
protocol Node: Sendable {
  /// The inode number that the kernel knows.
  var inode: InodeNumber { get }

  /// The attributes for `stat`.
  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes
  /// The attributes for a lookup of the name. If computing the size requires a pass over all objects, it is 0 and must
  /// not be cached by the kernel.
  func entryAttributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes
  /// The extended attributes that describe the realm data.
  func extendedAttributes(_ tree: TreeContext) throws(FileTreeError) -> [ExtendedAttribute]
  /// The path under which refusals are recorded; nil if the node never refuses a change.
  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String?
  /// Changes owner, group and mode.
  func change(_ change: MetadataChange, _ tree: TreeContext) throws(FileTreeError)
  /// Sets the modification time, if the node has its own.
  func setTime(_ time: Timestamp, _ tree: TreeContext) throws(FileTreeError)

  // Directories.

  /// The attributes of the entry called `name`. Counts as a kernel lookup of its inode.
  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes
  func openDirectory(_ tree: TreeContext) throws(FileTreeError) -> DirectoryStream
  /// Adds the entries after `position` to `sink` until it is full.
  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError)
  /// The target that a file of this name changes when it is saved; nil for a scratch file. Throws if no file can be
  /// created.
  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)?
  /// Removes an entry that is not a file in memory.
  func unlink(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError)
  /// Renames an entry that is not a file in memory, within a directory that accepts files.
  func move(_ name: [UInt8], to goal: Overlay.Place, _ tree: TreeContext) throws(FileTreeError)
  /// Renames a subdirectory. Returns false if the node does not rename its subdirectories this way.
  func renameDirectory(
    _ name: [UInt8],
    to goal: Overlay.Place,
    _ rule: RenameRule,
    _ tree: TreeContext
  ) throws(FileTreeError) -> Bool
  /// Exchanges an entry of a directory with a file in memory.
  func exchange(_ name: [UInt8], with file: MemoryFile, by caller: Caller, _ tree: TreeContext) throws(FileTreeError)
  /// Restores the object or property removed to make way for `name`, whose new text was refused.
  func restoreRemoved(_ removal: Removal, _ name: [UInt8], _ tree: TreeContext)
  /// Creates a directory, with these permission bits if it has its own.
  func makeDirectory(_ name: [UInt8], mode: UInt32, by caller: Caller, _ tree: TreeContext) throws(FileTreeError)
  func removeDirectory(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError)

  // Files.

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile
  /// Sets the size of a file without a handle.
  func resize(to size: Int, by caller: Caller, _ tree: TreeContext) throws(FileTreeError)
  /// The target that writing to the file changes. Throws if the file is read-only.
  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget
  /// The target that a text changes if it replaces the complete file, as with programs that save by renaming. Throws if
  /// the file is read-only.
  func replacementTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget

  // Symbolic links.

  func destination(_ tree: TreeContext) throws(FileTreeError) -> [UInt8]
}

/// A node with entries.
protocol DirectoryNode: Node {}

/// A node with contents.
protocol FileNode: Node {}

/// A node that refers to another by path.
protocol SymbolicLinkNode: Node {}

extension Node {
  func entryAttributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes { try attributes(tree) }
  func extendedAttributes(_ tree: TreeContext) throws(FileTreeError) -> [ExtendedAttribute] { [] }
  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { nil }

  func change(_ change: MetadataChange, _ tree: TreeContext) throws(FileTreeError) {
    try tree.views.keep(change, of: inode, now: try attributes(tree))
  }

  func setTime(_ time: Timestamp, _ tree: TreeContext) throws(FileTreeError) {
    // Directories and computed files have the time of the last commit.
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes { throw .notADirectory }
  func openDirectory(_ tree: TreeContext) throws(FileTreeError) -> DirectoryStream { throw .notADirectory }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    throw .notADirectory
  }

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    throw .notADirectory
  }

  func unlink(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) { throw .notADirectory }

  func move(_ name: [UInt8], to goal: Overlay.Place, _ tree: TreeContext) throws(FileTreeError) {
    throw .notADirectory
  }

  func exchange(_ name: [UInt8], with file: MemoryFile, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    throw .notADirectory
  }

  func renameDirectory(
    _ name: [UInt8],
    to goal: Overlay.Place,
    _ rule: RenameRule,
    _ tree: TreeContext
  ) throws(FileTreeError) -> Bool { false }

  func restoreRemoved(_ removal: Removal, _ name: [UInt8], _ tree: TreeContext) {}

  func makeDirectory(_ name: [UInt8], mode: UInt32, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    throw .notADirectory
  }

  func removeDirectory(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    throw .notADirectory
  }
  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile {
    throw .isADirectory
  }
  func resize(to size: Int, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) { throw .isADirectory }
  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget {
    throw .refused(.forbidden, "it is computed and read-only")
  }
  func replacementTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget { try draftTarget(tree) }
  func destination(_ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    throw .refused(.invalid, "not a symbolic link")
  }
}

extension FileNode {
  func resize(to size: Int, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    var access = OpenAccess()
    access.writes = true
    try tree.drafts.resize(try open(access, by: caller, tree), to: size, by: caller)
  }
}

extension DirectoryNode {
  func openDirectory(_ tree: TreeContext) throws(FileTreeError) -> DirectoryStream { DirectoryStream(self) }

  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget { throw .isADirectory }

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    throw .refused(.forbidden, "files cannot be created in this directory")
  }

  func unlink(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.namespace.hasEntry(name, self) else { throw .notFound }
    throw .refused(.forbidden, "the entries of this directory are computed and cannot be removed")
  }

  func move(_ name: [UInt8], to goal: Overlay.Place, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.namespace.hasEntry(name, self) else { throw .notFound }
    throw .refused(.forbidden, "the entries of this directory are computed and cannot be renamed")
  }

  func exchange(_ name: [UInt8], with file: MemoryFile, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    throw .refused(.forbidden, "only objects and files in memory can exchange names")
  }

  func makeDirectory(_ name: [UInt8], mode: UInt32, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    throw .refused(.forbidden, "a directory is a class; classes are only in the root of the mount")
  }

  func removeDirectory(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.namespace.hasEntry(name, self) else { throw .notFound }
    throw .refused(.forbidden, "this directory cannot be removed")
  }
}
