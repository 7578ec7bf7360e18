// Adds and removes search indexes and primary keys. Source: docs/format/2-model.md M3, M10.

extension GroupEditor {
  /// Adds a search index to a property and fills it.
  func addIndex(_ table: TableEditor, _ key: ColKey, _ kind: IndexKind) throws(EngineError) {
    guard let column = table.columns.first(where: { $0.key == key }) else {
      throw EngineError(.notFound, "\(table.className): no such property")
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
    if !isIndexable { throw EngineError(.badSchema, "\(place): a property of this type cannot have this index") }
    if column.index == kind { return }
    let isPrimary = table.primaryKeyIndex.map { table.columns[$0].key == key } ?? false
    if isPrimary && kind == .fullText {
      throw EngineError(.badSchema, "\(place): a primary key cannot have a full-text index")
    }
    if column.collection == .list { try checkWords(table, column) }
    if column.index != nil { try removeIndex(table, key) }
    try setAttribute(table, key, kind == .general ? Spec.Attribute.indexed : Spec.Attribute.fullText, true)
    // A primary key already has an index.
    if !isPrimary { try makeIndex(table, key) }
    table.bump()
  }

  /// Throws if a list has a string that is too long for an index.
  private func checkWords(_ table: TableEditor, _ column: Column) throws(EngineError) {
    let limit = SearchIndexEditor.maximumWord
    let cursor = try reader(table), index = table.columns.firstIndex { $0.key == column.key } ?? 0
    var longest = 0
    while try cursor.next() {
      guard case .list(var list) = try cursor.value(index) else { continue }
      for i in 0..<list.count {
        if case .string(let text) = try list.value(at: i) { longest = max(longest, text.count) }
      }
    }
    if longest > limit {
      throw EngineError(
        .overLimit,
        "\(table.className).\(column.name): a string of \(longest) bytes: an indexed list holds \(limit)"
      )
    }
  }

  /// Removes the search index of a property. The index of a primary key remains.
  func removeIndex(_ table: TableEditor, _ key: ColKey) throws(EngineError) {
    guard let column = table.columns.first(where: { $0.key == key }) else {
      throw EngineError(.notFound, "\(table.className): no such property")
    }
    if column.index == nil { return }
    try setAttribute(table, key, Spec.Attribute.indexed | Spec.Attribute.fullText, false)
    let isPrimary = table.primaryKeyIndex.map { table.columns[$0].key == key } ?? false
    if !isPrimary {
      let refs = try table.indexRefs()
      try editor.clear(Slot(parent: refs, index: key.leafPosition))
    }
    try table.reloadSchema()
    table.bump()
  }

  /// Makes a property the primary key; nil removes the primary key. The values must be distinct.
  func setPrimaryKey(_ table: TableEditor, _ key: ColKey?) throws(EngineError) {
    let old = table.primaryKeyIndex.map { table.columns[$0] }
    if old?.key == key { return }
    if let key {
      guard let column = table.columns.first(where: { $0.key == key }) else {
        throw EngineError(.notFound, "\(table.className): no such property")
      }
      guard column.collection == nil, [.int, .string, .objectID, .uuid].contains(column.type), table.kind != .embedded
      else {
        throw EngineError(.badSchema, "\(table.className).\(column.name) cannot be a primary key")
      }
      if column.index == .fullText {
        throw EngineError(
          .badSchema,
          "\(table.className).\(column.name): a primary key cannot have a full-text index"
        )
      }
      try checkDistinct(table, column)
    }
    if let old, old.index == nil {
      let refs = try table.indexRefs()
      try editor.clear(Slot(parent: refs, index: old.key.leafPosition))
    }
    if let key {
      slab.setTagged(table.top, Layout.Table.primaryKey, key.value)
    } else {
      slab.setInt(table.top, Layout.Table.primaryKey, 0)
    }
    try table.reloadSchema()
    if let key, try table.index(table.columns[table.primaryKeyIndex ?? 0]) == nil { try makeIndex(table, key) }
    table.bump()
  }

  /// Throws if several objects have the same value in a column that is to be the primary key.
  private func checkDistinct(_ table: TableEditor, _ column: Column) throws(EngineError) {
    var duplicates = DuplicateKeys()
    let cursor = try reader(table), index = table.columns.firstIndex { $0.key == column.key } ?? 0
    while try cursor.next() {
      if let value = PrimaryKey(try cursor.value(index)) { duplicates.add(value, cursor.key) }
    }
    guard let first = duplicates.first else { return }
    // Users know the objects by the previous primary key of the class.
    let former = try base?.table(table.key).flatMap { $0.primaryKey == nil ? nil : ObjectCursor($0) }
    var names: [String] = []
    for object in first.objects.prefix(DuplicateKeys.maxNamed) {
      var name = "\(object)"
      if let former, try former.seek(object), let index = former.table.primaryKeyIndex,
        let key = PrimaryKey(try former.value(index))
      {
        name = key.shown
      }
      names.append(name)
    }
    if first.objects.count > names.count { names.append("..") }
    let kind = former?.table.primaryKey?.name ?? "object key"
    let others =
      duplicates.values > 1
      ? "; in all, \(duplicates.values) values are not unique, in \(duplicates.objects) objects" : ""
    throw EngineError(
      .duplicateKey,
      "\(table.className).\(column.name) cannot be the primary key: \(first.objects.count) objects have the value "
        + "\(first.value.shown) (\(kind) \(names.joined(separator: ", ")))\(others)"
    )
  }

  /// Creates the search index of a property and fills it.
  func makeIndex(_ table: TableEditor, _ key: ColKey) throws(EngineError) {
    let refs = try table.indexRefs()
    slab.setChild(refs, key.leafPosition, SearchIndexEditor.make(editor))
    try table.reloadSchema()
    guard let column = table.columns.first(where: { $0.key == key }) else { return }
    try fillIndex(table, column)
  }

  func setAttribute(_ table: TableEditor, _ key: ColKey, _ bits: Int, _ isOn: Bool) throws(EngineError) {
    let spec = try slab.child(table.top, Layout.Table.spec, editor.arena)
    let keys = try slab.child(spec, Layout.Spec.keys, editor.arena)
    let flags = try slab.child(spec, Layout.Spec.attributes, editor.arena)
    guard let at = (0..<slab.node(keys).count).first(where: { slab.int(keys, $0) == key.value }) else { return }
    let old = slab.int(flags, at)
    slab.setInt(flags, at, isOn ? old | Int64(bits) : old & ~Int64(bits))
    try table.reloadSchema()
  }
}
