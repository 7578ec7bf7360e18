// The upgrade from formats 10 to 23 to format 24: changes in memory the few structures that differ, and keeps all other
// nodes. The result is written as a new file. Source: docs/format/2-model.md M14.

/// Converts the tables of an old version to the current format.
struct FormatUpgrade {
  private let old: Snapshot
  private let format: Int
  /// The tables after the upgrade.
  let group: GroupEditor
  private var editor: NodeEditor { group.editor }
  private var slab: Slab { group.slab }

  /// Starts the upgrade of a version of format 10 to 23.
  init(_ old: Snapshot) throws(EngineError) {
    self.old = old
    format = old.fileFormat
    group = try GroupEditor(on: old)
  }

  /// Makes all changes. Memory grows with the primary keys of formats up to 21, and with sets and dictionaries.
  func run() throws(EngineError) {
    let slots = try old.tableSlots().map(\.slot)
    for slot in slots { try renewColumnKeys(slot) }
    for slot in slots {
      guard let table = try group.table(slot: slot), let oldTable = try old.table(slot: slot) else { continue }
      if format < 22 { try indexPrimaryKey(table) }
      if format < 23 { try rebuildDictionaries(table, oldTable) }
      try sortSets(table, oldTable)
    }
    if format == 22 { try clearAsymmetricTables() }
  }

  // MARK: column keys

  /// Replaces the old type code for link lists, in the types and in all column keys.
  private func renewColumnKeys(_ slot: Int) throws(EngineError) {
    let top = try editor.dirty(Slot(parent: group.tableRefs(), index: slot))
    let spec = try slab.child(top, Layout.Table.spec, editor.arena)
    if slab.node(spec).count < Layout.Spec.count {
      throw .damaged("a spec of \(slab.node(spec).count) slots", ref: spec)
    }
    let types = try slab.child(spec, Layout.Spec.types, editor.arena)
    let keys = try slab.child(spec, Layout.Spec.keys, editor.arena)
    for i in 0..<slab.node(keys).count { renewKey(keys, i) }
    for i in 0..<slab.node(types).count where slab.int(types, i) & 0xFFFF == Int64(Spec.TypeCode.linkList) {
      slab.setInt(types, i, slab.int(types, i) & ~0xFFFF | Int64(Spec.TypeCode.link))
    }
    if try slab.node(top).childIfPresent(Layout.Table.oppositeColumns) != 0 {
      let opposites = try slab.child(top, Layout.Table.oppositeColumns, editor.arena)
      for i in 0..<slab.node(opposites).count { renewKey(opposites, i) }
    }
  }

  private func renewKey(_ node: Int, _ index: Int) {
    let key = slab.int(node, index)
    guard key != ColKey.none.value, ColKey(key).typeCode == Spec.TypeCode.linkList else { return }
    slab.setInt(node, index, key & ~(0x3F << 16) | Int64(Spec.TypeCode.link) << 16)
  }

  // MARK: primary keys

  private func indexPrimaryKey(_ table: TableEditor) throws(EngineError) {
    guard let index = table.primaryKeyIndex else { return }
    let column = table.columns[index]
    if try table.index(column) != nil { return }
    if try slab.node(table.top).child(Layout.Table.indexes) == 0 {
      slab.setChild(table.top, Layout.Table.indexes, slab.makeInts(.hasRefs))
    }
    let indexes = try table.indexRefs()
    try slab.pad(indexes, to: column.key.leafPosition + 1)
    try group.makeIndex(table, column.key)
  }

  // MARK: collections

  /// Converts dictionaries, which older formats stored as cluster trees with hashed keys.
  private func rebuildDictionaries(_ table: TableEditor, _ oldTable: Table) throws(EngineError) {
    try forEachValue(table, oldTable, where: { $0.collection == .dictionary }) { (slot, value) throws(EngineError) in
      guard try editor.ref(slot) != 0, case .dictionary(var dictionary) = value else { return }
      editor.set(slot, 0)
      if dictionary.count == 0 { return }
      let root = slab.makeInts(.hasRefs, [0, 0])
      editor.set(slot, root)
      let keys = BPlusTreeEditor(editor, Slot(parent: root, index: Layout.Dictionary.keys), .string)
      let values = BPlusTreeEditor(editor, Slot(parent: root, index: Layout.Dictionary.values), .mixed)
      for i in 0..<dictionary.count {
        try keys.insert(i, .string(dictionary.key(at: i)))
        try values.insert(i, dictionary.value(at: i))
      }
    }
  }

  /// Sorts sets of strings and binaries, whose order differs in format 24.
  private func sortSets(_ table: TableEditor, _ oldTable: Table) throws(EngineError) {
    let isAffected = { (column: Column) in column.collection == .set && ValueOrder.changedBefore24(column.type) }
    try forEachValue(table, oldTable, where: isAffected) { (slot, value) throws(EngineError) in
      let ref = try editor.ref(slot)
      guard ref != 0, case .set(var sorted) = value else { return }
      let element = sorted.elementType ?? .mixed
      if try Self.isSorted(ElementReader(editor.arena, ref, element)) { return }
      editor.set(slot, 0)
      let tree = BPlusTreeEditor(editor, slot, element)
      for i in 0..<sorted.count { try tree.insert(i, sorted.value(at: i)) }
    }
  }

  private static func isSorted(_ reader: ElementReader) throws(EngineError) -> Bool {
    if reader.count < 2 { return true }
    for i in 1..<reader.count {
      if ValueOrder.compare(try reader.value(at: i - 1), try reader.value(at: i)) > 0 { return false }
    }
    return true
  }

  /// Calls `body` with the slot and the old value of each property that `isAffected` selects, in all objects.
  private func forEachValue(
    _ table: TableEditor,
    _ oldTable: Table,
    where isAffected: (Column) -> Bool,
    _ body: (Slot, ValueView) throws(EngineError) -> Void
  ) throws(EngineError) {
    let indices = oldTable.columns.indices.filter { isAffected(oldTable.columns[$0]) }
    if indices.isEmpty { return }
    let cursor = ObjectCursor(oldTable)
    while try cursor.next() {
      guard let place = try table.find(cursor.key) else { continue }
      for index in indices { try body(table.collectionSlot(place, table.columns[index]), cursor.value(index)) }
    }
  }

  // MARK: asymmetric tables

  /// Deletes the objects of asymmetric classes. They exist only on their way to a server; format 22 could leave some
  /// behind.
  private func clearAsymmetricTables() throws(EngineError) {
    var doomed: [(table: TableKey, object: ObjKey)] = []
    for key in try old.tableKeys() {
      guard let table = try old.table(key), table.kind == .asymmetric else { continue }
      let cursor = ObjectCursor(table)
      while try cursor.next() { doomed.append((key, cursor.key)) }
    }
    for (table, object) in doomed { try group.deleteObject(group.table(table), object) }
  }
}
