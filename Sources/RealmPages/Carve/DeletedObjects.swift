// Objects that are not in the newest version, with the last state of each that is still in the file; on request, also
// the former states of all objects.
//
// An object is found by its cluster, from the newest of the older versions to the oldest. Clusters that a newer version
// shares are not visited again. Source: docs/format/2-model.md M6, docs/format/3-commit.md 3.3.

/// A state of an object that is not in the newest version.
public struct DeletedObject {
  /// The meaning of a state.
  public enum State: String, Sendable, CaseIterable {
    /// The newest state found of an object that is not in the newest version.
    case deleted
    /// An older state of an object.
    case former
  }

  /// How sure it is that the values are those of one moment.
  public enum Confidence: String, Sendable, CaseIterable {
    /// Free lists prove that nothing of the state was overwritten.
    case certain
    /// A commit was interrupted after the newest version, and may have written to any free space. All nodes of the
    /// state are valid, but one of them may be that of another state.
    case likely
  }

  /// Its table in the version in which it was found.
  public let table: Table
  /// Its object key.
  public let key: ObjKey
  /// The version that contains this state of the object.
  public let version: UInt64
  /// The meaning of this state.
  public let state: State
  /// The version whose commit deleted the object; nil if unknown, and for former states.
  public let freed: UInt64?
  /// How sure the state is.
  public let confidence: Confidence
  /// The version to read the object from. What was overwritten in it throws when it is read.
  public let snapshot: Snapshot
  let space: GuardedSpace

  /// A node of the file.
  public struct StoredNode: Sendable, Hashable {
    /// The position in the file, decrypted, in bytes.
    public let offset: Int
    /// The length in bytes.
    public let length: Int
    /// The SHA-256 of the decrypted bytes, in hexadecimal.
    public let sha256: String
  }

  /// Calls `read` and returns its result with the nodes that it read, in file order. Nothing else may read the snapshot
  /// meanwhile.
  ///
  /// Cost: that of `read`, and one pass over these nodes.
  ///
  /// - Throws: the error of `read`.
  public func recordingNodes<R, E: Error>(
    _ read: () throws(E) -> R
  ) throws(E) -> (result: R, nodes: [StoredNode]) {
    let (result, ranges) = try space.recording(read)
    return (result, ranges.map { StoredNode(offset: $0.lowerBound, length: $0.count, sha256: space.sha256(of: $0)) })
  }
}

/// Finds the deleted objects of a realm. Use it only while no writer can commit.
public final class DeletedObjects {
  private let newest: Snapshot
  private let states: FormerStates
  private let findsFormer: Bool
  /// The clusters visited, as refs divided by the alignment.
  private var seen: BitSet
  /// The objects found, by table.
  private var found: [TableKey: Found] = [:]
  /// The objects found in a table. An object that was created again with the same primary key may have another key.
  private struct Found {
    var keys: Set<ObjKey> = []
    var primaryKeys: Set<PrimaryKey> = []
  }

  /// The newer states, newest first.
  private var newer: [(snapshot: Snapshot, version: UInt64)]
  /// The versions of which at least some objects can be read, newest first, without the newest.
  public private(set) var versions: [UInt64] = []
  /// The number of older states of objects that a later commit has partly overwritten, by class.
  public private(set) var overwritten: [String: Int] = [:]

  /// Prepares the search in the file of `newest`, the newest version. With `former`, it also finds the former states of
  /// objects, perhaps some that equal a newer one.
  ///
  /// - Throws: `unsupportedFormat` for formats before 10.
  public init(in newest: Snapshot, former: Bool = false) throws(EngineError) {
    if newest.fileFormat != 0, newest.fileFormat < 10 {
      throw EngineError(
        .unsupportedFormat(newest.fileFormat),
        "\(newest.path): deleted objects cannot be found in file format \(newest.fileFormat); formats 10 and later can"
      )
    }
    (self.newest, findsFormer) = (newest, former)
    states = try FormerStates(before: newest)
    seen = BitSet(count: newest.arena.space.size / Node.alignment + 1)
    newer = [(newest, newest.version)]
  }

  /// Calls `body` with each deleted object, those of newer versions first. `body` returns false if it could not read
  /// the object.
  ///
  /// Cost: a scan of the file and its clusters; for each older version, what it does not share with a newer one.
  /// Memory: 1 bit for each 8 bytes of the file, and some 16 bytes for each object found.
  ///
  /// - Throws: the error of `body`. Damaged parts of the file are skipped.
  public func forEach<E: Error>(_ body: (DeletedObject) throws(E) -> Bool) throws(E) {
    for table in tables(of: newest) { visitAll(table) }
    var failure: E?
    while failure == nil, let state = ifReadable({ () throws(EngineError) in try states.next() }) ?? nil {
      versions.append(state.version)
      let effort = Effort(state.snapshot)
      for table in tables(of: state.snapshot) where table.kind != .embedded && table.className != nil {
        visit(table.objects.rootRef, 0, depth: 0, table.arena, effort) { cluster in
          if failure != nil { return }
          do throws(E) { try visit(cluster, table, state, body) } catch { failure = error }
        }
      }
      newer.append((state.snapshot, state.version))
    }
    if let failure { throw failure }
  }

  private func tables(of snapshot: Snapshot) -> [Table] {
    // Tables that cannot be read have no readable objects.
    let slots = ifReadable { () throws(EngineError) in try snapshot.tableSlots() } ?? []
    return slots.compactMap { slot, _ in
      ifReadable { () throws(EngineError) in try snapshot.table(slot: slot) } ?? nil
    }
    .filter { $0.damage == nil }
  }

  /// Marks all clusters of a table of the newest version.
  private func visitAll(_ table: Table) {
    visit(table.objects.rootRef, 0, depth: 0, table.arena, Effort(table.arena)) { _ in }
  }

  /// Calls `body` with each cluster below `ref` that was not visited before.
  private func visit(
    _ ref: Int,
    _ offset: UInt64,
    depth: Int,
    _ arena: Arena,
    _ effort: Effort,
    _ body: (Cluster) -> Void
  ) {
    if ref <= 0 || ref >= arena.limit || depth > ClusterTree.maximumDepth { return }
    guard seen.insert(ref / Node.alignment),
      let node = ifReadable({ () throws(EngineError) in
        try effort.spend(Node.headerSize, at: ref)
        return try arena.refs(ref, slots: 1)
      })
    else { return }
    if !node.isInner {
      arena.space.noteRead(ref, node.byteSize)
      let cluster = ifReadable { () throws(EngineError) in try Cluster(arena, node, offset: offset) }
      if let cluster { body(cluster) }
      return
    }
    guard let inner = ifReadable({ () throws(EngineError) in try InnerClusterNode(arena, node, depth: nil) }) else {
      return
    }
    for child in 0..<inner.childCount {
      guard
        let (start, childRef) = ifReadable({ () throws(EngineError) in
          (try inner.start(child), try node.child(child + Layout.InnerCluster.firstChild))
        })
      else { continue }
      visit(childRef, offset &+ start, depth: depth + 1, arena, effort, body)
    }
  }

  private func visit<E: Error>(
    _ cluster: Cluster,
    _ table: Table,
    _ state: FormerState,
    _ body: (DeletedObject) throws(E) -> Bool
  ) throws(E) {
    let cursor = ObjectCursor(table)
    for row in 0..<cluster.count {
      guard let stored = ifReadable({ () throws(EngineError) in try cluster.key(row) }), stored < UInt64(Int64.max)
      else { continue }
      let key = ObjKey(Int64(stored))
      let primaryKey = primaryKey(of: key, cursor)
      let isFormer = isFound(key, primaryKey, in: table) || isAlive(key, primaryKey, in: table)
      if isFormer, !findsFormer { continue }
      let object = DeletedObject(
        table: table,
        key: key,
        version: state.version,
        state: isFormer ? .former : .deleted,
        freed: isFormer ? nil : freed(table.key, key, after: state.version),
        confidence: states.followsInterruptedCommit ? .likely : .certain,
        snapshot: state.snapshot,
        space: state.space
      )
      if try body(object) {
        found[table.key, default: Found()].keys.insert(key)
        if let primaryKey { found[table.key]?.primaryKeys.insert(primaryKey) }
      } else {
        overwritten[table.className ?? "", default: 0] += 1
      }
    }
  }

  /// True if a newer state of the object was found.
  private func isFound(_ key: ObjKey, _ primaryKey: PrimaryKey?, in table: Table) -> Bool {
    found[table.key]?.keys.contains(key) ?? false
      || primaryKey.flatMap { found[table.key]?.primaryKeys.contains($0) } ?? false
  }

  /// True if the newest version has the object, or another one with its primary key; also if that cannot be read.
  private func isAlive(_ key: ObjKey, _ primaryKey: PrimaryKey?, in old: Table) -> Bool {
    ifReadable { () throws(EngineError) in
      guard let table = try newest.table(old.key) else { return false }
      if try table.contains(key) { return true }
      guard old.primaryKeyIndex != nil, table.primaryKeyIndex != nil else { return false }
      // An object whose primary key is overwritten cannot be read.
      guard let primaryKey else { return true }
      return try table.objectKey(primaryKey: primaryKey) != nil
    } ?? true
  }

  /// The primary key of an object; nil without one, or if it is overwritten.
  private func primaryKey(of key: ObjKey, _ cursor: ObjectCursor) -> PrimaryKey? {
    guard let index = cursor.table.primaryKeyIndex else { return nil }
    return ifReadable { () throws(EngineError) in
      try cursor.seek(key) ? PrimaryKey(try cursor.value(index)) : nil
    } ?? nil
  }

  /// The version that deleted an object that `version` has: the next one, if it does not have it.
  private func freed(_ table: TableKey, _ key: ObjKey, after version: UInt64) -> UInt64? {
    guard let next = newer.last, next.version == version + 1 else { return nil }
    let isGone = ifReadable { () throws(EngineError) in
      guard let table = try next.snapshot.table(table) else { return true }
      return try !table.contains(key)
    }
    return isGone == true ? next.version : nil
  }
}
