// The root node of one version. Source: docs/format/1-storage.md S3.

/// The decoded top array.
struct TopArray: Sendable, Equatable {
  let ref: Int
  let namesRef: Int
  let tablesRef: Int
  /// The logical size in bytes: all refs and free space end at or below it.
  let logicalSize: Int
  /// Refs of free positions, sizes and versions; 0 where absent.
  let freeRefs: [Int]
  let version: UInt64
  /// The history type: 0 none, 2 in-Realm, 3 sync client, 4 sync server.
  let historyType: Int
  let historyRef: Int
  let historySchemaVersion: Int
  let syncFileIdent: Int64
  /// The raw element of the evacuation state.
  let evacuation: Int64
  /// The number of slots.
  let slotCount: Int

  /// The lengths that Realm's engine accepts.
  static let acceptedCounts: Set<Int> = [3, 5, 7, 9, 10, 11, 12]

  /// The top array of a file without content.
  static let empty = TopArray()

  private init() {
    (ref, namesRef, tablesRef, logicalSize, freeRefs, version) = (0, 0, 0, Header.size, [0, 0, 0], 1)
    (historyType, historyRef, historySchemaVersion, syncFileIdent, evacuation, slotCount) = (0, 0, 0, 0, 0, 0)
  }

  /// The top array of `base` with the tables of a transaction.
  init(_ base: TopArray, ref: Int, names: Int, tables: Int) {
    (self.ref, namesRef, tablesRef, logicalSize) = (ref, names, tables, base.logicalSize)
    (freeRefs, version, historyType, historyRef) = (base.freeRefs, base.version, base.historyType, base.historyRef)
    (historySchemaVersion, syncFileIdent) = (base.historySchemaVersion, base.syncFileIdent)
    (evacuation, slotCount) = (base.evacuation, base.slotCount)
  }

  /// Reads the top array at `ref`.
  init(_ arena: Arena, _ ref: Int) throws(EngineError) {
    let node = try arena.refs(ref, slots: Layout.Top.minimum)
    if !Self.acceptedCounts.contains(node.count) {
      throw .damaged("a top array of \(node.count) slots", ref: ref)
    }
    func tagged(_ slot: Int) throws(EngineError) -> Int64 { slot < node.count ? try node.tagged(slot) : 0 }
    self.ref = ref
    slotCount = node.count
    namesRef = try node.child(Layout.Top.names)
    tablesRef = try node.child(Layout.Top.tables)
    let size = try node.tagged(Layout.Top.logicalSize)
    if size < Int64(ref + node.byteSize) || size > Int64(arena.end) {
      throw .damaged("a logical size of \(size) bytes, but the file has \(arena.end)", ref: ref)
    }
    logicalSize = Int(size)
    freeRefs = [
      try node.childIfPresent(Layout.Top.freePositions), try node.childIfPresent(Layout.Top.freeSizes),
      try node.childIfPresent(Layout.Top.freeVersions),
    ]
    version = max(1, UInt64(bitPattern: try tagged(Layout.Top.version)))
    historyType = Int(truncatingIfNeeded: try tagged(Layout.Top.historyType))
    historyRef = try node.childIfPresent(Layout.Top.history)
    historySchemaVersion = Int(truncatingIfNeeded: try tagged(Layout.Top.historySchema))
    syncFileIdent = try tagged(Layout.Top.fileIdent)
    evacuation = node.count > Layout.Top.evacuation ? try node.int(Layout.Top.evacuation) : 0
  }
}
