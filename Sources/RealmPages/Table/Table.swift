// One table: its schema and the roots of its trees. Source: docs/format/2-model.md M2.

import Synchronization

/// Whether a table's objects stand for themselves.
public enum TableKind: Sendable, Hashable {
  case topLevel, embedded, asymmetric

  /// The word for it in listings and JSON.
  package var name: String {
    switch self {
    case .topLevel: "top-level"
    case .embedded: "embedded"
    case .asymmetric: "asymmetric"
    }
  }
}

/// One table of a snapshot. Immutable.
public final class Table: Sendable {
  /// The key of the table.
  public let key: TableKey
  /// The stored name, with its `class_` prefix if it has one.
  public let name: String
  /// Whether its objects stand for themselves.
  public let kind: TableKind
  /// The named properties in schema order.
  public let columns: [Column]
  /// The position in `columns` of the primary key, or nil.
  public let primaryKeyIndex: Int?
  /// The number of live objects.
  public let objectCount: Int
  /// Grows in every commit that changed the table.
  public let contentVersion: UInt64
  /// Why nothing of the table can be read but its name; nil if it can. Such a table has no columns, and whoever looks
  /// for objects gets this error.
  public let damage: EngineError?

  let arena: Arena
  let ref: Int
  /// Nil for a table that is damaged, and in formats 2 to 9.
  let spec: Spec?
  let backlinks: [Spec.BacklinkColumn]
  let objects: ClusterTree
  /// Unresolved objects, or nil if the table never had any.
  let tombstones: ClusterTree?
  /// The rows of a table of formats 2 to 9, which has no cluster trees.
  let legacyRows: LegacyRows?
  let primaryKeyTable = Mutex<PrimaryKeyTable?>(nil)

  /// The properties of classes that link to objects of this one.
  public var linkSources: [(table: TableKey, column: ColKey)] { backlinks.map { ($0.originTable, $0.originColumn) } }

  /// Whether `ObjectCursor.origins` finds the objects that link to one of this table through a property.
  package func knowsOrigins(from table: TableKey, _ column: ColKey) -> Bool {
    legacyRows == nil && backlinks.contains { $0.originTable == table && $0.originColumn == column }
  }

  /// The prefix of the tables that hold classes.
  public static let classPrefix = "class_"

  /// The class whose objects are in a table of this name; nil for the SDK's own tables. By bytes: a name that begins
  /// with a combining mark is one character with the end of the prefix.
  package static func className(ofTable name: String) -> String? {
    name.utf8.starts(with: classPrefix.utf8) ? String(name.unicodeScalars.dropFirst(classPrefix.utf8.count)) : nil
  }

  /// The class name: `name` without `class_`; nil for a table of the SDK's own.
  public var className: String? {
    Self.className(ofTable: name)
  }

  /// The primary key column, or nil.
  public var primaryKey: Column? { primaryKeyIndex.map { columns[$0] } }

  /// Reads the table whose top array is at `ref`. `known` is its spec, if that was read already. Cost O(columns).
  init(_ arena: Arena, name: String, slot: Int, ref: Int, _ known: Spec? = nil) throws(EngineError) {
    do throws(EngineError) {
      let top = try arena.refs(ref, slots: Layout.Table.minimum)
      damage = nil
      self.arena = arena
      self.ref = ref
      self.name = name
      key = TableKey(UInt32(truncatingIfNeeded: try top.tagged(Layout.Table.key)))
      if key.slot != slot { throw .damaged("table key \(key) in slot \(slot)", ref: ref) }
      contentVersion = UInt64(bitPattern: try top.tagged(Layout.Table.contentVersion))
      let flags = top.count > Layout.Table.flags ? try top.tagged(Layout.Table.flags) : 0
      kind = flags & 3 == 1 ? .embedded : flags & 3 == 2 ? .asymmetric : .topLevel
      let spec: Spec
      if let known { spec = known } else { spec = try Spec(arena, tableTop: top, place: "") }
      self.spec = spec
      columns = spec.columns
      backlinks = spec.backlinks
      // The column key itself can be 0, so only the tag says whether there is one.
      let primaryKey = top.count > Layout.Table.primaryKey ? try top.int(Layout.Table.primaryKey) : 0
      primaryKeyIndex = primaryKey & 1 == 0 ? nil : columns.firstIndex { $0.key.value == primaryKey >> 1 }
      if primaryKey & 1 != 0 && primaryKeyIndex == nil {
        throw .damaged("the primary key column does not exist", ref: ref)
      }
      objects = ClusterTree(arena: arena, rootRef: try top.child(Layout.Table.clusters))
      objectCount = try objects.count()
      let tombstones = try top.childIfPresent(Layout.Table.tombstones)
      self.tombstones = tombstones == 0 ? nil : ClusterTree(arena: arena, rootRef: tombstones)
      legacyRows = nil
    } catch {
      var located = error
      located.place = "table \(name)"
      throw located
    }
  }

  /// Reads a table of formats 2 to 9. `pkTable` is the table `pk` of the group, which names primary keys.
  init(_ arena: Arena, legacyName name: String, slot: Int, ref: Int, pkTable: Table?) throws(EngineError) {
    do throws(EngineError) {
      let rows = try LegacyRows(arena, tableTop: arena.refs(ref, slots: 2)).reachable(arena)
      damage = nil
      self.arena = arena
      self.ref = ref
      self.name = name
      // A table's position is its identity; every change moves its root.
      key = TableKey(UInt32(slot))
      contentVersion = UInt64(bitPattern: Int64(ref))
      kind = .topLevel
      columns = rows.columns.map(\.column)
      backlinks = []
      spec = nil
      objects = ClusterTree(arena: arena, rootRef: 0)
      tombstones = nil
      objectCount = rows.count
      legacyRows = rows
      let className = Self.className(ofTable: name)
      let primaryKey = try LegacyRows.primaryKeyName(pkTable, of: className)
      primaryKeyIndex = primaryKey.flatMap { key in rows.columns.firstIndex { $0.column.name.isExactly(key) } }
    } catch {
      var located = error
      located.place = "table \(name)"
      throw located
    }
  }

  /// What stands for a table that cannot be read.
  init(_ arena: Arena, name: String, slot: Int, ref: Int, damage: EngineError) {
    self.arena = arena
    self.ref = ref
    self.name = name
    self.damage = damage
    // The key as far as it can be told: the slot is its lower half. What is wrong is known already.
    let stored = try? arena.refs(ref, slots: Layout.Table.minimum).tagged(Layout.Table.key)
    let key = TableKey(UInt32(truncatingIfNeeded: stored ?? Int64(slot)))
    self.key = key.slot == slot ? key : TableKey(UInt32(slot))
    kind = .topLevel
    (columns, backlinks, primaryKeyIndex, spec) = ([], [], nil, nil)
    (objectCount, contentVersion) = (0, UInt64(bitPattern: Int64(ref)))
    (objects, tombstones, legacyRows) = (ClusterTree(arena: arena, rootRef: 0), nil, nil)
  }

  /// Whether a live object with this key exists. Cost O(log n).
  public func contains(_ key: ObjKey) throws(EngineError) -> Bool {
    if let damage { throw damage }
    if let legacyRows { return key.value >= 0 && key.value < legacyRows.count }
    if key.value < 0 { return false }
    return try objects.place(of: UInt64(key.value)) != nil
  }

  /// The key of the object with this primary key, or nil; nil too when the table has none or one of another type. Cost
  /// O(log n) through the index. Formats 10 to 21 have none: there the object key is tried that follows from the
  /// primary key, and if another object has it, a table of all primary keys is built once.
  public func objectKey(primaryKey: PrimaryKey) throws(EngineError) -> ObjKey? {
    if let damage { throw damage }
    guard let index = primaryKeyIndex else { return nil }
    guard primaryKey.fits(columns[index].element) else { return nil }
    func confirm(_ key: ObjKey) throws(EngineError) -> Bool {
      guard let value = try value(of: key, index) else { return false }
      return primaryKey.equals(value)
    }
    let indexRef = columns[index].indexRef
    if indexRef != 0 {
      do throws(EngineError) {
        return try primaryKey.withView { (value) throws(EngineError) in
          try SearchIndex(arena: arena, rootRef: indexRef).first(value, where: confirm)
        }
      } catch {
        // A damaged index is only a lost shortcut: the objects themselves are asked.
      }
    } else if let hashed = primaryKey.localKey, try confirm(hashed) {
      return hashed
    }
    return try primaryKeyTable.withLock { table throws(EngineError) -> ObjKey? in
      if table == nil { table = try PrimaryKeyTable(self, index) }
      return try table?.first(primaryKey, where: confirm)
    }
  }

  /// One value of a live object; nil if there is no such object. For those who look at one object and leave: a cursor
  /// would cost more than the value.
  private func value(of key: ObjKey, _ index: Int) throws(EngineError) -> ValueView? {
    if legacyRows != nil {
      let cursor = ObjectCursor(self)
      guard key.value >= 0, try cursor.seek(key) else { return nil }
      return try cursor.value(index)
    }
    guard key.value >= 0, let (cluster, row) = try objects.place(of: UInt64(key.value)) else { return nil }
    // A copy of the column would cost more than the value.
    let leafRef = try cluster.leafRef(columns[index].key.leafPosition)
    return try ColumnLeaf(arena, leafRef, columns[index].element, inTree: false, enumRef: columns[index].enumRef)
      .value(row, arena)
  }

  /// An object for each value of the property at `index`, by its search index; several objects where values look the
  /// same to an index. Nil if there is no index that tells, or if asking all objects takes less than going through it.
  ///
  /// Cost: O(number of values), each O(log n).
  package func objectsOfDistinctValues(of index: Int) -> [ObjKey]? {
    let column = columns[index]
    // An index does not tell decimals apart by their fraction.
    guard column.indexRef != 0, fileFormat == 24, column.collection == nil, column.index != .fullText,
      column.type != .decimal128, column.type != .mixed
    else { return nil }
    let cursor = ObjectCursor(self)
    do throws(EngineError) {
      return try SearchIndex(arena: arena, rootRef: column.indexRef).representatives(limit: 64 + objectCount / 8) {
        (key, path) throws(EngineError) in
        guard key.value >= 0, try cursor.seek(key) else { return false }
        return IndexData(try cursor.value(index).stored(arena)).hasKeys(path)
      }
    } catch {
      // A damaged index is only a lost shortcut.
      return nil
    }
  }

  /// The objects whose property at `index` has this value, in ascending order, found through its search index; nil if
  /// that cannot be used. Cost O(log n) and the number of hits.
  public func objectKeys(where index: Int, is value: ValueView) throws(EngineError) -> [ObjKey]? {
    let column = columns[index]
    guard column.collection == nil, column.index != .fullText else { return nil }
    if column.type == .mixed { return try objectKeys(mixed: column, is: value) }
    guard let key = PrimaryKey(value) else { return nil }
    if primaryKeyIndex == index { return try objectKey(primaryKey: key).map { [$0] } ?? [] }
    guard column.indexRef != 0, fileFormat == 24, key.fits(column.element) else { return nil }
    // What is asked of each hit stands in variables: finding it again would take longer than the question.
    let objects = objects, arena = arena, position = column.key.leafPosition, element = column.element
    let enumRef = column.enumRef
    var integer: Int64?
    if element.type == .int, !element.isNullable, case .int(let number) = value { integer = number }
    do throws(EngineError) {
      return try SearchIndex(arena: arena, rootRef: column.indexRef).all(value) { (key) throws(EngineError) in
        guard key.value >= 0, let (cluster, row) = try objects.place(of: UInt64(key.value)) else { return false }
        let ref = try cluster.leafRef(position)
        if let integer { return try arena.integers(ref).int(row) == integer }
        return try value.order(ColumnLeaf(arena, ref, element, inTree: false, enumRef: enumRef).value(row, arena)) == 0
      }
    } catch {
      // A damaged index is only a lost shortcut: the objects themselves are asked.
      return nil
    }
  }

  private var fileFormat: Int { arena.format }
}
