// Changes with the semantics of a sync server: removing an object keeps the links to it, hidden, and a link may be
// created before its target. Unresolved objects represent missing targets.
// Source: docs/format/2-model.md M5, docs/format/7-sync.md 7.7.

extension WriteTransaction {
  /// Allows links to unresolved objects from now on.
  package func allowUnresolvedLinks() { group.isReplaying = true }

  /// The unresolved object with a primary key that no object has; created if necessary. It is deleted with the last
  /// link to it.
  package func unresolvedObject(_ table: TableKey, primaryKey: Value) throws(EngineError) -> ObjKey {
    try group.change { () throws(EngineError) in
      try group.unresolvedObject(group.table(table), primaryKey: primaryKey)
    }
  }

  /// The unresolved object that represents the missing object `key` of a class without a primary key; created if
  /// necessary.
  package func unresolvedObject(_ table: TableKey, key: ObjKey) throws(EngineError) -> ObjKey {
    try group.change { () throws(EngineError) in try group.unresolvedObject(group.table(table), key: key) }
  }

  /// Creates the object `key` of a class without a primary key; hidden links to it are resolved.
  package func createReplayed(_ table: TableKey, key: ObjKey) throws(EngineError) {
    try group.change { () throws(EngineError) in
      let editor = try group.table(table)
      _ = try group.create(editor, key: key, [])
      if editor.tombstones != nil, try group.find(editor, ObjKey(-2 - key.value)) != nil {
        try group.lead(editor, from: ObjKey(-2 - key.value), to: key)
      }
    }
  }

  /// Removes an object and its embedded objects. Links to it stay, hidden, until an object with its primary key or key
  /// is created again. Cost: that of `incomingLinks`.
  package func invalidate(_ table: TableKey, _ object: ObjKey) throws(EngineError) {
    try group.change { () throws(EngineError) in
      let editor = try group.table(table)
      let links = try group.incomingLinks(of: editor, object) ?? []
      if !links.isEmpty {
        let unresolved: ObjKey
        if let index = editor.primaryKeyIndex, let view = try editor.read(object, editor.columns[index]) {
          unresolved = try group.unresolvedObject(editor, primaryKey: Value(copying: view))
        } else {
          unresolved = try group.unresolvedObject(editor, key: object)
        }
        for link in links {
          try group.redirect(link, from: .link(table, object), to: .link(table, unresolved))
        }
      }
      try group.deleteObject(editor, object)
    }
  }
}

extension GroupEditor {
  fileprivate func unresolvedObject(_ table: TableEditor, primaryKey: Value) throws(EngineError) -> ObjKey {
    guard let index = table.primaryKeyIndex, let key = PrimaryKey(primaryKey), let local = key.localKey else {
      throw EngineError(.wrongType, "\(table.className): no primary key to link to")
    }
    let column = table.columns[index]
    guard primaryKey.fits(column.element) else {
      throw EngineError(.wrongType, "\(table.className).\(column.name): a primary key of another type")
    }
    for unresolved in Self.unresolvedKeys(of: local) {
      guard let place = try find(table, unresolved) else {
        try table.insertUnresolved(unresolved, (column.key, primaryKey))
        table.bump()
        return unresolved
      }
      if try key.equals(table.value(place, column)) { return unresolved }
    }
    throw EngineError(.overLimit, "\(table.className): too many missing objects whose keys have the same hash")
  }

  fileprivate func unresolvedObject(_ table: TableEditor, key: ObjKey) throws(EngineError) -> ObjKey {
    let unresolved = ObjKey(-2 - key.value)
    if key.value < 0 || key.value > 0x3FFF_FFFF_FFFF_FFFF || table.primaryKeyIndex != nil {
      throw EngineError(.overLimit, "\(table.className): no object can have the key \(key)")
    }
    if try find(table, unresolved) == nil {
      try table.insertUnresolved(unresolved, nil)
      table.bump()
    }
    return unresolved
  }
}
