// The object that an unresolved one, a "tombstone", stands for is made: the links to that lead to it from then on. How
// unresolved objects go with the last link to them is in GroupEditor. Source: docs/format/2-model.md M5.

extension GroupEditor {
  /// Leads the links to the unresolved object with this primary key to `object`, which was just made with it.
  func resolve(
    _ table: TableEditor,
    _ primaryKey: (column: ColKey, value: Value),
    as object: ObjKey
  ) throws(TransactionError) {
    guard table.tombstones != nil, let index = table.columnIndex(primaryKey.column),
      let key = PrimaryKey(primaryKey.value), let local = key.localKey
    else { return }
    let unresolved = ObjKey(-2 - local.value), column = table.columns[index]
    guard let place = try find(table, unresolved) else { return }
    do throws(FormatError) {
      // Another primary key can have the same hash.
      if try !key.equals(table.value(place, column)) { return }
    } catch { throw TransactionError(error) }
    for link in try incomingLinks(of: table, unresolved) ?? [] {
      try redirect(link, from: .link(table.key, unresolved), to: .link(table.key, object))
    }
    // It goes with the last link; one without links is left over.
    if try find(table, unresolved) != nil { try deleteObject(table, unresolved) }
  }

  private func redirect(_ link: IncomingLink, from old: Value, to new: Value) throws(TransactionError) {
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
