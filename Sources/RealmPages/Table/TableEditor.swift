// One table of a write transaction: its schema, and its objects as rows. What links do to other tables is the
// business of `GroupEditor`. Source: format/2-model.md M2 to M7.

/// A table that a transaction can change. Everything it holds is read from the dirty nodes, so there is one truth.
final class TableEditor {
  let editor: NodeEditor
  /// The dirty top array of the table.
  let top: Int
  let key: TableKey
  var name: String
  private(set) var columns: [Column] = []
  private(set) var backlinks: [Spec.BacklinkColumn] = []
  private(set) var primaryKeyIndex: Int?
  private var clusterColumns: [ClusterColumn] = []
  private var isBumped = false

  enum Slots {
    static let spec = 0, clusters = 2, key = 3, indexes = 4, columnCounter = 5, contentVersion = 6, oppositeTables = 7
    static let oppositeColumns = 8, sequence = 9, collisions = 10, primaryKey = 11, flags = 12, tombstones = 13
    static let count = 14
  }

  /// Takes the table whose top array `slot` refers to.
  init(_ editor: NodeEditor, _ slot: Slot, name: String) throws(FormatError) {
    self.editor = editor
    self.name = name
    top = try editor.dirty(slot)
    while editor.slab.node(top).count < Slots.count { editor.slab.insertInt(top, editor.slab.node(top).count, 0) }
    key = TableKey(UInt32(truncatingIfNeeded: try editor.slab.node(top).tagged(Slots.key)))
    try reloadSchema()
  }

  /// Reads the spec again after it was changed.
  func reloadSchema() throws(FormatError) {
    let node = editor.slab.node(top)
    let spec = try Spec(editor.arena, tableTop: node, place: "table \(name)")
    columns = spec.columns
    backlinks = spec.backlinks
    let primaryKey = try node.int(Slots.primaryKey)
    primaryKeyIndex = primaryKey & 1 == 0 ? nil : columns.firstIndex { $0.key.value == primaryKey >> 1 }
    clusterColumns =
      columns.map { column in
        ClusterColumn(
          position: column.key.leafPosition,
          kind: column.collection == nil ? .scalar(column.element, enumRef: column.enumRef) : .collection
        )
      } + backlinks.map { ClusterColumn(position: $0.key.leafPosition, kind: .backlink) }
  }

  var kind: TableKind {
    let flags = editor.slab.int(top, Slots.flags) >> 1 & 3
    return flags == 1 ? .embedded : flags == 2 ? .asymmetric : .topLevel
  }

  var className: String { name.hasPrefix(Table.classPrefix) ? String(name.dropFirst(Table.classPrefix.count)) : name }

  var objects: ClusterTreeEditor {
    ClusterTreeEditor(editor: editor, root: Slot(parent: top, index: Slots.clusters), columns: clusterColumns)
  }

  var objectCount: Int {
    get throws(FormatError) {
      try ClusterTree(arena: editor.arena, rootRef: editor.slab.node(top).child(Slots.clusters)).count()
    }
  }

  /// Counts the transaction as one that changed the table.
  func bump() {
    if isBumped { return }
    isBumped = true
    editor.slab.setTagged(top, Slots.contentVersion, editor.slab.int(top, Slots.contentVersion) >> 1 + 1)
  }

  // MARK: rows

  /// Where the object is; an error if it does not exist.
  func place(_ key: ObjKey) throws(TransactionError) -> ClusterTreeEditor.Place {
    do throws(FormatError) {
      if key.value >= 0, let place = try objects.find(UInt64(key.value)) { return place }
    } catch { throw TransactionError(error) }
    throw TransactionError(.notFound, "\(className): no object \(key)")
  }

  func contains(_ key: ObjKey) throws(FormatError) -> Bool {
    guard key.value >= 0 else { return false }
    let tree = ClusterTree(arena: editor.arena, rootRef: try editor.slab.node(top).child(Slots.clusters))
    guard let (cluster, row) = try tree.first(notBelow: UInt64(key.value)) else { return false }
    return try cluster.key(row) == UInt64(key.value)
  }

  /// The slot of the leaf of the column at `position` in a dirty cluster.
  func leafSlot(_ place: ClusterTreeEditor.Place, _ position: Int) -> Slot {
    Slot(parent: place.cluster, index: position + 1)
  }

  /// The value of a column in a row; collections come as views.
  func value(_ place: ClusterTreeEditor.Place, _ column: Column) throws(FormatError) -> ValueView {
    let leaf = try column.leaf(editor.arena, editor.slab.node(place.cluster).child(column.key.leafPosition + 1))
    return try leaf.value(place.row, editor.arena)
  }

  /// The value of a column of an object, without making anything dirty; nil if there is no such object.
  func read(_ key: ObjKey, _ column: Column) throws(FormatError) -> ValueView? {
    guard key.value >= 0 else { return nil }
    let tree = ClusterTree(arena: editor.arena, rootRef: try editor.slab.node(top).child(Slots.clusters))
    guard let (cluster, row) = try tree.first(notBelow: UInt64(key.value)), try cluster.key(row) == UInt64(key.value)
    else { return nil }
    return try column.leaf(editor.arena, cluster.leafRef(column.key.leafPosition)).value(row, editor.arena)
  }

  /// Replaces the value of a scalar column in a row, and nothing else: no links, no index.
  func store(_ place: ClusterTreeEditor.Place, _ column: Column, _ value: ValueView) throws(FormatError) {
    let slot = leafSlot(place, column.key.leafPosition)
    if column.enumRef != 0 { try editor.materialise(slot, enumRef: column.enumRef) }
    try editor.set(slot, place.row, value, column.element, inTree: false)
  }

  /// The place that holds the root of a collection column in a row.
  func collectionSlot(_ place: ClusterTreeEditor.Place, _ column: Column) throws(FormatError) -> Slot {
    Slot(parent: try editor.dirty(leafSlot(place, column.key.leafPosition)), index: place.row)
  }

  // MARK: keys

  /// The next free object key. Source: format/2-model.md M5.
  func nextKey() throws(FormatError) -> ObjKey {
    while true {
      let element = editor.slab.int(top, Slots.sequence)
      let sequence = UInt64(bitPattern: element & 1 == 0 ? 0 : element >> 1)
      editor.slab.setTagged(top, Slots.sequence, Int64(sequence + 1))
      let key: UInt64 =
        primaryKeyIndex != nil ? sequence : sequence & 0xFF | (sequence & 0xFFFF_FF00) << 8
      let found = ObjKey(Int64(key & 0x7FFF_FFFF_FFFF_FFFF))
      if try !contains(found) { return found }
    }
  }

  // MARK: index

  /// The index of a column, or nil if it has none.
  func index(_ column: Column) throws(FormatError) -> SearchIndexEditor? {
    let position = column.key.leafPosition
    let refs = try editor.slab.node(top).child(Slots.indexes)
    if refs == 0 { return nil }
    let node = try editor.arena.integers(refs)
    guard position < node.count, try node.int(position) != 0 else { return nil }
    let parent = try editor.slab.child(top, Slots.indexes, editor.arena)
    let isFullWord = column.index == .fullText || column.collection != nil
    return SearchIndexEditor(editor: editor, root: Slot(parent: parent, index: position), isFullWord: isFullWord)
  }

  /// The object whose primary key is `value`, found through the index.
  func find(primaryKey value: ValueView) throws(FormatError) -> ObjKey? {
    guard let primaryKeyIndex else { return nil }
    let column = columns[primaryKeyIndex]
    guard let key = PrimaryKey(value) else { return nil }
    let refs = try editor.slab.node(top).child(Slots.indexes)
    if refs != 0 {
      let node = try editor.arena.integers(refs)
      let root = try node.childIfPresent(column.key.leafPosition)
      if root != 0 {
        return try SearchIndex(arena: editor.arena, rootRef: root).first(key) { (found) throws(FormatError) in
          guard let value = try read(found, column) else { return false }
          return key.equals(value)
        }
      }
    }
    let table = try Table(editor.arena, name: name, slot: self.key.slot, ref: top)
    return try table.objectKey(primaryKey: key)
  }
}
