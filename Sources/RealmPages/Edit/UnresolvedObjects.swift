// The object that an unresolved one, a "tombstone", stands for is made: the links to that lead to it from then on. How
// unresolved objects go with the last link to them is in GroupEditor. Source: docs/format/2-model.md M5.

extension WriteTransaction {
  /// The key by which a link leads to the object with this primary key as soon as that is made. For branches only: a
  /// program that reads such a link shows nothing.
  package func expectedObject(_ table: TableKey, primaryKey: Value) throws(EngineError) -> ObjKey {
    try group.change { () throws(EngineError) in try group.expect(group.table(table), primaryKey: primaryKey) }
  }
}

extension GroupEditor {
  /// The unresolved object with a primary key that no object has; made if it is not there.
  func expect(_ table: TableEditor, primaryKey: Value) throws(EngineError) -> ObjKey {
    guard let index = table.primaryKeyIndex, let key = PrimaryKey(primaryKey), let local = key.localKey else {
      throw EngineError(.wrongType, "\(table.className): no primary key to expect an object by")
    }
    // Apart from those that files have, which stay hidden.
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

  /// Leads the links to the unresolved object with this primary key to `object`, which was just made with it.
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
      // Another primary key can have the same hash.
      if try !key.equals(table.value(place, column)) { continue }
      try lead(table, from: unresolved, to: object)
    }
  }

  /// The keys that a file may have for the unresolved object whose own key would be `local`: the first, unless that is
  /// taken by one with the same hash, as null has that of 0.
  static func unresolvedKeys(of local: ObjKey) -> [ObjKey] {
    (0..<4).map { ObjKey(-2 - (local.value &+ $0) & 0x3FFF_FFFF_FFFF_FFFF) }
  }

  /// Leads all links to an unresolved object to another object of the table. The unresolved one goes.
  func lead(_ table: TableEditor, from unresolved: ObjKey, to object: ObjKey) throws(EngineError) {
    for link in try incomingLinks(of: table, unresolved) ?? [] {
      try redirect(link, from: .link(table.key, unresolved), to: .link(table.key, object))
    }
    // It goes with the last link; one without links is left over.
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
