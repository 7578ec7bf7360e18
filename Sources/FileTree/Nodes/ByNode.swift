// `.by/PROPERTY/VALUE`: objects by the value of a property. Opening the directory of a property collects its values.

import RealmJSON
import RealmNames
import RealmPages

/// The directory `.by`: the properties whose values can be file names.
struct ByNode: ShortDirectoryNode {
  let inode: InodeNumber
  let selection: ObjectSelection

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try selection.directoryAttributes(inode, tree)
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    tree.namespace.shownPath(of: selection) + "/.by"
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      _ = try ObjectSelection.property(name, try view.existing(selection.ordinal).table, view.snapshot)
    }
    return try tree.namespace.enter(selection.identity(of: ValuesNode.self, name)) {
      ValuesNode(inode: $0, selection: selection, property: name)
    }
  }

  func entries(_ tree: TreeContext) throws(FileTreeError) -> [ListedEntry] {
    try tree.read { view throws(FileTreeError) in
      let table = try view.existing(selection.ordinal).table
      var entries: [ListedEntry] = []
      for (index, column) in table.columns.enumerated() {
        let name = Array(NameEscaping.directory(of: column.name).utf8)
        do throws(FileTreeError) { _ = try ObjectSelection.property(name, table, view.snapshot) } catch {
          guard case .notFound = error else { throw error }
          continue
        }
        let number = tree.namespace.nodes.number(of: selection.identity(of: ValuesNode.self, name))
        entries.append(ListedEntry(name: name, inode: number, kind: .directory, index: index))
      }
      return entries
    }
  }
}

/// The directory of a property, with one entry per value.
struct ValuesNode: DirectoryNode {
  let inode: InodeNumber
  let selection: ObjectSelection
  /// The escaped name.
  let property: [UInt8]

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try selection.directoryAttributes(inode, tree)
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    tree.namespace.shownPath(of: selection) + "/.by/" + String(decoding: property, as: UTF8.self)
  }

  private func selection(of value: [UInt8]) -> ObjectSelection {
    selection.adding(.value(property: property, value))
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    let found = selection(of: name)
    try found.check(tree)
    return try tree.namespace.enter(found.identity(of: SelectionNode.self)) {
      SelectionNode(inode: $0, selection: found)
    }
  }

  func openDirectory(_ tree: TreeContext) throws(FileTreeError) -> DirectoryStream {
    let names = try tree.selections.holding(selection.ordinal) { snapshot, table, name throws(FileTreeError) in
      let column = try ObjectSelection.property(property, table, snapshot)
      let keys = try selection.keys(table, snapshot, name, tree.options)
      return try PropertyValues(column, table, snapshot).names(of: keys, until: tree.options.queryDeadline)
    }
    return DirectoryStream(self, found: .names(names))
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    guard case .names(let names) = stream.found else { return }
    var listing = ShortListing(of: inode, in: inode, from: position, into: &sink)
    var index = max(0, Int(clamping: position) - Int(DirectoryStream.Position.afterDotDot))
    while index < names.count, !listing.isFull {
      let number = tree.namespace.nodes.number(of: selection(of: names[index]).identity(of: SelectionNode.self))
      listing.add(names[index], number, .directory, index: index, to: &sink)
      index += 1
    }
  }
}
