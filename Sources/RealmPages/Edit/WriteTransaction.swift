// Changes to a realm: everything between begin and commit.

/// A transaction: changes that become visible and durable together, or not at all.
///
/// Only one transaction exists at a time. It ends with `commit()` or `rollback()`; if it is dropped, it is rolled back.
/// It reads its own writes. A change that is refused leaves it unchanged; after a change that fails halfway, because
/// the file is damaged, only a rollback is possible.
public struct WriteTransaction: ~Copyable {
  /// Nil for a rehearsal.
  private let writer: RealmWriter?
  /// In a mirror: the permission to send the changes to the server.
  private let permit: UploadPermit?
  let group: GroupEditor
  /// The version that the transaction began on.
  package let base: Snapshot

  init(_ writer: RealmWriter, base: Snapshot, _ permit: UploadPermit? = nil) throws(EngineError) {
    self.writer = writer
    self.permit = permit
    self.base = base
    do {
      group = try GroupEditor(on: base, spill: writer.spill)
    } catch {
      writer.end()
      throw error
    }
  }

  /// Creates a transaction that acquires no lock and cannot be committed.
  init(rehearsingOn base: Snapshot) throws(EngineError) {
    (writer, permit) = (nil, nil)
    self.base = base
    group = try GroupEditor(on: base)
  }

  deinit { writer?.end() }

  /// Writes the changes as the next version and returns its number. Without changes, it writes a version with an empty
  /// changeset. On failure the realm is unchanged; see the error's reason.
  ///
  /// In the mirror of a synced realm, the changes are first sent to the server and then received from it, perhaps
  /// together with changes by others; the number is that of a version that includes them.
  ///
  /// - Throws: `incompleteChange` after a change that failed halfway, `moved` if the file was replaced, `file` with the
  ///   errno (`ENOSPC` on a full disk); in a mirror also `offline`, `unacknowledged` and `refusedByServer`.
  public consuming func commit(_ durability: Durability = .full) throws(EngineError) -> UInt64 {
    guard let permit else { return try commitHere(durability) }
    try group.checkIsWhole()
    guard let upload = try permit.uplink.prepare(self) else { return base.version }
    // Release the write lock: other transactions commit the changes that the server returns.
    rollback()
    defer { withExtendedLifetime(permit) {} }
    return try upload()
  }

  /// Writes the changes to the file of this writer.
  private consuming func commitHere(_ durability: Durability = .full) throws(EngineError) -> UInt64 {
    try group.checkIsWhole()
    guard let writer else { throw EngineError(.forbidden, "a rehearsal cannot be committed") }
    return try writer.commit(group, base: base, durability)
  }

  /// Discards the changes.
  public consuming func rollback() {}

  /// True if the transaction has changes to record in the history.
  public var hasChanges: Bool { group.replication.size != 0 }

  /// The number of the version that a commit creates.
  public var nextVersion: UInt64 { base.version + 1 }

  private func column(_ table: TableEditor, _ key: ColKey) throws(EngineError) -> Column {
    guard let index = table.columnIndex(key) else {
      throw EngineError(.notFound, "\(table.className): no property with key \(key)")
    }
    return table.columns[index]
  }

  // MARK: reading

  /// The keys of all tables in slot order.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func tableKeys() throws(EngineError) -> [TableKey] {
    var keys: [TableKey] = []
    for slot in 0..<group.slab.node(try group.tableRefs()).count {
      if let table = try group.table(slot: slot) { keys.append(table.key) }
    }
    return keys
  }

  /// The current table, including the changes. Valid until the next change of the transaction.
  ///
  /// - Throws: `notFound` if there is no such table, `damaged`.
  public func table(_ key: TableKey) throws(EngineError) -> Table {
    let table = try group.table(key)
    return try table.view()
  }

  /// The key of the table with this stored name; nil if there is none.
  ///
  /// - Throws: `damaged` if bytes of the file break the format, `file` if it cannot be read.
  public func tableKey(named name: String) throws(EngineError) -> TableKey? {
    try group.table(named: name)?.key
  }

  /// The key of the table with this stored name, or else of one whose name is canonically equivalent; nil if neither
  /// exists.
  package func tableKey(like name: String) throws(EngineError) -> TableKey? { try group.table(like: name)?.key }

  /// The current properties of a class.
  ///
  /// - Throws: `notFound` if there is no such table, `damaged`.
  public func columns(of table: TableKey) throws(EngineError) -> [Column] { try group.table(table).columns }

  /// The key of the object with this primary key; nil if it does not exist. Cost: O(log n).
  ///
  /// - Throws: `notFound` if there is no such table, `damaged`.
  public func objectKey(_ table: TableKey, primaryKey: Value) throws(EngineError) -> ObjKey? {
    let table = try group.table(table)
    group.slab.noteStep()
    return try primaryKey.withView { (view) throws(EngineError) in try table.find(primaryKey: view) }
  }

  /// A copy of a property's value.
  ///
  /// - Throws: `notFound` if there is no such object or property, `damaged`.
  public func value(_ table: TableKey, _ object: ObjKey, _ column: ColKey) throws(EngineError) -> Value {
    let table = try group.table(table), column = try self.column(table, column)
    let value = try table.read(object, column).map(Value.init(copying:))
    guard let value else { throw EngineError(.notFound, "\(table.className): no object \(object)") }
    return value
  }

  /// The objects that link to an object, each once. An embedded object is replaced by the object that owns it, however
  /// deeply it is nested. Cost: one step for each link.
  ///
  /// - Throws: `notFound` if there is no such object, `damaged`.
  public func origins(of table: TableKey, _ object: ObjKey) throws(EngineError) -> [ObjectReference] {
    var found: Set<ObjectReference> = [], embedded: Set<ObjectReference> = []
    var pending = [ObjectReference(table: table, key: object)]
    while let next = pending.popLast() {
      let editor = try group.table(next.table)
      for backlink in editor.backlinks {
        guard let (table, _) = try group.origin(of: backlink) else { continue }
        for key in try group.origins(editor, next.key, backlink.key) {
          let origin = ObjectReference(table: table.key, key: key)
          if table.kind != .embedded {
            found.insert(origin)
          } else if embedded.insert(origin).inserted {
            pending.append(origin)
          }
        }
      }
    }
    return found.sorted { ($0.table.value, $0.key) < ($1.table.value, $1.key) }
  }

  // MARK: objects

  /// Creates an object of a class without a primary key.
  ///
  /// `key` is an unused key, 0 or greater; if nil, the next one is used. `values` contains each property at most once,
  /// preferably in schema order: single values, lists for lists and sets, dictionaries; other properties get their
  /// defaults. Embedded objects are created afterwards. If a value is refused, nothing is changed. Cost: O(log n); the
  /// fast way to create many objects.
  ///
  /// - Throws: `forbidden` for an embedded class, `wrongType` if the class has a primary key or a property cannot have
  ///   its value, `notFound`, `duplicateKey` if `key` is in use, `overLimit`.
  public func create(
    _ table: TableKey,
    key: ObjKey? = nil,
    values: [(ColKey, Value)] = []
  ) throws(EngineError) -> ObjKey {
    try group.change { () throws(EngineError) in try group.create(group.table(table), key: key, values) }
  }

  /// Creates an object of a class with a primary key; see `create(_:key:values:)` for `key` and `values`.
  ///
  /// - Throws: `wrongType` if the class has no primary key or a property cannot have its value, `forbidden`,
  ///   `notFound`, `duplicateKey` if another object has the primary key or `key`, `overLimit`.
  public func create(
    _ table: TableKey,
    primaryKey: Value,
    key: ObjKey? = nil,
    values: [(ColKey, Value)] = []
  ) throws(EngineError) -> ObjKey {
    try group.change { () throws(EngineError) in
      try group.create(group.table(table), primaryKey: primaryKey, key: key, values)
    }
  }

  /// Deletes an object and its embedded objects: links to it become null or are removed from collections.
  ///
  /// - Throws: `notFound` if there is no such object, `forbidden` for an embedded object.
  public func delete(_ table: TableKey, _ object: ObjKey) throws(EngineError) {
    try group.change { () throws(EngineError) in
      let table = try group.table(table)
      if table.kind == .embedded {
        throw EngineError(.forbidden, "\(table.className): embedded objects are deleted through their owner")
      }
      if try !group.has(table, object) { throw EngineError(.notFound, "\(table.className): no object \(object)") }
      try group.deleteObject(table, object)
    }
  }

  // MARK: properties

  /// Sets a single-value property. A list or dictionary is legal only for Mixed properties. Embedded objects are
  /// created with `setEmbedded`; null deletes one.
  ///
  /// - Throws: `notFound`, `wrongType` if the property cannot have the value, `forbidden` for a primary key,
  ///   `overLimit`.
  public func set(_ table: TableKey, _ object: ObjKey, _ key: ColKey, _ value: Value) throws(EngineError) {
    try group.change { () throws(EngineError) in
      let table = try group.table(table), column = try self.column(table, key)
      let place = "\(table.className) object \(object), property \"\(column.name)\""
      if column.collection != nil {
        throw EngineError(.wrongType, "\(place): a collection is changed element by element")
      }
      if table.primaryKeyIndex.map({ table.columns[$0].key == key }) ?? false {
        throw EngineError(.forbidden, "\(place): a primary key cannot be changed")
      }
      guard value.fits(column.element) else {
        throw EngineError(.wrongType, "\(place): the value is not of the property's type")
      }
      try group.check(value, level: 1, from: table, column)
      try group.store(table, object, column, value)
      try CollectionEditor(group, table, object, column).fill(value)
    }
  }

  /// Sets a property to a value, in as few changes as possible: a list or set to the elements of a list, a dictionary
  /// to the entries of one. Embedded objects are created with `setEmbedded` and `insertEmbedded`.
  ///
  /// - Throws: `notFound`, `wrongType` if the property cannot have the value, `forbidden` for a primary key,
  ///   `overLimit`.
  public func assign(_ table: TableKey, _ object: ObjKey, _ key: ColKey, _ value: Value) throws(EngineError) {
    let present = try self.value(table, object, key)
    let column = try self.column(group.table(table), key)
    if column.collection == nil {
      if !present.isIdentical(to: value) { try set(table, object, key, value) }
    } else {
      try group.change { () throws(EngineError) in
        try CollectionEditor(group, group.table(table), object, column).write(value, over: present)
      }
    }
  }

  /// Creates an embedded object with default values in a single-value property, replacing the present one.
  ///
  /// - Throws: `notFound`, `wrongType` if the property does not hold embedded objects.
  public func setEmbedded(_ table: TableKey, _ object: ObjKey, _ key: ColKey) throws(EngineError) -> ObjKey {
    try group.change { () throws(EngineError) in
      let table = try group.table(table), column = try self.column(table, key)
      let target = try embeddedTable(table, column, nil)
      _ = try table.place(object)
      let made = try group.createObject(target, key: nil)
      try group.store(table, object, column, .link(target.key, made))
      return made
    }
  }

  /// Creates an embedded object before element `index` of a list.
  ///
  /// - Throws: `notFound`, `wrongType` if the property is not a list of embedded objects.
  public func insertEmbedded(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    at index: Int
  ) throws(EngineError) -> ObjKey {
    try group.change { () throws(EngineError) in
      let table = try group.table(table), column = try self.column(table, key)
      let target = try embeddedTable(table, column, .list)
      let list = try CollectionEditor(group, table, object, column)
      try list.checkInsertion(at: index)
      let made = try group.createObject(target, key: nil)
      try list.insert(index, .link(target.key, made), adoptsEmbedded: true)
      return made
    }
  }

  /// Creates an embedded object as an entry of a dictionary, replacing the present one.
  ///
  /// - Throws: `notFound`, `wrongType` if the property is not a dictionary of embedded objects, `overLimit` if the key
  ///   is too long.
  public func setEmbedded(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    entry: [UInt8]
  ) throws(EngineError) -> ObjKey {
    try group.change { () throws(EngineError) in
      let table = try group.table(table), column = try self.column(table, key)
      let target = try embeddedTable(table, column, .dictionary)
      try group.checkDictionaryKey(entry, table, column)
      _ = try table.place(object)
      let made = try group.createObject(target, key: nil)
      let dictionary = try CollectionEditor(group, table, object, column)
      try dictionary.set(key: entry, .link(target.key, made), adoptsEmbedded: true)
      return made
    }
  }

  private func embeddedTable(
    _ table: TableEditor,
    _ column: Column,
    _ collection: CollectionKind?
  ) throws(EngineError) -> TableEditor {
    guard column.type == .link, column.collection == collection, let key = column.targetTable else {
      throw EngineError(.wrongType, "\(table.className).\(column.name): no place for an embedded object")
    }
    let target = try group.table(key)
    guard target.kind == .embedded else {
      throw EngineError(.wrongType, "\(table.className).\(column.name): \(target.className) is not embedded")
    }
    return target
  }

  // MARK: collections

  /// The number of elements of a collection. `path` is the path of a collection nested in a Mixed.
  ///
  /// - Throws: `notFound` if there is no such object, property or element, `wrongType` if it is not a collection.
  public func count(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    path: [PathStep] = []
  ) throws(EngineError) -> Int { try collection(table, object, key, path).count() }

  /// Inserts an element before element `index` of a list.
  ///
  /// - Throws: `notFound` if there is no such object, property or element, `wrongType` if it is not a list or cannot
  ///   have the value, `overLimit`.
  public func insert(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    path: [PathStep] = [],
    at index: Int,
    _ value: Value
  ) throws(EngineError) {
    try group.change { () throws(EngineError) in try collection(table, object, key, path).insert(index, value) }
  }

  /// Replaces element `index` of a list.
  ///
  /// - Throws: `notFound` if there is no such object, property or element, `wrongType` if it is not a list or cannot
  ///   have the value, `overLimit`.
  public func set(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    path: [PathStep] = [],
    at index: Int,
    _ value: Value
  ) throws(EngineError) {
    try group.change { () throws(EngineError) in try collection(table, object, key, path).set(index, value) }
  }

  /// Removes element `index` of a list.
  ///
  /// - Throws: `notFound` if there is no such object, property or element, `wrongType` if it is not a list.
  public func remove(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    path: [PathStep] = [],
    at index: Int
  ) throws(EngineError) {
    try group.change { () throws(EngineError) in try collection(table, object, key, path).remove(index) }
  }

  /// Moves an element of a list.
  ///
  /// - Throws: `notFound` if there is no such object, property or element, `wrongType` if it is not a list.
  public func move(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    path: [PathStep] = [],
    from: Int,
    to: Int
  ) throws(EngineError) {
    try group.change { () throws(EngineError) in
      try collection(table, object, key, path).move(from: from, to: to)
    }
  }

  /// Removes all elements of a collection.
  ///
  /// - Throws: `notFound` if there is no such object, property or element, `wrongType` if it is not a collection.
  public func clear(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    path: [PathStep] = []
  ) throws(EngineError) {
    try group.change { () throws(EngineError) in try collection(table, object, key, path).clear() }
  }

  /// Adds a value to a set; false if the set already contains it.
  ///
  /// - Throws: `notFound`, `wrongType` if it is not a set or cannot have the value, `overLimit`.
  public func add(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    _ value: Value
  ) throws(EngineError) -> Bool {
    try group.change { () throws(EngineError) in try collection(table, object, key, []).add(value) }
  }

  /// Removes a value from a set; false if the set does not contain it.
  ///
  /// - Throws: `notFound`, `wrongType` if it is not a set.
  public func discard(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    _ value: Value
  ) throws(EngineError) -> Bool {
    try group.change { () throws(EngineError) in try collection(table, object, key, []).discard(value) }
  }

  /// Adds an entry to a dictionary, or replaces the one with this key.
  ///
  /// - Throws: `notFound`, `wrongType` if it is not a dictionary or cannot have the value, `overLimit`.
  public func set(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    path: [PathStep] = [],
    entry: [UInt8],
    _ value: Value
  ) throws(EngineError) {
    try group.change { () throws(EngineError) in try collection(table, object, key, path).set(key: entry, value) }
  }

  /// Removes an entry of a dictionary; false if it does not exist.
  ///
  /// - Throws: `notFound`, `wrongType` if it is not a dictionary.
  public func remove(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    path: [PathStep] = [],
    entry: [UInt8]
  ) throws(EngineError) -> Bool {
    try group.change { () throws(EngineError) in try collection(table, object, key, path).remove(key: entry) }
  }

  func collection(
    _ table: TableKey,
    _ object: ObjKey,
    _ key: ColKey,
    _ path: [PathStep]
  ) throws(EngineError) -> CollectionEditor {
    let table = try group.table(table)
    return try CollectionEditor(group, table, object, column(table, key), path: path)
  }

  // MARK: schema

  /// Adds a table; `name` is the stored name, including `class_`.
  ///
  /// - Throws: `badSchema` if the name is empty or in use, `overLimit` if it is longer than 57 bytes without `class_`.
  public func addTable(_ name: String, kind: TableKind = .topLevel) throws(EngineError) -> TableKey {
    try group.change { () throws(EngineError) in try group.addTable(name, kind: kind) }
  }

  /// Removes a table with its objects; no other class may link to it.
  ///
  /// - Throws: `notFound`, `badSchema` if another class links to it.
  public func removeTable(_ key: TableKey) throws(EngineError) {
    try group.change { () throws(EngineError) in try group.removeTable(key) }
  }

  /// Changes the stored name of a table.
  ///
  /// - Throws: `notFound`, `badSchema` if the name is empty or in use, `overLimit`.
  public func renameTable(_ key: TableKey, to name: String) throws(EngineError) {
    try group.change { () throws(EngineError) in try group.renameTable(key, to: name) }
  }

  /// Adds a property; existing objects get its default.
  ///
  /// - Throws: `notFound`, `badSchema` if the definition breaks a rule, `overLimit` if the name is longer than 63
  ///   bytes.
  public func addColumn(_ table: TableKey, _ spec: ColumnSpec) throws(EngineError) -> ColKey {
    try group.change { () throws(EngineError) in try group.addColumn(group.table(table), spec) }
  }

  /// Removes a property with its values.
  ///
  /// - Throws: `notFound`.
  public func removeColumn(_ table: TableKey, _ key: ColKey) throws(EngineError) {
    try group.change { () throws(EngineError) in try group.removeColumn(group.table(table), key) }
  }

  /// Makes a property optional or required. If it becomes required, null becomes the default of its type, in objects
  /// and in collections. Returns the new key of the property; name, position and index are kept. Not applicable to
  /// links and Mixed values. Cost: O(n log n) in the number of objects.
  ///
  /// - Throws: `notFound`, `badSchema` for links and Mixed values, `duplicateKey` if null in a primary key becomes a
  ///   key in use.
  public func setNullable(
    _ table: TableKey,
    _ key: ColKey,
    _ isNullable: Bool
  ) throws(EngineError) -> ColKey {
    try group.change { () throws(EngineError) in try group.setNullable(group.table(table), key, isNullable) }
  }

  /// Renames a property.
  ///
  /// - Throws: `notFound`, `badSchema` if the name is empty or in use, `overLimit`.
  public func renameColumn(_ table: TableKey, _ key: ColKey, to name: String) throws(EngineError) {
    try group.change { () throws(EngineError) in try group.renameColumn(group.table(table), key, to: name) }
  }

  /// Adds a search index to a property.
  ///
  /// - Throws: `notFound`, `badSchema` if the type of the property cannot be indexed.
  public func addIndex(_ table: TableKey, _ key: ColKey, _ kind: IndexKind = .general) throws(EngineError) {
    try group.change { () throws(EngineError) in try group.addIndex(group.table(table), key, kind) }
  }

  /// Removes the search index of a property.
  ///
  /// - Throws: `notFound`.
  public func removeIndex(_ table: TableKey, _ key: ColKey) throws(EngineError) {
    try group.change { () throws(EngineError) in try group.removeIndex(group.table(table), key) }
  }

  /// Makes a property the primary key; nil removes the primary key.
  ///
  /// - Throws: `notFound`, `badSchema` if the property cannot be a primary key, `duplicateKey` if two objects have the
  ///   same value.
  public func setPrimaryKey(_ table: TableKey, _ key: ColKey?) throws(EngineError) {
    try group.change { () throws(EngineError) in try group.setPrimaryKey(group.table(table), key) }
  }

  /// Stores the schema version in the table that the SDKs read. Source: docs/format/2-model.md M11.
  ///
  /// - Throws: `badSchema` if the table of the SDKs has another form, `damaged`.
  public func setSchemaVersion(_ version: UInt64) throws(EngineError) {
    try group.change { () throws(EngineError) in
      let table: TableKey
      if let known = try tableKey(named: "metadata") {
        table = known
      } else {
        table = try addTable("metadata")
        _ = try addColumn(table, ColumnSpec("version", .int))
      }
      guard let column = try columns(of: table).first(where: { $0.name == "version" }) else {
        throw EngineError(.badSchema, "table metadata has no column version")
      }
      let editor = try group.table(table)
      if try !group.has(editor, ObjKey(0)) { _ = try group.createObject(editor, key: ObjKey(0)) }
      try set(table, ObjKey(0), column.key, .int(Int64(bitPattern: version)))
    }
  }
}
