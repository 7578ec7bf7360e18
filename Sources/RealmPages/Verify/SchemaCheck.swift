// Tables and their columns: table tops, specs, column keys, attributes, and the arrays that connect links with
// backlinks. Source: docs/format/2-model.md M1 to M4.

/// A table whose top array and spec are readable.
struct CheckedTable {
  let table: Table
  /// The stored facts about each column, including hidden ones.
  let facts: [ColumnFacts]
  /// For each position in `table.columns`, the number of enumerated values; nil if the column is not enumerated.
  let enumCounts: [Int?]
  /// The collision map, or 0.
  let collisionRef: Int
}

/// The stored facts about one column.
struct ColumnFacts {
  let name: String
  let isNamed: Bool
  let key: ColKey
  let specType: Int
  let attributes: Int
  let oppositeTable: TableKey
  let oppositeColumn: ColKey
  let indexRef: Int

  /// The type code, with the old code of link lists mapped to link.
  var type: Int { key.typeCode == Spec.TypeCode.linkList ? Spec.TypeCode.link : key.typeCode }
}

/// Checks schemas.
struct SchemaCheck {
  private let context: CheckContext
  private var arena: Arena { context.arena }

  /// Table keys have 31 bits.
  private static let tableKeys: ClosedRange<Int64> = 0...0x7FFF_FFFF
  /// The primary key types of the object store. Source: docs/format/2-model.md M11.
  private static let primaryKeyTypes: Set<ValueType> = [.int, .string, .objectID, .uuid]
  /// The attributes that a column key holds, without those of indexes.
  private static let keyAttributes = 0xFF & ~Spec.Attribute.indexed

  init(_ context: CheckContext) { self.context = context }

  // MARK: Tables

  /// Claims the schema of the table in `slot` and checks everything that does not depend on other tables.
  func table(slot: Int, ref: Int) throws(EngineError) -> CheckedTable {
    let top = try context.refs(ref, Layout.Table.minimum...Layout.Table.count)
    for number in [Layout.Table.columnCounter, Layout.Table.contentVersion, Layout.Table.sequence] {
      _ = try top.tagged(number)
    }
    _ = try tableKey(top.tagged(Layout.Table.key))
    if try top.int(Layout.Table.unused) != 0 { context.report("slot 1 of the table is not 0", ref: ref) }
    let flags = top.count > Layout.Table.flags ? try top.tagged(Layout.Table.flags) : 0
    if flags < 0 || flags > 2 { context.report("unknown bits in the flags \(flags)", ref: ref) }
    guard let table = try context.snapshot.table(slot: slot) else { throw .damaged("no table", ref: ref) }
    if let damage = table.damage { throw damage }
    context.place.table = table.name
    let facts = try columns(top)
    let enumCounts = try enumCounts(top, table.columns.count)
    if let primaryKey = table.primaryKey {
      if primaryKey.collection != nil || !Self.primaryKeyTypes.contains(primaryKey.type) {
        context.report("the primary key \"\(primaryKey.name)\" is of a type that cannot be one")
      }
      if table.kind == .embedded { context.report("embedded objects with a primary key") }
    }
    return CheckedTable(
      table: table,
      facts: facts,
      enumCounts: enumCounts,
      collisionRef: try top.childIfPresent(Layout.Table.collisions)
    )
  }

  private func columns(_ top: Node) throws(EngineError) -> [ColumnFacts] {
    let spec = try context.refs(top.child(Layout.Table.spec), Layout.Spec.count...Layout.Spec.count)
    let types = try context.integers(spec.child(Layout.Spec.types))
    let attributes = try context.integers(spec.child(Layout.Spec.attributes))
    let keys = try context.integers(spec.child(Layout.Spec.keys)), names = try shortNames(spec.child(Layout.Spec.names))
    if try spec.int(Layout.Spec.unused) != 0 { context.report("slot 3 of the spec is not 0", ref: spec.ref) }
    if types.count != attributes.count || types.count != keys.count || names.count > types.count {
      throw .damaged("the arrays of the spec differ in size", ref: spec.ref)
    }
    var size = 0
    for i in 0..<keys.count { size = max(size, ColKey(try keys.int(i)).leafPosition + 1) }
    let beside = try arraysBeside(top, size)
    var facts: [ColumnFacts] = [], positions: Set<Int> = []
    for i in 0..<types.count {
      let key = ColKey(try keys.int(i)), position = key.leafPosition
      if key.value < 0 { context.report("the negative column key \(key)", ref: keys.ref) }
      if !positions.insert(position).inserted { context.report("two columns at position \(position)", ref: keys.ref) }
      let name = i < names.count ? try StringLeaf.short(names, i) ?? .empty : .empty
      if !name.isUTF8 { context.report("the name of column \(i) is not UTF-8", ref: names.ref) }
      facts.append(
        ColumnFacts(
          name: name.string,
          isNamed: i < names.count,
          key: key,
          specType: Int(truncatingIfNeeded: try types.int(i)) & 0xFFFF,
          attributes: Int(truncatingIfNeeded: try attributes.int(i)),
          oppositeTable: try tableKey(beside?.tables.int(position) ?? Int64(TableKey.none.value)),
          oppositeColumn: ColKey(try beside?.columns.int(position) ?? ColKey.none.value),
          indexRef: try beside?.indexes.child(position) ?? 0
        )
      )
    }
    if let indexes = beside?.indexes {
      for position in 0..<indexes.count where try indexes.int(position) != 0 && !positions.contains(position) {
        context.report("an index at position \(position), where no column is", ref: indexes.ref)
      }
    }
    return facts
  }

  private func tableKey(_ value: Int64) throws(EngineError) -> TableKey {
    if !Self.tableKeys.contains(value) { throw .damaged("\(value) is not a table key") }
    return TableKey(UInt32(value))
  }

  /// Returns the arrays of index refs, opposite tables and opposite columns; nil if the table has none.
  private func arraysBeside(
    _ top: Node,
    _ size: Int
  ) throws(EngineError) -> (indexes: Node, tables: Node, columns: Node)? {
    let ref = try top.child(Layout.Table.indexes)
    if ref == 0 { return nil }
    let indexes = try context.refs(ref), tables = try context.integers(top.child(Layout.Table.oppositeTables))
    let columns = try context.integers(top.child(Layout.Table.oppositeColumns))
    if indexes.count < size || tables.count != indexes.count || columns.count != indexes.count {
      throw .damaged("index refs or opposite columns are not as many as columns", ref: ref)
    }
    return (indexes, tables, columns)
  }

  /// Claims a node of names of tables or columns.
  func shortNames(_ ref: Int) throws(EngineError) -> Node {
    let names = try context.claim(ref)
    try context.expect(names, .multiply, hasRefs: false)
    try LeafCheck(context).shortStrings(names)
    for i in 0..<names.count where try StringLeaf.short(names, i)?.bytes.contains(0) == true {
      context.report("the name at position \(i) contains a zero byte", ref: ref)
    }
    return names
  }

  private func enumCounts(_ top: Node, _ columnCount: Int) throws(EngineError) -> [Int?] {
    var counts: [Int?] = Array(repeating: nil, count: columnCount)
    let ref = try arena.node(top.child(Layout.Table.spec)).child(Layout.Spec.enumerations)
    if ref == 0 { return counts }
    let refs = try context.refs(ref)
    if refs.count > columnCount { context.report("enumerated values of \(refs.count) columns", ref: ref) }
    for i in 0..<min(refs.count, columnCount) {
      let values = try refs.child(i)
      if values != 0 { counts[i] = try LeafCheck(context).strings(values) }
    }
    return counts
  }

  // MARK: Columns

  /// Checks the columns of one table against their own keys and attributes, and against the other tables.
  func columns(_ checked: CheckedTable, _ all: [TableKey: CheckedTable]) {
    let start = context.place
    var names: Set<ExactName> = []
    for facts in checked.facts {
      context.place = start
      context.place.column = facts.isNamed ? facts.name : "backlinks at \(facts.key.leafPosition)"
      if facts.isNamed && !names.insert(ExactName(facts.name)).inserted {
        context.report("a second column of this name")
      }
      checkKey(facts)
      checkIndex(facts, checked.table)
      if facts.type == Spec.TypeCode.link || facts.type == Spec.TypeCode.backlink {
        checkOpposite(facts, checked, all)
      }
    }
    context.place = start
  }

  private func checkKey(_ facts: ColumnFacts) {
    let isUpgraded = facts.specType == Spec.TypeCode.linkList && facts.type == Spec.TypeCode.link
    if facts.specType != facts.key.typeCode && !isUpgraded
      || arena.format >= 24 && facts.key.typeCode == Spec.TypeCode.linkList
    {
      context.report("type \(facts.specType) in the spec, \(facts.key.typeCode) in the column key")
    }
    if (facts.type == Spec.TypeCode.backlink) == facts.isNamed { context.report("a backlink column with a name") }
    if facts.key.attributes & ~Spec.Attribute.indexed != facts.attributes & Self.keyAttributes {
      context.report("attributes \(facts.attributes) in the spec, \(facts.key.attributes) in the column key")
    }
    let kinds = Spec.Attribute.list | Spec.Attribute.set | Spec.Attribute.dictionary
    if (facts.key.attributes & kinds).nonzeroBitCount > 1 { context.report("more than one kind of collection") }
  }

  private func checkIndex(_ facts: ColumnFacts, _ table: Table) {
    let isPrimaryKey = facts.isNamed && table.primaryKey?.key == facts.key
    let isDeclared = facts.attributes & (Spec.Attribute.indexed | Spec.Attribute.fullText) != 0
    // Before format 22, an index on the primary key was optional.
    if isPrimaryKey && arena.format < 22 { return }
    if (isDeclared || isPrimaryKey) != (facts.indexRef != 0) {
      if facts.indexRef == 0 {
        context.report("the index is missing")
      } else {
        // Realm's engine keeps the index, but not the attribute, of a property that becomes optional or required.
        context.report("an index that the attributes do not mention", isLeftover: true)
      }
    }
  }

  private func checkOpposite(_ facts: ColumnFacts, _ checked: CheckedTable, _ all: [TableKey: CheckedTable]) {
    let other = all[facts.oppositeTable]?.facts.first { $0.key == facts.oppositeColumn }
    if let other {
      let pointsBack = other.oppositeTable == checked.table.key && other.oppositeColumn == facts.key
      // Links in a Mixed lead to many tables, so their column does not specify one.
      let isFromMixed =
        facts.type == Spec.TypeCode.backlink
        && (other.type == Spec.TypeCode.mixed || other.type == Spec.TypeCode.typedLink)
      if pointsBack && other.type != facts.type || isFromMixed { return }
    }
    if facts.type == Spec.TypeCode.backlink && other == nil {
      context.report("backlinks of a removed property", isLeftover: true)
    } else {
      context.report("no column of the table \(facts.oppositeTable) matches")
    }
  }
}
