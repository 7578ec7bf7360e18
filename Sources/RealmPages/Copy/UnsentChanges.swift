// The local changes that a synced realm had not sent to its server when it was last used.
// Source: docs/format/6-history.md 6.7.

/// The local changes of a synced realm that the server does not have.
public enum UnsentChanges: Sendable, Hashable {
  /// Everything was sent, or the realm is local.
  case none
  /// The number of changesets; each holds one transaction.
  case some(Int)
  /// The history has an unknown format.
  case unknown
}

extension Snapshot {
  /// The changesets that were not sent yet. Cost: O(changesets).
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func unsentChanges() throws(EngineError) -> UnsentChanges {
    if historyType < 3 { return .none }
    // Other schema versions have other slots.
    guard historyType == 3, [11, 12].contains(top.historySchemaVersion) else { return .unknown }
    if top.historyRef == 0 { return .none }
    let root = try arena.refs(top.historyRef)
    guard root.count == Layout.SyncHistory.count else { return .unknown }
    let changesets = try root.child(Layout.SyncHistory.changesets), origins = try root.child(Layout.SyncHistory.origins)
    if changesets == 0 || origins == 0 { return .none }
    let entries = try ElementReader(arena, changesets, ElementType(.data, isNullable: true))
    let idents = try ElementReader(arena, origins, ElementType(.int, isNullable: false))
    let sent = try root.tagged(Layout.SyncHistory.uploaded)
    guard entries.count == idents.count else { return .unknown }
    var count = 0
    for i in 0..<entries.count {
      // Entry i produced this version. Changes from other clients have a nonzero origin.
      guard Int64(clamping: version) - Int64(entries.count) + Int64(i) + 1 > sent else { continue }
      guard case .int(0) = try idents.value(at: i) else { continue }
      if case .data(let bytes) = try entries.value(at: i), bytes.count > 0 { count += 1 }
    }
    return count == 0 ? .none : .some(count)
  }
}
