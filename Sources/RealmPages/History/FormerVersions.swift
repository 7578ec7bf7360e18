// The versions before the newest one that a file still holds whole, one after the other.
//
// Invariant: nothing that a version consists of was overwritten by a commit after it. What a commit wrote is known from
// the free lists of the version that it built on and of the one that it made, so each version between must be there.
// Source: docs/format/3-commit.md 3.3.

/// Goes back from a version to those before it. Only while no writer can commit.
package final class FormerVersions {
  private let newest: Snapshot
  /// The version that was found last.
  private var last: Snapshot
  /// What the commits after `last` wrote.
  private var written: [Range<Int>] = []
  private var isOver = false
  /// By version: where its root may be.
  private lazy var roots = searchedRoots()

  /// Longer ways back are not looked for.
  private static let mostSteps = 64

  /// Begins before `newest`, which must be the newest version.
  package init(before newest: Snapshot) { (self.newest, last) = (newest, newest) }

  /// The next older version; nil if the file does not hold it whole any more.
  ///
  /// Cost: O(1) for the first one, to which the header leads. For those before it the file is searched once, and each
  /// is checked from end to end.
  package func next() throws(EngineError) -> Snapshot? {
    if isOver { return nil }
    let found: Snapshot?
    if last === newest { found = try newest.previous() } else { found = whole(last.version - 1) }
    guard let found, found.version == last.version - 1, found.fileFormat == last.fileFormat else {
      // The file does not tell what grouped commits in between wrote.
      isOver = true
      return last === newest ? found : nil
    }
    do throws(EngineError) { written += try Self.written(by: last, after: found) } catch { isOver = true }
    last = found
    return found
  }

  /// The roots that a search finds, where one alone has its version.
  private func searchedRoots() -> [UInt64: Int] {
    let roots = RescuedRealm(newest.arena.space, path: newest.path, mostFound: Self.mostSteps).roots
    return Dictionary(grouping: roots, by: \.version).compactMapValues { $0.count == 1 ? $0[0].ref : nil }
  }

  /// A version of which nothing was overwritten; nil if there is none with this number.
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
      // What cannot be read is not whole.
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

  /// Where the commit that made `version` may have written: what was free in `base`, and is not any more.
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

  /// What is free in a version, ascending; the last range has no end.
  private static func free(_ version: Snapshot) throws(EngineError) -> [Range<Int>] {
    let ranges = try Committer.ranges(version.arena, version.top).map { $0.position..<$0.end }
    return ranges + [version.logicalSize..<Int.max]
  }
}

extension Snapshot {
  /// Where all nodes of the version are.
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

  /// The version that the commit of this one brought back, if that was an undo; nil otherwise.
  ///
  /// The changeset says so, because it is what every commit replaces.
  package var restoredVersion: UInt64? {
    guard historyType == 2, top.historyRef != 0 else { return nil }
    do throws(EngineError) {
      let entries = try ElementReader(arena, top.historyRef, ElementType(.data, isNullable: false))
      guard entries.count > 0, case .data(let bytes) = try entries.value(at: entries.count - 1),
        let steps = UndoMark.steps(in: bytes.bytes), UInt64(steps) < version - 1
      else { return nil }
      return version - 1 - UInt64(steps)
    } catch {
      // A history that cannot be read says nothing of an undo.
      return nil
    }
  }
}

/// Marks a changeset as an undo: it begins by selecting a table more than once, which has no effect. No
/// engine writes that otherwise.
enum UndoMark {
  /// Puts the mark at the beginning of a changeset; `steps` is how many versions it goes back, at least 1.
  static func append(steps: Int, _ table: TableKey, to bytes: inout [UInt8]) {
    for _ in 0...steps {
      bytes.append(Changeset.Code.selectTable.rawValue)
      ChangesetInteger.append(0, to: &bytes)
      ChangesetInteger.append(Int64(table.value), to: &bytes)
    }
  }

  /// How many versions an undo went back; nil of any other changeset.
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
