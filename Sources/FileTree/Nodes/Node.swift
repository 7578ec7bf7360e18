// What an inode stands for. Each kind of file or directory is one type in a file of this folder; what it does not do is
// refused by the defaults here, with the errno that POSIX gives. A new kind needs nothing but its file and one line in
// the directory that makes it.
//
// Nodes hold nothing of the realm: they name what they show, and read it in the newest version at each call.

import RealmPages

/// An extended attribute and its value.
struct ExtendedAttribute {
  let name: String
  let value: String
}

/// What an inode stands for, with all that the kernel can ask of it.
protocol Node: Sendable {
  /// The number that the kernel knows it by.
  var inode: InodeNumber { get }

  /// What stat shows.
  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes
  /// What the kernel is told when it looks up the name. Where a size takes a pass over all objects it is 0, and the
  /// kernel must not remember it.
  func entryAttributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes
  /// The extended attributes that tell about the realm.
  func extendedAttributes(_ tree: TreeContext) throws(FileTreeError) -> [ExtendedAttribute]
  /// The path under which its refusals are noted; nil if nothing of it is ever refused.
  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String?
  /// Changes owner, group and mode.
  func change(_ change: MetadataChange, _ tree: TreeContext) throws(FileTreeError)
  /// Sets the time of the last change, if the node has one of its own.
  func setTime(_ time: Timestamp, _ tree: TreeContext) throws(FileTreeError)

  // Directories.

  /// The attributes of the entry called `name`. The kernel then knows its inode.
  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes
  func openDirectory(_ tree: TreeContext) throws(FileTreeError) -> DirectoryStream
  /// Gives entries from `position` on to `sink` until it is full.
  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError)
  /// What a file of this name changes when it is saved; nil for a scratch file. Throws where no file can be made.
  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)?
  /// Removes an entry that is no file in memory.
  func unlink(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError)
  /// Gives an entry that is no file in memory another name, in a directory that takes files.
  func move(_ name: [UInt8], to goal: Overlay.Place, _ tree: TreeContext) throws(FileTreeError)
  /// Gives a directory in it another name; false where entries get other names in other ways.
  func renameDirectory(
    _ name: [UInt8],
    to goal: Overlay.Place,
    _ rule: RenameRule,
    _ tree: TreeContext
  ) throws(FileTreeError) -> Bool
  /// Exchanges an entry of a directory with a file in memory.
  func exchange(
    _ name: [UInt8],
    with file: MemoryFile,
    by caller: Caller,
    _ tree: TreeContext
  ) throws(FileTreeError)
  /// Brings back what was removed to make room for the entry `name`, whose text is refused.
  func takeBack(_ removal: Removal, _ name: [UInt8], _ tree: TreeContext)
  /// Makes a directory, with these permission bits where it has its own.
  func makeDirectory(_ name: [UInt8], mode: UInt32, by caller: Caller, _ tree: TreeContext) throws(FileTreeError)
  func removeDirectory(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError)

  // Files.

  func open(_ access: OpenAccess, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) -> OpenFile
  /// Sets the size of a file that no handle is given for.
  func resize(to size: Int, by caller: Caller, _ tree: TreeContext) throws(FileTreeError)
  /// What writing to the file changes. Throws where it is only read.
  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget
  /// What a text changes that takes the file's place as a whole, as programs do that save by renaming. Throws where the
  /// file is only read.
  func replacementTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget

  // Symbolic links.

  func destination(_ tree: TreeContext) throws(FileTreeError) -> [UInt8]
}

/// A node that holds others.
protocol DirectoryNode: Node {}

/// A node that has a text.
protocol FileNode: Node {}

/// A node that names another by its path.
protocol SymbolicLinkNode: Node {}

extension Node {
  func entryAttributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes { try attributes(tree) }
  func extendedAttributes(_ tree: TreeContext) throws(FileTreeError) -> [ExtendedAttribute] { [] }
  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { nil }

  func change(_ change: MetadataChange, _ tree: TreeContext) throws(FileTreeError) {
    try tree.keep(change, of: inode, now: try attributes(tree))
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

  func exchange(
    _ name: [UInt8],
    with file: MemoryFile,
    by caller: Caller,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    throw .notADirectory
  }

  func renameDirectory(
    _ name: [UInt8],
    to goal: Overlay.Place,
    _ rule: RenameRule,
    _ tree: TreeContext
  ) throws(FileTreeError) -> Bool { false }

  func takeBack(_ removal: Removal, _ name: [UInt8], _ tree: TreeContext) {}

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

extension TreeContext {
  /// Keeps a mode and a group that are set for a file or directory, whose attributes are `present`.
  func keep(
    _ change: MetadataChange,
    of inode: InodeNumber,
    now present: FileAttributes
  ) throws(FileTreeError) {
    if change.owner ?? present.owner != present.owner {
      throw .refused(.forbidden, "the owner is that of the realm file; mount with uid= for another one")
    }
    let permissions = change.permissions.map { $0 & 0o777 }
    if permissions ?? present.permissions == present.permissions, change.group ?? present.group == present.group {
      return
    }
    views.keptModes.set(inode, KeptModes.Entry(permissions: permissions, group: change.group))
  }
}

extension FileNode {
  func resize(to size: Int, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    var access = OpenAccess()
    access.writes = true
    try tree.resize(try open(access, by: caller, tree), to: size, by: caller)
  }
}

extension DirectoryNode {
  func openDirectory(_ tree: TreeContext) throws(FileTreeError) -> DirectoryStream { DirectoryStream(self) }

  func draftTarget(_ tree: TreeContext) throws(FileTreeError) -> any DraftTarget { throw .isADirectory }

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    throw .refused(.forbidden, "this directory takes no files")
  }

  func unlink(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.hasEntry(name, self) else { throw .notFound }
    throw .refused(.forbidden, "the entries of this directory are computed and cannot be removed")
  }

  func move(_ name: [UInt8], to goal: Overlay.Place, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.hasEntry(name, self) else { throw .notFound }
    throw .refused(.forbidden, "the entries of this directory are computed and cannot be renamed")
  }

  func exchange(
    _ name: [UInt8],
    with file: MemoryFile,
    by caller: Caller,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    throw .refused(.forbidden, "only objects and files in memory can exchange names")
  }

  func makeDirectory(_ name: [UInt8], mode: UInt32, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    throw .refused(.forbidden, "a directory is a class; classes are only in the root of the mount")
  }

  func removeDirectory(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.hasEntry(name, self) else { throw .notFound }
    throw .refused(.forbidden, "this directory cannot be removed")
  }
}
