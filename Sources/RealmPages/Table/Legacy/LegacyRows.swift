// Objects of formats 2 to 9: columns of equal length side by side, where the row number serves as object key. Source:
// format/2-model.md M14, "Format 2..9".

/// The rows of one table. The same for every reader; what remembers positions is a `LegacyReader`.
struct LegacyRows: Sendable {
  let spec: LegacySpec
  /// The columns that show.
  let columns: [LegacyColumn]
  let count: Int
  /// The array of the columns' roots, or 0 for a table without columns.
  let rootsRef: Int

  /// Reads the table whose top array is `top`: spec and column roots.
  init(_ arena: Arena, tableTop top: Node) throws(FormatError) {
    try self.init(arena, LegacySpec(arena, top.child(0)), rootsRef: top.childIfPresent(1))
  }

  /// The rows below the array of roots at `rootsRef` that a spec describes. Cost O(1) and the height of a tree.
  init(_ arena: Arena, _ spec: LegacySpec, rootsRef: Int) throws(FormatError) {
    self.spec = spec
    self.rootsRef = rootsRef
    columns = spec.columns.filter { !$0.isInternal }
    guard rootsRef != 0 else {
      if spec.rootCount > 0 { throw FormatError("a table whose columns are missing", ref: spec.ref) }
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

  /// The name of the property that table `pk` declares as the primary key of class `className`; nil if there is none.
  static func primaryKeyName(_ pkTable: Table?, of className: String?) throws(FormatError) -> String? {
    if let damage = pkTable?.damage { throw damage }
    guard let pkTable, let className,
      let table = pkTable.columns.firstIndex(where: { $0.name == "pk_table" }),
      let property = pkTable.columns.firstIndex(where: { $0.name == "pk_property" })
    else { return nil }
    let cursor = ObjectCursor(pkTable)
    while try cursor.next() {
      guard case .string(let name) = try cursor.value(table), name.string == className,
        case .string(let key) = try cursor.value(property)
      else { continue }
      return key.string
    }
    return nil
  }
}
