// The older versions that a file still holds in full, from newest to oldest.
//
// Invariant: nothing of a returned version was overwritten by a later commit. The ranges that a commit wrote follow
// from the free lists of its base version and of the version it made, so every version in between must exist.
// Source: docs/format/3-commit.md 3.3.

/// Goes back from a version to earlier ones. Use it only while no writer can commit.
package final class FormerVersions {
  private let newest: Snapshot
  /// The version found last.
  private var last: Snapshot
  /// The ranges that commits after `last` wrote.
  private var written: [Range<Int>] = []
  private var isOver = false
  /// The candidate root of each version.
  private lazy var roots = searchedRoots()

  /// The maximum number of versions to go back.
  private static let mostSteps = 64

  /// Starts before `newest`, which must be the newest version.
  package init(before newest: Snapshot) { (self.newest, last) = (newest, newest) }

  /// Returns the next older version; nil if the file no longer holds it in full.
  ///
  /// Cost: O(1) for the first version, which the header leads to. For older versions the file is scanned once, and each
  /// version is verified in full.
  package func next() throws(EngineError) -> Snapshot? {
    if isOver { return nil }
    let found: Snapshot?
    if last === newest { found = try newest.previous() } else { found = whole(last.version - 1) }
    guard let found, found.version == last.version - 1, found.fileFormat == last.fileFormat else {
      // The file does not show what grouped commits in between wrote.
      isOver = true
      return last === newest ? found : nil
    }
    do throws(EngineError) { written += try Self.written(by: last, after: found) } catch { isOver = true }
    last = found
    return found
  }

  /// Returns the roots found by a scan, for versions with a single candidate.
  private func searchedRoots() -> [UInt64: Int] {
    let roots = RescuedRealm(newest.arena.space, path: newest.path, mostFound: Self.mostSteps).roots
    return Dictionary(grouping: roots, by: \.version).compactMapValues { $0.count == 1 ? $0[0].ref : nil }
  }

  /// Returns the version with this number if nothing of it was overwritten; nil otherwise.
  private func whole(_ version: UInt64) -> Snapshot? {
    let space = newest.arena.space
    guard let ref = roots[version] else { return nil }
    let header = Header(topRef: ref, format: newest.fileFormat)
    do throws(EngineError) {
      let found = try Snapshot(space, header, path: newest.path, pin: newest.pin)
      let nodes = try found.nodes()
      if found.version != version || overlaps(nodes) { return nil }
      return Verifier(found).run { _ in }.isSound ? found : nil
    } catch {
      // A version that cannot be read is not intact.
      return nil
    }
  }

  private func overlaps(_ nodes: [Range<Int>]) -> Bool {
    let written = written.map(wholePages).sorted { $0.lowerBound < $1.lowerBound }
    var index = 0, end = 0
    for node in nodes.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      while index < written.count, written[index].lowerBound < node.upperBound {
        end = max(end, written[index].upperBound)
        index += 1
      }
      if end > node.lowerBound { return true }
    }
    return false
  }

  /// An encrypted page is written as a whole, with zeros where nothing is needed.
  private func wholePages(_ range: Range<Int>) -> Range<Int> {
    guard newest.arena.space.fillsOnDemand else { return range }
    let page = PageCipher.pageSize
    return range.lowerBound / page * page..<(range.upperBound + page - 1) / page * page
  }

  /// The ranges that the commit of `version` may have written: free in `base`, but not in `version`.
  private static func written(by version: Snapshot, after base: Snapshot) throws(EngineError) -> [Range<Int>] {
    let still = try free(version)
    var ranges: [Range<Int>] = [], index = 0
    for range in try free(base) {
      var start = range.lowerBound
      while index < still.count, still[index].upperBound <= start { index += 1 }
      var next = index
      while next < still.count, still[next].lowerBound < range.upperBound {
        if start < still[next].lowerBound { ranges.append(start..<still[next].lowerBound) }
        start = max(start, still[next].upperBound)
        next += 1
      }
      if start < range.upperBound { ranges.append(start..<range.upperBound) }
    }
    return ranges
  }

  /// The free ranges of a version, in ascending order; the last range is unbounded.
  private static func free(_ version: Snapshot) throws(EngineError) -> [Range<Int>] {
    let ranges = try Committer.ranges(version.arena, version.top).map { $0.position..<$0.end }
    return ranges + [version.logicalSize..<Int.max]
  }
}

extension Snapshot {
  /// The ranges of all nodes of the version.
  fileprivate func nodes() throws(EngineError) -> [Range<Int>] {
    var ranges: [Range<Int>] = [], pending = [top.ref], known: Set<Int> = [top.ref]
    while let ref = pending.popLast() {
      let node = try arena.node(ref)
      ranges.append(ref..<ref + node.byteSize)
      guard node.hasRefs, node.width > 0 else { continue }
      for i in 0..<node.count {
        let element = try node.int(i)
        if element == 0 || element & 1 != 0 { continue }
        guard known.insert(Int(truncatingIfNeeded: element)).inserted else {
          throw .damaged("two nodes lead here", ref: Int(truncatingIfNeeded: element))
        }
        pending.append(Int(truncatingIfNeeded: element))
      }
    }
    return ranges
  }

  /// The version restored by the commit of this one, if that was an undo; nil otherwise.
  ///
  /// The changeset contains it, because every commit writes a changeset.
  package var restoredVersion: UInt64? {
    guard historyType == 2, top.historyRef != 0 else { return nil }
    do throws(EngineError) {
      let entries = try ElementReader(arena, top.historyRef, ElementType(.data, isNullable: false))
      guard entries.count > 0, case .data(let bytes) = try entries.value(at: entries.count - 1),
        let steps = UndoMark.steps(in: bytes.bytes), UInt64(steps) < version - 1
      else { return nil }
      return version - 1 - UInt64(steps)
    } catch {
      // An unreadable history does not identify an undo.
      return nil
    }
  }
}

/// The mark of an undo at the beginning of a changeset: a table is selected more than once, which has no effect. No
/// engine writes that otherwise.
enum UndoMark {
  /// Appends the mark to an empty changeset. `steps` is the number of versions the undo goes back, at least 1.
  static func append(steps: Int, _ table: TableKey, to bytes: inout [UInt8]) {
    for _ in 0...steps {
      bytes.append(Changeset.Code.selectTable.rawValue)
      ChangesetInteger.append(0, to: &bytes)
      ChangesetInteger.append(Int64(table.value), to: &bytes)
    }
  }

  /// Returns the number of versions an undo went back; nil for any other changeset.
  static func steps(in changeset: [UInt8]) -> Int? {
    guard changeset.count > 2, changeset[0] == Changeset.Code.selectTable.rawValue, changeset[1] == 0,
      let end = changeset.indices.dropFirst(2).first(where: { changeset[$0] & 0x80 == 0 })
    else { return nil }
    let once = Array(changeset[...end])
    var count = 0
    while changeset.dropFirst(count * once.count).starts(with: once) { count += 1 }
    return count > 1 ? count - 1 : nil
  }
}
