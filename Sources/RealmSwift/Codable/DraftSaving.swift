// Saves drafts as objects, fitting them to the classes of the realm.

import RealmPages

extension WriteTransaction {
  /// Creates or changes an object of a class so that it matches the draft. The primary key selects the object; in a
  /// class without a primary key, a new object is created. Linked objects are saved in the same way.
  @discardableResult
  func save(_ draft: EncodedValue, in table: TableKey) throws(EngineError) -> ObjectReference {
    let facts = try self.table(table), name = facts.className ?? facts.name
    guard case .object(let entries) = draft.content else {
      throw EngineError(.wrongType, "\(name): the value has no properties")
    }
    let object: ObjKey
    if let column = facts.primaryKey {
      guard let entry = entries.first(where: { $0.name.isExactly(column.name) }) else {
        throw EngineError(.wrongType, "\(name): the value has no primary key \"\(column.name)\"")
      }
      let key = try element(entry.value, column)
      if let known = try objectKey(table, primaryKey: key) {
        object = known
      } else {
        object = try create(table, primaryKey: key)
      }
    } else {
      object = try create(table)
    }
    let reference = ObjectReference(table: table, key: object)
    for (column, value) in try fitted(entries.filter { $0.name != facts.primaryKey?.name }, to: table) {
      try write(value, column, of: reference)
    }
    return reference
  }

  /// Fits drafts to the properties of a class.
  private func fitted(_ entries: [(name: String, value: EncodedValue)], to table: TableKey) throws(EngineError)
    -> WantedObject
  {
    var parts: WantedObject = []
    for entry in entries {
      guard let column = try columns(of: table).first(where: { $0.name.isExactly(entry.name) }) else {
        throw EngineError(.notFound, "\(try self.table(table).className ?? ""): no property \"\(entry.name)\"")
      }
      parts.append((column, try fitted(entry.value, to: column)))
    }
    return parts
  }

  private func fitted(_ draft: EncodedValue, to column: Column) throws(EngineError) -> WantedValue {
    let target = try column.targetTable.flatMap { (key) throws(EngineError) in
      try table(key).kind == .embedded ? key : nil
    }
    switch column.collection {
    case nil:
      guard let target, !draft.isNull else { return .value(try element(draft, column)) }
      return .embedded(try embedded(draft, in: target, column))
    case .dictionary:
      guard case .object(let entries) = draft.content else { throw Self.wrongKind(column) }
      guard let target else {
        var values: [Value.Entry] = []
        for entry in entries {
          values.append(.init(key: Array(entry.name.utf8), value: try element(entry.value, column)))
        }
        return .value(.dictionary(values))
      }
      var objects: [(key: [UInt8], object: WantedObject?)] = []
      for entry in entries {
        let object = entry.value.isNull ? nil : try embedded(entry.value, in: target, column)
        objects.append((Array(entry.name.utf8), object))
      }
      return .embeddedEntries(objects)
    case .list, .set:
      guard let drafts = draft.elements else { throw Self.wrongKind(column) }
      guard let target else {
        var values: [Value] = []
        for draft in drafts { values.append(try element(draft, column)) }
        return .value(.list(values))
      }
      var objects: [WantedObject] = []
      for draft in drafts { objects.append(try embedded(draft, in: target, column)) }
      return .embeddedList(objects)
    }
  }

  private func embedded(_ draft: EncodedValue, in target: TableKey, _ column: Column) throws(EngineError)
    -> WantedObject
  {
    guard case .object(let entries) = draft.content else {
      throw EngineError(.wrongType, "property \"\(column.name)\" takes values with properties")
    }
    return try fitted(entries, to: target)
  }

  /// Returns a draft as the value or an element of a property. An object that it links to is saved first.
  private func element(_ draft: EncodedValue, _ column: Column) throws(EngineError) -> Value {
    if case .object = draft.content, column.type == .link, let target = column.targetTable {
      let reference = try save(draft, in: target)
      return .link(reference.table, reference.key)
    }
    if column.type == .mixed { return draft.mixed }
    if let value = draft.value(as: column.type) { return value }
    throw EngineError(.wrongType, "property \"\(column.name)\" of type \(column.type) cannot take the value")
  }

  private static func wrongKind(_ column: Column) -> EngineError {
    EngineError(.wrongType, "property \"\(column.name)\" is a collection of another kind")
  }
}
