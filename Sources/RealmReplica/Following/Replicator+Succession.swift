// Whether a file may take rows away from a replica. What a commit removes is removed, however much it is. But a file
// that only turned up at the path of the realm may be an older copy, another realm, or the remains of one: it is
// compared first, in the transaction that would write it, and if the replica would lose something, it must be shown to
// be a later version of the same realm. Otherwise the transaction is rolled back. docs/POSTGRESQL.md has the rules.

import RealmPages

/// What a transaction does to the rows that a replica had.
struct ReplicaLosses {
  /// Rows that the realm has, too, byte for byte.
  var kept = 0
  /// Rows whose object has other values in the realm.
  var overwritten = 0
  /// Rows without an object.
  var removed = 0
  /// Tables and columns that are dropped or cleared.
  var dropped: [String] = []

  /// True if nothing that the replica had is lost.
  var isEmpty: Bool { overwritten == 0 && removed == 0 && dropped.isEmpty }

  /// What is lost, in words.
  var words: String {
    var words: [String] = []
    if removed > 0 { words.append("remove \(Self.counted(removed, "row"))") }
    if overwritten > 0 { words.append("overwrite \(Self.counted(overwritten, "row"))") }
    if !dropped.isEmpty {
      let more = dropped.count > 3 ? " and \(dropped.count - 3) more" : ""
      words.append("drop \(dropped.prefix(3).joined(separator: ", "))\(more)")
    }
    return words.joined(separator: ", ")
  }

  private static func counted(_ count: Int, _ noun: String) -> String { "\(count) \(noun)\(count == 1 ? "" : "s")" }
}

extension Replicator {
  /// Throws `replaced` if the transaction takes something from the replica, and `target` is not known to be a later
  /// version of the realm that the replica shows.
  func judge(_ target: ReplicaTarget, _ losses: ReplicaLosses, after base: ReplicaState?) throws(ReplicaError) {
    if losses.isEmpty { return }
    guard let reason = try objection(target, losses, after: base) else { return }
    let former = base?.file.flatMap { $0 == path ? nil : " (the replica was made from \($0))" } ?? ""
    throw .replaced(
      "\(reason)\(former); to follow it would \(losses.words); nothing was changed in the database; "
        + "if this is the file to replicate there, use --accept-replacement"
    )
  }

  /// Why the target is not to be followed; nil if it is.
  private func objection(
    _ target: ReplicaTarget,
    _ losses: ReplicaLosses,
    after base: ReplicaState?
  ) throws(ReplicaError) -> String? {
    let whole = losses.kept + losses.overwritten + losses.removed
    let isMostlyKept = losses.kept > 0 && losses.kept * 2 >= whole
    guard let base, let mark = base.mark, let number = base.version else {
      if isMostlyKept { return nil }
      return "the database does not say which version its rows show, and the file has only \(losses.kept) of "
        + "\(whole) rows unchanged"
    }
    let version = UInt64(bitPattern: number),
      isSameFile = base.lineage.map { $0.inode == target.lineage.inode } ?? false
    if target.version < version {
      // Another program may have written a newer version to the replica than this one has seen.
      let newest = try engine { () throws(EngineError) in try self.window.realm.latest().version }
      if newest >= version { throw .overtaken }
      return "the file is at version \(target.version), but the replica at version \(version): an older copy or "
        + "another realm has taken the place of the realm"
    }
    if target.version == version {
      // The same places in the same file: what differs was changed in the database.
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
      let isEmpty = try engine { () throws(EngineError) in try self.holdsNothing() }
      if isEmpty, base.lineage?.sharesClass(with: target.lineage) ?? false { return nil }
      return "nothing that the replica has is in the file: another realm has taken the place of the realm"
    }
    if isMostlyKept { return nil }
    return "another file has taken the place of the realm, and it has only \(losses.kept) of \(whole) rows "
      + "unchanged"
  }

  /// True if the version before the newest one is that of the replica. Its space may be written to meanwhile, so what
  /// cannot be read proves nothing.
  private func follows(_ mark: VersionMark) throws(ReplicaError) -> Bool {
    let snapshot = window.snapshot
    do throws(EngineError) { return try snapshot.previous()?.identity() == mark.identity } catch { return false }
  }

  /// True if no class of the realm has an object.
  private func holdsNothing() throws(EngineError) -> Bool {
    let snapshot = window.snapshot
    for key in try snapshot.tableKeys() {
      if let table = try snapshot.table(key), table.className != nil, table.objectCount > 0 { return false }
    }
    return true
  }
}
