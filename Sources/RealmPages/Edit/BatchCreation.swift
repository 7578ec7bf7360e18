// Creates the objects of a batch in order, with the same result as `create` for each, up to the first that needs a
// separate call. Data about a leaf that rows and backlinks need is looked up once for all of them.
// Source: docs/format/2-model.md M5, M7.

extension WriteTransaction {
  /// The form of batches for a class; nil if objects of the class are not created directly.
  package func rowForm(_ key: TableKey) throws(EngineError) -> RowForm? {
    let table = try group.table(key)
    if table.kind != .topLevel { return nil }
    return try RowForm(table) { (key) throws(EngineError) in try group.keyType(key) }
  }

  /// Creates the objects of a batch in `rows`, in order, and returns their number and the key of the last one. Stops
  /// before an object that exists, that links to a missing object, or whose key would not be the highest in the table:
  /// pass that one to `create`, which creates it or throws the reason. Creates none if the class has changed since the
  /// form was created.
  ///
  /// Cost: O(log n) for each object and link.
  package func create(_ batch: RowBatch, _ rows: Range<Int>) throws(EngineError) -> (count: Int, last: ObjKey?) {
    try group.change { () throws(EngineError) in try group.create(batch, rows) }
  }
}

extension GroupEditor {
  /// A link property of a batch.
  private struct LinkField {
    let field: Int
    let position: Int
    let target: TableEditor
    let backlink: Int
  }

  /// The type of the primary key of a class whose objects can be linked to; nil if it has none.
  fileprivate func keyType(_ key: TableKey) throws(EngineError) -> ValueType? {
    let table = try table(key)
    return table.kind == .topLevel ? table.primaryKeyIndex.map { table.columns[$0].type } : nil
  }

  fileprivate func create(_ batch: RowBatch, _ rows: Range<Int>) throws(EngineError) -> (count: Int, last: ObjKey?) {
    let table = try table(batch.form.table)
    // An unresolved object may have the primary key of a new one.
    guard table.fits(batch.form), table.tombstones == nil, !isReplaying, let links = try links(of: batch.form, table)
    else { return (0, nil) }
    try table.begin(batch, first: rows.lowerBound)
    var count = 0, last: ObjKey?
    do {
      while count < rows.count, let key = try create(batch, rows.lowerBound + count, table, links) {
        last = key
        count += 1
      }
    } catch {
      try table.endBatch()
      throw error
    }
    try table.endBatch()
    return (count, last)
  }

  /// The links of a batch; nil if their target classes do not match the form.
  private func links(of form: RowForm, _ table: TableEditor) throws(EngineError) -> [LinkField]? {
    var links: [LinkField] = []
    for (index, field) in form.fields.enumerated() {
      guard case .link = field.kind, let key = field.column.targetTable else { continue }
      let target = try self.table(key)
      if try keyType(key) != field.type { return nil }
      let backlink = try backlinkColumn(target, table, field.column).leafPosition
      let position = field.column.key.leafPosition
      links.append(LinkField(field: index, position: position, target: target, backlink: backlink))
    }
    return links
  }

  /// Creates one object of a batch; nil if it needs a separate call of `create`.
  private func create(
    _ batch: RowBatch,
    _ row: Int,
    _ table: TableEditor,
    _ links: [LinkField]
  ) throws(EngineError) -> ObjKey? {
    slab.noteStep()
    var targets: [(position: Int, target: ObjKey?)] = []
    for link in links {
      let (isKnown, target) = try batch.withView(row, link.field) { (value) throws(EngineError) -> (Bool, ObjKey?) in
        if case .null = value { return (true, nil) }
        let target = try link.target.linkTarget(value)
        return (target != nil, target)
      }
      if !isKnown { return nil }
      targets.append((link.position, target))
    }
    let key = try table.nextKey()
    guard try table.isGreaterThanAll(key) else {
      table.returnKey()
      return nil
    }
    if let primaryKey = batch.form.primaryKey {
      let column = table.columns[primaryKey].key
      let other = try batch.withView(row, primaryKey) { (value) throws(EngineError) in
        try insertPrimaryKey(table, column, value, key)
      }
      if other != nil {
        table.returnKey()
        return nil
      }
    }
    table.addRow(key, links: targets)
    for column in table.indexes where column.isSingle && column.index != batch.form.primaryKey {
      if let link = links.firstIndex(where: { $0.field == column.index }) {
        let value = targets[link].target.map { ValueView.link(links[link].target.key, $0) } ?? .null
        try insertIntoIndex(table, column, value, key, canWait: true)
      } else {
        try batch.withView(row, column.index) { (value) throws(EngineError) in
          try insertIntoIndex(table, column, value, key, canWait: true)
        }
      }
    }
    table.bump()
    for (link, target) in zip(links, targets) {
      guard let target = target.target else { continue }
      try link.target.deferBacklink(target, link.backlink, from: key)
      link.target.bump()
    }
    replication.createObject(table.key, key, isEmbedded: false)
    return key
  }
}
