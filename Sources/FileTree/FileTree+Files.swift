// Open files: object files, schema files and control files.

import RealmPages
import Threads

extension FileTree {
  /// For how long after a change of its table a text counts as live. Longer than the kernel remembers attributes.
  private static let liveTime = Duration.seconds(30)

  /// Opens a file for reading; `release` ends it.
  ///
  /// - Throws: `isADirectory`; `stale` if the object is gone; `damaged` if it cannot be read, whatever its neighbours.
  public func open(_ inode: InodeNumber) throws(FileTreeError) -> OpenFile {
    switch try node(inode) {
    case .table, .rejectedDirectory: throw .isADirectory
    case .memory: return try open(inode, OpenAccess())
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
        return try openObject(ordinal, key)
      } catch {
        damageLog.note(error)
        throw error
      }
    }
  }

  /// Lets go of a handle. What it wrote and never saved, because no close was seen, is saved now.
  public func release(_ file: OpenFile) {
    if case .memory(let memory, _) = file.content, case .written = memory.progress {
      do throws(FileTreeError) { try flush(file) } catch {
        options.log?("a file could not be saved when it was closed: \(error)")
      }
    }
    openFiles.close(file)
    // A file that was refused as an object has its text among the refused ones; its name is free again.
    if case .memory(let memory, nil) = file.content, memory.isRefused, openFiles.size(of: memory.inode) == nil,
      let place = overlay.place(of: memory.inode)
    {
      _ = overlay.unlink(place)
      takeBack(place)
    }
  }

  /// Must be called soon after `open` returned a handle that may seed the page cache.
  public func pageCacheSeeded(_ file: OpenFile) { openFiles.seeded(file) }

  private func openObject(_ ordinal: TableOrdinal, _ key: ObjKey) throws(FileTreeError) -> OpenFile {
    let (inode, text, stamp, isNew) = try read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      directory.noteInterest()
      let stamp = directory.stamp
      // The file that became an object goes by another number.
      let inode = self.number(directory, key)
      if let text = self.texts.find(inode, stamp.generation)?.text { return (inode, text, stamp, false) }
      return (inode, try self.text(of: key, directory, view), stamp, true)
    }
    if isNew { texts.insert([TextCache.Item(inode: inode, generation: stamp.generation, text: text)]) }
    return OpenFile(inode, openFiles.open(inode, text, Self.liveliness(stamp)), text: text)
  }

  private static func liveliness(_ stamp: ChangeStamp) -> OpenFiles.Liveliness {
    guard let noticed = stamp.noticed else { return .unchanged }
    return MonotonicTime.now < noticed.advanced(by: liveTime) ? .live : .quiet
  }

  /// Control files differ from version to version and are rarely read, so the kernel does not cache them.
  private func openControl(_ inode: InodeNumber, _ text: [UInt8]) -> OpenFile {
    OpenFile(inode, OpenFiles.Decision(caching: .bypass), text: text)
  }
}
