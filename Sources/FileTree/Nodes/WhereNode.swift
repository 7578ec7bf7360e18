// `.where/QUERY`: the objects that a query finds, under their own names and inode numbers. Opening the directory runs
// the query; a lookup evaluates it for one object only.

import RealmJSON
import RealmNames
import RealmPages

/// The directory `.where`: each valid query is an entry. None are listed.
struct WhereNode: ShortDirectoryNode {
  let inode: InodeNumber
  let selection: ObjectSelection

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try selection.directoryAttributes(inode, tree)
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    tree.namespace.shownPath(of: selection) + "/.where"
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let found = selection.adding(.query(name))
    try found.check(tree)
    return try tree.namespace.enter(found.identity(of: SelectionNode.self)) {
      SelectionNode(inode: $0, selection: found)
    }
  }

  func entries(_ tree: TreeContext) -> [ListedEntry] { [] }
}

/// The directory of the objects of a selection.
struct SelectionNode: DirectoryNode {
  let inode: InodeNumber
  let selection: ObjectSelection

  private static let notForNewFiles = FileTreeError.refused(
    .forbidden,
    "this directory shows what a query finds; objects are created, renamed and removed in the directory of their class"
  )

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try selection.directoryAttributes(inode, tree)
  }

  func extendedAttributes(_ tree: TreeContext) throws(FileTreeError) -> [ExtendedAttribute] {
    try tree.read { view throws(FileTreeError) in
      [try view.existing(selection.ordinal).classAttribute, view.versionAttribute]
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { tree.namespace.shownPath(of: selection) }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    if let entry = try DotNames.lookUp(name, selection, tree) { return entry }
    return try tree.namespace.lookUpObject(selection.ordinal) { view, directory throws(FileTreeError) in
      guard let key = try tree.namespace.object(named: name, in: directory),
        try selection.contains(key, directory, view, tree)
      else { return nil }
      return key
    }.uncached
  }

  func openDirectory(_ tree: TreeContext) throws(FileTreeError) -> DirectoryStream {
    do { return DirectoryStream(self, found: .objects(try selection.keys(tree))) } catch {
      selection.note(error, tree)
      throw error
    }
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    try listObjects(stream, selection.ordinal, from: position, into: &sink, dotNames: selection, tree) {
      _,
      directory,
      key in
      (tree.views.number(directory, key), .file)
    }
  }

  // MARK: changes

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    throw Self.notForNewFiles
  }

  func unlink(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.namespace.hasEntry(name, self) else { throw .notFound }
    throw Self.notForNewFiles
  }
}

extension DirectoryNode {
  /// Lists the objects found when the directory was opened. `entry` returns the inode number and kind of each, and may
  /// change its name.
  func listObjects<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    _ ordinal: TableOrdinal,
    from position: UInt64,
    into sink: inout Sink,
    dotNames selection: ObjectSelection? = nil,
    _ tree: TreeContext,
    _ entry: (OutputBuffer, TableDirectory, ObjKey) throws(FileTreeError) -> (InodeNumber, NodeKind)
  ) throws(FileTreeError) {
    guard case .objects(let keys) = stream.found else { return }
    do throws(FileTreeError) {
      try tree.read { view throws(FileTreeError) in
        let directory = try view.existing(ordinal)
        var listing = ShortListing(of: inode, in: inode, from: position, into: &sink)
        try view.contexts.lend { context throws(FileTreeError) in
          let cursor = ObjectCursor(directory.table)
          var index = max(0, Int(clamping: position) - Int(DirectoryStream.Position.afterDotDot))
          while index < keys.count, !listing.isFull {
            let exists: Bool
            do throws(EngineError) {
              exists = try cursor.seek(keys[index])
              if exists { try directory.name(of: cursor, into: context.name) }
            } catch { throw .damaged(directory.shownName, error) }
            // Objects deleted since then have no names.
            if exists {
              let (number, kind) = try entry(context.name, directory, keys[index])
              listing.add(context.name.bytes, number, kind, index: index, to: &sink)
            }
            index += 1
          }
        }
        if let selection { DotNames.list(selection, tree, into: &listing, &sink) }
      }
    } catch {
      sink.reset()
      throw error
    }
  }
}

extension ObjectSelection {
  /// The attributes of a directory computed from the objects of the selection.
  func directoryAttributes(_ inode: InodeNumber, _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      view.rules.directory(inode, subdirectories: 0, try view.existing(ordinal).stamp.touched).uncached
    }
  }

  /// Checks the newest condition of the selection; throws and records its error.
  func check(_ tree: TreeContext) throws(FileTreeError) {
    do {
      try tree.read { view throws(FileTreeError) in
        let directory = try view.existing(ordinal)
        _ = try query(directory.table, view.snapshot, directory.shownName)
      }
    } catch {
      note(error, tree)
      throw error
    }
  }

  /// Records why the selection cannot be shown. It has no file that could have the reason as an attribute, so the
  /// reason is recorded for its class.
  func note(_ error: FileTreeError, _ tree: TreeContext) {
    guard case .refused = error else { return }
    tree.drafts.refusals.note(
      tree.namespace.shownPath(of: self),
      "query",
      Reason(error, of: nil),
      attributedTo: tree.namespace.shownPath(of: ordinal)
    )
  }
}
