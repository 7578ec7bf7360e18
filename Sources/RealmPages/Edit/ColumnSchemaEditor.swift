// Adds, removes and renames properties. Source: docs/format/2-model.md M3, M4, M7, M12.

/// The definition of a new property.
public struct ColumnSpec: Sendable {
  /// The name, at most 63 bytes of UTF-8.
  public var name: String
  /// The type of the value, or of the elements of a collection.
  public var type: ValueType
  /// The kind of collection; nil for a single value.
  public var collection: CollectionKind?
  /// True if null is a legal value or element.
  public var isNullable: Bool
  /// The target table of links; nil for other types.
  public var target: TableKey?

  /// Creates a definition; links to one object are nullable regardless of `isNullable`.
  public init(
    _ name: String,
    _ type: ValueType,
    collection: CollectionKind? = nil,
    isNullable: Bool = false,
    target: TableKey? = nil
  ) {
    self.name = name
    self.type = type
    self.collection = collection
    self.isNullable = isNullable
    self.target = target
  }
}

extension GroupEditor {
  /// The maximum length of a name in bytes. Source: docs/format/2-model.md M12.
  private static let columnNameLimit = 63

  /// Adds a property, before property `index` or last; existing objects get its default.
  func addColumn(_ table: TableEditor, _ spec: ColumnSpec, at index: Int? = nil) throws(EngineError) -> ColKey {
    try check(spec, table)
    let isNullable: Bool
    switch (spec.type, spec.collection) {
    case (.mixed, _), (.link, nil), (.link, .dictionary): isNullable = true
    case (.link, _): isNullable = false
    default: isNullable = spec.isNullable
    }
    let key = try insertColumn(
      table,
      typeCode: Spec.typeCode(spec.type),
      attributes: Spec.attributes(spec.collection, isNullable: isNullable),
      name: spec.name,
      dictionaryKey: spec.collection == .dictionary ? Spec.TypeCode.string : 0,
      at: index
    )
    if let target = spec.target, spec.type == .link {
      let targetTable = try self.table(target)
      let backlink = try addBacklinkColumn(to: targetTable, origin: table.key, column: key)
      try setOpposite(table, key, target, backlink)
    }
    replication.insertColumn(table.key, key)
    return key
  }

  private func check(_ spec: ColumnSpec, _ table: TableEditor) throws(EngineError) {
    let place = "\(table.className).\(spec.name)"
    if spec.name.isEmpty { throw EngineError(.badSchema, "\(table.className): a property without a name") }
    if spec.name.utf8.count > Self.columnNameLimit {
      throw EngineError(.overLimit, "\(place): a property name longer than 63 bytes")
    }
    if spec.name.utf8.contains(0) { throw EngineError(.badSchema, "\(place): a property name with a zero byte") }
    if table.columns.contains(where: { $0.name.isExactly(spec.name) }) {
      throw EngineError(.badSchema, "\(place): the property exists")
    }
    guard spec.type == .link else { return }
    guard let target = spec.target else {
      throw EngineError(.badSchema, "\(place): a link without a target class")
    }
    let targetTable = try self.table(target)
    if targetTable.kind == .asymmetric {
      throw EngineError(.badSchema, "\(place): links to the asymmetric class \(targetTable.className)")
    }
    if spec.collection == .set && targetTable.kind == .embedded {
      throw EngineError(.badSchema, "\(place): a set of embedded objects")
    }
    if table.kind == .asymmetric && targetTable.kind != .embedded {
      throw EngineError(.badSchema, "\(place): an asymmetric class links only to embedded objects")
    }
  }

  /// Adds a hidden column for incoming links.
  func addBacklinkColumn(
    to table: TableEditor,
    origin: TableKey,
    column: ColKey
  ) throws(EngineError) -> ColKey {
    let key = try insertColumn(table, typeCode: Spec.TypeCode.backlink, attributes: 0, name: nil, dictionaryKey: 0)
    try setOpposite(table, key, origin, column)
    return key
  }

  /// Inserts a column into the spec, its parallel arrays and every cluster. Without a name it is a backlink column; a
  /// named column is inserted before property `index`, or last.
  func insertColumn(
    _ table: TableEditor,
    typeCode: Int,
    attributes: Int,
    name: String?,
    dictionaryKey: Int,
    at index: Int? = nil
  ) throws(EngineError) -> ColKey {
    let taken = Set(table.columns.map(\.key.leafPosition) + table.backlinks.map(\.key.leafPosition))
    let position = (0...taken.count).first { !taken.contains($0) } ?? taken.count
    let counter = UInt32(truncatingIfNeeded: slab.int(table.top, Layout.Table.columnCounter) >> 1)
    let tag = Int64(counter ^ table.key.value)
    let key = ColKey(
      Int64(position) | Int64(typeCode) << 16 | Int64(attributes & 0xFF) << 22 | tag << 30 & Int64.max
    )
    let spec = try slab.child(table.top, Layout.Table.spec, editor.arena)
    let types = try slab.child(spec, Layout.Spec.types, editor.arena)
    let names = try slab.child(spec, Layout.Spec.names, editor.arena)
    let flags = try slab.child(spec, Layout.Spec.attributes, editor.arena)
    let keys = try slab.child(spec, Layout.Spec.keys, editor.arena)
    // Named columns come first.
    let at = index ?? (name == nil ? slab.node(types).count : slab.node(names).count)
    slab.insertInt(types, at, Int64(typeCode) | Int64(dictionaryKey) << 16)
    slab.insertInt(flags, at, Int64(attributes))
    slab.insertInt(keys, at, key.value)
    if let name {
      try insertName(names, at, name)
      if try slab.node(spec).child(Layout.Spec.enumerations) != 0 {
        slab.insertInt(try slab.child(spec, Layout.Spec.enumerations, editor.arena), at, 0)
      }
    }
    for (slot, empty) in [
      (Layout.Table.indexes, 0), (Layout.Table.oppositeTables, Int64(TableKey.none.value)),
      (Layout.Table.oppositeColumns, ColKey.none.value),
    ] {
      if try slab.node(table.top).child(slot) == 0 {
        slab.setChild(table.top, slot, slab.makeInts(slot == Layout.Table.indexes ? .hasRefs : []))
      }
      let array = try slab.child(table.top, slot, editor.arena)
      try slab.pad(array, to: position + 1, with: empty)
      slab.setInt(array, position, empty)
    }
    try table.reloadSchema()
    let added = table.columns.first { $0.key == key }
    let kind: ClusterColumn.Kind =
      name == nil
      ? .backlink : added?.collection != nil ? .collection : .scalar(added?.element ?? .mixed, enumRef: 0)
    for tree in [try table.objects(), table.tombstones] {
      try tree?.addColumn(ClusterColumn(position: position, kind: kind))
    }
    table.bump()
    return key
  }

  private func setOpposite(
    _ table: TableEditor,
    _ key: ColKey,
    _ other: TableKey,
    _ column: ColKey
  ) throws(EngineError) {
    let tables = try slab.child(table.top, Layout.Table.oppositeTables, editor.arena)
    let columns = try slab.child(table.top, Layout.Table.oppositeColumns, editor.arena)
    slab.setInt(tables, key.leafPosition, Int64(other.value))
    slab.setInt(columns, key.leafPosition, column.value)
    try table.reloadSchema()
  }

  /// Removes a property with its values, its index and the backlinks of its links.
  func removeColumn(_ table: TableEditor, _ key: ColKey, logged: Bool = true) throws(EngineError) {
    guard let column = table.columns.first(where: { $0.key == key }) else {
      throw EngineError(.notFound, "\(table.className): no such property")
    }
    if table.primaryKeyIndex.map({ table.columns[$0].key == key }) ?? false {
      slab.setInt(table.top, Layout.Table.primaryKey, 0)
      try table.reloadSchema()
    }
    if column.type == .link || column.type == .mixed {
      let cursor = try reader(table)
      var keys: [ObjKey] = []
      while try cursor.next() { keys.append(cursor.key) }
      // An embedded object of the class itself may be deleted with its owner.
      for object in keys where try has(table, object) {
        for (target, targetKey) in try links(table, object, column) {
          try dropLink(target, targetKey, from: table, column, object)
        }
      }
      // Remove the backlink columns for this property from all tables.
      for slot in 0..<slab.node(try tableRefs()).count {
        guard let other = try self.table(slot: slot) else { continue }
        for backlink in other.backlinks where backlink.originTable == table.key && backlink.originColumn == key {
          try eraseColumn(other, backlink.key)
        }
      }
    }
    try eraseColumn(table, key)
    if logged { replication.eraseColumn(table.key, key) }
  }

  /// Removes a column from the spec, its parallel arrays and every cluster.
  func eraseColumn(_ table: TableEditor, _ key: ColKey) throws(EngineError) {
    let position = key.leafPosition
    for tree in [try table.objects(), table.tombstones] { try tree?.removeColumn(position) }
    let spec = try slab.child(table.top, Layout.Table.spec, editor.arena)
    let keys = try slab.child(spec, Layout.Spec.keys, editor.arena)
    let names = try slab.child(spec, Layout.Spec.names, editor.arena)
    let at = (0..<slab.node(keys).count).first { slab.int(keys, $0) == key.value } ?? 0
    slab.removeInt(try slab.child(spec, Layout.Spec.types, editor.arena), at)
    if at < slab.node(names).count {
      editor.closeElement(names, at)
      if try slab.node(spec).child(Layout.Spec.enumerations) != 0 {
        let enumerated = try slab.child(spec, Layout.Spec.enumerations, editor.arena)
        if at < slab.node(enumerated).count {
          try editor.clear(Slot(parent: enumerated, index: at))
          slab.removeInt(enumerated, at)
        }
      }
    }
    slab.removeInt(try slab.child(spec, Layout.Spec.attributes, editor.arena), at)
    slab.removeInt(keys, at)
    try editor.clear(
      Slot(parent: try table.indexRefs(), index: position)
    )
    slab.setInt(
      try slab.child(table.top, Layout.Table.oppositeTables, editor.arena),
      position,
      Int64(TableKey.none.value)
    )
    slab.setInt(
      try slab.child(table.top, Layout.Table.oppositeColumns, editor.arena),
      position,
      ColKey.none.value
    )
    slab.setTagged(
      table.top,
      Layout.Table.columnCounter,
      slab.int(table.top, Layout.Table.columnCounter) >> 1 + 1
    )
    try table.reloadSchema()
    table.bump()
  }

  /// Renames a property.
  func renameColumn(_ table: TableEditor, _ key: ColKey, to name: String) throws(EngineError) {
    guard let index = table.columns.firstIndex(where: { $0.key == key }) else {
      throw EngineError(.notFound, "\(table.className): no such property")
    }
    if table.columns[index].name.isExactly(name) { return }
    try check(ColumnSpec(name, .int), table)
    let spec = try slab.child(table.top, Layout.Table.spec, editor.arena)
    try setName(slab.child(spec, Layout.Spec.names, editor.arena), index, name)
    try table.reloadSchema()
    table.bump()
    replication.renameColumn(table.key, key)
  }
}

extension Spec {
  /// The attributes of a column without an index.
  static func attributes(_ collection: CollectionKind?, isNullable: Bool) -> Int {
    let nullable = isNullable ? Attribute.nullable : 0
    switch collection {
    case nil: return nullable
    case .list: return nullable | Attribute.list
    case .set: return nullable | Attribute.set
    case .dictionary: return nullable | Attribute.dictionary
    }
  }

  /// The type code of a column for new values.
  static func typeCode(_ type: ValueType) -> Int {
    switch type {
    case .int: TypeCode.int
    case .bool: TypeCode.bool
    case .string: TypeCode.string
    case .data: TypeCode.data
    case .mixed: TypeCode.mixed
    case .date: TypeCode.date
    case .float: TypeCode.float
    case .double: TypeCode.double
    case .decimal128: TypeCode.decimal128
    case .objectID: TypeCode.objectID
    case .uuid: TypeCode.uuid
    case .link: TypeCode.link
    }
  }
}
