// Changing the schema: classes, properties, indexes. Source: docs/format/2-model.md M1 to M4, M7.

/// What a new property is to be.
public struct ColumnSpec: Sendable {
  /// The name, at most 63 bytes of UTF-8.
  public var name: String
  /// The type of the value, or of the elements of a collection.
  public var type: ValueType
  /// The kind of collection; nil for one value.
  public var collection: CollectionKind?
  /// Whether null is a legal value or element.
  public var isNullable: Bool
  /// The table that links lead to; nil for other types.
  public var target: TableKey?

  /// A property; links to one object are nullable whatever `isNullable` says.
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
  /// The longest names in bytes. Source: docs/format/2-model.md M12.
  private static let tableNameLimit = 63
  private static let columnNameLimit = 63

  private func format<R>(_ body: () throws(FormatError) -> R) throws(TransactionError) -> R {
    do throws(FormatError) { return try body() } catch { throw TransactionError(error) }
  }

  // MARK: tables

  /// Adds a table without columns.
  func addTable(_ name: String, kind: TableKind) throws(TransactionError) -> TableKey {
    try checkTableName(name)
    return try format { () throws(FormatError) in
      let refs = try tableRefs(), names = try tableNames()
      let count = slab.node(refs).count
      let slot = (0..<count).first { slab.int(refs, $0) & 1 != 0 } ?? count
      let tag = slot < count ? slab.int(refs, slot) >> 1 & 0x7FFF : 0
      let key = TableKey(UInt32(tag) << 16 | UInt32(slot))
      let top = slab.makeInts(.hasRefs, repeating: 0, count: TableEditor.Slots.count)
      let spec = slab.makeInts(
        .hasRefs,
        [
          Int64(slab.makeInts()), Int64(editor.makeStrings()), Int64(slab.makeInts()), 0, 0, Int64(slab.makeInts()),
        ]
      )
      slab.setChild(top, TableEditor.Slots.spec, spec)
      slab.setChild(top, TableEditor.Slots.clusters, ClusterTreeEditor.make(editor, RowLayout([])))
      slab.setTagged(top, TableEditor.Slots.key, Int64(key.value))
      slab.setChild(top, TableEditor.Slots.indexes, slab.makeInts(.hasRefs))
      slab.setTagged(top, TableEditor.Slots.columnCounter, 0)
      slab.setTagged(top, TableEditor.Slots.contentVersion, 0)
      slab.setChild(top, TableEditor.Slots.oppositeTables, slab.makeInts())
      slab.setChild(top, TableEditor.Slots.oppositeColumns, slab.makeInts())
      slab.setTagged(top, TableEditor.Slots.sequence, 0)
      slab.setTagged(top, TableEditor.Slots.flags, kind == .embedded ? 1 : kind == .asymmetric ? 2 : 0)
      if slot < count { slab.setInt(refs, slot, Int64(top)) } else { slab.insertInt(refs, slot, Int64(top)) }
      if slot < count {
        try setName(names, slot, name)
      } else {
        try insertName(names, slot, name)
      }
      replication.insertTable(key)
      return key
    }
  }

  /// Removes a table with its objects. No other class may link to it.
  func removeTable(_ key: TableKey) throws(TransactionError) {
    let table = try table(key)
    for backlink in table.backlinks where backlink.originTable != key {
      let origin = try self.table(backlink.originTable)
      if let column = origin.columns.first(where: { $0.key == backlink.originColumn }), column.type == .link {
        throw TransactionError(
          .badSchema,
          "\(table.className) cannot be removed: \(origin.className).\(column.name) links to it"
        )
      }
    }
    let cursor = try format { () throws(FormatError) in try reader(table) }
    var keys: [ObjKey] = []
    while try format({ () throws(FormatError) in try cursor.next() }) { keys.append(cursor.key) }
    for key in keys where try has(table, key) { try deleteObject(table, key) }
    // Only now, because some may have gone with the links to them.
    for key in try format({ () throws(FormatError) in try table.unresolvedKeys() }) { try deleteObject(table, key) }
    // The columns go one by one, so that backlink columns elsewhere go too.
    for column in table.columns { try removeColumn(table, column.key, logged: false) }
    try format { () throws(FormatError) in
      let refs = try tableRefs(), names = try tableNames()
      try slab.dropTree(table.top, editor.arena)
      slab.setTagged(refs, key.slot, Int64((key.value >> 16 + 1) & 0x7FFF))
      try setName(names, key.slot, "")
      forget(slot: key.slot)
    }
    replication.eraseTable(key)
  }

  /// Gives a table another name.
  func renameTable(_ key: TableKey, to name: String) throws(TransactionError) {
    let table = try table(key)
    if table.name == name { return }
    try checkTableName(name)
    try format { () throws(FormatError) in try setName(tableNames(), key.slot, name) }
    table.name = name
    table.bump()
    replication.renameTable(key)
  }

  private func checkTableName(_ name: String) throws(TransactionError) {
    if name.isEmpty || name == Table.classPrefix { throw TransactionError(.badSchema, "a class without a name") }
    if name.utf8.count > Self.tableNameLimit {
      throw TransactionError(.overLimit, "class name \"\(name)\": longer than 57 bytes")
    }
    if try format({ () throws(FormatError) in try self.table(named: name) }) != nil {
      throw TransactionError(.badSchema, "a class named \"\(name)\" exists")
    }
  }

  // Names are short strings of up to 63 bytes, wider than values are.

  private func insertName(_ names: Int, _ index: Int, _ name: String) throws(FormatError) {
    widenNames(names, name)
    write(editor.openElement(names, index), Int(slab.node(names).width), name)
  }

  private func setName(_ names: Int, _ index: Int, _ name: String) throws(FormatError) {
    widenNames(names, name)
    if slab.node(names).width > 0 { write(editor.element(names, index), Int(slab.node(names).width), name) }
  }

  private func widenNames(_ names: Int, _ name: String) {
    let node = slab.node(names)
    let needed: UInt8 = name.isEmpty ? 0 : UInt8(max(4, (name.utf8.count + 1).nextPowerOfTwo))
    if needed <= node.width { return }
    var old: [String] = []
    // Bad padding reads as no name.
    for i in 0..<node.count { old.append((try? StringLeaf.short(node, i))??.string ?? "") }
    slab.reserve(names, payload: (old.count + 1) * Int(needed))
    slab.setHeader(names, [], .multiply, width: needed, count: old.count)
    for (i, name) in old.enumerated() { write(editor.element(names, i), Int(needed), name) }
  }

  private func write(_ target: UnsafeMutableRawPointer, _ width: Int, _ name: String) {
    if width == 0 { return }
    target.initializeMemory(as: UInt8.self, repeating: 0, count: width)
    var name = name
    name.withUTF8 {
      target.copyMemory(
        from: UnsafeRawPointer($0.baseAddress ?? UnsafePointer(target.assumingMemoryBound(to: UInt8.self))),
        byteCount: $0.count
      )
    }
    target.storeBytes(of: UInt8(width - 1 - name.utf8.count), toByteOffset: width - 1, as: UInt8.self)
  }

  // MARK: columns

  /// Adds a property, before property `index` or last; objects that exist take its default.
  func addColumn(_ table: TableEditor, _ spec: ColumnSpec, at index: Int? = nil) throws(TransactionError) -> ColKey {
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

  private func check(_ spec: ColumnSpec, _ table: TableEditor) throws(TransactionError) {
    let place = "\(table.className).\(spec.name)"
    if spec.name.isEmpty { throw TransactionError(.badSchema, "\(table.className): a property without a name") }
    if spec.name.utf8.count > Self.columnNameLimit {
      throw TransactionError(.overLimit, "\(place): a property name longer than 63 bytes")
    }
    if table.columns.contains(where: { $0.name == spec.name }) {
      throw TransactionError(.badSchema, "\(place): the property exists")
    }
    guard spec.type == .link else { return }
    guard let target = spec.target else {
      throw TransactionError(.badSchema, "\(place): a link without a target class")
    }
    let targetTable = try self.table(target)
    if targetTable.kind == .asymmetric {
      throw TransactionError(.badSchema, "\(place): links to the asymmetric class \(targetTable.className)")
    }
    if spec.collection == .set && targetTable.kind == .embedded {
      throw TransactionError(.badSchema, "\(place): a set of embedded objects")
    }
    if table.kind == .asymmetric && targetTable.kind != .embedded {
      throw TransactionError(.badSchema, "\(place): an asymmetric class links only to embedded objects")
    }
  }

  /// Adds a hidden column of incoming links.
  func addBacklinkColumn(
    to table: TableEditor,
    origin: TableKey,
    column: ColKey
  ) throws(TransactionError) -> ColKey {
    let key = try insertColumn(table, typeCode: Spec.TypeCode.backlink, attributes: 0, name: nil, dictionaryKey: 0)
    try setOpposite(table, key, origin, column)
    return key
  }

  /// Puts a column into the spec, the arrays beside it and every cluster. Without a name it is a backlink column; one
  /// with a name comes before property `index`, or last.
  func insertColumn(
    _ table: TableEditor,
    typeCode: Int,
    attributes: Int,
    name: String?,
    dictionaryKey: Int,
    at index: Int? = nil
  ) throws(TransactionError) -> ColKey {
    try format { () throws(FormatError) in
      let taken = Set(table.columns.map(\.key.leafPosition) + table.backlinks.map(\.key.leafPosition))
      let position = (0...taken.count).first { !taken.contains($0) } ?? taken.count
      let counter = UInt32(truncatingIfNeeded: slab.int(table.top, TableEditor.Slots.columnCounter) >> 1)
      let tag = Int64(counter ^ table.key.value)
      let key = ColKey(
        Int64(position) | Int64(typeCode) << 16 | Int64(attributes & 0xFF) << 22 | tag << 30 & Int64.max
      )
      let spec = try slab.child(table.top, TableEditor.Slots.spec, editor.arena)
      let types = try slab.child(spec, 0, editor.arena), names = try slab.child(spec, 1, editor.arena)
      let flags = try slab.child(spec, 2, editor.arena), keys = try slab.child(spec, 5, editor.arena)
      // Named columns come first.
      let at = index ?? (name == nil ? slab.node(types).count : slab.node(names).count)
      slab.insertInt(types, at, Int64(typeCode) | Int64(dictionaryKey) << 16)
      slab.insertInt(flags, at, Int64(attributes))
      slab.insertInt(keys, at, key.value)
      if let name {
        try insertName(names, at, name)
        if try slab.node(spec).child(4) != 0 { slab.insertInt(try slab.child(spec, 4, editor.arena), at, 0) }
      }
      for (slot, empty) in [
        (TableEditor.Slots.indexes, 0), (TableEditor.Slots.oppositeTables, Int64(TableKey.none.value)),
        (TableEditor.Slots.oppositeColumns, ColKey.none.value),
      ] {
        if try slab.node(table.top).child(slot) == 0 {
          slab.setChild(table.top, slot, slab.makeInts(slot == TableEditor.Slots.indexes ? .hasRefs : []))
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
  }

  private func setOpposite(
    _ table: TableEditor,
    _ key: ColKey,
    _ other: TableKey,
    _ column: ColKey
  ) throws(TransactionError) {
    try format { () throws(FormatError) in
      let tables = try slab.child(table.top, TableEditor.Slots.oppositeTables, editor.arena)
      let columns = try slab.child(table.top, TableEditor.Slots.oppositeColumns, editor.arena)
      slab.setInt(tables, key.leafPosition, Int64(other.value))
      slab.setInt(columns, key.leafPosition, column.value)
      try table.reloadSchema()
    }
  }

  /// Removes a property with its values, its index, and what its links mean elsewhere.
  func removeColumn(_ table: TableEditor, _ key: ColKey, logged: Bool = true) throws(TransactionError) {
    guard let column = table.columns.first(where: { $0.key == key }) else {
      throw TransactionError(.notFound, "\(table.className): no such property")
    }
    if table.primaryKeyIndex.map({ table.columns[$0].key == key }) ?? false {
      try format { () throws(FormatError) in
        slab.setInt(table.top, TableEditor.Slots.primaryKey, 0)
        try table.reloadSchema()
      }
    }
    if column.type == .link || column.type == .mixed {
      let cursor = try format { () throws(FormatError) in try reader(table) }
      var keys: [ObjKey] = []
      while try format({ () throws(FormatError) in try cursor.next() }) { keys.append(cursor.key) }
      // An embedded object of the class itself may go with its owner.
      for object in keys where try has(table, object) {
        for (target, targetKey) in try links(table, object, column) {
          try dropLink(target, targetKey, from: table, column, object)
        }
      }
      // Every table that has a backlink column for it loses that column.
      for slot in 0..<(try format { () throws(FormatError) in slab.node(try tableRefs()).count }) {
        guard let other = try format({ () throws(FormatError) in try self.table(slot: slot) }) else { continue }
        for backlink in other.backlinks where backlink.originTable == table.key && backlink.originColumn == key {
          try eraseColumn(other, backlink.key)
        }
      }
    }
    try eraseColumn(table, key)
    if logged { replication.eraseColumn(table.key, key) }
  }

  /// Takes a column out of the spec, the arrays beside it and every cluster.
  func eraseColumn(_ table: TableEditor, _ key: ColKey) throws(TransactionError) {
    try format { () throws(FormatError) in
      let position = key.leafPosition
      for tree in [try table.objects(), table.tombstones] { try tree?.removeColumn(position) }
      let spec = try slab.child(table.top, TableEditor.Slots.spec, editor.arena)
      let keys = try slab.child(spec, 5, editor.arena), names = try slab.child(spec, 1, editor.arena)
      let at = (0..<slab.node(keys).count).first { slab.int(keys, $0) == key.value } ?? 0
      slab.removeInt(try slab.child(spec, 0, editor.arena), at)
      if at < slab.node(names).count {
        editor.closeElement(names, at)
        if try slab.node(spec).child(4) != 0 {
          let enumerated = try slab.child(spec, 4, editor.arena)
          if at < slab.node(enumerated).count {
            try editor.clear(Slot(parent: enumerated, index: at))
            slab.removeInt(enumerated, at)
          }
        }
      }
      slab.removeInt(try slab.child(spec, 2, editor.arena), at)
      slab.removeInt(keys, at)
      try editor.clear(
        Slot(parent: try table.indexRefs(), index: position)
      )
      slab.setInt(
        try slab.child(table.top, TableEditor.Slots.oppositeTables, editor.arena),
        position,
        Int64(TableKey.none.value)
      )
      slab.setInt(
        try slab.child(table.top, TableEditor.Slots.oppositeColumns, editor.arena),
        position,
        ColKey.none.value
      )
      slab.setTagged(
        table.top,
        TableEditor.Slots.columnCounter,
        slab.int(table.top, TableEditor.Slots.columnCounter) >> 1 + 1
      )
      try table.reloadSchema()
      table.bump()
    }
  }

  /// Gives a property another name.
  func renameColumn(_ table: TableEditor, _ key: ColKey, to name: String) throws(TransactionError) {
    guard let index = table.columns.firstIndex(where: { $0.key == key }) else {
      throw TransactionError(.notFound, "\(table.className): no such property")
    }
    if table.columns[index].name == name { return }
    var spec = ColumnSpec(name, .int)
    spec.name = name
    try check(spec, table)
    try format { () throws(FormatError) in
      let spec = try slab.child(table.top, TableEditor.Slots.spec, editor.arena)
      try setName(slab.child(spec, 1, editor.arena), index, name)
      try table.reloadSchema()
      table.bump()
    }
    replication.renameColumn(table.key, key)
  }

  // MARK: indexes and primary keys

  /// Adds a search index to a property and fills it.
  func addIndex(_ table: TableEditor, _ key: ColKey, _ kind: IndexKind) throws(TransactionError) {
    guard let column = table.columns.first(where: { $0.key == key }) else {
      throw TransactionError(.notFound, "\(table.className): no such property")
    }
    let place = "\(table.className).\(column.name)"
    let isIndexable: Bool
    switch (column.type, column.collection, kind) {
    case (.string, nil, _), (.string, .list, .general): isIndexable = true
    case (.int, nil, .general), (.bool, nil, .general), (.date, nil, .general), (.objectID, nil, .general),
      (.uuid, nil, .general), (.mixed, nil, .general):
      isIndexable = true
    default: isIndexable = false
    }
    if !isIndexable { throw TransactionError(.badSchema, "\(place): a property of this type cannot have this index") }
    if column.index == kind { return }
    let isPrimary = table.primaryKeyIndex.map { table.columns[$0].key == key } ?? false
    if isPrimary && kind == .fullText {
      throw TransactionError(.badSchema, "\(place): a primary key cannot have a full-text index")
    }
    if column.collection == .list { try checkWords(table, column) }
    if column.index != nil { try removeIndex(table, key) }
    try format { () throws(FormatError) in
      try setAttribute(table, key, kind == .general ? Spec.Attribute.indexed : Spec.Attribute.fullText, true)
      // A primary key has its index already.
      if !isPrimary { try makeIndex(table, key) }
      table.bump()
    }
  }

  /// Refuses lists with strings that are too long for an index.
  private func checkWords(_ table: TableEditor, _ column: Column) throws(TransactionError) {
    let limit = SearchIndexEditor.maximumWord
    let longest = try format { () throws(FormatError) -> Int in
      let cursor = try reader(table), index = table.columns.firstIndex { $0.key == column.key } ?? 0
      var longest = 0
      while try cursor.next() {
        guard case .list(var list) = try cursor.value(index) else { continue }
        for i in 0..<list.count {
          if case .string(let text) = try list.value(at: i) { longest = max(longest, text.count) }
        }
      }
      return longest
    }
    if longest > limit {
      throw TransactionError(
        .overLimit,
        "\(table.className).\(column.name): a string of \(longest) bytes: an indexed list holds \(limit)"
      )
    }
  }

  /// Removes the search index of a property. A primary key keeps its own.
  func removeIndex(_ table: TableEditor, _ key: ColKey) throws(TransactionError) {
    guard let column = table.columns.first(where: { $0.key == key }) else {
      throw TransactionError(.notFound, "\(table.className): no such property")
    }
    if column.index == nil { return }
    try format { () throws(FormatError) in
      try setAttribute(table, key, Spec.Attribute.indexed | Spec.Attribute.fullText, false)
      let isPrimary = table.primaryKeyIndex.map { table.columns[$0].key == key } ?? false
      if !isPrimary {
        let refs = try table.indexRefs()
        try editor.clear(Slot(parent: refs, index: key.leafPosition))
      }
      try table.reloadSchema()
      table.bump()
    }
  }

  /// Makes a property the primary key, or takes the primary key away (nil). Its values must be distinct.
  func setPrimaryKey(_ table: TableEditor, _ key: ColKey?) throws(TransactionError) {
    let old = table.primaryKeyIndex.map { table.columns[$0] }
    if old?.key == key { return }
    if let key {
      guard let column = table.columns.first(where: { $0.key == key }) else {
        throw TransactionError(.notFound, "\(table.className): no such property")
      }
      guard column.collection == nil, [.int, .string, .objectID, .uuid].contains(column.type), table.kind != .embedded
      else {
        throw TransactionError(.badSchema, "\(table.className).\(column.name) cannot be a primary key")
      }
      if column.index == .fullText {
        throw TransactionError(
          .badSchema,
          "\(table.className).\(column.name): a primary key cannot have a full-text index"
        )
      }
      var seen: Set<PrimaryKey> = []
      let cursor = try format { () throws(FormatError) in try reader(table) }
      let index = table.columns.firstIndex { $0.key == key } ?? 0
      while try format({ () throws(FormatError) in try cursor.next() }) {
        guard let value = PrimaryKey(try format { () throws(FormatError) in try cursor.value(index) }) else { continue }
        if !seen.insert(value).inserted {
          throw TransactionError(.duplicateKey, "\(table.className).\(column.name): two objects have the same value")
        }
      }
    }
    try format { () throws(FormatError) in
      if let old, old.index == nil {
        let refs = try table.indexRefs()
        try editor.clear(Slot(parent: refs, index: old.key.leafPosition))
      }
      if let key {
        slab.setTagged(table.top, TableEditor.Slots.primaryKey, key.value)
      } else {
        slab.setInt(table.top, TableEditor.Slots.primaryKey, 0)
      }
      try table.reloadSchema()
      if let key, try table.index(table.columns[table.primaryKeyIndex ?? 0]) == nil { try makeIndex(table, key) }
      table.bump()
    }
  }

  /// Makes the search index of a property and fills it.
  func makeIndex(_ table: TableEditor, _ key: ColKey) throws(FormatError) {
    let refs = try table.indexRefs()
    slab.setChild(refs, key.leafPosition, SearchIndexEditor.make(editor))
    try table.reloadSchema()
    guard let column = table.columns.first(where: { $0.key == key }) else { return }
    try fillIndex(table, column)
  }

  func setAttribute(_ table: TableEditor, _ key: ColKey, _ bits: Int, _ isOn: Bool) throws(FormatError) {
    let spec = try slab.child(table.top, TableEditor.Slots.spec, editor.arena)
    let keys = try slab.child(spec, 5, editor.arena), flags = try slab.child(spec, 2, editor.arena)
    guard let at = (0..<slab.node(keys).count).first(where: { slab.int(keys, $0) == key.value }) else { return }
    let old = slab.int(flags, at)
    slab.setInt(flags, at, isOn ? old | Int64(bits) : old & ~Int64(bits))
    try table.reloadSchema()
  }
}

extension Spec {
  /// The attributes of a column without index.
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

extension Int {
  /// The smallest power of two that is not below the number.
  fileprivate var nextPowerOfTwo: Int { self <= 1 ? 1 : 1 << (Int.bitWidth - (self - 1).leadingZeroBitCount) }
}
