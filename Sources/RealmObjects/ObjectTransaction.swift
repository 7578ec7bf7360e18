// Changes by names: objects and properties of a transaction, and whole values of Encodable types.

public import RealmPages

/// A transaction of an open realm. It is over when the function returns that it was given to.
public struct ObjectTransaction: ~Copyable {
  /// The engine's transaction.
  public let engine: WriteTransaction
  private let objectTypes: [String]?

  init(_ engine: consuming WriteTransaction, _ configuration: Configuration) {
    self.engine = engine
    objectTypes = configuration.objectTypes
  }

  consuming func commit() throws(EngineError) {
    if engine.hasChanges { _ = try engine.commit() }
  }

  // MARK: objects

  /// The object with this primary key; nil if there is none.
  public func find(_ className: String, primaryKey: Value) throws(EngineError) -> ObjectReference? {
    let table = try table(className)
    return try engine.objectKey(table, primaryKey: primaryKey).map { ObjectReference(table: table, key: $0) }
  }

  /// Makes an object with default values; classes with primary key need it.
  public func create(_ className: String, primaryKey: Value? = nil) throws(EngineError) -> ObjectReference {
    let table = try table(className)
    guard let primaryKey else { return ObjectReference(table: table, key: try engine.create(table)) }
    return ObjectReference(table: table, key: try engine.create(table, primaryKey: primaryKey))
  }

  /// Deletes an object; links to it become null or vanish.
  public func delete(_ object: ObjectReference) throws(EngineError) {
    try engine.delete(object.table, object.key)
  }

  /// The value of a property, changes included.
  public func value(_ name: String, of object: ObjectReference) throws(EngineError) -> Value {
    try engine.value(object.table, object.key, column(name, object.table).key)
  }

  /// Sets a property; a list or dictionary replaces what is in a collection. What is stored already is not written.
  public func set(_ name: String, of object: ObjectReference, to value: Value) throws(EngineError) {
    let column = try column(name, object.table)
    if column.collection == nil { return try write(.value(value), column, of: object) }
    try write(WantedValue(collection: value), column, of: object)
  }

  // MARK: values

  /// Makes or changes the object of the class that is named like the type, or `className`, so that it is `value`. Its
  /// primary key says which object; without one an object is made. Properties that the type does not have stay. Nested
  /// values are embedded objects, or linked ones, which are saved in the same way. What is stored already is not
  /// written.
  public func save<T: Encodable>(_ value: T, as className: String? = nil) throws -> ObjectReference {
    let draft = try Draft(of: value)
    return try save(draft, in: table(className ?? String(describing: T.self)))
  }

  private func save(_ draft: Draft, in table: TableKey) throws(EngineError) -> ObjectReference {
    let facts = try engine.table(table), name = facts.className ?? facts.name
    guard case .object(let entries) = draft.content else {
      throw EngineError(.wrongType, "\(name): the value has no properties")
    }
    let object: ObjKey
    if let column = facts.primaryKey {
      guard let entry = entries.first(where: { $0.name == column.name }) else {
        throw EngineError(.wrongType, "\(name): the value has no primary key \"\(column.name)\"")
      }
      let key = try plain(entry.value, column)
      if let known = try engine.objectKey(table, primaryKey: key) {
        object = known
      } else {
        object = try engine.create(table, primaryKey: key)
      }
    } else {
      object = try engine.create(table)
    }
    let reference = ObjectReference(table: table, key: object)
    for (column, value) in try wanted(entries, of: table, besides: facts.primaryKey?.name) {
      try write(value, column, of: reference)
    }
    return reference
  }

  /// Fits drafts to the properties of a class. Objects that are linked are saved.
  private func wanted(
    _ entries: [(name: String, value: Draft)],
    of table: TableKey,
    besides primaryKey: String? = nil
  ) throws(EngineError) -> [(column: Column, value: WantedValue)] {
    var all: [(column: Column, value: WantedValue)] = []
    for entry in entries where entry.name != primaryKey {
      let column = try column(entry.name, table)
      switch (column.collection, entry.value.content) {
      case (nil, _): all.append((column, try wantedElement(entry.value, column)))
      case (.dictionary, .object(let inner)):
        var elements: [(key: [UInt8], value: WantedValue)] = []
        for entry in inner { elements.append((Array(entry.name.utf8), try wantedElement(entry.value, column))) }
        all.append((column, .dictionary(elements)))
      default:
        guard column.collection != .dictionary, let drafts = entry.value.elements else {
          throw EngineError(.wrongType, "property \"\(column.name)\" is a collection of another kind")
        }
        var elements: [WantedValue] = []
        for draft in drafts { elements.append(try wantedElement(draft, column)) }
        all.append((column, .list(elements)))
      }
    }
    return all
  }

  private func wantedElement(_ draft: Draft, _ column: Column) throws(EngineError) -> WantedValue {
    guard case .object(let inner) = draft.content, let target = column.targetTable, try isEmbedded(column) else {
      return .value(try value(draft, column))
    }
    return .embedded(try wanted(inner, of: target))
  }

  /// The value of a draft in a property, or as an element of it; an object that is linked is saved.
  private func value(_ draft: Draft, _ column: Column) throws(EngineError) -> Value {
    if case .object = draft.content, column.type == .link, let target = column.targetTable {
      let reference = try save(draft, in: target)
      return .link(reference.table, reference.key)
    }
    return try plain(draft, column)
  }

  private func plain(_ draft: Draft, _ column: Column) throws(EngineError) -> Value {
    if column.type == .mixed { return draft.mixed }
    if let value = draft.value(as: column.type) { return value }
    throw EngineError(.wrongType, "property \"\(column.name)\" of type \(column.type) cannot take the value")
  }

  private func isEmbedded(_ column: Column) throws(EngineError) -> Bool {
    guard column.type == .link, let target = column.targetTable else { return false }
    return try engine.table(target).kind == .embedded
  }

  func embedded(_ key: ObjKey, _ column: Column) throws(EngineError) -> ObjectReference {
    guard let table = column.targetTable else { throw EngineError(.badSchema, "\"\(column.name)\" has no target") }
    return ObjectReference(table: table, key: key)
  }

  // MARK: names

  private func table(_ className: String) throws(EngineError) -> TableKey {
    guard objectTypes?.contains(className) ?? true,
      let key = try engine.tableKey(named: Table.classPrefix + className)
    else { throw EngineError(.notFound, "there is no class \(className)") }
    return key
  }

  private func column(_ name: String, _ table: TableKey) throws(EngineError) -> Column {
    if let column = try engine.columns(of: table).first(where: { $0.name == name }) { return column }
    throw EngineError(.notFound, "\(try engine.table(table).className ?? ""): no property \"\(name)\"")
  }
}

extension Draft {
  /// The draft as a value of a type; nil if it is of another.
  fileprivate func value(as type: ValueType) -> Value? {
    switch (type, content) {
    case (_, .null): .null
    case (.int, .int(let value)): .int(value)
    case (.bool, .bool(let value)): .bool(value)
    case (.double, .real(let value)): .double(value)
    case (.double, .int(let value)): Double(exactly: value).map { .double($0) }
    case (.float, .real(let value)): .float(Float(value))
    case (.string, .text(let text)): .text(text)
    case (.objectID, .text(let text)): ObjectID(text).map { .objectID($0) }
    case (.uuid, .text(let text)): UniqueID(text).map { .uuid($0) }
    case (.date, .real(let time)): Timestamp(secondsSinceReference: time).map { .date($0) }
    case (.data, .bytes(let bytes)): .data(bytes)
    case (.data, .list(let elements)): Self.bytes(elements).map { .data($0) }
    default: nil
    }
  }

  private static func bytes(_ elements: [Draft]) -> [UInt8]? {
    let bytes = elements.compactMap { element -> UInt8? in
      if case .int(let value) = element.content { UInt8(exactly: value) } else { nil }
    }
    return bytes.count == elements.count ? bytes : nil
  }

  /// The draft as it is.
  fileprivate var mixed: Value {
    switch content {
    case .null: .null
    case .bool(let value): .bool(value)
    case .int(let value): .int(value)
    case .real(let value): .double(value)
    case .text(let text): .text(text)
    case .list(let elements): .list(elements.map(\.mixed))
    case .bytes(let bytes): .list(bytes.map { .int(Int64($0)) })
    case .object(let entries): .dictionary(entries.map { Value.Entry(key: Array($0.name.utf8), value: $0.value.mixed) })
    }
  }
}
