// Refuses files that only look empty. If a file was copied while an app had the realm open, or its first bytes were
// overwritten, the header refers to no version although the file holds nodes. Realm's engine treats it as an empty
// realm and overwrites it; this package opens it only if the caller requests that. Source: docs/format/1-storage.md S2.

import Glibc

/// Nodes in a file whose header refers to no version.
public struct UnreachedContent: Sendable, Hashable {
  /// The number of the newest version that a search finds; nil if only nodes are left.
  public let version: UInt64?
  /// The number of nodes found.
  public let nodes: Int

  /// A description of the finding, without the path or a remedy.
  public var description: String {
    if self.nodes == 0 {
      return "the header points to no version, but the file once had one, so it is not an empty realm"
    }
    let nodes = counted(nodes, "node")
    let found = version.map { "version \($0) (\(nodes) in all)" } ?? "\(nodes) that no version reaches"
    return "the header points to no version, but the file holds \(found), so it is not an empty realm"
  }
}

extension Snapshot {
  /// The nodes in a file whose header refers to none of them; nil for all other files, and for a file whose first
  /// commit was interrupted by a crash: that commit was never published.
  ///
  /// Cost: O(1) if the header refers to a version; otherwise the file is searched.
  public var unreached: UnreachedContent? {
    if top.ref != 0 { return nil }
    let space = arena.space
    guard let spare = Self.spareSlot(of: space), spare != Header.firstCommitMark else { return nil }
    var nodes = 0
    NodeSearch(space).forEachNode { _ in nodes += 1 }
    if nodes == 0, spare == 0, space.isBlank { return nil }
    let roots = RescuedRealm(space, path: path).roots, version = roots.map(\.version).max()
    // The first commit writes its nodes and the other slot before one sync, so after a power cut that slot may refer to
    // nodes that are not there. A header that lost the selected ref has an older version there, or the format of the
    // lost version.
    if spare != 0, Header.slot(Header.selectedSlot(of: space), of: space).format == 0 {
      guard let version, let spared = roots.first(where: { $0.ref == spare }), spared.version < version else {
        return nil
      }
    }
    // Check again: another program may have made the first commit in the meantime.
    return Self.spareSlot(of: space) == spare ? UnreachedContent(version: version, nodes: nodes) : nil
  }

  /// The number of the version in the other slot of the header if it is newer than this one: a crash interrupted its
  /// commit before the header selected it, or a damaged header selects the wrong version. Nil otherwise. Cost: O(1).
  public var unselectedVersion: UInt64? {
    let space = arena.space
    // A slot that cannot be read has no version.
    guard (try? space.require(0, Header.size)) != nil, Header.signature(of: space) == Header.signature else {
      return nil
    }
    // Another program may have committed since this version was read.
    guard Header.slot(Header.selectedSlot(of: space), of: space).topRef == UInt64(top.ref) else { return nil }
    let (ref, format) = Header.slot(1 - Header.selectedSlot(of: space), of: space)
    guard ref > 0, ref % 8 == 0, ref < UInt64(space.size), Realm.readableFormats.contains(format) else { return nil }
    let other = try? Snapshot(space, Header(topRef: Int(ref), format: format), path: path)  // likewise
    return other.flatMap { $0.version > version ? $0.version : nil }
  }

  /// True if the header points to no version and its other slot to nothing that can be read: a crash interrupted the
  /// first commit, or the file is damaged. Cost: O(1).
  public var hasUnreadableSlot: Bool {
    guard top.ref == 0, let spare = Self.spareSlot(of: arena.space) else { return false }
    return spare != 0 && spare != Header.firstCommitMark && unselectedVersion == nil
  }

  /// The unselected slot of a header that refers to no version; nil for any other header.
  private static func spareSlot(of space: PageSpace) -> UInt64? {
    // A header that cannot be read determines nothing.
    guard (try? space.require(0, Header.size)) != nil, Header.signature(of: space) == Header.signature else {
      return nil
    }
    let slot = Header.selectedSlot(of: space), selected = Header.slot(slot, of: space).topRef
    if selected == .max, slot == 0 { return 0 }
    return selected == 0 ? Header.slot(1 - slot, of: space).topRef : nil
  }
}

extension PageSpace {
  /// True if the file has nothing but zeros after its header, apart from the footer of a copy.
  var isBlank: Bool {
    let isCopy = (try? require(0, Header.size)) != nil && Header.slot(0, of: self).topRef == .max  // see below
    let end = isCopy ? size - Header.footerSize : size
    for range in dataRanges {
      var at = max(range.lowerBound, Header.size)
      while at < min(range.upperBound, end) {
        // A page that cannot be read is not blank.
        if fillsOnDemand, (try? require(at, 1)) == nil { return false }
        if byte(at: at) != 0 { return false }
        at += 1
        if at % (1 << 24) == 0 { dropPages() }
      }
      dropPages()
    }
    return true
  }
}

extension Configuration {
  /// Throws `unreached` if a realm is empty only because its header refers to none of the nodes in the file. The first
  /// commit of another program writes its nodes before the header refers to them, so a reader that does not join the
  /// session (`isUnshared`) accepts a file that is in use.
  func checkReached(_ snapshot: Snapshot, isUnshared: Bool) throws(EngineError) {
    if snapshot.top.ref != 0 || opensUnreachedAsEmpty || inMemoryIdentifier != nil { return }
    guard let content = snapshot.unreached else { return }
    if isUnshared {
      if LockHolders.ofRealm(at: path).contains(where: { $0.isOther }) { return }
      // The program that held the lock may have committed and closed the realm.
      if snapshot.unreached == nil { return }
    }
    throw EngineError(.unreached, "\(path): \(content.description)")
  }
}

extension LockHolder {
  fileprivate var isOther: Bool { processID != getpid() }
}
