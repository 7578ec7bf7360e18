// Listings of directories with few entries: `.` and `..`, entries with a fixed position, and files in memory. A
// position denotes the point after an entry, so a listing continues correctly even if entries are added or removed
// between calls.

import RealmPages

/// An entry of a short directory.
struct ListedEntry {
  let name: [UInt8]
  let inode: InodeNumber
  let kind: NodeKind
  /// Its position among the entries, unaffected by the addition or removal of others.
  let index: Int
}

/// A directory with few entries, listed without attributes. The entries are computed again for each part of a listing.
protocol ShortDirectoryNode: DirectoryNode {
  /// The inode that `..` refers to; by default the directory itself, for directories whose parent only the kernel
  /// knows.
  func parent(_ tree: TreeContext) -> InodeNumber
  /// The entries except files in memory, by ascending index.
  func entries(_ tree: TreeContext) throws(FileTreeError) -> [ListedEntry]
}

extension ShortDirectoryNode {
  func parent(_ tree: TreeContext) -> InodeNumber { inode }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    var listing = ShortListing(of: inode, in: parent(tree), from: position, into: &sink)
    for entry in try entries(tree) {
      listing.add(entry.name, entry.inode, entry.kind, index: entry.index, to: &sink)
    }
    listing.addFiles(tree.namespace.overlay, to: &sink)
  }
}

/// Adds the entries of a directory after a position to a sink, until one does not fit.
struct ShortListing<Sink: DirectorySink> {
  private let position: UInt64
  private let directory: InodeNumber
  private(set) var isFull = false

  /// Starts a listing with `.` and `..`.
  init(of directory: InodeNumber, in parent: InodeNumber, from position: UInt64, into sink: inout Sink) {
    self.position = position
    self.directory = directory
    sink.reset()
    add(".", directory, .directory, nil, next: DirectoryStream.Position.afterDot, to: &sink)
    add("..", parent, .directory, nil, next: DirectoryStream.Position.afterDotDot, to: &sink)
  }

  /// Adds an entry, the `index`th of the directory, unless it is before the position or the sink is full.
  mutating func add(
    _ name: some Sequence<UInt8>,
    _ inode: InodeNumber,
    _ kind: NodeKind,
    index: Int,
    to sink: inout Sink,
    _ attributes: () throws(FileTreeError) -> FileAttributes?
  ) throws(FileTreeError) {
    let next = DirectoryStream.Position.afterDotDot + UInt64(index) + 1
    if isFull || next <= position { return }
    add(name, inode, kind, try attributes(), next: next, to: &sink)
  }

  /// Adds an entry without attributes.
  mutating func add(
    _ name: some Sequence<UInt8>,
    _ inode: InodeNumber,
    _ kind: NodeKind,
    index: Int,
    to sink: inout Sink
  ) {
    let next = DirectoryStream.Position.afterDotDot + UInt64(index) + 1
    if isFull || next <= position { return }
    add(name, inode, kind, nil, next: next, to: &sink)
  }

  /// Adds an entry after all others; `index` is its position among these last entries.
  mutating func addLast(
    _ name: some Sequence<UInt8>,
    _ inode: InodeNumber,
    _ kind: NodeKind,
    index: Int,
    to sink: inout Sink
  ) {
    add(name, inode, kind, nil, next: DirectoryStream.Position.afterAll + UInt64(index), to: &sink)
  }

  /// The number of entries that fit into a typical reply.
  private static var filesAtOnce: Int { 256 }

  /// Adds the directory's in-memory files.
  mutating func addFiles(_ overlay: Overlay, to sink: inout Sink) {
    var last = DirectoryStream.Position.memory(position) ?? 0
    while !isFull {
      let files = overlay.files(in: directory, after: last, limit: Self.filesAtOnce)
      for (name, file) in files {
        add(name, file.inode, .file, nil, next: DirectoryStream.Position.after(memory: file.inode), to: &sink)
      }
      guard files.count == Self.filesAtOnce, let file = files.last?.file else { return }
      last = file.inode.value
    }
  }

  private mutating func add(
    _ name: some Sequence<UInt8>,
    _ inode: InodeNumber,
    _ kind: NodeKind,
    _ attributes: FileAttributes?,
    next: UInt64,
    to sink: inout Sink
  ) {
    if isFull || next <= position { return }
    let terminated = Array(name) + [0]
    isFull = unsafe !sink.add(terminated.span.bytes.extracting(droppingLast: 1), inode, kind, attributes, next: next)
  }
}

extension ShortListing {
  private mutating func add(
    _ name: StaticString,
    _ inode: InodeNumber,
    _ kind: NodeKind,
    _ attributes: FileAttributes?,
    next: UInt64,
    to sink: inout Sink
  ) {
    add(name.description.utf8, inode, kind, attributes, next: next, to: &sink)
  }
}
