// One table: its schema and the roots of its trees. Source: docs/format/2-model.md M2.

import Synchronization

/// The kind of a table's objects: independent (top-level), embedded in others, or asymmetric.
public enum TableKind: Sendable, Hashable {
  case topLevel, embedded, asymmetric

  /// The name used in listings and JSON.
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
  /// The kind of its objects.
  public let kind: TableKind
  /// The named properties in schema order.
  public let columns: [Column]
  /// The position in `columns` of the primary key, or nil.
  public let primaryKeyIndex: Int?
  /// The number of live objects.
  public let objectCount: Int
  /// Increases in every commit that changes the table.
  public let contentVersion: UInt64
  /// The reason why only the table's name can be read; nil if the table is readable. A damaged table has no columns,
  /// and looking up objects in it throws this error.
  public let damage: EngineError?

  let arena: Arena
  let ref: Int
  /// Nil for a damaged table and in formats 2 to 9.
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

  /// Returns true if `ObjectCursor.origins` finds the objects that link to objects of this table through the given
  /// property.
  package func knowsOrigins(from table: TableKey, _ column: ColKey) -> Bool {
    legacyRows == nil && backlinks.contains { $0.originTable == table && $0.originColumn == column }
  }

  /// The prefix of the tables that hold classes.
  public static let classPrefix = "class_"

  /// Returns the class whose objects are in a table of this name; nil for internal tables of the SDK. Compares bytes,
  /// because a name that begins with a combining mark forms one character with the end of the prefix.
  package static func className(ofTable name: String) -> String? {
    name.utf8.starts(with: classPrefix.utf8) ? String(name.unicodeScalars.dropFirst(classPrefix.utf8.count)) : nil
  }

  /// The class name: `name` without `class_`; nil for an internal table of the SDK.
  public var className: String? {
    Self.className(ofTable: name)
  }

  /// The primary key column, or nil.
  public var primaryKey: Column? { primaryKeyIndex.map { columns[$0] } }

  /// Reads the table whose top array is at `ref`. `known` is its spec, if already read. Cost: O(columns).
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
      // The column key can be 0, so only the tag bit shows whether there is a primary key.
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
    do {
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

  /// A placeholder for a table that cannot be read.
  init(_ arena: Arena, name: String, slot: Int, ref: Int, damage: EngineError) {
    self.arena = arena
    self.ref = ref
    self.name = name
    self.damage = damage
    // The key as far as it can be read: its lower half is the slot. The error is already in `damage`.
    let stored = try? arena.refs(ref, slots: Layout.Table.minimum).tagged(Layout.Table.key)
    let key = TableKey(UInt32(truncatingIfNeeded: stored ?? Int64(slot)))
    self.key = key.slot == slot ? key : TableKey(UInt32(slot))
    kind = .topLevel
    (columns, backlinks, primaryKeyIndex, spec) = ([], [], nil, nil)
    (objectCount, contentVersion) = (0, UInt64(bitPattern: Int64(ref)))
    (objects, tombstones, legacyRows) = (ClusterTree(arena: arena, rootRef: 0), nil, nil)
  }

  /// Returns true if a live object with this key exists. Cost: O(log n).
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func contains(_ key: ObjKey) throws(EngineError) -> Bool {
    if let damage { throw damage }
    if let legacyRows { return key.value >= 0 && key.value < legacyRows.count }
    if key.value < 0 { return false }
    return try objects.place(of: UInt64(key.value)) != nil
  }

  /// Returns the key of the object with this primary key; nil if there is none, or if the table has no primary key or
  /// one of another type. Cost: O(log n) through the index. Formats 10 to 21 have no index: there, the object key
  /// derived from the primary key is tried first. If that fails, a table of all primary keys is built once.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
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
      do {
        return try primaryKey.withView { (value) throws(EngineError) in
          try SearchIndex(arena: arena, rootRef: indexRef).first(value, where: confirm)
        }
      } catch {
        // If the index is damaged, the objects themselves are read.
      }
    } else if let hashed = primaryKey.localKey, try confirm(hashed) {
      return hashed
    }
    return try primaryKeyTable.withLock { table throws(EngineError) -> ObjKey? in
      if table == nil { table = try PrimaryKeyTable(self, index) }
      return try table?.first(primaryKey, where: confirm)
    }
  }

  /// Returns one value of a live object; nil if there is no such object. For single lookups, where creating a cursor
  /// would cost more than the read.
  private func value(of key: ObjKey, _ index: Int) throws(EngineError) -> ValueView? {
    if legacyRows != nil {
      let cursor = ObjectCursor(self)
      guard key.value >= 0, try cursor.seek(key) else { return nil }
      return try cursor.value(index)
    }
    guard key.value >= 0, let (cluster, row) = try objects.place(of: UInt64(key.value)) else { return nil }
    // Copying the column would cost more than the read.
    let leafRef = try cluster.leafRef(columns[index].key.leafPosition)
    return try ColumnLeaf(arena, leafRef, columns[index].element, inTree: false, enumRef: columns[index].enumRef)
      .value(row, arena)
  }

  /// Returns one object for each distinct value of the property at `index`, found through its search index. There can
  /// be several for values that the index does not distinguish. Nil if no index is suitable, or if reading all objects
  /// is cheaper.
  ///
  /// Cost: O(number of values), each O(log n).
  package func objectsOfDistinctValues(of index: Int) -> [ObjKey]? {
    let column = columns[index]
    // An index does not distinguish decimals by their fractions.
    guard column.indexRef != 0, fileFormat == 24, column.collection == nil, column.index != .fullText,
      column.type != .decimal128, column.type != .mixed
    else { return nil }
    let cursor = ObjectCursor(self)
    do {
      return try SearchIndex(arena: arena, rootRef: column.indexRef).representatives(limit: 64 + objectCount / 8) {
        (key, path) throws(EngineError) in
        guard key.value >= 0, try cursor.seek(key) else { return false }
        return IndexData(try cursor.value(index).stored(arena)).hasKeys(path)
      }
    } catch {
      // If the index is damaged, the caller reads all objects.
      return nil
    }
  }

  /// Returns the objects whose property at `index` equals `value`, in ascending order, found through its search index;
  /// nil if there is no usable index. Cost: O(log n + hits).
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func objectKeys(where index: Int, is value: ValueView) throws(EngineError) -> [ObjKey]? {
    let column = columns[index]
    guard column.collection == nil, column.index != .fullText else { return nil }
    if column.type == .mixed { return try objectKeys(mixed: column, is: value) }
    guard let key = PrimaryKey(value) else { return nil }
    if primaryKeyIndex == index { return try objectKey(primaryKey: key).map { [$0] } ?? [] }
    guard column.indexRef != 0, fileFormat == 24, key.fits(column.element) else { return nil }
    // Local copies for the check of each hit: looking these up again would take longer than the check.
    let objects = objects, arena = arena, position = column.key.leafPosition, element = column.element
    let enumRef = column.enumRef
    var integer: Int64?
    if element.type == .int, !element.isNullable, case .int(let number) = value { integer = number }
    do {
      return try SearchIndex(arena: arena, rootRef: column.indexRef).all(value) { (key) throws(EngineError) in
        guard key.value >= 0, let (cluster, row) = try objects.place(of: UInt64(key.value)) else { return false }
        let ref = try cluster.leafRef(position)
        if let integer { return try arena.integers(ref).int(row) == integer }
        return try value.order(ColumnLeaf(arena, ref, element, inTree: false, enumRef: enumRef).value(row, arena)) == 0
      }
    } catch {
      // If the index is damaged, the caller reads the objects instead.
      return nil
    }
  }

  private var fileFormat: Int { arena.format }
}
