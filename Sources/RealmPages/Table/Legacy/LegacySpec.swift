// Schemas of formats 2 to 9: columns without keys, link targets in the sub-specs. Source: docs/format/2-model.md M14,
// "Format 2..9". Empty and duplicate names are replaced as Realm's own upgrade does.

/// How a column of formats 2 to 9 stores its values.
enum LegacyKind: Sendable {
  /// Values in leaves like those of current formats.
  case plain
  /// Indexes into a list of distinct strings; the list is the tree at this ref.
  case enumerated(valuesRef: Int)
  /// Whole seconds, from before timestamps existed.
  case oldDate
  /// Two trees: seconds and nanoseconds.
  case timestamp
  /// Row number + 1; 0 means null.
  case link
  /// Refs of trees of row numbers.
  case linkList
  /// Refs of the columns of subtables, which share one schema.
  case subtable(LegacySpec)
  /// Mixed values of formats 2 to 9. Some are subtables, each with its own schema.
  case oldMixed
}

/// One column and its location.
struct LegacyColumn: Sendable {
  let column: Column
  let kind: LegacyKind
  /// The positions of its tree and of its search index in the array of roots.
  let root: Int
  let indexRoot: Int?
  /// The position of its first sub-spec in the spec.
  let subSpec: Int
  /// True for an internal column of Realm sync, which an upgrade drops.
  let isInternal: Bool
}

/// One hidden column of incoming links. Source: column_backlink.cpp.
struct LegacyBacklink: Sendable {
  let root: Int
  let originTable: TableKey
  /// The position of the origin column in its table, counting named and hidden columns.
  let originColumn: Int
}

/// The columns of one table of formats 2 to 9.
struct LegacySpec: Sendable {
  /// The named columns in schema order.
  let columns: [LegacyColumn]
  let backlinks: [LegacyBacklink]
  /// The length of the matching array of roots.
  let rootCount: Int
  let ref: Int

  /// Type codes that current formats no longer have.
  enum OldType {
    static let enumeratedString: Int64 = 3, subtable: Int64 = 5, mixed: Int64 = 6, date: Int64 = 7
  }

  /// Limits for one schema, including nested subtables. A damaged schema could contain itself.
  private struct Budget {
    var columns = 1 << 16
    var depth = 0
    static let maximumDepth = 100
  }

  /// Reads the spec at `ref`. Cost: O(columns).
  init(_ arena: Arena, _ ref: Int) throws(EngineError) {
    var budget = Budget()
    try self.init(arena, ref, &budget)
  }

  private init(_ arena: Arena, _ ref: Int, _ budget: inout Budget) throws(EngineError) {
    let spec = try arena.refs(ref, slots: 3)
    let types = try arena.integers(spec.child(0)), names = try arena.node(spec.child(1))
    let attributes = try arena.integers(spec.child(2))
    let subSpecs = try Self.optionalNode(arena, spec.childIfPresent(3))
    let enumLists = try Self.optionalNode(arena, spec.childIfPresent(4))
    budget.columns -= types.count
    if attributes.count != types.count || names.count > types.count {
      throw .damaged("the arrays of the spec differ in size", ref: ref)
    }
    if budget.columns < 0 || budget.depth > Budget.maximumDepth {
      throw .damaged("subtables without end", ref: ref)
    }
    var columns: [LegacyColumn] = [], backlinks: [LegacyBacklink] = []
    var root = 0, subSpec = 0, enumList = 0
    var taken: Set<ExactName> = []
    for i in 0..<types.count {
      let code = try types.int(i)
      let attribute = Int(truncatingIfNeeded: try attributes.int(i))
      var isNullable = attribute & Spec.Attribute.nullable != 0
      var isIndexed = attribute & Spec.Attribute.indexed != 0
      var kind = LegacyKind.plain, target = TableKey.none, collection: CollectionKind?
      var type = Spec.valueType(Int(truncatingIfNeeded: code))
      let firstSubSpec = subSpec
      var valuesRef = 0
      switch code {
      case OldType.enumeratedString:
        guard let enumLists else { throw .damaged("an enumerated column without values", ref: ref) }
        valuesRef = try enumLists.child(enumList)
        kind = .enumerated(valuesRef: valuesRef)
        type = .string
        enumList += 1
      case OldType.date: (kind, type) = (.oldDate, .date)
      case OldType.mixed: (kind, type, isNullable) = (.oldMixed, .mixed, true)
      case Int64(Spec.TypeCode.date): kind = .timestamp
      case Int64(Spec.TypeCode.link), Int64(Spec.TypeCode.linkList):
        isNullable = code == Int64(Spec.TypeCode.link)
        (kind, collection) = isNullable ? (.link, nil) : (.linkList, .list)
        target = TableKey(UInt32(truncatingIfNeeded: try Self.subSpecElement(subSpecs, &subSpec, ref) >> 1))
      case Int64(Spec.TypeCode.backlink):
        let table = try Self.subSpecElement(subSpecs, &subSpec, ref)
        let column = try Self.subSpecElement(subSpecs, &subSpec, ref)
        backlinks.append(
          LegacyBacklink(
            root: root,
            originTable: TableKey(UInt32(truncatingIfNeeded: table >> 1)),
            originColumn: Int(truncatingIfNeeded: column >> 1)
          )
        )
        root += 1
        continue
      case OldType.subtable:
        let element = Int(truncatingIfNeeded: try Self.subSpecElement(subSpecs, &subSpec, ref))
        if element & 1 != 0 { throw .damaged("a number where a sub-spec belongs", ref: ref) }
        budget.depth += 1
        let rows = try LegacySpec(arena, element, &budget)
        budget.depth -= 1
        (kind, collection, isIndexed) = (.subtable(rows), .list, false)
        let only = rows.onlyColumn
        type = only?.column.type ?? .mixed
        isNullable = only?.column.isNullable ?? true
      default: break
      }
      guard let type, i < names.count else { throw .damaged("column \(i) has the unknown type \(code)", ref: ref) }
      columns.append(
        LegacyColumn(
          column: Column(
            name: try Self.name(names, i, &taken),
            key: ColKey(Int64(i)),
            type: type,
            collection: collection,
            isNullable: isNullable,
            index: isIndexed ? .general : nil,
            targetTable: type == .link ? target : nil,
            enumRef: valuesRef,
            indexRef: 0,
            dictionaryKeyType: 0
          ),
          kind: kind,
          root: root,
          indexRoot: isIndexed ? root + 1 : nil,
          subSpec: firstSubSpec,
          isInternal: try Self.isInternal(names, i)
        )
      )
      // A column's index follows the column.
      root += isIndexed ? 2 : 1
    }
    self.columns = columns
    self.backlinks = backlinks
    self.ref = ref
    rootCount = root
  }

  /// The only column of a subtable that represents a list of plain values, as SDKs stored those; nil for other
  /// subtables.
  var onlyColumn: LegacyColumn? {
    guard columns.count == 1, columns[0].column.collection == nil else { return nil }
    switch columns[0].kind {
    case .link, .linkList, .subtable: return nil
    default: return columns[0]
    }
  }

  private static func name(_ names: Node, _ index: Int, _ taken: inout Set<ExactName>) throws(EngineError) -> String {
    var name = try StringLeaf.name(names, index)
    if name.isEmpty { name = "col_\(index)" }
    while taken.contains(ExactName(name)) { name += "_\(index)" }
    taken.insert(ExactName(name))
    return name
  }

  /// True for the columns in which synchronised realms stored object identities. Source: v13.27.0 table.cpp,
  /// finalize_migration.
  private static func isInternal(_ names: Node, _ index: Int) throws(EngineError) -> Bool {
    let name = try StringLeaf.short(names, index)?.string
    return name == "!OID" || name == "!ROW_INDEX"
  }

  private static func optionalNode(_ arena: Arena, _ ref: Int) throws(EngineError) -> Node? {
    ref == 0 ? nil : try arena.integers(ref)
  }

  private static func subSpecElement(_ node: Node?, _ index: inout Int, _ ref: Int) throws(EngineError) -> Int64 {
    guard let node else { throw .damaged("a link or subtable column without its sub-spec", ref: ref) }
    index += 1
    return try node.int(index - 1)
  }
}
