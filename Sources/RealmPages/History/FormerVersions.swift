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
  private var written = ByteRanges()
  private var isOver = false
  /// True if the version to which the header refers is checked like the others.
  private let checksFirst: Bool
  private lazy var file = RescuedRealm(
    // The search drops pages that other threads may be reading. Without memory for a copy, it searches the original.
    (try? newest.arena.space.copy(keeping: [])) ?? newest.arena.space,
    path: newest.path,
    maxFound: Self.maxSteps,
    memory: .whole
  )
  /// The refs of the top arrays that are in the file, by version.
  private lazy var refs = Dictionary(grouping: file.roots, by: \.version).mapValues { $0.map(\.ref) }

  /// The maximum number of versions to go back.
  static let maxSteps = 64

  /// Starts before `newest`, which must be the newest version. Returns the version to which the header refers
  /// without checking its nodes: the free lists of both show that the last commit did not overwrite it.
  package init(before newest: Snapshot) { (self.newest, last, checksFirst) = (newest, newest, false) }

  /// Starts before `newest`, the newest version in `file`. Checks every version in full: after the last commit, another
  /// one may have been interrupted.
  init(before newest: Snapshot, in file: RescuedRealm) {
    (self.newest, last, checksFirst) = (newest, newest, true)
    self.file = file
    // After a version that no commit on the newest one can have created, the writes in between are unknown.
    isOver =
      file.roots.contains { $0.version > newest.version &+ 1 } || !noteInterruptedCommits(after: newest, before: nil)
  }

  /// Returns the next older version; nil if the file no longer holds it in full.
  ///
  /// Cost: for the first version, to which the header refers, reading two free lists, unless it is checked. For the
  /// others, the file is scanned once, and each version is verified in full.
  package func next() throws(EngineError) -> Snapshot? {
    if isOver { return nil }
    let isFirst = last === newest
    var found = isFirst ? try newest.previous() : nil
    // A version whose free list cannot be read is not proven either.
    if let first = found, ifReadable({ () throws(EngineError) in try first.precedes(newest) }) != true { found = nil }
    if checksFirst || !isFirst {
      let ref = found.flatMap { $0.version == last.version - 1 ? $0.top.ref : nil } ?? onlyRef(of: last.version - 1)
      found = ref.flatMap { whole($0, last.version - 1) }
    }
    guard let found, found.version == last.version - 1, found.fileFormat == last.fileFormat else {
      // The file does not record which ranges the grouped commits in between wrote.
      isOver = true
      return isFirst ? found : nil
    }
    do {
      written = written.union(try found.freeRanges().subtracting(last.freeRanges()))
      if checksFirst || !isFirst { isOver = !noteInterruptedCommits(after: found, before: last) }
    } catch { isOver = true }
    last = found
    return found
  }

  /// Adds the ranges that interrupted commits on `base` wrote, after which `next`, if any, became the next version.
  /// Returns false if these ranges are unknown.
  private func noteInterruptedCommits(after base: Snapshot, before next: Snapshot?) -> Bool {
    for ref in refs[base.version &+ 1] ?? [] where ref != next?.top.ref {
      do {
        written = written.union(try base.freeRanges().subtracting(snapshot(ref).freeRanges()))
      } catch { return false }
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
    do {
      let found = try snapshot(ref)
      guard found.version == version, let root = file.roots.first(where: { $0.ref == ref }) else { return nil }
      let changed = newest.arena.space.changed(byWriting: written)
      if try found.overlaps(changed, dropsPages: checksFirst) { return nil }
      return file.firstProblem(of: root) == nil ? found : nil
    } catch {
      // A version that cannot be read is not intact.
      return nil
    }
  }
}

extension Snapshot {
  /// True if a node of the version overlaps one of `ranges`. Throws if two nodes lead to one place. `dropsPages` is for
  /// the sole user of the pages.
  ///
  /// Memory: one bit for each eight bytes of the file at most, and 256 MiB of decrypted pages with `dropsPages`.
  fileprivate func overlaps(_ ranges: ByteRanges, dropsPages: Bool) throws(EngineError) -> Bool {
    if ranges.isEmpty { return false }
    var pending = [top.ref], known = BitSet(count: arena.limit / Node.alignment + 1)
    _ = known.insert(top.ref / Node.alignment)
    while let ref = pending.popLast() {
      if dropsPages, arena.space.filledBytes > 1 << 28 { arena.space.dropPages() }
      let node = try arena.node(ref)
      arena.space.noteRead(ref, node.byteSize)
      if ranges.overlaps(ref..<ref + node.byteSize) { return true }
      guard node.hasRefs, node.width > 0 else { continue }
      for i in 0..<node.count {
        let element = try node.int(i)
        if element == 0 || element & 1 != 0 { continue }
        guard element > 0, element < arena.limit, element & 7 == 0, known.insert(Int(element) / Node.alignment) else {
          throw .damaged("slot \(i) has an invalid ref, or one that another slot has", ref: ref)
        }
        pending.append(Int(element))
      }
    }
    return false
  }

  /// True if the free lists agree that `newer` was committed on this version, perhaps with others in between: what
  /// earlier commits freed is free here, and what the next commit freed is not. A version with which they disagree was
  /// overwritten at least in part. Source: docs/format/3-commit.md 3.3.
  fileprivate func precedes(_ newer: Snapshot) throws(EngineError) -> Bool {
    let free = try freeRanges()
    return try Committer.ranges(newer.arena, newer.top).allSatisfy { range in
      let bytes = (range.position..<range.end).clamped(to: 0..<logicalSize)
      // Nothing is known about a range without a version. A grouped commit may free what another one wrote.
      if bytes.isEmpty || range.version == 0 { return true }
      if range.version > version { return newer.version > version + 1 || !free.overlaps(bytes) }
      return free.contains(bytes)
    }
  }

  /// The free bytes of this version; the last range is unbounded.
  func freeRanges() throws(EngineError) -> ByteRanges {
    let ranges = try Committer.ranges(arena, top).map { $0.position..<$0.end }
    return ByteRanges(ranges + [logicalSize..<Int.max])
  }

  /// The version restored by the commit of this one, if that was an undo; nil otherwise.
  ///
  /// The changeset contains it, because every commit writes a changeset.
  package var restoredVersion: UInt64? {
    guard historyType == 2, top.historyRef != 0 else { return nil }
    do {
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
