// The root: one directory for each class that the mount shows, and `.realm`.

import Glibc
import RealmNames
import RealmPages

/// The root directory of the mount.
struct RootNode: DirectoryNode {
  let inode = InodeNumber.root

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let attributes = try tree.readable { view in
      view.rules.directory(inode, subdirectories: view.rootDirectoryCount, view.modified)
    }
    return tree.subtrees.staged.map { attributes.owned(by: $0.owner, permissions: $0.permissions) } ?? attributes
  }

  func extendedAttributes(_ tree: TreeContext) throws(FileTreeError) -> [ExtendedAttribute] {
    try tree.readable { view in
      [view.versionAttribute, ExtendedAttribute(name: FileTree.processAttribute, value: String(getpid()))]
    }
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let control = tree.namespace.control
    if name == control.name { return try control.attributes(tree) }
    if let file = try TransactionFiles.node(name, tree) { return try file.attributes(tree) }
    return try tree.read { view throws(FileTreeError) in
      guard let directory = view.rootDirectory(name) else { throw .notFound }
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
    let control = tree.namespace.control
    try tree.read { view throws(FileTreeError) in
      var listing = ShortListing(of: inode, in: inode, from: position, into: &sink)
      if tree.options.showControl {
        try listing.add(control.name, control.inode, .directory, index: 0, to: &sink) { () throws(FileTreeError) in
          attributes ? try control.attributes(tree) : nil
        }
      }
      for directory in view.directories where directory.place == .root {
        try listing.add(directory.name, directory.inode, .directory, index: 1 + Int(directory.ordinal), to: &sink) {
          attributes ? view.attributes(of: directory) : nil
        }
      }
      listing.addFiles(tree.namespace.overlay, to: &sink)
      TransactionFiles.list(tree, into: &listing, &sink)
    }
  }

  // MARK: changes

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    if let node = try TransactionFiles.node(name, tree) { return try node.replacementTarget(tree) }
    // Editors and file managers create their own files.
    if name.first == UInt8(ascii: ".") || name.last == UInt8(ascii: "~") { return nil }
    throw .refused(.forbidden, "a file belongs in the directory of a class; the root holds only classes")
  }

  func unlink(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    if try TransactionFiles.node(name, tree) != nil {
      throw .refused(.forbidden, "the file belongs to the transaction, which rmdir of its directory discards")
    }
    throw try tree.namespace.hasEntry(name, self) ? .isADirectory : .notFound
  }

  func move(_ name: [UInt8], to goal: Overlay.Place, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.namespace.hasEntry(name, self) else { throw .notFound }
    throw .refused(.forbidden, "classes and the files of .realm cannot be renamed")
  }

  /// Adds a class if the option `create_classes` is set: programs that copy or unpack a tree do not intend to change
  /// the schema.
  func makeDirectory(_ name: [UInt8], mode: UInt32, by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    if try tree.namespace.hasEntry(name, self) { throw .refused(.exists, "already exists") }
    if !tree.options.createsClasses {
      throw .refused(
        .forbidden,
        "a directory here is a class: add one with 'realmfs class add' or .realm/schema.json, or mount with "
          + "-o create_classes"
      )
    }
    guard let className = NameEscaping.className(ofDirectory: name) else {
      throw .refused(.invalid, "not a valid class name: a leading dot and some characters must be written as %XX")
    }
    try tree.saves.changeSchema("mkdir", String(decoding: name, as: UTF8.self)) { transaction throws(FileTreeError) in
      do throws(EngineError) {
        if try transaction.tableKey(named: Table.classPrefix + className) == nil {
          _ = try transaction.addTable(Table.classPrefix + className)
          return Effect(touched: nil)
        }
      } catch {
        if error.reason == .overLimit { throw .refused(.nameTooLong, error.description) }
        throw FileTreeError(error)
      }
      throw .refused(.exists, "already exists")
    }
  }

  /// Removes a class that has neither objects nor properties. Programs such as git and rsync remove each directory they
  /// have emptied, without intending to change the schema.
  func removeDirectory(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    if name == tree.namespace.control.name { throw .refused(.forbidden, ".realm cannot be removed") }
    if tree.namespace.overlay.file(at: Overlay.Place(directory: inode, name: name)) != nil { throw .notADirectory }
    let directory = try tree.read { view throws(FileTreeError) in
      guard let directory = view.rootDirectory(name) else { throw .notFound }
      return directory
    }
    if directory.table.objectCount > 0 || !tree.namespace.overlay.isEmpty(directory.inode) {
      throw .refused(.notEmpty, "the class has objects")
    }
    if !directory.table.columns.isEmpty { throw Self.hasProperties(directory.shownName) }
    let key = directory.table.key
    try tree.saves.changeSchema("rmdir", directory.shownName) { transaction throws(FileTreeError) in
      let isEmpty: Bool, isBare: Bool
      do throws(EngineError) {
        let table = try transaction.table(key)
        (isEmpty, isBare) = (table.objectCount == 0, table.columns.isEmpty)
        if isEmpty, isBare { try transaction.removeTable(key) }
      } catch {
        if error.reason == .badSchema { throw .refused(.forbidden, error.description) }
        if error.reason == .notFound { throw .notFound }
        throw FileTreeError(error)
      }
      // An object may have been added while this thread waited for the writer lock.
      if !isEmpty { throw .refused(.notEmpty, "the class has objects") }
      if !isBare { throw Self.hasProperties(directory.shownName) }
      return Effect(touched: nil)
    }
    tree.namespace.overlay.remove(directory.inode)
  }

  private static func hasProperties(_ name: String) -> FileTreeError {
    .refused(
      .forbidden,
      "class \(name) has properties, which rmdir does not remove; to remove the class, write .realm/schema.json "
        + "without it, or run 'realmfs class rm'"
    )
  }
}
