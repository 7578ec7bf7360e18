// From formats 2 to 9 to format 24: nothing of the old structures is left, so the objects are read one by one and made
// anew, in batches. Rows become object keys. Source: format/2-model.md M14, "Format 2..9".

/// Makes a realm of today from a version of format 2 to 9.
struct LegacyUpgrade {
  private let old: Snapshot
  private let path: String
  private let work: WorkRealm
  private let observer: CopyObserver?
  private let expected: Int
  /// The tables being changed, until the next batch.
  private var group: GroupEditor
  /// The old tables, and their keys in the new realm.
  private var tables: [(old: Table, new: TableKey)] = []
  private var newKeys: [TableKey: TableKey] = [:]
  /// What a user should know of the outcome.
  private(set) var notes: [String] = []
  private var weight = 0
  private var done = 0

  /// About so many bytes of values are written at a time.
  private static let batchWeight = 1 << 24

  init(
    _ old: Snapshot,
    path: String,
    into work: WorkRealm,
    expected: Int,
    observer: CopyObserver?
  ) throws(CopyError) {
    self.old = old
    self.path = path
    self.work = work
    self.expected = expected
    self.observer = observer
    group = try work.begin()
  }

  /// Makes everything; the outcome is the newest version of the work realm.
  mutating func run() throws(CopyError) {
    try makeTables()
    try nextBatch()
    for (table, key) in tables { try copyValues(table, key) }
    for (table, key) in tables { try copyLinks(table, key) }
    for (table, key) in tables { try finish(table, key) }
    try change { (group) throws(TransactionError) in
      if let pk = try Self.format({ () throws(FormatError) in try group.table(named: "pk") }) {
        try group.removeTable(pk.key)
      }
    }
    try nextBatch()
  }

  // MARK: schema

  private mutating func makeTables() throws(CopyError) {
    let old = try CopyError.onNodes(of: path) { () throws(FormatError) in
      var tables: [Table] = []
      for key in try self.old.tableKeys() { if let table = try self.old.table(key) { tables.append(table) } }
      return tables
    }
    for table in old {
      let key = try change { (group) throws(TransactionError) in try group.addTable(table.name, kind: .topLevel) }
      tables.append((table, key))
      newKeys[table.key] = key
    }
    for (table, key) in tables {
      for column in table.columns {
        let spec = ColumnSpec(
          column.name,
          column.type,
          collection: column.collection,
          isNullable: column.isNullable,
          target: try column.targetTable.map(newKey)
        )
        _ = try change { (group) throws(TransactionError) in try group.addColumn(group.table(key), spec) }
      }
    }
  }

  private func newKey(_ key: TableKey) throws(CopyError) -> TableKey {
    guard let found = newKeys[key] else {
      throw CopyError(FormatError("a link to table \(key), which does not exist"), path: path)
    }
    return found
  }

  // MARK: objects

  /// All values but links, whose targets may not exist yet.
  private mutating func copyValues(_ table: Table, _ key: TableKey) throws(CopyError) {
    let indices = table.columns.indices.filter { table.columns[$0].type != .link }
    let cursor = ObjectCursor(table)
    for row in 0..<table.objectCount {
      weight += 16
      try note(
        CopyError.onNodes(of: path) { () throws(FormatError) -> Int in
          guard try cursor.seek(ObjKey(Int64(row))), let editor = try group.table(slot: key.slot) else { return 0 }
          var defaults = DefaultRow()
          try editor.objects.insert(UInt64(row), &defaults)
          guard let place = try editor.objects.find(UInt64(row)) else { return 0 }
          var weight = 0
          for index in indices {
            weight += try copy(cursor.value(index), to: editor, place, editor.columns[index])
          }
          return weight
        }
      )
    }
  }

  /// Stores one value; about how many bytes it has.
  private func copy(
    _ value: ValueView,
    to table: TableEditor,
    _ place: ClusterTreeEditor.Place,
    _ column: Column
  ) throws(FormatError) -> Int {
    guard column.collection != nil else {
      try table.store(place, column, value)
      return Self.weight(value)
    }
    guard case .list(var list) = value else { return 0 }
    var weight = 0
    if list.count == 0 { return 0 }
    let tree = BPlusTreeEditor(group.editor, try table.collectionSlot(place, column), column.element)
    for i in 0..<list.count {
      let element = try list.value(at: i)
      try tree.insert(i, element)
      weight += Self.weight(element)
    }
    return weight
  }

  private static func weight(_ value: ValueView) -> Int {
    switch value {
    case .string(let bytes), .data(let bytes): 16 + bytes.count
    default: 16
    }
  }

  /// All links and what they mean at their targets.
  private mutating func copyLinks(_ table: Table, _ key: TableKey) throws(CopyError) {
    let indices = table.columns.indices.filter { table.columns[$0].type == .link }
    if indices.isEmpty { return }
    let cursor = ObjectCursor(table)
    for row in 0..<table.objectCount {
      let links = try CopyError.onNodes(of: path) { () throws(FormatError) in
        var links: [(index: Int, target: ObjKey)] = []
        guard try cursor.seek(ObjKey(Int64(row))) else { return links }
        for index in indices {
          switch try cursor.value(index) {
          case .link(_, let target): links.append((index, target))
          case .list(var list):
            for i in 0..<list.count {
              if case .link(_, let target) = try list.value(at: i) { links.append((index, target)) }
            }
          default: break
          }
        }
        return links
      }
      for (index, target) in links {
        try change { (group) throws(TransactionError) in
          let editor = try group.table(key), column = editor.columns[index]
          guard let targetTable = column.targetTable else { return }
          let place = try editor.place(ObjKey(Int64(row)))
          try Self.format { () throws(FormatError) in
            let link = ValueView.link(targetTable, target)
            if column.collection == nil { return try editor.store(place, column, link) }
            let tree = BPlusTreeEditor(group.editor, try editor.collectionSlot(place, column), column.element)
            try tree.insert(tree.count(), link)
          }
          try group.addBacklink(targetTable, target, from: editor, column, ObjKey(Int64(row)))
        }
        try note(64)
      }
    }
  }

  // MARK: what is made when all objects are there

  private mutating func finish(_ table: Table, _ key: TableKey) throws(CopyError) {
    for (index, column) in table.columns.enumerated() where column.index != nil && index != table.primaryKeyIndex {
      try addIndex(table, key, index)
      try nextBatch()
    }
    if let index = table.primaryKeyIndex { try setPrimaryKey(table, key, index) }
    try change { (group) throws(TransactionError) in
      let editor = try group.table(key)
      group.slab.setTagged(editor.top, TableEditor.Slots.sequence, Int64(table.objectCount))
    }
    try nextBatch()
  }

  private mutating func addIndex(_ table: Table, _ key: TableKey, _ index: Int) throws(CopyError) {
    do throws(TransactionError) {
      try group.addIndex(group.table(key), group.table(key).columns[index].key, .general)
    } catch {
      guard error.reason == .badSchema else { throw CopyError(error, path: path) }
      notes.append("\(error.description); the property has none now")
    }
  }

  private mutating func setPrimaryKey(_ table: Table, _ key: TableKey, _ index: Int) throws(CopyError) {
    do throws(TransactionError) {
      try group.setPrimaryKey(group.table(key), group.table(key).columns[index].key)
      if table.columns[index].index != nil {
        try group.addIndex(group.table(key), group.table(key).columns[index].key, .general)
      }
    } catch {
      guard error.reason == .badSchema || error.reason == .duplicateKey else { throw CopyError(error, path: path) }
      notes.append("\(error.description); the class has no primary key now")
    }
  }

  // MARK: batches

  private func change<R>(_ body: (GroupEditor) throws(TransactionError) -> R) throws(CopyError) -> R {
    try CopyError.onChanges(of: path) { () throws(TransactionError) in try body(group) }
  }

  private static func format<R>(_ body: () throws(FormatError) -> R) throws(TransactionError) -> R {
    do throws(FormatError) { return try body() } catch { throw TransactionError(error) }
  }

  /// Counts what was made, and begins a new batch when it is enough.
  private mutating func note(_ bytes: Int) throws(CopyError) {
    weight += bytes
    if weight >= Self.batchWeight { try nextBatch() }
  }

  private mutating func nextBatch() throws(CopyError) {
    done += weight
    weight = 0
    try work.keep(group)
    group = try work.begin()
    if let observer, !observer(done, max(expected, done)) {
      throw CopyError(.cancelled, "\(path): interrupted; nothing was changed")
    }
  }
}
