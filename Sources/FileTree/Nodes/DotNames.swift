// The entries of a class directory or query result besides its objects. Their names begin with a dot, which no object
// name does. They can always be looked up, but are listed only with `-o show_control`. A new entry needs one line in
// `entries`.

import RealmPages

/// The dot entries of directories of objects.
enum DotNames {
  private struct Entry: Sendable {
    let name: StaticString
    let kind: NodeKind
    /// True if the entry exists only in the directory of a complete class.
    var isOfClass = false
    let make: @Sendable (InodeNumber, ObjectSelection) -> any Node

    func identity(in selection: ObjectSelection) -> NodeIdentity {
      selection.identity(of: SelectionNode.self, Array(name.description.utf8))
    }
  }

  private static let entries: [Entry] = [
    Entry(name: ".where", kind: .directory) { WhereNode(inode: $0, selection: $1) },
    Entry(name: ".by", kind: .directory) { ByNode(inode: $0, selection: $1) },
    Entry(name: ".count", kind: .file) { CountNode(inode: $0, selection: $1) },
    Entry(name: ".all.jsonl", kind: .file) { AllObjectsNode(inode: $0, selection: $1, form: .jsonl) },
    Entry(name: ".all.csv", kind: .file) { AllObjectsNode(inode: $0, selection: $1, form: .csv) },
    Entry(name: ".fields", kind: .directory, isOfClass: true) { FieldsNode(inode: $0, ordinal: $1.ordinal) },
  ]

  private static func entry(_ name: [UInt8], _ selection: ObjectSelection) -> Entry? {
    guard name.first == UInt8(ascii: ".") else { return nil }
    return entries.first {
      $0.name.description.utf8.elementsEqual(name) && (!$0.isOfClass || selection.conditions.isEmpty)
    }
  }

  /// The attributes of the entry called `name`; nil if there is none. Counts as a kernel lookup.
  static func lookUp(
    _ name: [UInt8],
    _ selection: ObjectSelection,
    _ tree: TreeContext
  ) throws(FileTreeError) -> FileAttributes? {
    guard let entry = entry(name, selection) else { return nil }
    return try tree.namespace.enter(entry.identity(in: selection)) { entry.make($0, selection) }
  }

  /// The node of the entry called `name`, under an inode number that the kernel may not know; nil if there is none.
  static func node(_ name: [UInt8], _ selection: ObjectSelection, _ tree: TreeContext) -> (any Node)? {
    entry(name, selection).map { $0.make(tree.namespace.nodes.number(of: $0.identity(in: selection)), selection) }
  }

  /// Adds the entries to a listing, after all other entries.
  static func list<Sink: DirectorySink>(
    _ selection: ObjectSelection,
    _ tree: TreeContext,
    into listing: inout ShortListing<Sink>,
    _ sink: inout Sink
  ) {
    guard tree.options.showControl else { return }
    // Query results list only files: nested .by directories would never end for programs that walk the tree.
    for (index, entry) in entries.enumerated() where entry.kind == .file || selection.conditions.isEmpty {
      let inode = tree.namespace.nodes.number(of: entry.identity(in: selection))
      listing.addLast(entry.name.description.utf8, inode, entry.kind, index: index, to: &sink)
    }
  }
}

extension FileAttributes {
  /// A copy that the kernel must not cache, for nodes whose changes by commits are not announced.
  var uncached: FileAttributes {
    var attributes = self
    attributes.isCacheable = false
    return attributes
  }
}
