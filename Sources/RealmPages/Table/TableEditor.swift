// One table of a write transaction: its schema, and its objects as rows. `GroupEditor` handles the effects of links on
// other tables. Source: docs/format/2-model.md M2 to M7.

/// A table that a transaction can change. All state is read from the dirty nodes, the single source of truth. New rows
/// at the end and their index entries are buffered, at most until the first read.
final class TableEditor {
  let editor: NodeEditor
  /// The dirty top array of the table. Its clusters may lack buffered rows: see `view()` and `objects()`.
  let top: Int
  let key: TableKey
  var name: String
  // Run-time exclusivity checks are off: one thread changes a table, and every access to a value goes through these.
  @safe @exclusivity(unchecked) private var spec: Spec?
  @safe @exclusivity(unchecked) private(set) var columns: [Column] = []
  @safe @exclusivity(unchecked) private(set) var backlinks: [Spec.BacklinkColumn] = []
  @safe @exclusivity(unchecked) private(set) var primaryKeyIndex: Int?
  /// The element type of each column, and whether the column holds a single value.
  @safe @exclusivity(unchecked) private(set) var elements: [ElementType] = []
  @safe @exclusivity(unchecked) private(set) var isSingle: [Bool] = []
  /// The columns with an index.
  @safe @exclusivity(unchecked) private(set) var indexes: [IndexedColumn] = []
  /// For each leaf position, the position in `columns`, or -1.
  @safe @exclusivity(unchecked) private var columnsByLeaf: [Int] = []
  @safe @exclusivity(unchecked) private var columnKeys: [ColKey] = []
  @safe @exclusivity(unchecked) private var layout = RowLayout.empty
  @safe @exclusivity(unchecked) private var isBumped = false
  /// Buffered new rows: their keys ascend, follow all others, and are not in a cluster yet.
  @safe @exclusivity(unchecked) private var waiting = NewRows(.empty)
  /// For each leaf position, objects to be added to the column's index. May be shorter than the list of positions.
  @safe @exclusivity(unchecked) private var newEntries: [NewEntries] = []
  /// Links to objects of this table that are not in a backlink list yet.
  @safe @exclusivity(unchecked) private var newBacklinks = NewBacklinks()
  /// A cache of link targets by primary key.
  @safe @exclusivity(unchecked) private var linkTargets = KnownTargets()
  /// The object read last, known to exist. Avoids a second search when a link's target is looked up and then checked.
  @safe @exclusivity(unchecked) private var seen: ObjKey?
  /// An upper bound of all keys; nil until first needed.
  @safe @exclusivity(unchecked) private var keyBound: Int64?

  /// Opens the table whose top array `slot` refers to. `spec` is its spec, if already read.
  init(_ editor: NodeEditor, _ slot: Slot, name: String, _ spec: Spec?) throws(EngineError) {
    self.editor = editor
    self.name = name
    top = try editor.dirty(slot)
    try editor.slab.pad(top, to: Layout.Table.count)
    key = TableKey(UInt32(truncatingIfNeeded: try editor.slab.node(top).tagged(Layout.Table.key)))
    if let spec { try take(spec) } else { try take(try readSpec()) }
  }

  /// Reads the spec again after a change.
  func reloadSchema() throws(EngineError) {
    try writeWaiting()
    try take(try readSpec())
  }

  private func readSpec() throws(EngineError) -> Spec {
    try Spec(editor.arena, tableTop: editor.slab.node(top), place: "table \(name)")
  }

  private func take(_ spec: Spec) throws(EngineError) {
    let node = editor.slab.node(top), edited = try spec.edited(at: top, name)
    self.spec = spec
    columns = spec.columns
    backlinks = spec.backlinks
    let flags = editor.slab.int(top, Layout.Table.flags) >> 1 & 3
    kind = flags == 1 ? .embedded : flags == 2 ? .asymmetric : .topLevel
    let primaryKey = try node.int(Layout.Table.primaryKey)
    primaryKeyIndex = primaryKey & 1 == 0 ? nil : columns.firstIndex { $0.key.value == primaryKey >> 1 }
    elements = edited.elements
    columnKeys = edited.columnKeys
    isSingle = edited.isSingle
    indexes = edited.indexes
    columnsByLeaf = edited.columnsByLeaf
    layout = edited.layout
    waiting = NewRows(layout)
    newEntries = []
  }

  /// Returns the position in `columns` of the column with this key; nil if there is none. O(1).
  func columnIndex(_ key: ColKey) -> Int? {
    guard key.leafPosition < columnsByLeaf.count else { return nil }
    let index = columnsByLeaf[key.leafPosition]
    return index >= 0 && columnKeys[index] == key ? index : nil
  }

  @safe @exclusivity(unchecked) private(set) var kind = TableKind.topLevel

  var className: String { Table.className(ofTable: name) ?? name }

  /// Returns the tree of all objects.
  func objects() throws(EngineError) -> ClusterTreeEditor {
    try writeWaiting()
    return tree
  }

  /// The tree of objects, without the buffered rows.
  private var tree: ClusterTreeEditor {
    ClusterTreeEditor(editor: editor, root: Slot(parent: top, index: Layout.Table.clusters), layout: layout)
  }

  /// Returns the table as readers see it, including buffered rows. Valid until the next change.
  func view() throws(EngineError) -> Table {
    try writeWaiting()
    let known = try spec?.isCurrent(editor.arena, tableTop: editor.slab.node(top)) ?? false ? spec : nil
    return try Table(editor.arena, name: name, slot: key.slot, ref: top, known)
  }

  /// The unresolved objects; nil if the table never had any. They have the same columns as live objects.
  var tombstones: ClusterTreeEditor? {
    if editor.slab.int(top, Layout.Table.tombstones) == 0 { return nil }
    return ClusterTreeEditor(editor: editor, root: Slot(parent: top, index: Layout.Table.tombstones), layout: layout)
  }

  /// Records that the transaction changes the table.
  func bump() {
    editor.slab.bumps &+= 1
    if isBumped { return }
    isBumped = true
    editor.slab.setTagged(top, Layout.Table.contentVersion, editor.slab.int(top, Layout.Table.contentVersion) >> 1 + 1)
  }

  // MARK: rows

  /// Returns the location of an object. Throws if it does not exist.
  func place(_ key: ObjKey) throws(EngineError) -> ClusterTreeEditor.Place {
    if let place = try find(key) { return place }
    throw EngineError(.notFound, "\(className): no object \(key)")
  }

  /// Returns the location of a live or unresolved object; nil if it does not exist. Cost: O(log n).
  func find(_ key: ObjKey) throws(EngineError) -> ClusterTreeEditor.Place? {
    if key.isUnresolved { return try tombstones?.find(UInt64(bitPattern: key.value)) }
    if key == .none { return nil }
    try writeBacklinks()
    try writeRows(upTo: key)
    return try tree.find(UInt64(key.value))
  }

  /// Returns the row of an object as stored; nil if there is no such object. Does not make nodes dirty.
  private func row(_ key: ObjKey) throws(EngineError) -> (cluster: Cluster, row: Int)? {
    if key.value < 0 { return nil }
    try writeRows(upTo: key)
    let tree = ClusterTree(arena: editor.arena, rootRef: try editor.slab.node(top).child(Layout.Table.clusters))
    guard let place = try tree.place(of: UInt64(key.value)) else { return nil }
    seen = key
    return place
  }

  /// Returns true if a live object has this key. Cost: O(log n), or O(1) for a key greater than all others.
  func contains(_ key: ObjKey) throws(EngineError) -> Bool {
    if key == seen { return true }
    if try key.value > largestKey() { return false }
    return try row(key) != nil
  }

  /// Returns true if `key` is greater than the keys of all objects.
  func isGreaterThanAll(_ key: ObjKey) throws(EngineError) -> Bool { try key.value > largestKey() }

  /// Returns an upper bound of all keys; -1 if there are no objects.
  private func largestKey() throws(EngineError) -> Int64 {
    if let keyBound { return keyBound }
    let tree = ClusterTree(arena: editor.arena, rootRef: try editor.slab.node(top).child(Layout.Table.clusters))
    // Keys are ordered as unsigned numbers.
    let bound = try tree.lastKey().map { Int64(clamping: $0) } ?? -1
    keyBound = bound
    return bound
  }

  /// Adds an object with a new key, without updating anything outside its row. The values must fit their columns, and
  /// must not include the primary key's column.
  func insertRow(
    _ key: ObjKey,
    primaryKey: (column: ColKey, value: Value)? = nil,
    _ values: [(ColKey, Value)] = []
  ) throws(EngineError) {
    if try key.value <= largestKey() {
      try writeRows()
      defer { waiting.removeAll() }
      waiting.append(key, primaryKey: primaryKey, values)
      return try tree.insert(waiting, 0)
    }
    waiting.append(key, primaryKey: primaryKey, values)
    keyBound = key.value
    if waiting.count >= Cluster.maximumCount || waiting.byteCount >= Self.maximumWaitingBytes { try writeRows() }
  }

  /// Adds an unresolved object, which is not in any index.
  func insertUnresolved(_ key: ObjKey, _ primaryKey: (column: ColKey, value: Value)?) throws(EngineError) {
    if editor.slab.int(top, Layout.Table.tombstones) == 0 {
      editor.slab.setChild(top, Layout.Table.tombstones, ClusterTreeEditor.make(editor, layout))
    }
    var rows = NewRows(layout)
    rows.append(key, primaryKey: primaryKey)
    try tombstones?.insert(rows, 0)
  }

  /// The maximum size in bytes of strings and binaries to buffer.
  private static let maximumWaitingBytes = 1 << 18

  /// Begins adding the rows of a batch, which are buffered until `endBatch`.
  func begin(_ batch: RowBatch, first: Int) throws(EngineError) {
    try writeRows()
    waiting = batch.rows(layout, first: first)
  }

  /// Adds the next row of the batch, with a key greater than all others, without updating anything outside the row.
  func addRow(_ key: ObjKey, links: [(position: Int, target: ObjKey?)]) {
    waiting.append(key, links: links)
    keyBound = key.value
  }

  /// Writes the added rows and discards the remaining rows of the batch.
  func endBatch() throws(EngineError) {
    try writeRows()
    waiting = NewRows(layout)
  }

  /// Returns true if the table still matches the form of a batch.
  func fits(_ form: RowForm) -> Bool {
    kind == .topLevel && key == form.table && form.primaryKey == primaryKeyIndex && form.fits(columns)
  }

  /// Writes all buffered rows, backlinks and index entries.
  func writeWaiting() throws(EngineError) {
    try writeRows()
    try writeBacklinks()
    for position in newEntries.indices { try writeEntries(position) }
  }

  private func writeRows() throws(EngineError) {
    if waiting.firstKey == nil { return }
    // After an earlier error, a row may be in some columns and missing in others.
    if let damage = editor.slab.damage { throw damage }
    do { try tree.append(waiting) } catch {
      editor.slab.note(error)
      throw error
    }
    waiting.noteWritten()
  }

  /// Writes the buffered rows if an object with this key may be among them.
  private func writeRows(upTo key: ObjKey) throws(EngineError) {
    if let first = waiting.firstKey, UInt64(bitPattern: key.value) >= first { try writeRows() }
  }

  /// Removes an object, without updating anything outside its row.
  func removeRow(_ key: ObjKey) throws(EngineError) {
    seen = nil
    linkTargets.forgetAll()
    try (key.isUnresolved ? tombstones : objects())?.remove(UInt64(bitPattern: key.value))
  }

  /// Returns the keys of all unresolved objects.
  func unresolvedKeys() throws(EngineError) -> [ObjKey] {
    guard let tombstones = try view().tombstones else { return [] }
    var keys: [ObjKey] = [], next: UInt64 = 0
    while let (cluster, first) = try tombstones.first(notBelow: next) {
      for row in first..<cluster.count {
        next = try cluster.key(row)
        keys.append(ObjKey(Int64(bitPattern: next)))
      }
      if next == .max { break }
      next += 1
    }
    return keys
  }

  /// Returns the slot of the leaf of the column at `position` in a dirty cluster.
  func leafSlot(_ place: ClusterTreeEditor.Place, _ position: Int) -> Slot {
    Slot(parent: place.cluster, index: position + 1)
  }

  /// Returns the value of a column in a row. Collections are returned as views.
  func value(_ place: ClusterTreeEditor.Place, _ column: Column) throws(EngineError) -> ValueView {
    let leaf = try column.leaf(editor.arena, editor.slab.node(place.cluster).child(column.key.leafPosition + 1))
    return try leaf.value(place.row, editor.arena)
  }

  /// Returns the value of a column of an object; nil if there is no such object. Does not make nodes dirty.
  func read(_ key: ObjKey, _ column: Column) throws(EngineError) -> ValueView? {
    guard let (cluster, row) = try row(key) else { return nil }
    return try column.leaf(editor.arena, cluster.leafRef(column.key.leafPosition)).value(row, editor.arena)
  }

  /// Returns the indexed value of an object; null if there is no such object.
  func read(_ key: ObjKey, _ column: IndexedColumn) throws(EngineError) -> ValueView {
    guard let (cluster, row) = try row(key) else { return .null }
    let ref = try cluster.leafRef(column.key.leafPosition), enumRef = columns[column.index].enumRef
    return try ColumnLeaf(editor.arena, ref, column.element, inTree: false, enumRef: enumRef).value(row, editor.arena)
  }

  /// Replaces the value of a scalar column in a row, without updating links or indexes.
  func store(_ place: ClusterTreeEditor.Place, _ column: Column, _ value: ValueView) throws(EngineError) {
    let slot = leafSlot(place, column.key.leafPosition)
    try editor.materialise(slot, enumRef: column.enumRef)
    try editor.set(slot, place.row, value, column.element, inTree: false)
  }

  /// Returns the slot that holds the root of a collection column in a row.
  func collectionSlot(_ place: ClusterTreeEditor.Place, _ column: Column) throws(EngineError) -> Slot {
    Slot(parent: try editor.dirty(leafSlot(place, column.key.leafPosition)), index: place.row)
  }

  // MARK: backlinks

  /// Buffers a link to the existing object `target`, to be added to its backlinks together with others.
  func deferBacklink(_ target: ObjKey, _ position: Int, from origin: ObjKey) throws(EngineError) {
    newBacklinks.append(target, position, from: origin)
    if newBacklinks.count >= NewBacklinks.maximumCount { try writeBacklinks() }
  }

  private func writeBacklinks() throws(EngineError) {
    if newBacklinks.count == 0 { return }
    try writeRows()
    if let damage = editor.slab.damage { throw damage }
    do throws(EngineError) {
      try newBacklinks.takeAll { (target, position, origins) throws(EngineError) in
        guard let place = try tree.find(UInt64(bitPattern: target.value)) else {
          throw .damaged("\(className): a link to object \(target), which does not exist", ref: top)
        }
        try list(origins, place, position)
        editor.slab.noteStep(4)
      }
    } catch {
      editor.slab.note(error)
      throw error
    }
  }

  /// Adds `origins` to the backlinks at leaf position `position` of the object at `place`. Source:
  /// docs/format/1-storage.md S14.
  func list(_ origins: ArraySlice<Int64>, _ place: ClusterTreeEditor.Place, _ position: Int) throws(EngineError) {
    let slab = editor.slab, leaf = try editor.dirty(leafSlot(place, position))
    let element = slab.int(leaf, place.row)
    if element == 0, origins.count == 1, let origin = origins.first {
      slab.setTagged(leaf, place.row, origin)
    } else if element == 0 || element & 1 != 0 {
      let first = element == 0 ? [] : [ObjKey(tagged: element).value]
      let start = (first + origins).prefix(BPlusTreeEditor.maximumCount)
      slab.setInt(leaf, place.row, Int64(slab.makeInts([], Array(start))))
      let list = BPlusTreeEditor(editor, Slot(parent: leaf, index: place.row), GroupEditor.keyElement)
      try list.append(origins.dropFirst(start.count - first.count))
    } else {
      let list = BPlusTreeEditor(editor, Slot(parent: leaf, index: place.row), GroupEditor.keyElement)
      try list.append(origins)
    }
  }

  // MARK: keys

  /// Undoes the last `nextKey()`, whose key was not used.
  func returnKey() {
    editor.slab.setTagged(top, Layout.Table.sequence, editor.slab.int(top, Layout.Table.sequence) >> 1 - 1)
  }

  /// Returns the next free object key. Source: docs/format/2-model.md M5.
  func nextKey() throws(EngineError) -> ObjKey {
    while true {
      let element = editor.slab.int(top, Layout.Table.sequence)
      let sequence = UInt64(bitPattern: element & 1 == 0 ? 0 : element >> 1)
      editor.slab.setTagged(top, Layout.Table.sequence, Int64(sequence + 1))
      let key: UInt64 =
        primaryKeyIndex != nil ? sequence : sequence & 0xFF | (sequence & 0xFFFF_FF00) << 8
      let found = ObjKey(Int64(key & 0x7FFF_FFFF_FFFF_FFFF))
      if try !contains(found) { return found }
    }
  }

  // MARK: index

  /// Returns the index of a column; nil if it has none.
  func index(_ column: Column) throws(EngineError) -> SearchIndexEditor? {
    try index(column.key.leafPosition, isFullWord: column.index == .fullText || column.collection != nil)
  }

  /// Returns the index of the column at leaf position `position`; nil if it has none.
  func index(_ position: Int, isFullWord: Bool) throws(EngineError) -> SearchIndexEditor? {
    try writeEntries(position)
    return try indexRoot(position) == 0 ? nil : indexEditor(position, isFullWord)
  }

  private func indexEditor(_ position: Int, _ isFullWord: Bool) throws(EngineError) -> SearchIndexEditor {
    let root = Slot(parent: try editor.slab.child(top, Layout.Table.indexes, editor.arena), index: position)
    let column = position < columnsByLeaf.count ? columnsByLeaf[position] : -1
    let isMixed = column >= 0 && elements[column].type == .mixed
    return SearchIndexEditor(editor: editor, root: root, isFullWord: isFullWord, isMixed: isMixed)
  }

  /// Returns the dirty node with the roots of all indexes, by leaf position.
  func indexRefs() throws(EngineError) -> Int {
    for position in newEntries.indices { try writeEntries(position) }
    return try editor.slab.child(top, Layout.Table.indexes, editor.arena)
  }

  /// Returns the root of the index of the column at `position`, without buffered entries; 0 if there is none.
  private func indexRoot(_ position: Int) throws(EngineError) -> Int {
    let refs = try editor.slab.node(top).child(Layout.Table.indexes)
    if refs == 0 { return 0 }
    let node = try editor.arena.integers(refs)
    return position < node.count ? try node.child(position) : 0
  }

  /// Buffers an entry for the index of the column at `position`. Returns false, without adding it, if another value in
  /// the index begins with the same word.
  func listLater(_ key: ObjKey, _ data: IndexData, _ position: Int) throws(EngineError) -> Bool {
    let root = try indexRoot(position), word = data.key(0)
    if root == 0 { return false }
    if try SearchIndex(arena: editor.arena, rootRef: root).entry(root, word) != nil { return false }
    while newEntries.count <= position { newEntries.append(NewEntries()) }
    if !newEntries[position].append(word, key) { return false }
    if newEntries[position].count >= NewEntries.maximumCount { try writeEntries(position) }
    return true
  }

  private func writeEntries(_ position: Int) throws(EngineError) {
    if position >= newEntries.count || newEntries[position].count == 0 { return }
    if let damage = editor.slab.damage { throw damage }
    do {
      try indexEditor(position, false).insert(newEntries[position].takeAll())
    } catch {
      editor.slab.note(error)
      throw error
    }
  }

  /// Returns the object whose primary key is `value`, as found by `find(primaryKey:)`. Caches the result.
  func linkTarget(_ value: ValueView) throws(EngineError) -> ObjKey? {
    if let known = linkTargets[value] { return known }
    guard let key = try find(primaryKey: value) else { return nil }
    linkTargets.note(value, key)
    return key
  }

  /// Returns the object whose primary key is `value`, looked up in the index.
  func find(primaryKey value: ValueView) throws(EngineError) -> ObjKey? {
    guard let primaryKeyIndex else { return nil }
    let column = columns[primaryKeyIndex], position = column.key.leafPosition
    if position < newEntries.count, newEntries[position].contains(IndexData(value).key(0)) {
      try writeEntries(position)
    }
    let root = try indexRoot(position)
    if root != 0 {
      return try SearchIndex(arena: editor.arena, rootRef: root).first(value) { (found) throws(EngineError) in
        guard let other = try read(found, column) else { return false }
        return IndexData(other).isEqual(IndexData(value))
      }
    }
    guard let key = PrimaryKey(value) else { return nil }
    return try view().objectKey(primaryKey: key)
  }
}
