// What a class directory, and a directory of objects that a query finds, have besides the objects: names that begin
// with a dot, which no object has. They are found when they are named, and listed with `-o show_control` only. A
// further one is one line in `entries`.

import RealmPages

/// The names with a dot of directories of objects.
enum DotNames {
  private struct Entry: Sendable {
    let name: StaticString
    let kind: NodeKind
    /// Whether only the directory of a whole class has it.
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

  /// The attributes of the entry called `name`, which the kernel then knows; nil if there is none.
  static func lookUp(
    _ name: [UInt8],
    _ selection: ObjectSelection,
    _ tree: TreeContext
  ) throws(FileTreeError) -> FileAttributes? {
    guard let entry = entry(name, selection) else { return nil }
    return try tree.enter(entry.identity(in: selection)) { entry.make($0, selection) }
  }

  /// The node of the entry called `name`, under a number that the kernel may not know; nil if there is none.
  static func node(_ name: [UInt8], _ selection: ObjectSelection, _ tree: TreeContext) -> (any Node)? {
    entry(name, selection).map { $0.make(tree.nodes.number(of: $0.identity(in: selection)), selection) }
  }

  /// Adds the entries to a listing, behind all others.
  static func list<Sink: DirectorySink>(
    _ selection: ObjectSelection,
    _ tree: TreeContext,
    into listing: inout ShortListing<Sink>,
    _ sink: inout Sink
  ) {
    guard tree.options.showControl else { return }
    // In what a query finds, only files: .by in .by in .by would never end for programs that walk through all of it.
    for (index, entry) in entries.enumerated() where entry.kind == .file || selection.conditions.isEmpty {
      let inode = tree.nodes.number(of: entry.identity(in: selection))
      listing.addLast(entry.name.description.utf8, inode, entry.kind, index: index, to: &sink)
    }
  }
}

extension TreeContext {
  /// The attributes of a node that the kernel asked for by name. It is there as long as the kernel remembers it.
  func enter(
    _ identity: NodeIdentity,
    isNamedByText: Bool = true,
    _ make: (InodeNumber) -> any Node
  ) throws(FileTreeError) -> FileAttributes {
    let inode = nodes.enter(identity, isNamedByText: isNamedByText, make)
    do throws(FileTreeError) { return try node(inode).entryAttributes(self).uncached } catch {
      nodes.forget(inode, lookups: 1)
      throw error
    }
  }
}

extension FileAttributes {
  /// The same, to be asked for again each time: for what changes with commits that are not announced for it.
  var uncached: FileAttributes {
    var attributes = self
    attributes.isCacheable = false
    return attributes
  }
}
