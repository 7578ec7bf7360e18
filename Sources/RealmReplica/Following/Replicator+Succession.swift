// Decides whether a file may remove rows from a replica. Removals by commits are always applied. But a file that merely
// appeared at the path of the realm may be an older copy or another realm: it is compared first, in the transaction
// that would write it. If the replica would lose data and the file is not proven to be a later version of the same
// realm, the transaction is rolled back. docs/POSTGRESQL.md has the rules.

import RealmPages

/// The effect of a transaction on the existing rows of a replica.
struct ReplicaLosses {
  /// Rows that are identical in the realm, byte for byte.
  var kept = 0
  /// Rows whose objects have different values in the realm.
  var overwritten = 0
  /// Rows without an object.
  var removed = 0
  /// Tables and columns that are dropped or cleared.
  var dropped: [String] = []

  /// True if the replica loses nothing.
  var isEmpty: Bool { overwritten == 0 && removed == 0 && dropped.isEmpty }

  /// A description of the losses.
  var words: String {
    var words: [String] = []
    if removed > 0 { words.append("remove \(counted(removed, "row"))") }
    if overwritten > 0 { words.append("overwrite \(counted(overwritten, "row"))") }
    if !dropped.isEmpty {
      let more = dropped.count > 3 ? " and \(dropped.count - 3) more" : ""
      words.append("drop \(dropped.prefix(3).joined(separator: ", "))\(more)")
    }
    return words.joined(separator: ", ")
  }
}

extension Replicator {
  /// Throws `replaced` if the transaction loses data of the replica and `target` is not known to be a later version of
  /// the replicated realm.
  func checkSuccession(_ target: ReplicaTarget, _ losses: ReplicaLosses, after base: ReplicaState?) throws {
    if losses.isEmpty { return }
    guard let reason = try refusal(target, losses, after: base) else { return }
    let former = base?.file.flatMap { $0 == path ? nil : " (the replica was made from \($0))" } ?? ""
    throw ReplicaError.replaced(
      "\(reason)\(former); to follow it would \(losses.words); nothing was changed in the database; "
        + "if this is the file to replicate there, use --accept-replacement"
    )
  }

  /// Returns the reason not to follow the target; nil if it may be followed.
  private func refusal(
    _ target: ReplicaTarget,
    _ losses: ReplicaLosses,
    after base: ReplicaState?
  ) throws -> String? {
    let whole = losses.kept + losses.overwritten + losses.removed
    let isMostlyKept = losses.kept > 0 && losses.kept * 2 >= whole
    guard let base, let mark = base.mark, let number = base.version else {
      if isMostlyKept { return nil }
      return "the database does not record the version of its rows, and the file has only \(losses.kept) of "
        + "\(whole) rows unchanged"
    }
    let version = UInt64(bitPattern: number),
      isSameFile = base.lineage.map { $0.inode == target.lineage.inode } ?? false
    if target.version < version {
      // Another program may have written a version to the replica that is newer than the one seen here.
      let newest = try self.window.realm.latest().version
      if newest >= version { throw ReplicaError.overtaken }
      return "the file is at version \(target.version), but the replica at version \(version): an older copy or "
        + "another realm has taken the place of the realm"
    }
    if target.version == version {
      // The same version of the same file: differences were made in the database.
      if wantsComparison, isSameFile, target.mark.identity == mark.identity { return nil }
      return "the file is at version \(version) as the replica is, but its objects are not the rows of the replica: "
        + "another copy of the realm has taken its place, or rows were changed in the database"
    }
    if try follows(mark) { return nil }
    if let lineage = base.lineage, !lineage.canBecome(target.lineage, after: target.version - version) {
      return "the file has a version \(target.version), but its history is not that of the replicated realm: another "
        + "realm has taken its place"
    }
    if isSameFile {
      if losses.kept + losses.overwritten > 0 { return nil }
      let isEmpty = try self.hasNoObjects()
      if isEmpty, base.lineage?.sharesClass(with: target.lineage) ?? false { return nil }
      return "the file has no rows of the replica: another realm has taken the place of the realm"
    }
    if isMostlyKept { return nil }
    return "another file has taken the place of the realm, and it has only \(losses.kept) of \(whole) rows "
      + "unchanged"
  }

  /// True if the version before the newest one is that of the replica. Its space may have been reused, so a failed read
  /// proves nothing.
  private func follows(_ mark: VersionMark) throws -> Bool {
    let snapshot = window.snapshot
    do { return try snapshot.previous()?.identity() == mark.identity } catch { return false }
  }

  /// True if no class of the realm has objects.
  private func hasNoObjects() throws(EngineError) -> Bool {
    let snapshot = window.snapshot
    for key in try snapshot.tableKeys() {
      if let table = try snapshot.table(key), table.className != nil, table.objectCount > 0 { return false }
    }
    return true
  }
}
