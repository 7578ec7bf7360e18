// Links between objects as symbolic links, with relative paths to the files of the target objects: a link property, the
// elements of a list or set of links, and `.backlinks` for the reverse direction.

import RealmJSON
import RealmNames
import RealmPages

/// A link property, or an element of a list or set of links.
struct FieldLinkNode: SymbolicLinkNode {
  let inode: InodeNumber
  let place: FieldPlace
  /// The index of the element; nil for a single link.
  let index: Int?

  private func destination(_ view: VersionView, _ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    try place.read(view) { directory, cursor, _ throws(FileTreeError) in
      var link = try place.value(directory, cursor).1
      if let index {
        guard let element = try link.element(index, directory) else { throw .stale }
        link = element
      }
      guard case .link(let table, let key) = link, key.value >= 0 else { throw .stale }
      return try tree.namespace.relativePath(table, key, up: index == nil ? 3 : 4, view)
    }
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      view.rules.symbolicLink(inode, size: try destination(view, tree).count, view.modified)
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    let path = try place.shownPath(tree)
    return index.map { "\(path)/\($0)" } ?? path
  }

  func destination(_ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    try tree.read { view throws(FileTreeError) in try destination(view, tree) }
  }
}

/// A list or set of links, with the entries `0`, `1` and so on.
struct FieldLinksNode: DirectoryNode {
  let inode: InodeNumber
  let place: FieldPlace

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      try place.read(view) { directory, _, _ in view.attributes(of: inode, ofObject: place, directory, tree) }
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { try place.shownPath(tree) }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    guard let index = Int(String(decoding: name, as: UTF8.self)), Array(String(index).utf8) == name, index >= 0 else {
      throw .notFound
    }
    do {
      return try tree.namespace.enter(place.identity(of: FieldLinkNode.self, name)) {
        FieldLinkNode(inode: $0, place: place, index: index)
      }
    } catch {
      throw if case .stale = error { FileTreeError.notFound } else { error }
    }
  }

  func list<Sink: DirectorySink>(
    _ stream: DirectoryStream,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink,
    _ tree: TreeContext
  ) throws(FileTreeError) {
    try tree.read { view throws(FileTreeError) in
      let count = try place.read(view) { directory, cursor, _ throws(FileTreeError) in
        switch try place.value(directory, cursor).1 {
        case .list(let list), .set(let list): list.count
        default: 0
        }
      }
      var listing = ShortListing(of: inode, in: inode, from: position, into: &sink)
      var index = max(0, Int(clamping: position) - Int(DirectoryStream.Position.afterDotDot))
      while index < count, !listing.isFull {
        let name = Array(String(index).utf8)
        let number = tree.namespace.nodes.number(of: place.identity(of: FieldLinkNode.self, name))
        listing.add(name, number, .symbolicLink, index: index, to: &sink)
        index += 1
      }
    }
  }

  func draftTarget(of name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> (any DraftTarget)? {
    throw .refused(.forbidden, "links are set in the file of the object")
  }
}

// MARK: backlinks

/// `.backlinks`: the properties that link to objects of this class.
struct BacklinksNode: ShortDirectoryNode {
  let inode: InodeNumber
  let object: FieldPlace

  /// A property that links to this class.
  struct Source: Sendable {
    /// `CLASS.PROPERTY`, with `%2E` for a dot in either name.
    let name: [UInt8]
    let table: TableKey
    let column: ColKey
  }

  static func sources(_ directory: TableDirectory, _ view: VersionView) -> [Source] {
    directory.table.linkSources.compactMap { source in
      guard let origin = view.directory(of: source.table)?.table, let className = origin.className,
        let column = origin.columns.first(where: { $0.key == source.column })
      else { return nil }
      let parts = [className, column.name].map { part in
        Array(NameEscaping.directory(of: part).utf8).flatMap { $0 == 0x2E ? Array("%2E".utf8) : [$0] }
      }
      return Source(name: parts[0] + [0x2E] + parts[1], table: source.table, column: source.column)
    }
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      try object.read(view) { directory, _, _ in view.attributes(of: inode, ofObject: object, directory, tree) }
    }
  }

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? { try object.shownPath(tree) + "/.backlinks" }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      let sources = Self.sources(try view.existing(object.ordinal), view)
      guard sources.contains(where: { $0.name == name }) else { throw .notFound }
    }
    return try tree.namespace.enter(object.identity(of: BacklinkSourceNode.self, name)) {
      BacklinkSourceNode(inode: $0, object: object, source: name)
    }
  }

  func entries(_ tree: TreeContext) throws(FileTreeError) -> [ListedEntry] {
    try tree.read { view throws(FileTreeError) in
      Self.sources(try view.existing(object.ordinal), view).enumerated().map { index, source in
        let number = tree.namespace.nodes.number(of: object.identity(of: BacklinkSourceNode.self, source.name))
        return ListedEntry(name: source.name, inode: number, kind: .directory, index: index)
      }
    }
  }
}

/// The objects with links to this object in one property, each once, by file name. An embedded object is represented by
/// its owner.
struct BacklinkSourceNode: ShortDirectoryNode {
  let inode: InodeNumber
  let object: FieldPlace
  let source: [UInt8]

  func shownPath(_ tree: TreeContext) throws(FileTreeError) -> String? {
    try object.shownPath(tree) + "/.backlinks/" + String(decoding: source, as: UTF8.self)
  }

  /// The objects that the entries link to.
  private func origins(
    _ view: VersionView,
    _ tree: TreeContext
  ) throws(FileTreeError) -> [(name: [UInt8], table: TableKey, key: ObjKey)] {
    try object.read(view) { directory, cursor, _ throws(FileTreeError) in
      guard let source = BacklinksNode.sources(directory, view).first(where: { $0.name == source }) else {
        throw .stale
      }
      let found: [ObjectReference]
      do throws(EngineError) {
        var owners = OwnerSearch(view)
        found = try owners.owners(of: try cursor.origins(from: source.table, source.column), source.table)
      } catch { throw .damaged(directory.shownName, error) }
      var origins: [(name: [UInt8], table: TableKey, key: ObjKey)] = []
      var names: Set<[UInt8]> = []
      for origin in found {
        guard let home = view.directory(of: origin.table) else { continue }
        var name = try tree.namespace.name(of: origin.key, in: home)
        // Embedded objects can have owners of different classes with the same file name.
        if !names.insert(name).inserted { name = Array("\(home.shownName).".utf8) + name }
        origins.append((name, origin.table, origin.key))
      }
      return origins
    }
  }

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      try object.read(view) { directory, _, _ in view.attributes(of: inode, ofObject: object, directory, tree) }
    }
  }

  /// The destination of the link called `name`.
  fileprivate func destination(
    _ name: [UInt8],
    _ view: VersionView,
    _ tree: TreeContext
  ) throws(FileTreeError) -> [UInt8] {
    guard let origin = try origins(view, tree).first(where: { $0.name == name }) else { throw .notFound }
    return try tree.namespace.relativePath(origin.table, origin.key, up: 5, view)
  }

  func lookUp(_ name: [UInt8], _ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.namespace.enter(object.identity(of: BacklinkNode.self, source + [0] + name)) {
      BacklinkNode(inode: $0, source: self, name: name)
    }
  }

  func entries(_ tree: TreeContext) throws(FileTreeError) -> [ListedEntry] {
    try tree.read { view throws(FileTreeError) in
      try origins(view, tree).enumerated().map { index, origin in
        let number = tree.namespace.nodes.number(of: object.identity(of: BacklinkNode.self, source + [0] + origin.name))
        return ListedEntry(name: origin.name, inode: number, kind: .symbolicLink, index: index)
      }
    }
  }
}

/// A symbolic link to an object that links to this one.
struct BacklinkNode: SymbolicLinkNode {
  let inode: InodeNumber
  let source: BacklinkSourceNode
  let name: [UInt8]

  func attributes(_ tree: TreeContext) throws(FileTreeError) -> FileAttributes {
    try tree.read { view throws(FileTreeError) in
      view.rules.symbolicLink(inode, size: try source.destination(name, view, tree).count, view.modified)
    }
  }

  func destination(_ tree: TreeContext) throws(FileTreeError) -> [UInt8] {
    try tree.read { view throws(FileTreeError) in try source.destination(name, view, tree) }
  }
}

/// Finds the owners of embedded objects.
private struct OwnerSearch {
  let view: VersionView
  /// The maximum nesting of embedded objects in a valid file.
  private static let depthLimit = 200

  init(_ view: VersionView) { self.view = view }

  /// The objects themselves or, for embedded objects, their owners; each once, in order.
  mutating func owners(of keys: [ObjKey], _ table: TableKey) throws(EngineError) -> [ObjectReference] {
    var found: [ObjectReference] = [], known: Set<ObjectReference> = []
    for key in keys {
      if let owner = try owner(of: ObjectReference(table: table, key: key), depth: 0), known.insert(owner).inserted {
        found.append(owner)
      }
    }
    return found
  }

  private func owner(of object: ObjectReference, depth: Int) throws(EngineError) -> ObjectReference? {
    guard let table = view.directory(of: object.table)?.table else { return nil }
    if table.kind != .embedded { return object }
    if depth == Self.depthLimit { return nil }
    let cursor = ObjectCursor(table)
    guard try cursor.seek(object.key) else { return nil }
    for source in table.linkSources {
      guard let key = try cursor.origins(from: source.table, source.column).first else { continue }
      return try owner(of: ObjectReference(table: source.table, key: key), depth: depth + 1)
    }
    return nil
  }
}

extension ValueView {
  /// The element of a list or set; nil if there is none.
  fileprivate func element(_ index: Int, _ directory: TableDirectory) throws(FileTreeError) -> ValueView? {
    switch self {
    case .list(var list), .set(var list):
      guard index < list.count else { return nil }
      do { return try list.value(at: index) } catch { throw .damaged(directory.shownName, error) }
    default: return nil
    }
  }
}

extension AccessRules {
  /// The attributes of a symbolic link, which anyone may follow.
  func symbolicLink(_ inode: InodeNumber, size: Int, _ modified: Timestamp) -> FileAttributes {
    FileAttributes(
      inode: inode,
      kind: .symbolicLink,
      permissions: 0o777,
      owner: owner,
      group: group,
      links: 1,
      size: size,
      modifiedSeconds: modified.seconds,
      modifiedNanoseconds: modified.nanoseconds,
      isCacheable: false
    )
  }
}
