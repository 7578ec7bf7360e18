// Reads a former version of a realm as if it were the newest.

import Synchronization

/// Shows one former version. `latest` returns another snapshot of it when the pages of the last one use too much
/// memory. It stays current as long as the version that was the newest when the reader was created: in a session that
/// version is pinned, so nothing that either needs is overwritten; without a session, no commit has followed.
final class FormerReader: VersionReader {
  private let former: Mutex<Snapshot>
  /// Nil for a file that does not open otherwise.
  private let newest: (hold: VersionHold, realm: Realm)?
  private let path: String
  private let isUnchanged: @Sendable () -> Bool

  /// Creates a reader of `former`. `newest` is the newest version of `realm`.
  init(
    _ former: Snapshot,
    newest: Snapshot?,
    of realm: Realm?,
    path: String,
    isUnchanged: @escaping @Sendable () -> Bool
  ) {
    self.former = Mutex(former)
    self.newest = realm.flatMap { realm in newest.map { (VersionHold($0), realm) } }
    self.path = path
    self.isUnchanged = isUnchanged
  }

  func latest(checksPath: Bool) throws(EngineError) -> Snapshot {
    let former = former.withLock { $0 }
    if !isCurrent(former) {
      throw EngineError(
        .inUse,
        "\(path): another program has committed, so version \(former.version) may have been overwritten"
      )
    }
    return former.arena.space.isSpent ? try replace(former) : former
  }

  /// Shows the version in a new copy of the page space, unless another thread has just done so.
  private func replace(_ spent: Snapshot) throws(EngineError) -> Snapshot {
    let fresh = try HeaderReader.snapshot(
      spent.arena.space.copy(keeping: []),
      Header(topRef: spent.top.ref, format: spent.fileFormat),
      path: path,
      pin: spent.pin,
      swapsGuids: spent.arena.swapsGuids
    )
    return former.withLock { former in
      if former === spent { former = fresh }
      return former
    }
  }

  func isCurrent(_ snapshot: Snapshot) -> Bool {
    if let space = snapshot.arena.space as? MappedFile, space.isSpent { return false }
    guard let (hold, realm) = newest else { return isUnchanged() }
    return realm.isCurrent(hold.snapshot) && (hold.isKnownToWriters || isUnchanged())
  }

  func hasChanged(since snapshot: Snapshot) -> Bool { former.withLock { $0 !== snapshot } }

  var location: FileLocation { newest?.realm.location ?? FileLocation() }

  func fileStatus() throws(EngineError) -> FileStatus {
    if let newest { return try newest.realm.fileStatus() }
    return try FileHandle(path: path).status()
  }
}
