// Reads a former version of a realm as if it were the newest.

/// Shows one former version. It is current for as long as the newest version of its time is: in a session that version
/// is pinned, and nothing that it or the former version needs is overwritten; without a session, no commit followed.
final class FormerReader: VersionReader {
  private let former: Snapshot
  /// Nil for a file that does not open otherwise.
  private let newest: (hold: VersionHold, realm: Realm)?
  private let path: String
  private let isUndisturbed: @Sendable () -> Bool

  /// Creates a reader of `former`. `newest` is the newest version of `realm`.
  init(
    _ former: Snapshot,
    newest: Snapshot?,
    of realm: Realm?,
    path: String,
    isUndisturbed: @escaping @Sendable () -> Bool
  ) {
    self.former = former
    self.newest = realm.flatMap { realm in newest.map { (VersionHold($0), realm) } }
    self.path = path
    self.isUndisturbed = isUndisturbed
  }

  func latest(looks: Bool) throws(EngineError) -> Snapshot {
    if isCurrent(former) { return former }
    throw EngineError(
      .inUse,
      "\(path): another program has committed, so version \(former.version) may have been overwritten"
    )
  }

  func isCurrent(_ snapshot: Snapshot) -> Bool {
    if let space = former.arena.space as? MappedFile, space.isSpent { return false }
    guard let (hold, realm) = newest else { return isUndisturbed() }
    return realm.isCurrent(hold.snapshot) && (hold.isKnownToWriters || isUndisturbed())
  }

  func hasChanged(since snapshot: Snapshot) -> Bool { snapshot !== former }

  var standing: Standing { newest?.realm.standing ?? Standing() }

  func fileStatus() throws(EngineError) -> FileStatus {
    if let newest { return try newest.realm.fileStatus() }
    return try FileHandle(path: path).status()
  }
}
