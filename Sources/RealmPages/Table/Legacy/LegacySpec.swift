// Schemas of formats 2 to 9: columns without keys, link targets in the sub-specs. Source: format/2-model.md M14,
// "Format 2..9".

/// How a column of formats 2 to 9 stores its values.
enum LegacyKind: Sendable {
  /// Values in leaves like those of today.
  case plain
  /// Indexes into a list of distinct strings, the tree at this ref.
  case enumerated(valuesRef: Int)
  /// Whole seconds, before timestamps existed.
  case oldDate
  /// Two trees: seconds and nanoseconds.
  case timestamp
  /// Row + 1, 0 for none.
  case link
  /// Refs of trees of rows.
  case linkList
  /// Refs of one-column tables.
  case subtable
  /// Mixed values of that time, which no app could store through an SDK.
  case oldMixed
}

/// One column and where it lies.
struct LegacyColumn: Sendable {
  let column: Column
  let kind: LegacyKind
  /// The root of its tree.
  let ref: Int
}

/// The columns of one table of formats 2 to 9.
struct LegacySpec {
  /// The named columns in schema order.
  let columns: [LegacyColumn]
  /// The tree that tells the number of rows, with what its leaves hold; nil for a table without columns.
  let counter: (ref: Int, isNullableInt: Bool, kind: LegacyKind, type: ValueType)?

  /// Type codes of that time that are gone today.
  private enum OldType {
    static let enumeratedString: Int64 = 3, subtable: Int64 = 5, mixed: Int64 = 6, date: Int64 = 7
  }

  /// Reads slots 0 (spec) and 1 (column roots) of a table's top array.
  init(_ arena: Arena, tableTop top: Node) throws(FormatError) {
    let spec = try arena.refs(top.child(0), slots: 3)
    let types = try arena.integers(spec.child(0)), names = try arena.node(spec.child(1))
    let attributes = try arena.integers(spec.child(2))
    let rootsRef = try top.childIfPresent(1)
    let subSpecs = try Self.optionalNode(arena, spec.childIfPresent(3))
    let enumLists = try Self.optionalNode(arena, spec.childIfPresent(4))
    if attributes.count != types.count || names.count > types.count || rootsRef == 0 && types.count > 0 {
      throw FormatError("the arrays of the spec differ in size", ref: spec.ref)
    }
    let roots = try Self.optionalNode(arena, rootsRef)
    var columns: [LegacyColumn] = []
    var counter: (ref: Int, isNullableInt: Bool, kind: LegacyKind, type: ValueType)?
    var root = 0, subSpec = 0, enumList = 0
    var taken: Set<String> = []
    for i in 0..<types.count {
      let code = try types.int(i)
      let attribute = Int(truncatingIfNeeded: try attributes.int(i))
      var isNullable = attribute & Spec.Attribute.nullable != 0
      var kind = LegacyKind.plain, target = TableKey.none
      var type = Spec.valueType(Int(truncatingIfNeeded: code))
      switch code {
      case OldType.enumeratedString:
        guard let enumLists else { throw FormatError("an enumerated column without values", ref: spec.ref) }
        kind = .enumerated(valuesRef: try enumLists.child(enumList))
        type = .string
        enumList += 1
      case OldType.date: (kind, type) = (.oldDate, .date)
      case OldType.mixed: (kind, type) = (.oldMixed, .mixed)
      case Int64(Spec.TypeCode.date): kind = .timestamp
      case Int64(Spec.TypeCode.link), Int64(Spec.TypeCode.linkList):
        kind = code == Int64(Spec.TypeCode.link) ? .link : .linkList
        isNullable = code == Int64(Spec.TypeCode.link)
        target = TableKey(UInt32(truncatingIfNeeded: try Self.subSpecElement(subSpecs, &subSpec, spec) >> 1))
      case Int64(Spec.TypeCode.backlink): subSpec += 2
      case OldType.subtable:
        let element = try arena.refs(Int(Self.subSpecElement(subSpecs, &subSpec, spec)), slots: 3)
        type = Spec.valueType(Int(truncatingIfNeeded: try arena.integers(element.child(0)).int(0)))
        isNullable = try arena.integers(element.child(2)).int(0) & Int64(Spec.Attribute.nullable) != 0
        kind = .subtable
      default: break
      }
      guard let roots else { break }
      let ref = try roots.child(root)
      // An index follows the column that it belongs to.
      root += attribute & Spec.Attribute.indexed != 0 && code != OldType.subtable ? 2 : 1
      if code == Int64(Spec.TypeCode.backlink) {
        if counter == nil { counter = (ref, false, .plain, .int) }
        continue
      }
      guard let type, i < names.count else {
        throw FormatError("column \(i) has the unknown type \(code)", ref: spec.ref)
      }
      if counter == nil { counter = (ref, isNullable && (type == .int || type == .bool), kind, type) }
      var name = try StringLeaf.short(names, i)?.string ?? ""
      if name.isEmpty || taken.contains(name) { name += "_\(i)" }
      taken.insert(name)
      let isList = if case .linkList = kind { true } else if case .subtable = kind { true } else { false }
      columns.append(
        LegacyColumn(
          column: Column(
            name: name,
            key: ColKey(Int64(i)),
            type: type,
            collection: isList ? .list : nil,
            isNullable: isNullable,
            index: attribute & Spec.Attribute.indexed != 0 ? .general : nil,
            targetTable: type == .link ? target : nil,
            enumRef: 0,
            indexRef: 0,
            dictionaryKeyType: 0
          ),
          kind: kind,
          ref: ref
        )
      )
    }
    self.columns = columns
    self.counter = counter
  }

  private static func optionalNode(_ arena: Arena, _ ref: Int) throws(FormatError) -> Node? {
    ref == 0 ? nil : try arena.integers(ref)
  }

  private static func subSpecElement(_ node: Node?, _ index: inout Int, _ spec: Node) throws(FormatError) -> Int64 {
    guard let node else { throw FormatError("a link or subtable column without its sub-spec", ref: spec.ref) }
    index += 1
    return try node.int(index - 1)
  }
}
