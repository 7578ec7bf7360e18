// Restores all classes to an older version through ordinary changes of a transaction, which other programs see like any
// others. Comparing what both versions share finds the differences; only these are changed.
//
// The order follows from dependencies: first objects are removed, then properties and classes; then classes are added,
// then properties; then objects with their plain values, so that links find them; then links, collections and embedded
// objects; indexes and primary keys last.

extension WriteTransaction {
  /// Changes all classes to their state in `wanted`, an older version of this realm that is held: the schema, the
  /// objects with their keys, and their values. Embedded objects that differ are recreated.
  ///
  /// Throws if the state cannot be restored in full; the transaction must then be rolled back. Returns the changed
  /// objects; nil if there are too many to list, or if the schema differed.
  ///
  /// Cost: proportional to the differences. A class is read in full if properties of it were removed since `wanted`.
  public func restore(_ wanted: Snapshot) throws(EngineError) -> [ObjectReference]? {
    guard base.arena.space.isOfSameFile(as: wanted.arena.space) else {
      throw EngineError(.moved, "the version belongs to another file that was here before")
    }
    let restoration = try VersionRestoration(of: wanted, over: base)
    group.isRestoring = true
    defer { group.isRestoring = false }
    return try restoration.run(self)
  }

  /// Restores `wanted` for an undo: the history records which version is restored, and the commit does not overwrite
  /// older versions, so that the next undo can continue from there.
  package func undo(to wanted: Snapshot) throws(EngineError) {
    if let table = try tableKeys().first {
      group.replication.markUndo(steps: Int(clamping: base.version - wanted.version), table)
    }
    group.keepsFormerVersions = true
    _ = try restore(wanted)
  }

  /// Inserts a property before property `index`.
  fileprivate func addColumn(_ table: TableKey, _ spec: ColumnSpec, at index: Int) throws(EngineError) -> ColKey {
    try group.change { () throws(EngineError) in try group.addColumn(group.table(table), spec, at: index) }
  }

  /// True if a collection has no elements.
  fileprivate func isEmpty(_ table: TableKey, _ object: ObjKey, _ column: ColKey) throws(EngineError) -> Bool {
    try count(table, object, column) == 0
  }
}

/// The restoration of one version.
private final class VersionRestoration {
  /// A class in the wanted version and in the transaction.
  private final class Class {
    let wanted: Table
    let difference: TableDifference?
    /// Its key in the transaction.
    var key = TableKey.none
    /// The keys in the transaction of the wanted version's properties.
    var columns: [ColKey] = []
    /// The indices of properties that had been removed. Their values are set in all objects.
    var added: [Int] = []
    /// The indices of other properties whose values are set in all objects, because embedded objects in them have such
    /// properties.
    var rebuilt: [Int] = []
    /// True if the class has no primary key while objects change.
    var keyIsLoose = false

    init(_ wanted: Table, _ difference: TableDifference?) { (self.wanted, self.difference) = (wanted, difference) }
  }

  private let wanted: Snapshot
  private let base: Snapshot
  private let difference: VersionDifference
  /// The classes of the wanted version, in the order of their tables.
  private var classes: [Class] = []
  /// The classes by key in the wanted version.
  private var classOf: [TableKey: Class] = [:]
  /// Tables of classes that only the newer version has.
  private var removed: [Table] = []
  private var changesSchema = false
  private var touched: [ObjectReference]? = []
  /// The number of embedded objects that may still be created. Exceeding it means that the file is damaged.
  private var embeddedLeft = 0
  private var spareCursors: [TableKey: [ObjectCursor]] = [:]

  private static let maxTouched = 100_000
  private static let maximumDepth = 200

  init(of wanted: Snapshot, over base: Snapshot) throws(EngineError) {
    (self.wanted, self.base) = (wanted, base)
    difference = try VersionDifference(from: base, to: wanted)
    let differences = Dictionary(difference.tables.map { ($0.key, $0) }) { first, _ in first }
    for key in try wanted.tableKeys() {
      guard let table = try wanted.table(key), table.className != nil else { continue }
      if let damage = table.damage { throw damage }
      let known = Class(table, differences[key])
      classes.append(known)
      classOf[key] = known
      if table.kind == .embedded { embeddedLeft += table.objectCount }
    }
    removed = difference.tables.compactMap { $0.new == nil && $0.old?.className != nil ? $0.old : nil }
  }

  func run(_ transaction: borrowing WriteTransaction) throws(EngineError) -> [ObjectReference]? {
    try check()
    try removeObjects(transaction)
    try restoreSchema(transaction)
    for known in classes where known.wanted.kind != .embedded { try makeObjects(known, transaction) }
    for known in classes where known.wanted.kind != .embedded { try fillObjects(known, transaction) }
    for known in classes where known.wanted.kind != .embedded { try fillProperties(known, transaction) }
    for known in classes { try finish(known, transaction) }
    if !changesSchema { try checkResult(transaction) }
    return changesSchema ? nil : touched
  }

  private func note(_ known: Class, _ key: ObjKey) {
    touched?.append(ObjectReference(table: known.key, key: key))
    if touched?.count ?? 0 > Self.maxTouched { touched = nil }
  }

  /// Calls `body` with each change that leads from the newer version back to the wanted one.
  private func forEachChange(
    _ table: TableDifference,
    _ body: (ObjectDifference) throws(EngineError) -> Void
  ) throws(EngineError) {
    let changes = difference.changes(in: table)
    while let change = try changes.next() { try body(change) }
  }

  /// Throws if the restoration is impossible; determines which primary keys differ.
  private func check() throws(EngineError) {
    for known in classes {
      guard let table = known.difference else { continue }
      let name = known.wanted.className ?? ""
      if let old = table.old, old.kind != known.wanted.kind {
        throw EngineError(
          .badSchema,
          "class \(name) was \(known.wanted.kind.name) in that version and is \(old.kind.name) now, "
            + "which cannot be restored"
        )
      }
      if table.old?.primaryKey?.key != known.wanted.primaryKey?.key { known.keyIsLoose = true }
      if known.wanted.kind == .embedded { continue }
      try forEachChange(table) { (change) throws(EngineError) in
        if case .updated(_, let properties) = change, let index = known.wanted.primaryKeyIndex {
          if properties.contains(index) { known.keyIsLoose = true }
        }
      }
    }
  }

  private func removeObjects(_ transaction: borrowing WriteTransaction) throws(EngineError) {
    for known in classes where known.wanted.kind != .embedded {
      guard let table = known.difference, let old = table.old else { continue }
      known.key = old.key
      try forEachChange(table) { (change) throws(EngineError) in
        guard case .deleted(let key) = change else { return }
        note(known, key)
        try transaction.delete(old.key, key)
      }
    }
  }

  // MARK: schema

  private func restoreSchema(_ transaction: borrowing WriteTransaction) throws(EngineError) {
    for known in classes where known.difference.map({ $0.old != nil }) ?? true { known.key = known.wanted.key }
    // First remove links of removed classes, so that classes that link to each other can be removed; then the classes.
    for table in removed {
      for column in table.columns where column.type == .link && column.targetTable != table.key {
        try transaction.removeColumn(table.key, column.key)
      }
    }
    for known in classes {
      guard let old = known.difference?.old else { continue }
      if known.keyIsLoose, old.primaryKeyIndex != nil { try transaction.setPrimaryKey(old.key, nil) }
      let kept = Set(known.wanted.columns.map(\.key))
      for column in old.columns where !kept.contains(column.key) {
        changesSchema = true
        try transaction.removeColumn(old.key, column.key)
      }
    }
    for table in removed {
      changesSchema = true
      try transaction.removeTable(table.key)
    }
    try renameTables(transaction)
    for known in classes where known.key == .none {
      changesSchema = true
      known.key = try transaction.addTable(known.wanted.name, kind: known.wanted.kind)
    }
    for known in classes { try restoreColumns(known, transaction) }
    findRebuilt()
    let version = (try wanted.schemaVersion(), try base.schemaVersion())
    // All ones represent a missing version.
    if version.0 != version.1 { try transaction.setSchemaVersion(version.0 ?? .max) }
  }

  /// Restores the names of classes, through temporary names, because the names may be taken.
  private func renameTables(_ transaction: borrowing WriteTransaction) throws(EngineError) {
    let renamed = classes.filter { known in known.difference?.old.map { !$0.name.isExactly(known.wanted.name) } ?? false
    }
    if !renamed.isEmpty { changesSchema = true }
    for (index, known) in renamed.enumerated() {
      try transaction.renameTable(known.key, to: "\(Table.classPrefix)realmfs restores \(index)")
    }
    for known in renamed { try transaction.renameTable(known.key, to: known.wanted.name) }
  }

  private func restoreColumns(_ known: Class, _ transaction: borrowing WriteTransaction) throws(EngineError) {
    let columns = known.wanted.columns
    guard let table = known.difference else {
      known.columns = columns.map(\.key)
      return
    }
    let old = table.old?.columns ?? []
    let renamed = columns.filter { column in old.contains { $0.key == column.key && !$0.name.isExactly(column.name) } }
    for (index, column) in renamed.enumerated() {
      changesSchema = true
      try transaction.renameColumn(known.key, column.key, to: "realmfs restores \(index)")
    }
    for column in renamed { try transaction.renameColumn(known.key, column.key, to: column.name) }
    for (index, column) in columns.enumerated() {
      if let before = old.first(where: { $0.key == column.key }) {
        known.columns.append(column.key)
        if before.index != nil, before.index != column.index {
          changesSchema = true
          try transaction.removeIndex(known.key, column.key)
        }
        continue
      }
      changesSchema = true
      let target = column.targetTable.flatMap { classOf[$0]?.key }
      let spec = ColumnSpec(
        column.name,
        column.type,
        collection: column.collection,
        isNullable: column.isNullable,
        target: target
      )
      known.columns.append(try transaction.addColumn(known.key, spec, at: index))
      known.added.append(index)
    }
  }

  /// Finds the properties with embedded objects, at any depth, to which properties were added back. An embedded object
  /// with the key of one in the wanted version may be a different object, so all of them are recreated.
  private func findRebuilt() {
    var hasGrown = true
    while hasGrown {
      hasGrown = false
      for known in classes {
        for (index, column) in known.wanted.columns.enumerated() {
          guard let target = column.targetTable.flatMap({ classOf[$0] }), target.wanted.kind == .embedded,
            !target.added.isEmpty || !target.rebuilt.isEmpty,
            !known.added.contains(index), !known.rebuilt.contains(index)
          else { continue }
          known.rebuilt.append(index)
          hasGrown = true
        }
      }
    }
  }

  /// Restores indexes and the primary key.
  private func finish(_ known: Class, _ transaction: borrowing WriteTransaction) throws(EngineError) {
    guard let table = known.difference else { return }
    for (index, column) in known.wanted.columns.enumerated() {
      guard let kind = column.index else { continue }
      if table.old?.columns.first(where: { $0.key == column.key })?.index == kind { continue }
      changesSchema = true
      try transaction.addIndex(known.key, known.columns[index], kind)
    }
    if known.keyIsLoose, let index = known.wanted.primaryKeyIndex {
      try transaction.setPrimaryKey(known.key, known.columns[index])
    }
    if known.keyIsLoose { changesSchema = true }
  }

  // MARK: objects

  /// Creates the objects that were deleted, with the values that are independent of other objects.
  private func makeObjects(_ known: Class, _ transaction: borrowing WriteTransaction) throws(EngineError) {
    guard let table = known.difference else { return }
    let cursor = ObjectCursor(known.wanted), keyIndex = known.keyIsLoose ? nil : known.wanted.primaryKeyIndex
    try forEachChange(table) { (change) throws(EngineError) in
      guard case .inserted(let key) = change else { return }
      try find(key, cursor)
      var values: [(ColKey, Value)] = [], primaryKey = Value.null
      for (index, column) in known.columns.enumerated() where known.wanted.columns[index].isPlain {
        let value = try Value(copying: cursor.value(index))
        if index == keyIndex { primaryKey = value } else { values.append((column, value)) }
      }
      note(known, key)
      if keyIndex == nil {
        _ = try transaction.create(known.key, key: key, values: values)
      } else {
        _ = try transaction.create(known.key, primaryKey: primaryKey, key: key, values: values)
      }
    }
  }

  /// Sets the other values of created objects, and the changed values of existing ones.
  private func fillObjects(_ known: Class, _ transaction: borrowing WriteTransaction) throws(EngineError) {
    guard let table = known.difference else { return }
    let cursor = ObjectCursor(known.wanted)
    try forEachChange(table) { (change) throws(EngineError) in
      switch change {
      case .deleted: break
      case .inserted(let key):
        try find(key, cursor)
        for (index, column) in known.wanted.columns.enumerated() where !column.isPlain {
          try put(index, of: cursor, known, into: key, isNew: true, transaction)
        }
      case .updated(let key, let properties):
        try find(key, cursor)
        note(known, key)
        for index in properties where !known.added.contains(index) && !known.rebuilt.contains(index) {
          try put(index, of: cursor, known, into: key, isNew: false, transaction)
        }
      }
    }
  }

  /// Sets added and rebuilt properties in all objects that exist in both versions.
  private func fillProperties(_ known: Class, _ transaction: borrowing WriteTransaction) throws(EngineError) {
    if known.added.isEmpty && known.rebuilt.isEmpty { return }
    let old = known.difference == nil ? known.wanted : known.difference?.old
    guard let old else { return }
    let cursor = ObjectCursor(known.wanted), before = ObjectCursor(old)
    while try cursor.next() {
      let key = cursor.key
      guard try before.seek(key) else { continue }
      for index in known.added { try put(index, of: cursor, known, into: key, isNew: true, transaction) }
      for index in known.rebuilt { try put(index, of: cursor, known, into: key, isNew: false, transaction) }
    }
  }

  private func find(_ key: ObjKey, _ cursor: ObjectCursor) throws(EngineError) {
    if try !cursor.seek(key) {
      throw .damaged("object \(key) cannot be found", place: "table \(cursor.table.name)")
    }
  }

  // MARK: values

  /// Sets a property of an object to the value at `cursor`. An object that `isNew` has no embedded objects yet.
  private func put(
    _ index: Int,
    of cursor: ObjectCursor,
    _ known: Class,
    into object: ObjKey,
    isNew: Bool,
    depth: Int = 0,
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) {
    let column = known.wanted.columns[index], key = known.columns[index], table = known.key
    let value = try Value(copying: cursor.value(index))
    if column.type == .link, let target = column.targetTable.flatMap({ classOf[$0] }), target.wanted.kind == .embedded {
      return try putEmbedded(value, target, into: (table, object, key), column, isNew: isNew, depth, transaction)
    }
    try transaction.assign(table, object, key, mapped(value, known, column))
  }

  private typealias Place = (table: TableKey, object: ObjKey, column: ColKey)

  /// The value with the table keys of the transaction.
  private func mapped(_ value: Value, _ known: Class, _ column: Column) throws(EngineError) -> Value {
    switch value {
    case .link(let table, let key):
      guard let target = classOf[table], !key.isUnresolved else {
        throw EngineError(
          .forbidden,
          "\(known.wanted.className ?? "").\(column.name): links to an object that did not exist in that version "
            + "either, which cannot be restored"
        )
      }
      return .link(target.key, key)
    case .list(let values):
      var all: [Value] = []
      for value in values { all.append(try mapped(value, known, column)) }
      return .list(all)
    case .dictionary(let entries):
      var all: [Value.Entry] = []
      for entry in entries { all.append(Value.Entry(key: entry.key, value: try mapped(entry.value, known, column))) }
      return .dictionary(all)
    default: return value
    }
  }

  // MARK: embedded objects

  /// Recreates the embedded objects of a property.
  private func putEmbedded(
    _ value: Value,
    _ target: Class,
    into place: Place,
    _ column: Column,
    isNew: Bool,
    _ depth: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) {
    let (table, object, key) = place
    switch (column.collection, value) {
    case (nil, .null):
      if !isNew, try transaction.value(table, object, key) != .null { try transaction.set(table, object, key, .null) }
    case (nil, .link(_, let from)):
      try fill(target, from, try transaction.setEmbedded(table, object, key), depth, transaction)
    case (.list, .list(let values)):
      if !isNew, try !transaction.isEmpty(table, object, key) { try transaction.clear(table, object, key) }
      for (index, value) in values.enumerated() {
        guard case .link(_, let from) = value else { continue }
        try fill(target, from, try transaction.insertEmbedded(table, object, key, at: index), depth, transaction)
      }
    case (.dictionary, .dictionary(let entries)):
      if !isNew, try !transaction.isEmpty(table, object, key) { try transaction.clear(table, object, key) }
      for entry in entries {
        guard case .link(_, let from) = entry.value else {
          try transaction.set(table, object, key, entry: entry.key, .null)
          continue
        }
        let made = try transaction.setEmbedded(table, object, key, entry: entry.key)
        try fill(target, from, made, depth, transaction)
      }
    default: throw .damaged("embedded objects of another kind", place: column.name)
    }
  }

  /// Copies the values of an embedded object of the wanted version to a new one.
  private func fill(
    _ known: Class,
    _ from: ObjKey,
    _ made: ObjKey,
    _ depth: Int,
    _ transaction: borrowing WriteTransaction
  ) throws(EngineError) {
    embeddedLeft -= 1
    if depth > Self.maximumDepth || embeddedLeft < 0 {
      throw .damaged("embedded objects that contain each other", place: known.wanted.name)
    }
    let cursor = spareCursors[known.wanted.key]?.popLast() ?? ObjectCursor(known.wanted)
    defer { spareCursors[known.wanted.key, default: []].append(cursor) }
    try find(from, cursor)
    for index in known.wanted.columns.indices {
      try put(index, of: cursor, known, into: made, isNew: true, depth: depth + 1, transaction)
    }
  }

  // MARK: check

  /// Throws if anything still differs from the wanted version.
  private func checkResult(_ transaction: borrowing WriteTransaction) throws(EngineError) {
    let result = try transaction.changed()
    let left = try VersionDifference(from: result, to: wanted, sharing: true)
    for table in left.tables where (table.new ?? table.old)?.className != nil {
      let change = try left.changes(in: table).next()
      if !table.schema.isEmpty || change != nil {
        throw .damaged(
          "cannot be restored: object \(change?.key.description ?? "?") differs",
          place: table.name
        )
      }
    }
  }
}

extension Column {
  /// True if its values do not refer to objects and contain no other values.
  fileprivate var isPlain: Bool { collection == nil && type != .link && type != .mixed }
}
