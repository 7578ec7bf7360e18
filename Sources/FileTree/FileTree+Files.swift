// Open files: object files, schema files and control files.

import RealmPages

extension FileTree {
  /// Opens a file for reading; `release` ends it.
  ///
  /// - Throws: `isADirectory`; `stale` if the object is gone; `damaged` if it cannot be read, whatever its neighbours.
  public func open(_ inode: InodeNumber) throws(FileTreeError) -> OpenFile {
    switch try node(inode) {
    case .table: throw .isADirectory
    case .fixed(let fixed):
      guard !fixed.isDirectory else { throw .isADirectory }
      let (text, generation) = try read { view throws(FileTreeError) in
        (try self.text(of: fixed, view), view.generation)
      }
      return openControl(inode, text, generation)
    case .schemaFile(let ordinal):
      let (text, generation) = try read { view throws(FileTreeError) in
        (try self.text(ofSchema: try view.existing(ordinal), view), view.generation)
      }
      return openControl(inode, text, generation)
    case .object(let ordinal, let key):
      return try open(inode, ordinal, key)
    }
  }

  /// Lets go of a handle.
  public func release(_ file: OpenFile) { openFiles.close(file) }

  /// Must be called soon after `open` returned a handle that may seed the page cache.
  public func pageCacheSeeded(_ file: OpenFile) { openFiles.seeded(file) }

  private func open(_ inode: InodeNumber, _ ordinal: TableOrdinal, _ key: ObjKey) throws(FileTreeError) -> OpenFile {
    let (text, stamp, isNew): ([UInt8], ChangeStamp, Bool)
    do throws(FileTreeError) {
      (text, stamp, isNew) = try read { view throws(FileTreeError) in
        let directory = try view.existing(ordinal)
        directory.noteInterest()
        let stamp = directory.stamp
        if let text = self.texts.find(inode, stamp.generation)?.text { return (text, stamp, false) }
        return (try self.text(of: key, directory, view), stamp, true)
      }
    } catch {
      damageLog.note(error)
      throw error
    }
    if isNew { texts.insert([TextCache.Item(inode: inode, generation: stamp.generation, text: text)]) }
    let decision = openFiles.open(inode, text, isUnchanged: stamp.noticed == 0)
    return OpenFile(inode, decision, stamp.generation, noticed: stamp.noticed, text: text)
  }

  /// Control files differ from version to version; they are small and rarely read, so the kernel does not cache them.
  private func openControl(_ inode: InodeNumber, _ text: [UInt8], _ generation: UInt64) -> OpenFile {
    OpenFile(inode, OpenFiles.Decision(caching: .bypass), generation, noticed: 0, text: text)
  }
}
