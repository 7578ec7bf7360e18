// The changes of a transaction as two versions to compare: the one that it began on, and the one that a commit would
// create.

extension WriteTransaction {
  /// The version that the transaction began on.
  package var former: Snapshot { base }

  /// The realm with the changes made up to now, without classes that the transaction added. Valid until its next
  /// change.
  ///
  /// Cost: O(properties) for each class.
  package func changed() throws(EngineError) -> Snapshot {
    var tables: [Int: Table] = [:]
    for key in try tableKeys() { tables[key.slot] = try table(key) }
    return Snapshot(base, as: tables)
  }

  /// The realm with all changes made up to now, including new classes, as a version to compare with `former`. Valid
  /// until the next change.
  package func outcome() throws(EngineError) -> Snapshot {
    try group.finishChanges()
    let top = group.slab.node(group.top)
    let array = TopArray(
      base.top,
      ref: group.top,
      names: try top.child(Layout.Top.names),
      tables: try top.child(Layout.Top.tables)
    )
    return Snapshot(base, group.editor.arena, array)
  }

  /// A property's value, borrowed from the transaction; nil if the object does not exist. Valid until the next change.
  /// Cost: O(log n).
  package func view(
    _ table: TableKey,
    _ object: ObjKey,
    _ column: ColKey
  ) throws(EngineError) -> ValueView? {
    let table = try group.table(table)
    guard let index = table.columnIndex(column) else {
      throw EngineError(.notFound, "\(table.className): no property with key \(column)")
    }
    let described = table.columns[index]
    return try table.read(object, described)
  }

  /// True if an object exists.
  package func contains(_ table: TableKey, _ object: ObjKey) throws(EngineError) -> Bool {
    try group.has(group.table(table), object)
  }

  /// The objects that link to an object through a property of their class, in stored order.
  package func origins(
    of table: TableKey,
    _ object: ObjKey,
    from origin: TableKey,
    _ column: ColKey
  ) throws(EngineError) -> [ObjKey] {
    let editor = try group.table(table)
    for backlink in editor.backlinks where backlink.originTable == origin && backlink.originColumn == column {
      return try group.origins(editor, object, backlink.key)
    }
    return []
  }
}
