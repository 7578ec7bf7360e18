// The older versions that a file still holds in full, from newest to oldest.
//
// Invariant: no part of a returned version was overwritten by a later commit. The ranges that a commit wrote follow
// from the free lists of its base version and of the version it created, so every version in between must exist. An
// interrupted commit counts too if its top array is in the file; one that was interrupted earlier leaves no record of
// what it wrote, and only the check of the version can detect that. Source: docs/format/3-commit.md 3.3.

/// Finds the versions before a given one. Use it only while no writer can commit.
package final class FormerVersions {
  private let newest: Snapshot
  /// The version found last.
  private var last: Snapshot
  /// The ranges that commits after `last` wrote.
  private var written: [Range<Int>] = []
  private var isOver = false
  /// True if the version to which the header leads is checked like the others.
  private let checksFirst: Bool
  private lazy var file = RescuedRealm(
    newest.arena.space,
    path: newest.path,
    mostFound: Self.mostSteps,
    memory: .whole
  )
  /// The refs of the top arrays that are in the file, by version.
  private lazy var refs = Dictionary(grouping: file.roots, by: \.version).mapValues { $0.map(\.ref) }

  /// The maximum number of versions to go back.
  static let mostSteps = 64

  /// Starts before `newest`, which must be the newest version. Returns the version to which the header leads without a
  /// check of its nodes, because the last commit did not overwrite it.
  package init(before newest: Snapshot) { (self.newest, last, checksFirst) = (newest, newest, false) }

  /// Starts before `newest`, the newest version in `file`. Checks every version in full: after the last commit, another
  /// one may have been cut off.
  init(before newest: Snapshot, in file: RescuedRealm) {
    (self.newest, last, checksFirst) = (newest, newest, true)
    self.file = file
    // A version that no commit on the newest one can have made: nothing shows what was written meanwhile.
    isOver = file.roots.contains { $0.version > newest.version + 1 } || !noteCutOffCommits(after: newest, before: nil)
  }

  /// Returns the next older version; nil if the file no longer holds it in full.
  ///
  /// Cost: O(1) for the first version, which the header leads to, unless it is checked. For others the file is scanned
  /// once, and each version is verified in full.
  package func next() throws(EngineError) -> Snapshot? {
    if isOver { return nil }
    let isFirst = last === newest
    var found = isFirst ? try newest.previous() : nil
    if checksFirst || !isFirst {
      let ref = found.flatMap { $0.version == last.version - 1 ? $0.top.ref : nil } ?? onlyRef(of: last.version - 1)
      found = ref.flatMap { whole($0, last.version - 1) }
    }
    guard let found, found.version == last.version - 1, found.fileFormat == last.fileFormat else {
      // The file does not record which ranges the grouped commits in between wrote.
      isOver = true
      return isFirst ? found : nil
    }
    do throws(EngineError) {
      written += try Self.ranges(freeIn: found, butNotIn: last)
      if checksFirst || !isFirst { isOver = !noteCutOffCommits(after: found, before: last) }
    } catch { isOver = true }
    last = found
    return found
  }

  /// Adds what commits on `base` wrote that were cut off, so that `next` became the version after it, if any. Returns
  /// false if that is unknown.
  private func noteCutOffCommits(after base: Snapshot, before next: Snapshot?) -> Bool {
    for ref in refs[base.version + 1] ?? [] where ref != next?.top.ref {
      do throws(EngineError) { written += try Self.ranges(freeIn: base, butNotIn: snapshot(ref)) } catch {
        return false
      }
    }
    return true
  }

  private func snapshot(_ ref: Int) throws(EngineError) -> Snapshot {
    let format = file.roots.first { $0.ref == ref }?.format
    let header = Header(topRef: ref, format: format ?? newest.fileFormat)
    return try Snapshot(newest.arena.space, header, path: newest.path, pin: newest.pin)
  }

  /// The ref of a version with a single candidate.
  private func onlyRef(of version: UInt64) -> Int? { refs[version].flatMap { $0.count == 1 ? $0[0] : nil } }

  /// Returns the version whose top array is at `ref` if nothing of it was overwritten; nil otherwise.
  private func whole(_ ref: Int, _ version: UInt64) -> Snapshot? {
    do throws(EngineError) {
      let found = try snapshot(ref)
      guard found.version == version, let root = file.roots.first(where: { $0.ref == ref }) else { return nil }
      if try found.overlaps(written.map(wholePages), dropsPages: checksFirst) { return nil }
      return file.firstProblem(of: root) == nil ? found : nil
    } catch {
      // A version that cannot be read is not intact.
      return nil
    }
  }

  /// An encrypted page is written as a whole, with zeros in unused parts.
  private func wholePages(_ range: Range<Int>) -> Range<Int> {
    guard newest.arena.space.fillsOnDemand else { return range }
    let page = PageCipher.pageSize
    return range.lowerBound / page * page..<(range.upperBound + page - 1) / page * page
  }

  /// The ranges that are free in `base`, but not in `other`. If the commit of `other` was based on `base`, these are
  /// the ranges that it may have written. If `other` is older, these are the ranges that its nodes had since.
  static func ranges(freeIn base: Snapshot, butNotIn other: Snapshot) throws(EngineError) -> [Range<Int>] {
    let still = try ranges(freeIn: other)
    var ranges: [Range<Int>] = [], index = 0
    for range in try Self.ranges(freeIn: base) {
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
  static func ranges(freeIn version: Snapshot) throws(EngineError) -> [Range<Int>] {
    let ranges = try Committer.ranges(version.arena, version.top).map { $0.position..<$0.end }
    return ranges + [version.logicalSize..<Int.max]
  }
}

extension Snapshot {
  /// True if a node of the version overlaps one of `ranges`. Throws if two nodes lead to one place. `dropsPages` is for
  /// the sole user of the pages.
  ///
  /// Memory: one bit for each eight bytes of the file at most, and 256 MiB of decrypted pages with `dropsPages`.
  fileprivate func overlaps(_ ranges: [Range<Int>], dropsPages: Bool) throws(EngineError) -> Bool {
    let ranges = ranges.joined
    if ranges.isEmpty { return false }
    var pending = [top.ref], known = BitSet(count: arena.limit / Node.alignment + 1)
    while let ref = pending.popLast() {
      if dropsPages, arena.space.filledBytes > 1 << 28 { arena.space.dropPages() }
      let node = try arena.node(ref)
      arena.space.noteRead(ref, node.byteSize)
      guard known.insert(ref / Node.alignment) else { throw .damaged("two nodes lead here", ref: ref) }
      if ranges.haveAny(in: ref..<ref + node.byteSize) { return true }
      guard node.hasRefs, node.width > 0 else { continue }
      for i in 0..<node.count {
        let element = try node.int(i)
        if element != 0, element & 1 == 0 { pending.append(Int(truncatingIfNeeded: element)) }
      }
    }
    return false
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

extension [Range<Int>] {
  /// These ranges in ascending order, without overlaps.
  fileprivate var joined: [Range<Int>] {
    var all: [Range<Int>] = []
    for range in sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = all.last, range.lowerBound <= last.upperBound {
        all[all.count - 1] = last.lowerBound..<Swift.max(last.upperBound, range.upperBound)
      } else {
        all.append(range)
      }
    }
    return all
  }

  /// True if one of these ranges, which are in ascending order without overlaps, overlaps `range`.
  fileprivate func haveAny(in range: Range<Int>) -> Bool {
    var (low, high) = (0, count)
    while low < high {
      let middle = (low + high) / 2
      if self[middle].upperBound <= range.lowerBound { low = middle + 1 } else { high = middle }
    }
    return low < count && self[low].lowerBound < range.upperBound
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
