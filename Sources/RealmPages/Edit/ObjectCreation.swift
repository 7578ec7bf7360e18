// Creates objects with their values, in one descent of the cluster tree for each object. All checks are made before the
// first modification. Source: docs/format/2-model.md M5, M6.

extension GroupEditor {
  /// Creates an object of a class without a primary key. `key` is an unused key; if nil, the next one is used.
  func create(
    _ table: TableEditor,
    key: ObjKey?,
    _ values: [(ColKey, Value)]
  ) throws(EngineError) -> ObjKey {
    guard canHold(table) else {
      throw EngineError(.forbidden, "\(table.className): objects of this class cannot be created on their own")
    }
    if table.primaryKeyIndex != nil {
      throw EngineError(.wrongType, "\(table.className): an object of this class needs a primary key")
    }
    try check(key, for: table)
    let isPlain = try check(values, for: table)
    let made = try createObject(table, key: key, values)
    if !isPlain { try finish(table, made, values) }
    return made
  }

  /// Creates an object of a class with a primary key, which must be new.
  func create(
    _ table: TableEditor,
    primaryKey: Value,
    key: ObjKey?,
    _ values: [(ColKey, Value)]
  ) throws(EngineError) -> ObjKey {
    guard let index = table.primaryKeyIndex, canHold(table) else {
      throw EngineError(.wrongType, "\(table.className): the class has no primary key")
    }
    let column = table.columns[index]
    guard primaryKey.fits(column.element) else {
      throw EngineError(.wrongType, "\(table.className).\(column.name): a primary key of another type")
    }
    if let limit = primaryKey.brokenLimit {
      throw EngineError(.overLimit, "\(table.className).\(column.name): \(limit)")
    }
    try check(key, for: table)
    let isPlain = try check(values, for: table)
    let made = try createObject(table, key: key, primaryKey: (column.key, primaryKey), values)
    if !isPlain { try finish(table, made, values) }
    try resolve(table, (column.key, primaryKey), as: made)
    return made
  }

  /// True if objects of a class can be created directly.
  private func canHold(_ table: TableEditor) -> Bool {
    table.kind == .topLevel || table.kind == .asymmetric && isRestoring
  }

  /// Throws if an object cannot have this key: links are stored as the key plus one.
  private func check(_ key: ObjKey?, for table: TableEditor) throws(EngineError) {
    guard let key, key.value < 0 || key.value == .max else { return }
    throw EngineError(.overLimit, "\(table.className): object key \(key) is not from 0 to \(Int64.max - 1)")
  }

  /// Throws if a new object cannot have these values. Returns true if all of them are single values without links, so
  /// that nothing but the row and its index entries has to be written.
  private func check(_ values: [(ColKey, Value)], for table: TableEditor) throws(EngineError) -> Bool {
    var isPlain = true
    for (key, value) in values {
      if let index = table.columnIndex(key), index != table.primaryKeyIndex, value.isPlain, table.isSingle[index],
        value.fits(table.elements[index])
      {
        continue
      }
      isPlain = false
      try check(value, for: table, key)
    }
    return isPlain
  }

  private func check(_ value: Value, for table: TableEditor, _ key: ColKey) throws(EngineError) {
    guard let index = table.columnIndex(key) else {
      throw EngineError(.notFound, "\(table.className): no property with key \(key)")
    }
    if index == table.primaryKeyIndex {
      throw EngineError(.forbidden, "\(table.className): the primary key is not one of the other values")
    }
    let column = table.columns[index], element = column.element
    func refuse(_ problem: String) -> EngineError {
      EngineError(.wrongType, "\(table.className).\(column.name): \(problem)")
    }
    guard let collection = column.collection else {
      if !value.fits(element) { throw refuse("the value is not of the property's type") }
      return try check(value, level: 1, from: table, column)
    }
    switch (value, collection) {
    case (.list(let values), .list), (.list(let values), .set):
      for value in values {
        if !value.fits(element) { throw refuse("a value that is not of the element's type") }
        if collection == .set, value.isCollection { throw refuse("collections cannot be nested in a set") }
        if column.index != nil, case .string(let word) = value, word.count > SearchIndexEditor.maximumWord {
          throw EngineError(.overLimit, "\(table.className).\(column.name): an indexed string is too long")
        }
        try check(value, level: 2, from: table, column)
      }
    case (.dictionary(let entries), .dictionary):
      for entry in entries {
        if !entry.value.fits(element) { throw refuse("a value that is not of the element's type") }
        try checkDictionaryKey(entry.key, table, column)
        try check(entry.value, level: 2, from: table, column)
      }
    default: throw refuse("expected a list for a list or set, a dictionary for a dictionary")
    }
  }

  /// Creates an object. `values` must fit their columns. The caller adds backlinks and the elements of collections.
  func createObject(
    _ table: TableEditor,
    key given: ObjKey?,
    primaryKey: (column: ColKey, value: Value)? = nil,
    _ values: [(ColKey, Value)] = []
  ) throws(EngineError) -> ObjKey {
    if let given, try has(table, given) {
      throw EngineError(.duplicateKey, "\(table.className): object \(given) exists")
    }
    let outcome = try add(table, given, primaryKey, values)
    switch outcome {
    case .made(let key): return key
    case .taken(let other):
      throw EngineError(.duplicateKey, "\(table.className): object \(other) has this primary key")
    }
  }

  private enum Outcome {
    case made(ObjKey)
    /// Another object has the primary key; nothing was changed.
    case taken(by: ObjKey)
  }

  private func add(
    _ table: TableEditor,
    _ given: ObjKey?,
    _ primaryKey: (column: ColKey, value: Value)?,
    _ values: [(ColKey, Value)]
  ) throws(EngineError) -> Outcome {
    let key = if let given { given } else { try table.nextKey() }
    // The index of primary keys first, because it shows whether the key is taken.
    if let primaryKey {
      let other = try primaryKey.value.withView { (value) throws(EngineError) in
        try insertPrimaryKey(table, primaryKey.column, value, key)
      }
      if let other {
        if given == nil { table.returnKey() }
        return .taken(by: other)
      }
    }
    try table.insertRow(key, primaryKey: primaryKey, values)
    for column in table.indexes where column.isSingle && column.key != primaryKey?.column {
      let value = values.first { $0.0 == column.key }?.1 ?? column.element.defaultValue
      try value.withView { (value) throws(EngineError) in
        try insertIntoIndex(table, column, value, key, canWait: true)
      }
    }
    table.bump()
    replication.createObject(table.key, key, isEmbedded: table.kind == .embedded)
    return .made(key)
  }

  /// Adds a new object to the index of primary keys; returns the object that already has the key, if one exists.
  func insertPrimaryKey(
    _ table: TableEditor,
    _ primaryKey: ColKey,
    _ value: ValueView,
    _ key: ObjKey
  ) throws(EngineError) -> ObjKey? {
    let column = table.indexes.first { $0.key == primaryKey }
    if let column, try table.listLater(key, IndexData(value), column.key.leafPosition) { return nil }
    guard let column, let index = try table.index(column.key.leafPosition, isFullWord: false) else {
      return try table.find(primaryKey: value)
    }
    let other = try index.insertUnique(value, key) { (other) throws(EngineError) in try table.read(other, column) }
    guard let other else { return nil }
    if try table.contains(other) { return other }
    // The index has an entry of a deleted object, left over by another writer.
    try index.insert(value, key) { (other) throws(EngineError) in try table.read(other, column) }
    return nil
  }

  /// Adds the backlinks and the elements of collections of a new object.
  private func finish(_ table: TableEditor, _ object: ObjKey, _ values: [(ColKey, Value)]) throws(EngineError) {
    for (key, value) in values where !value.isPlain {
      switch value {
      case .link(let target, let targetKey):
        guard let index = table.columnIndex(key) else { continue }
        try addBacklink(target, targetKey, from: table, table.columns[index], object)
      default:
        guard let index = table.columnIndex(key) else { continue }
        try CollectionEditor(self, table, object, table.columns[index]).fill(value)
      }
    }
  }
}
