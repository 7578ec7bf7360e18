// The parts of older versions that are still in the file, node by node.
//
// Invariant: a node that can be read in a state is a node of that version, and no later commit has written to it. A
// commit writes only to space that is free in its base version, and a range that it freed was in use in the base
// version. So the free lists of consecutive versions prove which bytes of the older ones are intact, even where others
// are not. A version whose top array is overwritten ends the sequence, but its tables can be read if their own top
// arrays are in ranges that the next version freed. Source: docs/format/3-commit.md 3.3, 3.5.

/// An older version, of which any node may be missing.
struct FormerState {
  /// The version. A node that was overwritten since cannot be read.
  let snapshot: Snapshot
  /// The number of the version.
  let version: UInt64
  /// Its bytes.
  let space: GuardedSpace
}

/// Goes back from a version to earlier ones. Use it only while no writer can commit.
final class FormerStates {
  private let newest: Snapshot
  private let space: PageSpace
  /// The state found last.
  private var last: (snapshot: Snapshot, version: UInt64)
  /// The ranges that commits after `last` may have written.
  private var written = ByteRanges()
  private var isOver = false
  /// The candidate roots of each version.
  private lazy var roots = Dictionary(
    grouping: RescuedRealm(space, path: newest.path, maxFound: Self.maxSteps).roots,
    by: \.version
  )

  /// The maximum number of versions to go back.
  private static let maxSteps = 64

  /// Starts before `newest`, which must be the newest version.
  init(before newest: Snapshot) throws(EngineError) {
    // The search drops pages that other threads may be reading.
    (self.newest, space, last) = (newest, try newest.arena.space.copy(keeping: []), (newest, newest.version))
  }

  /// True if the file has a top array of a version after the newest: an interrupted commit, which may have written to
  /// any free space.
  var followsInterruptedCommit: Bool { roots.keys.contains { $0 > newest.version } }

  /// Returns the next older version; nil if nothing more is known.
  ///
  /// Cost: a scan of the file for the first one; each further one costs its free list.
  func next() throws(EngineError) -> FormerState? {
    if isOver || last.version <= 1 { return nil }
    let list = try Committer.ranges(last.snapshot.arena, last.snapshot.top)
    // Only what the last version freed was in use before.
    let freed = ByteRanges(list.filter { $0.version == last.version }.map { $0.position..<$0.end })
    let unused = ByteRanges(list.filter { $0.version != last.version }.map { $0.position..<$0.end })
    let guarded = GuardedSpace(space, without: unused.union(space.changed(byWriting: written)))
    if let state = whole(guarded, freed) {
      let gap = state.version + 1 != last.version
      if !gap {
        let free = try state.snapshot.freeRanges()
        // Another commit on this state was interrupted, and may have written to all of its free space.
        let isOnlyOne = (roots[last.version] ?? []).allSatisfy { $0.ref == last.snapshot.top.ref }
        written = written.union(isOnlyOne ? free.subtracting(try last.snapshot.freeRanges()) : free)
      }
      // The ranges that the versions in a gap wrote are unknown.
      isOver = gap
      last = (state.snapshot, state.version)
      return state
    }
    isOver = true
    return try tables(guarded, freed)
  }

  /// The version before `last`, if its top array and free list are intact.
  private func whole(_ guarded: GuardedSpace, _ freed: ByteRanges) -> FormerState? {
    let version = last.version - 1
    var candidates = (roots[version] ?? []).map { Header(topRef: $0.ref, format: $0.format) }
    if last.snapshot === newest {
      // After grouped commits, the header refers to a version further back, which they did not overwrite.
      let previous = try? newest.previous()  // a header that refers to no other version
      if let previous, previous.version < version {
        let all = GuardedSpace(space, without: ByteRanges())
        return state(Header(topRef: previous.top.ref, format: previous.fileFormat), all, ByteRanges())
      }
    }
    candidates = candidates.filter { $0.format == newest.fileFormat }
    let states = candidates.compactMap { state($0, guarded, freed) }.filter { $0.version == version }
    return states.count == 1 ? states[0] : nil
  }

  /// The version with this top array, unless its free list contains any of `used`.
  private func state(_ header: Header, _ guarded: GuardedSpace, _ used: ByteRanges) -> FormerState? {
    ifReadable { () throws(EngineError) in
      let found = try Snapshot(guarded, header, path: newest.path, pin: newest.pin, swapsGuids: newest.arena.swapsGuids)
      let free = try Committer.ranges(found.arena, found.top)
      if free.contains(where: { used.overlaps($0.position..<$0.end) }) {
        throw .damaged("a free list of another version", ref: header.topRef)
      }
      return FormerState(snapshot: found, version: found.version, space: guarded)
    }
  }

  /// The tables before `last`, without a top array: those that `last` changed, from their own tops. A table without
  /// such a top may have been changed, too, so it counts only if the previous list of tables is left and has the same
  /// ref.
  private func tables(_ guarded: GuardedSpace, _ freed: ByteRanges) throws(EngineError) -> FormerState? {
    let base = last.snapshot
    let arena = Arena(guarded, limit: base.logicalSize, format: base.fileFormat, swapsGuids: base.arena.swapsGuids)
    func isFreed(_ ref: Int) -> Bool { freed.contains(ref..<ref + Node.headerSize) }
    let structures = CarvedStructures(arena)
    let found = Dictionary(grouping: structures.tops.values.filter { isFreed($0.ref) }, by: \.key)
    // Of several candidates, some may not have been found.
    if found.isEmpty || structures.isIncomplete { return nil }
    let groups = structures.groups.filter { isFreed($0.ref) }, group = groups.count == 1 ? groups[0].tables : []
    var tables: [Int: Table] = [:]
    for (slot, ref) in try base.tableSlots() {
      guard let table = try base.table(slot: slot) else { continue }
      let tops = found[table.key] ?? []
      let isSame = tops.isEmpty && group.indices.contains(slot) && group[slot] == ref
      let isChanged = tops.count == 1 && tops[0].contentVersion < Int64(clamping: table.contentVersion)
      do throws(EngineError) {
        if !isSame, !isChanged { throw .damaged("overwritten by a later commit", ref: ref) }
        tables[slot] = try Table(arena, name: table.name, slot: slot, ref: isSame ? ref : tops[0].ref)
      } catch {
        // Without this, the table of `last` would be read.
        tables[slot] = Table(arena, name: table.name, slot: slot, ref: ref, damage: error)
      }
    }
    return FormerState(
      snapshot: Snapshot(base, as: tables),
      version: last.version - 1,
      space: guarded
    )
  }
}
