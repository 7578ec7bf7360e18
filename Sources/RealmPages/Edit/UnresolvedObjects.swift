// Resolves links when the missing object represented by an unresolved one (a "tombstone") is created: the links then
// refer to the new object. GroupEditor deletes an unresolved object with the last link to it.
// Source: docs/format/2-model.md M5.

extension WriteTransaction {
  /// The key for links to the object with this primary key before it is created. For branches only: programs that read
  /// such a link see no object.
  package func expectedObject(_ table: TableKey, primaryKey: Value) throws(EngineError) -> ObjKey {
    try group.change { () throws(EngineError) in try group.expect(group.table(table), primaryKey: primaryKey) }
  }
}

extension GroupEditor {
  /// The unresolved object with a primary key that no object has; created if necessary.
  func expect(_ table: TableEditor, primaryKey: Value) throws(EngineError) -> ObjKey {
    guard let index = table.primaryKeyIndex, let key = PrimaryKey(primaryKey), let local = key.localKey else {
      throw EngineError(.wrongType, "\(table.className): no primary key to expect an object by")
    }
    // Separate from the unresolved objects of files, which stay hidden.
    let unresolved = ObjKey(expecting: local), column = table.columns[index]
    if let place = try find(table, unresolved) {
      let isSame = try key.equals(table.value(place, column))
      if isSame { return unresolved }
      throw EngineError(
        .forbidden,
        "\(table.className): a link to another object that is still to be made has the same hash; make this one first"
      )
    }
    try table.insertUnresolved(unresolved, (column.key, primaryKey))
    table.bump()
    return unresolved
  }

  /// Redirects the links to the unresolved objects with this primary key to `object`, which was just created with it.
  func resolve(
    _ table: TableEditor,
    _ primaryKey: (column: ColKey, value: Value),
    as object: ObjKey
  ) throws(EngineError) {
    guard table.tombstones != nil, let index = table.columnIndex(primaryKey.column),
      let key = PrimaryKey(primaryKey.value), let local = key.localKey
    else { return }
    let column = table.columns[index]
    for unresolved in Self.unresolvedKeys(of: local) + [ObjKey(expecting: local)] {
      guard let place = try find(table, unresolved) else { continue }
      // Different primary keys can have the same hash.
      if try !key.equals(table.value(place, column)) { continue }
      try lead(table, from: unresolved, to: object)
    }
  }

  /// The keys under which a file may have the unresolved object whose regular key would be `local`: the first one, or a
  /// later one if an object with the same hash uses it; null has the hash of 0.
  static func unresolvedKeys(of local: ObjKey) -> [ObjKey] {
    (0..<4).map { ObjKey(-2 - (local.value &+ $0) & 0x3FFF_FFFF_FFFF_FFFF) }
  }

  /// Redirects all links from an unresolved object to another object of the table. The unresolved object is deleted.
  func lead(_ table: TableEditor, from unresolved: ObjKey, to object: ObjKey) throws(EngineError) {
    for link in try incomingLinks(of: table, unresolved) ?? [] {
      try redirect(link, from: .link(table.key, unresolved), to: .link(table.key, object))
    }
    // It is deleted with the last link; an unresolved object without links is still present.
    if try find(table, unresolved) != nil { try deleteObject(table, unresolved) }
  }

  func redirect(_ link: IncomingLink, from old: Value, to new: Value) throws(EngineError) {
    let origin = try table(link.origin.table), object = link.origin.key
    guard let index = origin.columnIndex(link.column) else { return }
    let column = origin.columns[index]
    let parent = try CollectionEditor(self, origin, object, column, path: Array(link.path.dropLast()))
    switch link.path.last {
    case .index(let index): try parent.set(index, new)
    case .key(let key): try parent.set(key: key, new)
    case nil where column.collection == .set:
      _ = try parent.discard(old)
      _ = try parent.add(new)
    case nil: try store(origin, object, column, new)
    }
  }
}
