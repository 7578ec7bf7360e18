// `.realm`: what is told about the realm itself. Its files are made when they are asked for, once a version, so
// their sizes are exact too.

import RealmJSON
import RealmNames
import RealmPages
import Synchronization

extension TreeNode.Fixed {
  /// The entries of `.realm`, in the order in which they are listed.
  static let controlEntries: [TreeNode.Fixed] = [
    .readme, .version, .info, .stats, .schema, .schemaDirectory, .tablesDirectory,
  ]
  /// Further entries of a tree that can be changed.
  static let writableEntries: [TreeNode.Fixed] = [.errors, .rejected, .compact]

  /// The name in the directory that holds it.
  var name: StaticString {
    switch self {
    case .root: ""
    case .control: ".realm"
    case .readme: "README"
    case .version: "version"
    case .info: "info.json"
    case .stats: "stats.json"
    case .schema: "schema.json"
    case .schemaDirectory: "schema"
    case .tablesDirectory: "tables"
    case .errors: "errors"
    case .rejected: "rejected"
    case .compact: "compact"
    }
  }

  var isDirectory: Bool {
    switch self {
    case .root, .control, .schemaDirectory, .tablesDirectory, .rejected: true
    case .readme, .version, .info, .stats, .schema, .errors, .compact: false
    }
  }

  /// The directory that holds it; the root holds itself.
  var parent: TreeNode.Fixed {
    switch self {
    case .root, .control: .root
    default: .control
    }
  }

  var inode: InodeNumber { InodeNumber(rawValue) }

  func isNamed(_ name: [UInt8]) -> Bool { self.name.withUTF8Buffer { $0.elementsEqual(name) } }
}

extension FileTree {
  // MARK: names and attributes

  func lookup(_ parent: TreeNode.Fixed, _ name: [UInt8]) throws(FileTreeError) -> FileAttributes {
    try read { view throws(FileTreeError) in
      switch parent {
      case .root:
        if TreeNode.Fixed.control.isNamed(name) { return try self.attributes(.control, view) }
        guard let directory = view.rootDirectory(name) else { throw .notFound }
        return view.attributes(of: directory)
      case .control:
        guard let entry = self.fixedEntries(.control).first(where: { $0.isNamed(name) }) else { throw .notFound }
        return try self.attributes(entry, view)
      case .schemaDirectory:
        guard let directory = view.schemaFile(name) else { throw .notFound }
        return try self.attributes(ofSchema: directory, view)
      case .tablesDirectory:
        guard let directory = view.internalDirectory(name) else { throw .notFound }
        return view.attributes(of: directory)
      case .rejected:
        guard let directory = self.refusedDirectories(view).first(where: { $0.name == name }) else { throw .notFound }
        return view.rules.directory(directory.rejectedInode, subdirectories: 0, view.modified)
      case .readme, .version, .info, .stats, .schema, .errors, .compact: throw .notADirectory
      }
    }
  }

  func attributes(_ node: TreeNode.Fixed, _ view: VersionView) throws(FileTreeError) -> FileAttributes {
    let subdirectories: Int
    switch node {
    case .root: subdirectories = view.rootDirectoryCount
    case .control: subdirectories = saver == nil ? 2 : 3
    case .rejected: subdirectories = refusedDirectories(view).count
    case .errors:
      var attributes = view.rules.file(node.inode, size: refusals.text.count, view.modified)
      attributes.isCacheable = false
      return attributes
    case .schemaDirectory: subdirectories = 0
    case .tablesDirectory: subdirectories = view.internalDirectoryCount
    case .readme, .version, .info, .stats, .schema, .compact:
      return view.rules.file(node.inode, size: try text(of: node, view).count, view.modified)
    }
    return view.rules.directory(node.inode, subdirectories: subdirectories, view.modified)
  }

  func attributes(ofSchema directory: TableDirectory, _ view: VersionView) throws(FileTreeError) -> FileAttributes {
    view.rules.file(
      directory.schemaInode,
      size: try text(ofSchema: directory, view).count,
      directory.stamp.modified
    )
  }

  // MARK: listings

  /// Lists a directory that is not a table's. Such directories are short; a position is 3 and the index of a fixed
  /// entry, or beyond these, the ordinal of a table.
  func list<Sink: DirectorySink>(
    _ node: TreeNode.Fixed,
    from position: UInt64,
    attributes: Bool,
    into sink: inout Sink
  ) throws(FileTreeError) {
    let firstEntry = DirectoryStream.Position.afterDotDot
    let firstTable = firstEntry + UInt64(fixedEntries(.control).count)
    try read { view throws(FileTreeError) in
      sink.reset()
      guard Self.addDots(node.inode, node.parent, from: position, into: &sink) else { return }
      for (index, entry) in self.fixedEntries(node).enumerated() {
        let place = firstEntry + UInt64(index)
        if place < position { continue }
        // Statistics cost a walk through the file, which a listing does not need.
        let shown = attributes && entry != .stats ? try self.attributes(entry, view) : nil
        let kind: NodeKind = entry.isDirectory ? .directory : .file
        guard Self.add(entry.name, entry.inode, kind, shown, next: place + 1, to: &sink) else { return }
      }
      for directory in view.directories {
        let place = firstTable + UInt64(directory.ordinal)
        if place < position { continue }
        guard try self.add(directory, in: node, attributes, next: place + 1, view, to: &sink) else { return }
      }
      _ = self.addMemory(node.inode, from: position, into: &sink)
    }
  }

  /// The classes of which a text was refused.
  private func refusedDirectories(_ view: VersionView) -> [TableDirectory] {
    view.directories.filter { overlay.hasFiles($0.rejectedInode) }
  }

  private func fixedEntries(_ node: TreeNode.Fixed) -> [TreeNode.Fixed] {
    switch node {
    case .root: options.showControl ? [.control] : []
    case .control: TreeNode.Fixed.controlEntries + (saver == nil ? [] : TreeNode.Fixed.writableEntries)
    default: []
    }
  }

  /// Adds what a fixed directory shows of a table, if anything; false if it does not fit.
  private func add<Sink: DirectorySink>(
    _ directory: TableDirectory,
    in node: TreeNode.Fixed,
    _ attributes: Bool,
    next: UInt64,
    _ view: VersionView,
    to sink: inout Sink
  ) throws(FileTreeError) -> Bool {
    switch (node, directory.place) {
    case (.root, .root), (.tablesDirectory, .tables):
      let shown = attributes ? view.attributes(of: directory) : nil
      return Self.add(directory.name, directory.inode, .directory, shown, next: next, to: &sink)
    case (.rejected, .root):
      if !overlay.hasFiles(directory.rejectedInode) { return true }
      return Self.add(directory.name, directory.rejectedInode, .directory, nil, next: next, to: &sink)
    case (.schemaDirectory, .root), (.schemaDirectory, .nowhere):
      let shown = attributes ? try self.attributes(ofSchema: directory, view) : nil
      return Self.add(
        directory.name + NameEscaping.suffix.utf8,
        directory.schemaInode,
        .file,
        shown,
        next: next,
        to: &sink
      )
    default: return true
    }
  }

  // MARK: texts

  /// The text of a control file.
  func text(of node: TreeNode.Fixed, _ view: VersionView) throws(FileTreeError) -> [UInt8] {
    if node == .readme { return Array(ControlTexts.readme(options, isWritable: saver != nil).utf8) }
    if node == .errors { return refusals.text }
    if node == .compact { return Array(ControlTexts.compact.utf8) }
    return try view.controlText(node.inode) { () throws(FileTreeError) in
      switch node {
      case .version: Array("\(view.snapshot.version)\n".utf8)
      case .info: Array(ControlTexts.info(view, self.realm, self.options).utf8)
      case .stats: Array(try ControlTexts.statistics(view, self.statistics).utf8)
      case .schema:
        try Self.rendered("schema") { out throws(RenderError) in
          try SchemaRenderer.render(view.snapshot, into: out)
        }
      default: throw .isADirectory
      }
    }
  }

  /// The text of a file under `.realm/schema`.
  func text(ofSchema directory: TableDirectory, _ view: VersionView) throws(FileTreeError) -> [UInt8] {
    try view.controlText(directory.schemaInode) { () throws(FileTreeError) in
      try Self.rendered("schema of \(directory.shownName)") { out throws(RenderError) in
        try SchemaRenderer.render(directory.table, of: view.snapshot, into: out)
      }
    }
  }

  private static func rendered(
    _ place: String,
    _ render: (OutputBuffer) throws(RenderError) -> Void
  ) throws(FileTreeError) -> [UInt8] {
    let out = OutputBuffer()
    do { try render(out) } catch { throw .damaged(place: place, problem: error.description) }
    return out.bytes
  }
}

extension TableDirectory {
  /// The inode of the directory under `.realm/rejected`.
  var rejectedInode: InodeNumber { InodeNumber(spelling: .rejectedDirectory(ordinal)) ?? .root }

  /// The inode of the file under `.realm/schema`.
  var schemaInode: InodeNumber { InodeNumber(spelling: .schemaFile(ordinal)) ?? .root }
}

extension VersionView {
  /// The class whose schema file has this name.
  func schemaFile(_ name: [UInt8]) -> TableDirectory? {
    let suffix = Array(NameEscaping.suffix.utf8)
    guard name.count > suffix.count, name.suffix(suffix.count) == suffix[...] else { return nil }
    return classDirectory(Array(name.dropLast(suffix.count)))
  }

  /// The control text of `inode`, made at the first call.
  func controlText(
    _ inode: InodeNumber,
    _ make: () throws(FileTreeError) -> [UInt8]
  ) throws(FileTreeError) -> [UInt8] {
    if let text = controlTexts.withLock({ $0[inode] }) { return text }
    let text = try make()
    controlTexts.withLock { $0[inode] = text }
    return text
  }
}
