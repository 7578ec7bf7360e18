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
    try tree.directoryAttributes(inode, selection)
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { tree.shownPath(of: selection) + "/.where" }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let found = selection.adding(.query(name))
    try tree.check(found)
    return try tree.enter(found.identity(of: SelectionNode.self)) { SelectionNode(inode: $0, selection: found) }
  }

  func entries(_ tree: TreeContext) -> [ListedEntry] { [] }
}

/// The directory of the objects of a selection.
struct SelectionNode: DirectoryNode {
  let inode: InodeNumber
  let selection: ObjectSelection

  private static let isNoHome = FileTreeError.refused(
    .forbidden,
    "this directory shows what a query finds; objects are created, renamed and removed in the directory of their class"
  )

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.directoryAttributes(inode, selection)
  }

  func extendedAttributes(_ tree: TreeContext) throws(FileTreeError) -> [ExtendedAttribute] {
    try tree.read { view throws(FileTreeError) in
      [try view.existing(selection.ordinal).classAttribute, view.versionAttribute]
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { tree.shownPath(of: selection) }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    if let entry = try DotNames.lookUp(name, selection, tree) { return entry }
    return try tree.lookUpObject(selection.ordinal) { view, directory throws(FileTreeError) in
      guard let key = try tree.object(named: name, in: directory),
        try selection.contains(key, directory, view, tree)
      else { return nil }
      return key
    }.uncached
  }

  func openDirectory(_ tree: TreeContext) throws(FileTreeError) -> DirectoryStream {
    do throws(FileTreeError) { return DirectoryStream(self, found: .objects(try selection.keys(tree))) } catch {
      tree.note(error, selection)
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
    try tree.listObjects(stream, selection.ordinal, inode, from: position, into: &sink, dotNames: selection) {
      _,
      directory,
      key in
      (tree.number(directory, key), .file)
    }
  }

  // MARK: changes

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    throw Self.isNoHome
  }

  func unlink(_ name: [UInt8], by caller: Caller, _ tree: TreeContext) throws(FileTreeError) {
    guard try tree.hasEntry(name, self) else { throw .notFound }
    throw Self.isNoHome
  }
}

extension TreeContext {
  /// Lists the objects found when the directory was opened. `entry` returns the inode number and kind of each, and may
  /// change its name.
  func listObjects<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    _ ordinal: TableOrdinal,
    _ inode: InodeNumber,
    from position: UInt64,
    into sink: inout Sink,
    dotNames selection: ObjectSelection? = nil,
    _ entry: (OutputBuffer, TableDirectory, ObjKey) throws(FileTreeError) -> (InodeNumber, NodeKind)
  ) throws(FileTreeError) {
    guard case .objects(let keys) = stream.found else { return }
    do throws(FileTreeError) {
      try read { view throws(FileTreeError) in
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
            // Objects deleted since then have no name.
            if exists {
              let (number, kind) = try entry(context.name, directory, keys[index])
              listing.add(context.name.bytes, number, kind, index: index, to: &sink)
            }
            index += 1
          }
        }
        if let selection { DotNames.list(selection, self, into: &listing, &sink) }
      }
    } catch {
      sink.reset()
      throw error
    }
  }

  /// The attributes of a directory computed from the objects of a selection.
  func directoryAttributes(_ inode: InodeNumber, _ selection: ObjectSelection) throws(FileTreeError) -> FileAttributes {
    try read { view throws(FileTreeError) in
      view.rules.directory(inode, subdirectories: 0, try view.existing(selection.ordinal).stamp.touched).uncached
    }
  }

  /// Checks the newest condition of a selection; throws and records what is wrong with it.
  func check(_ selection: ObjectSelection) throws(FileTreeError) {
    do throws(FileTreeError) {
      try read { view throws(FileTreeError) in
        let directory = try view.existing(selection.ordinal)
        _ = try selection.query(directory.table, view.snapshot, directory.shownName)
      }
    } catch {
      note(error, selection)
      throw error
    }
  }

  /// Records why a selection cannot be shown. A selection has no file to carry the reason as an attribute, so its class
  /// carries it.
  func note(_ error: FileTreeError, _ selection: ObjectSelection) {
    guard case .refused = error else { return }
    refusals.note(
      shownPath(of: selection),
      "query",
      Reason(error, of: nil),
      attributedTo: shownPath(of: selection.ordinal)
    )
  }
}
