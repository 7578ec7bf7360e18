// Objects of formats 2 to 9: columns of equal length side by side, where the row number serves as object key. Source:
// docs/format/2-model.md M14, "Format 2..9".

/// The rows of one table. Shared by all readers; the `LegacyReader`s remember positions.
struct LegacyRows: Sendable {
  let spec: LegacySpec
  /// The visible columns.
  let columns: [LegacyColumn]
  let count: Int
  /// The array of the columns' roots, or 0 for a table without columns.
  let rootsRef: Int

  /// Reads the table whose top array is `top`: spec and column roots.
  init(_ arena: Arena, tableTop top: Node) throws(EngineError) {
    try self.init(arena, LegacySpec(arena, top.child(0)), rootsRef: top.childIfPresent(1))
  }

  /// The rows below the array of roots at `rootsRef`, as described by a spec. Cost: O(1) plus the height of a tree.
  init(_ arena: Arena, _ spec: LegacySpec, rootsRef: Int) throws(EngineError) {
    self.spec = spec
    self.rootsRef = rootsRef
    columns = spec.columns.filter { !$0.isInternal }
    guard rootsRef != 0 else {
      if spec.rootCount > 0 { throw .damaged("a table whose columns are missing", ref: spec.ref) }
      count = 0
      return
    }
    if let column = spec.columns.first {
      count = try LegacyReader(arena, column, rootsRef: rootsRef).count
    } else if let backlink = spec.backlinks.first {
      let ref = try arena.refs(rootsRef).child(backlink.root)
      count = try ElementReader(arena, ref, LegacyReader.int).count
    } else {
      count = 0
    }
  }

  private init(_ rows: LegacyRows, count: Int) {
    (spec, columns, rootsRef) = (rows.spec, rows.columns, rows.rootsRef)
    self.count = count
  }

  /// Returns the rows of a class, at most as many as the longest readable column has: the count in the root of a
  /// damaged tree is arbitrary. Cost: O(columns) plus the height of a tree in an intact file.
  func reachable(_ arena: Arena) throws(EngineError) -> LegacyRows {
    // A leaf has at most 1000 values and takes at least 8 bytes.
    if count / 125 * max(1, spec.columns.count) > Node.headerSize * arena.maximumNodes {
      throw .damaged("\(count) rows of \(spec.columns.count) values, for which the file has no room", ref: rootsRef)
    }
    var most = 0
    for column in spec.columns where most < count {
      // Ignore columns that cannot be read.
      guard let reader = try? LegacyReader(arena, column, rootsRef: rootsRef) else { continue }
      most = max(most, min(count, reader.reachableCount))
    }
    return most < count && !spec.columns.isEmpty ? LegacyRows(self, count: most) : self
  }

  /// Returns the name of the property that table `pk` declares as the primary key of class `className`; nil if there is
  /// none.
  static func primaryKeyName(_ pkTable: Table?, of className: String?) throws(EngineError) -> String? {
    if let damage = pkTable?.damage { throw damage }
    guard let pkTable, let className,
      let table = pkTable.columns.firstIndex(where: { $0.name == "pk_table" }),
      let property = pkTable.columns.firstIndex(where: { $0.name == "pk_property" })
    else { return nil }
    let cursor = ObjectCursor(pkTable)
    while try cursor.next() {
      guard case .string(let name) = try cursor.value(table), name.string.isExactly(className),
        case .string(let key) = try cursor.value(property)
      else { continue }
      return key.string
    }
    return nil
  }
}
