// Makes a property optional or required: a new column replaces the old one, with its values, name and position, because
// nullability is part of a column's key. Source: docs/format/2-model.md M3, M4.

extension GroupEditor {
  /// Makes a property optional or required. If it becomes required, each null becomes the default of the type. Returns
  /// the new key of the property. Its index is kept, and it remains the primary key if it is one.
  func setNullable(_ table: TableEditor, _ key: ColKey, _ isNullable: Bool) throws(EngineError) -> ColKey {
    guard let index = table.columnIndex(key) else {
      throw EngineError(.notFound, "\(table.className): no such property")
    }
    let old = table.columns[index], isPrimaryKey = table.primaryKeyIndex == index
    if old.isNullable == isNullable { return key }
    if old.type == .link || old.type == .mixed {
      throw EngineError(
        .badSchema,
        "\(table.className).\(old.name): whether links and Mixed values are optional follows from their type"
      )
    }
    if isPrimaryKey && !isNullable { try checkDefaultIsUnused(table, old) }
    let new = try insertColumn(
      table,
      typeCode: old.key.typeCode,
      attributes: Spec.attributes(old.collection, isNullable: isNullable),
      name: old.name,
      dictionaryKey: old.collection == .dictionary ? old.dictionaryKeyType : 0,
      at: index
    )
    // Do not record the single values: the column is new.
    let told = replication
    try copyValues(table, from: old, to: table.columns[index])
    replication = told
    if isPrimaryKey {
      slab.setInt(table.top, Layout.Table.primaryKey, 0)
      try table.reloadSchema()
    }
    try eraseColumn(table, key)
    if isPrimaryKey { try setPrimaryKey(table, new) }
    if let kind = old.index { try addIndex(table, new, kind) }
    replication.insertColumn(table.key, new)
    replication.eraseColumn(table.key, key)
    return new
  }

  /// Throws if null would become a primary key that another object has.
  private func checkDefaultIsUnused(_ table: TableEditor, _ column: Column) throws(EngineError) {
    if try table.find(primaryKey: .null) == nil { return }
    let value = ElementType(column.type, isNullable: false).defaultValue
    if let other = try value.withView({ (value) throws(EngineError) in try table.find(primaryKey: value) }) {
      throw EngineError(
        .duplicateKey,
        "\(table.className).\(column.name): null would become the primary key that object \(other) has"
      )
    }
  }

  private func copyValues(_ table: TableEditor, from old: Column, to new: Column) throws(EngineError) {
    let cursor = try reader(table)
    var keys: [ObjKey] = []
    while try cursor.next() { keys.append(cursor.key) }
    // Unresolved objects keep their primary keys.
    keys += try table.unresolvedKeys()
    for key in keys {
      let place = try table.place(key)
      switch try table.value(place, old) {
      case .list(let list), .set(let list):
        if list.count == 0 { continue }
        let collection = try CollectionEditor(self, table, key, new)
        let values = try elements(list, new)
        // In a set null is the first element. Its replacement is added last, so that an equal value already in the set
        // stays.
        try collection.fill(.list(new.collection == .set ? values.reversed() : values))
      case .dictionary(let dictionary):
        if dictionary.count == 0 { continue }
        try CollectionEditor(self, table, key, new).fill(.dictionary(entries(dictionary, new)))
      case .null:
        try new.element.defaultValue.withView { (value) throws(EngineError) in try table.store(place, new, value) }
      case let value: try table.store(place, new, value)
      }
    }
    table.bump()
  }

  private func elements(_ list: ListView, _ column: Column) throws(EngineError) -> [Value] {
    var list = list, values: [Value] = []
    for i in 0..<list.count { values.append(try copy(list.value(at: i), column)) }
    return values
  }

  private func entries(_ dictionary: DictionaryView, _ column: Column) throws(EngineError) -> [Value.Entry] {
    var dictionary = dictionary, entries: [Value.Entry] = []
    for i in 0..<dictionary.count {
      entries.append(.init(key: try dictionary.key(at: i).bytes, value: try copy(dictionary.value(at: i), column)))
    }
    return entries
  }

  /// A copy of the value, or the default of the column for a null.
  private func copy(_ value: ValueView, _ column: Column) throws(EngineError) -> Value {
    if case .null = value { return column.element.defaultValue }
    return try Value(copying: value)
  }

}
