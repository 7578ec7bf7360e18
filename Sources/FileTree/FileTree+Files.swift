// Open files: object files, schema files and control files.

import RealmPages

extension FileTree {
  /// For how long after a change of its table a text counts as live. Longer than the kernel remembers attributes.
  private static let liveTime: UInt64 = 30_000_000_000

  /// Opens a file for reading; `release` ends it.
  ///
  /// - Throws: `isADirectory`; `stale` if the object is gone; `damaged` if it cannot be read, whatever its neighbours.
  public func open(_ inode: InodeNumber) throws(FileTreeError) -> OpenFile {
    switch try node(inode) {
    case .table: throw .isADirectory
    case .fixed(let fixed):
      guard !fixed.isDirectory else { throw .isADirectory }
      return openControl(inode, try read { view throws(FileTreeError) in try self.text(of: fixed, view) })
    case .schemaFile(let ordinal):
      return openControl(
        inode,
        try read { view throws(FileTreeError) in
          try self.text(ofSchema: try view.existing(ordinal), view)
        }
      )
    case .object(let ordinal, let key):
      do {
        return try open(inode, ordinal, key)
      } catch {
        damageLog.note(error)
        throw error
      }
    }
  }

  /// Lets go of a handle.
  public func release(_ file: OpenFile) { openFiles.close(file) }

  /// Must be called soon after `open` returned a handle that may seed the page cache.
  public func pageCacheSeeded(_ file: OpenFile) { openFiles.seeded(file) }

  private func open(_ inode: InodeNumber, _ ordinal: TableOrdinal, _ key: ObjKey) throws(FileTreeError) -> OpenFile {
    let (text, stamp, isNew) = try read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      directory.noteInterest()
      let stamp = directory.stamp
      if let text = self.texts.find(inode, stamp.generation)?.text { return (text, stamp, false) }
      return (try self.text(of: key, directory, view), stamp, true)
    }
    if isNew { texts.insert([TextCache.Item(inode: inode, generation: stamp.generation, text: text)]) }
    return OpenFile(inode, openFiles.open(inode, text, Self.liveliness(stamp)), text: text)
  }

  private static func liveliness(_ stamp: ChangeStamp) -> OpenFiles.Liveliness {
    if stamp.noticed == 0 { return .unchanged }
    return Clock.now() &- stamp.noticed < liveTime ? .live : .quiet
  }

  /// Control files differ from version to version and are rarely read, so the kernel does not cache them.
  private func openControl(_ inode: InodeNumber, _ text: [UInt8]) -> OpenFile {
    OpenFile(inode, OpenFiles.Decision(caching: .bypass), text: text)
  }
}
