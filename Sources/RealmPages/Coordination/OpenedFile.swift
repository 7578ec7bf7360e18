// The file that a participant opened last. The file can be moved, replaced, removed or overwritten at any moment:
// nothing is written to a file that is no longer at its path, or whose content is not what the session wrote to it.

/// The open file of a shared realm, checked against its path and its content.
struct OpenedFile {
  /// Nil before the first file is open.
  var handle: FileHandle?
  /// The configuration with which the file was opened: without a key if the file was decrypted.
  var configuration: Configuration
  /// The name whose lock file coordinates the session.
  var lockedName = ""
  /// The stamp that the file had when it was known to hold the newest version.
  var stamp: FileHandle.Stamp?
  /// The bytes of the newest version; nil before it is read.
  var space: PageSpace?
  /// The target of commits; nil for a file that is only read.
  var storage: (any Storage)?

  init(_ configuration: Configuration) { self.configuration = configuration }

  /// The state of the path of the open file; nil if no file is open.
  var place: FileHandle.Place? { handle?.place }

  /// True if another file, or none, is at the path.
  var hasLeftPath: Bool { place?.isAway ?? false }

  /// Throws `moved` if the file is no longer at its path.
  func checkPlace() throws(EngineError) {
    switch place ?? .nowhere {
    case .here: return
    case .elsewhere, .nowhere: throw .moved(configuration.path)
    case .unknown(let code): throw .failed("stat", configuration.path, code)
    }
  }

  /// The version that the header of the file refers to; nil if the file cannot be read.
  private var shown: Snapshot? {
    guard let handle else { return nil }
    // A file that cannot be opened has no version.
    return try? HeaderReader(configuration, handle).latest()
  }

  /// The version of the top array at `topRef`, if the header of the file refers to it; otherwise nil.
  func version(at topRef: Int) -> UInt64? {
    guard let shown, shown.top.ref == topRef else { return nil }
    return shown.version
  }

  /// True if the file still holds `snapshot` at its ref and, if `asNewest`, the header refers to it. With
  /// `mayBeAhead`, a file that has its first commit still counts as holding the empty version while other participants
  /// exist: that commit is in the file before it is in the version list. False if the content cannot be read.
  func holds(
    _ snapshot: Snapshot,
    _ session: Session,
    asNewest: Bool = false,
    mayBeAhead: Bool = false
  ) -> Bool {
    guard let handle else { return false }
    do {
      if snapshot.top.ref == 0 {
        let isShared = mayBeAhead && session.participants > 1
        // While a page is being written, it may read as neither its old nor its new content.
        guard let shown else { return isShared }
        return shown.top.ref == 0 || isShared && shown.version > snapshot.version
      }
      let space: PageSpace
      if let key = configuration.encryptionKey {
        // Pages that were decrypted earlier do not show the current content of the file.
        space = try decrypted(handle, key, session)
      } else {
        space = snapshot.arena.space
      }
      if asNewest {
        try space.require(0, Header.size)
        if Int(truncatingIfNeeded: Header.selectedTopRef(of: space)) != snapshot.top.ref { return false }
      }
      let arena = Arena(space, limit: space.size, format: snapshot.fileFormat)
      return try TopArray(arena, snapshot.top.ref) == snapshot.top
    } catch { return false }
  }

  /// Returns a page space that contains the newest version, of `size` bytes.
  func space(_ session: Session, covering size: Int) throws(EngineError) -> PageSpace {
    guard let handle else { throw EngineError(.inUse, "\(configuration.path): no file") }
    // Pages shared with the previous version may have been encrypted again, so the IV slot of each page is checked.
    if let key = configuration.encryptionKey { return try decrypted(handle, key, session, after: space) }
    if let space, space.size >= size, !space.isSpent { return space }
    return try MappedFile(handle, size: max(handle.status().size, 1))
  }

  private func decrypted(
    _ handle: FileHandle,
    _ key: EncryptionKey,
    _ session: Session,
    after former: PageSpace? = nil
  ) throws(EngineError) -> PageSpace {
    let size = max(try handle.status().size, 2 * PageCipher.pageSize)
    return try DecryptedPages(handle, key: key, physicalSize: size, marker: session.lockFile, after: former)
  }
}

extension EngineError {
  /// The error of a writer whose file is no longer at its path.
  static func moved(_ path: String) -> EngineError {
    EngineError(
      .moved,
      "\(path): the realm was moved, replaced or removed, so nothing is written to it; open it where it is now"
    )
  }

  /// The error of a writer whose file was overwritten.
  static func overwritten(_ path: String) -> EngineError {
    EngineError(.moved, "\(path): another program overwrote the realm, so nothing is written to it")
  }
}
