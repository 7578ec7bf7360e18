// Reads a table's columns from its spec and the arrays beside it. Source: docs/format/2-model.md M2 to M4.

import Synchronization

/// The columns of one table, named and hidden. Read once and shared by all readers of one version, and by a transaction
/// until it changes the columns.
final class Spec: Sendable {
  /// The named columns in schema order.
  let columns: [Column]
  /// The backlink columns: their positions in the cluster and the columns their links come from.
  let backlinks: [BacklinkColumn]
  private let editedForm = Mutex<EditedColumns?>(nil)
  /// See `Table.derived`.
  fileprivate let derived = Mutex<(any Sendable)?>(nil)

  /// One hidden column of incoming links.
  struct BacklinkColumn: Sendable {
    let key: ColKey
    let originTable: TableKey
    let originColumn: ColKey
  }

  /// The type codes in realm-core's column_type.hpp.
  enum TypeCode {
    static let int = 0, bool = 1, string = 2, data = 4, mixed = 6, date = 8, float = 9, double = 10, decimal128 = 11
    static let link = 12, linkList = 13, backlink = 14, objectID = 15, typedLink = 16, uuid = 17
  }

  /// The attribute bits in realm-core's column_type.hpp.
  enum Attribute {
    static let indexed = 1, nullable = 16, list = 32, dictionary = 64, set = 128, fullText = 256
  }

  /// Reads the spec of a table whose top array is `top`.
  init(_ arena: Arena, tableTop top: Node, place: String) throws(EngineError) {
    do throws(EngineError) {
      let spec = try arena.refs(top.child(Layout.Table.spec), slots: Layout.Spec.count)
      let types = try arena.integers(spec.child(Layout.Spec.types))
      let names = try arena.node(spec.child(Layout.Spec.names))
      let attributes = try arena.integers(spec.child(Layout.Spec.attributes))
      let keys = try arena.integers(spec.child(Layout.Spec.keys))
      if types.count != attributes.count || types.count != keys.count || names.count > types.count {
        throw .damaged("the arrays of the spec differ in size", ref: spec.ref)
      }
      if types.count > 0xFFFF { throw .damaged("a table with too many columns: \(types.count)", ref: spec.ref) }
      let enumRefs = try Self.optionalNode(arena, spec.child(Layout.Spec.enumerations))
      let indexes = try Self.optionalNode(arena, top.childIfPresent(Layout.Table.indexes))
      let oppositeTables = try Self.optionalNode(arena, top.childIfPresent(Layout.Table.oppositeTables))
      let oppositeColumns = try Self.optionalNode(arena, top.childIfPresent(Layout.Table.oppositeColumns))
      let primaryKey = top.count > Layout.Table.primaryKey ? try top.int(Layout.Table.primaryKey) >> 1 : 0
      var columns: [Column] = []
      var backlinks: [BacklinkColumn] = []
      for i in 0..<types.count {
        let key = ColKey(try keys.int(i)), position = key.leafPosition
        var target = TableKey.none, origin = ColKey.none
        if let oppositeTables, position < oppositeTables.count {
          target = TableKey(UInt32(truncatingIfNeeded: try oppositeTables.int(position)))
        }
        if let oppositeColumns, position < oppositeColumns.count {
          origin = ColKey(try oppositeColumns.int(position))
        }
        if i >= names.count {
          if key.typeCode != TypeCode.backlink {
            throw .damaged("a column of type \(key.typeCode) without a name", ref: spec.ref)
          }
          backlinks.append(BacklinkColumn(key: key, originTable: target, originColumn: origin))
          continue
        }
        let name = try StringLeaf.short(names, i)?.string ?? ""
        guard let type = Self.valueType(key.typeCode) else {
          throw .damaged("property \"\(name)\" has the unknown type \(key.typeCode)", ref: spec.ref)
        }
        let attribute = Int(truncatingIfNeeded: try attributes.int(i))
        let indexRef = try indexes.map { node throws(EngineError) in try node.childIfPresent(position) } ?? 0
        // As in Realm's engine, an existing index counts, even without the attribute, which a change of nullability
        // drops.
        let isIndexed = attribute & Attribute.indexed != 0 || indexRef != 0 && key.value != primaryKey
        columns.append(
          Column(
            name: name,
            key: key,
            type: type,
            collection: Self.collection(key),
            isNullable: key.attributes & Attribute.nullable != 0,
            index: attribute & Attribute.fullText != 0 ? .fullText : isIndexed ? .general : nil,
            targetTable: type == .link ? target : nil,
            enumRef: try enumRefs.map { node throws(EngineError) in try node.childIfPresent(i) } ?? 0,
            indexRef: indexRef,
            dictionaryKeyType: Self.dictionaryKeyType(try types.int(i))
          )
        )
      }
      self.columns = columns
      self.backlinks = backlinks
    } catch {
      var located = error
      located.place = place
      throw located
    }
  }

  /// Returns true if the indexes of the table whose top array is `top` are still at the refs that this spec has.
  /// Columns are not compared, so the caller must know that the schema is unchanged. Also false if comparing costs as
  /// much as reading the spec again.
  func isCurrent(_ arena: Arena, tableTop top: Node) throws(EngineError) -> Bool {
    let indexes = try Self.optionalNode(arena, top.childIfPresent(Layout.Table.indexes))
    for column in columns {
      if column.enumRef != 0 { return false }
      let position = column.key.leafPosition
      let ref = try indexes.map { node throws(EngineError) in
        position < node.count ? try node.childIfPresent(position) : 0
      }
      if column.indexRef != ref ?? 0 { return false }
    }
    return true
  }

  /// Returns the columns in the form needed for editing objects. Created once.
  func edited(at ref: Int, _ table: String) throws(EngineError) -> EditedColumns {
    try editedForm.withLock { form throws(EngineError) in
      if let form { return form }
      let made = try EditedColumns(self, at: ref, table)
      form = made
      return made
    }
  }

  private static func optionalNode(_ arena: Arena, _ ref: Int) throws(EngineError) -> Node? {
    ref == 0 ? nil : try arena.integers(ref)
  }

  /// Returns the value type of a type code. The code comes from the column key, because the upgrade to format 24 leaves
  /// an old code in the spec (docs/format/2-model.md M3).
  static func valueType(_ code: Int) -> ValueType? {
    switch code {
    case TypeCode.int: .int
    case TypeCode.bool: .bool
    case TypeCode.string: .string
    case TypeCode.data: .data
    case TypeCode.mixed, TypeCode.typedLink: .mixed
    case TypeCode.date: .date
    case TypeCode.float: .float
    case TypeCode.double: .double
    case TypeCode.decimal128: .decimal128
    case TypeCode.link, TypeCode.linkList: .link
    case TypeCode.objectID: .objectID
    case TypeCode.uuid: .uuid
    default: nil
    }
  }

  static func collection(_ key: ColKey) -> CollectionKind? {
    if key.attributes & Attribute.list != 0 || key.typeCode == TypeCode.linkList { return .list }
    if key.attributes & Attribute.set != 0 { return .set }
    if key.attributes & Attribute.dictionary != 0 { return .dictionary }
    return nil
  }

  /// Returns bits 31 to 16 of the stored type; 0 in an old dictionary column means string.
  private static func dictionaryKeyType(_ stored: Int64) -> Int {
    let type = Int(stored >> 16) & 0xFFFF
    return type == 0 ? TypeCode.string : type
  }
}

extension Table {
  /// Returns a value that `make` derives from the columns, computed once and shared by all tables with the same spec.
  /// All callers must use one type.
  package func derived<T: Sendable>(_ make: () -> T) -> T {
    guard let spec else { return make() }
    return spec.derived.withLock { derived in
      if let known = derived as? T { return known }
      let made = make()
      derived = made
      return made
    }
  }
}

extension Column {
  /// The element type of the column's leaves or collections.
  var element: ElementType {
    ElementType(
      type,
      isNullable: isNullable,
      target: targetTable ?? .none,
      isTypedLink: key.typeCode == Spec.TypeCode.typedLink
    )
  }

  /// The value of the property in a new object; nil for a collection, which is empty.
  package var defaultValue: Value? { collection == nil ? element.defaultValue : nil }

  /// Opens the leaf of this column at `ref` of a cluster.
  func leaf(_ arena: Arena, _ ref: Int) throws(EngineError) -> ColumnLeaf {
    if let collection {
      return .collections(try arena.integers(ref), collection, element, dictionaryKeyType: dictionaryKeyType)
    }
    return try ColumnLeaf(arena, ref, element, inTree: false, enumRef: enumRef)
  }
}
