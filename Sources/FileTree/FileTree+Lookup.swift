// From names to inodes, and from inodes to attributes.

import RealmJSON
import RealmNames
import RealmPages

extension FileTree {
  /// Refuses names that no directory can have.
  static func checkLength(_ name: [UInt8]) throws(FileTreeError) {
    if name.count > NameEscaping.longestName { throw .refused(.nameTooLong, "a name has at most 255 bytes") }
  }

  /// The attributes of the node called `name` in a directory. The kernel then knows its inode: `forget` takes that
  /// back.
  ///
  /// Renders the object, unless its text is cached, because its size is that of the text.
  ///
  /// - Throws: `notFound`, `notADirectory`, `stale`, `nameTooLong`, and what `open` throws for the directory itself.
  public func lookup(_ parent: InodeNumber, _ name: [UInt8]) throws(FileTreeError) -> FileAttributes {
    try Self.checkLength(name)
    let node = try node(parent)
    if let file = overlay.file(at: Overlay.Place(directory: parent, name: name)) {
      overlay.retain(file.inode)
      return try read { view in view.rules.file(file) }
    }
    switch node {
    case .fixed(let directory): return try lookup(directory, name)
    case .rejectedDirectory: throw .notFound
    case .table(let ordinal):
      let (object, key) = try read { view throws(FileTreeError) in
        let directory = try view.existing(ordinal)
        directory.noteInterest()
        return try self.lookup(name, in: directory, view)
      }
      texts.insert(object.newTexts)
      var attributes = object.attributes
      if attributes.inode.isHashed { attributes.inode = inodes.retain(ordinal, key) }
      return attributes
    case .schemaFile, .object, .memory: throw .notADirectory
    }
  }

  /// The attributes of an inode.
  ///
  /// - Throws: `stale` if the object or class is gone and no handle on it is open.
  public func attributes(_ inode: InodeNumber) throws(FileTreeError) -> FileAttributes {
    switch try node(inode) {
    case .fixed(let fixed): return try read { view throws(FileTreeError) in try self.attributes(fixed, view) }
    case .table(let ordinal):
      return try read { view throws(FileTreeError) in view.attributes(of: try view.existing(ordinal)) }
    case .schemaFile(let ordinal):
      return try read { view throws(FileTreeError) in
        try self.attributes(ofSchema: try view.existing(ordinal), view)
      }
    case .memory:
      let file = try memoryFile(inode)
      let links: UInt32 = overlay.place(of: inode) == nil ? 0 : 1
      return try read { view in view.rules.file(file, links: links) }
    case .rejectedDirectory:
      return try read { view in view.rules.directory(inode, subdirectories: 0, view.modified) }
    case .object(let ordinal, let key):
      do {
        return try attributes(inode, ordinal, key)
      } catch .stale {
        // Like a file that was unlinked while it is open.
        guard let size = openFiles.size(of: inode) else { throw .stale }
        return try read { view in view.rules.file(inode, size: size, view.modified, links: 0) }
      }
    }
  }

  private func attributes(
    _ inode: InodeNumber,
    _ ordinal: TableOrdinal,
    _ key: ObjKey
  ) throws(FileTreeError) -> FileAttributes {
    var object = try read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      directory.noteInterest()
      // The file that became an object goes by another number.
      let inode = self.number(directory, key)
      let (size, newTexts) = try self.size(of: inode, key, directory, view)
      return Found(attributes: view.attributes(of: inode, in: directory, size: size), newTexts: newTexts)
    }
    texts.insert(object.newTexts)
    if saver != nil, let size = openFiles.writtenSize(of: object.attributes.inode) {
      object.attributes.size = size
      object.attributes.isCacheable = false
    }
    if object.attributes.inode != inode { object.attributes.isCacheable = false }
    return object.attributes
  }

  // MARK: objects

  /// The outcome of a read: what to answer, and texts to remember.
  private struct Found {
    var attributes: FileAttributes
    let newTexts: [TextCache.Item]
  }

  private func lookup(
    _ name: [UInt8],
    in directory: TableDirectory,
    _ view: VersionView
  ) throws(FileTreeError) -> (Found, ObjKey) {
    guard let key = try object(named: name, in: directory), !overlay.isAside(key, in: directory.inode) else {
      throw .notFound
    }
    let inode = number(directory, key)
    let (size, newTexts) = try size(of: inode, key, directory, view)
    let attributes = view.attributes(of: inode, in: directory, size: size)
    return (Found(attributes: attributes, newTexts: newTexts), key)
  }

  /// The size of an object's text; 0 if it is damaged, which `open` tells.
  private func size(
    of inode: InodeNumber,
    _ key: ObjKey,
    _ directory: TableDirectory,
    _ view: VersionView
  ) throws(FileTreeError) -> (Int, [TextCache.Item]) {
    if let size = texts.size(of: inode, directory.stamp.generation) { return (size, []) }
    do {
      let text = try text(of: key, directory, view)
      return (text.count, [TextCache.Item(inode: inode, generation: directory.stamp.generation, text: text)])
    } catch .damaged {
      return (0, [])
    }
  }

  /// Renders an object; `stale` if it does not exist, `damaged` if it cannot be read.
  func text(of key: ObjKey, _ directory: TableDirectory, _ view: VersionView) throws(FileTreeError) -> [UInt8] {
    let text: [UInt8]?
    do {
      text = try view.benches.lend { bench throws(RenderError) in try bench.render(directory.table, key) }
    } catch {
      throw .damaged(place: "\(directory.shownName)/", problem: error.description)
    }
    guard let text else { throw .stale }
    return text
  }

  /// A format error met in a table.
  func damaged(_ directory: TableDirectory, _ error: FormatError) -> FileTreeError {
    .damaged(directory.shownName, error)
  }
}

extension VersionView {
  /// The attributes of a table's directory.
  func attributes(of directory: TableDirectory) -> FileAttributes {
    rules.directory(directory.inode, subdirectories: 0, directory.stamp.touched)
  }
}
