// Exports a SQLite database: a table for each class, with the object key as `_key`, a foreign key for each link, and a
// child table for each collection.

import Glibc
import RealmJSON
import RealmPages

/// Writes a SQLite database.
///
/// Everything is one transaction; each batch is a savepoint in it. Foreign keys are not enforced during the export,
/// because links can point forward and form cycles.
final class SQLiteSink: ExportSink {
  private let target: ExportTarget
  private var database: SQLiteDatabase?
  private var plans: [TableKey: Plan] = [:]
  private var plan: Plan?
  /// The classes in the order of the export.
  private var order: [(name: String, key: TableKey)] = []
  private var indexes: [String] = []
  private var count = 0
  private let scratch = OutputBuffer()
  private var savepoint: SQLiteStatement?
  private var release: SQLiteStatement?

  /// One class and its tables.
  private final class Plan {
    let insert: SQLiteStatement
    /// The statements, by index of the property; nil if it is a column of the class's own table.
    let children: [SQLiteStatement?]
    /// The SQL table names: that of the class, then those of its collections.
    let tables: [String]
    /// The digests at the end of the last batch that was kept.
    private var kept: [RowDigest?] = []

    init(_ insert: SQLiteStatement, _ children: [SQLiteStatement?], tables: [String], verifies: Bool) {
      (self.insert, self.children, self.tables) = (insert, children, tables)
      if !verifies { return }
      insert.digest = RowDigest(keyColumns: 1)
      for child in children { child?.digest = RowDigest(keyColumns: 2) }
      keepDigests()
    }

    /// The digest of the rows written to each table.
    var digests: [RowDigest?] {
      get { ([insert] + children.compactMap(\.self)).map(\.digest) }
      set {
        for (statement, digest) in zip([insert] + children.compactMap(\.self), newValue) { statement.digest = digest }
      }
    }

    func keepDigests() { kept = digests }
    func dropDigests() { digests = kept }
  }

  /// Creates a sink that writes to `target` and, if it `verifies`, reads the result back. If it `comparesOnly`, it
  /// reads an existing database and writes nothing.
  init(_ target: ExportTarget, verifies: Bool, comparesOnly: Bool = false) {
    self.target = target
    (self.verifies, self.comparesOnly) = (verifies, comparesOnly)
  }

  private let verifies: Bool
  private let comparesOnly: Bool
  private(set) var verification: ExportVerification?

  var wantsEmbeddedClasses: Bool { true }

  // MARK: tables

  func begin(_ tables: [Table], of snapshot: Snapshot) throws {
    let path: String
    switch target {
    case .path(let name), .file(let name): path = name
    case .stream: throw TransferError.unsuitable("a SQLite database needs an output file")
    }
    if database == nil, comparesOnly {
      database = try SQLiteDatabase(path: path, isNew: false, isAnchored: false)
    } else if database == nil {
      let database = try SQLiteDatabase(path: path, isNew: true, isAnchored: true)
      // The file is given its final name only when it is complete, so its content need not survive an earlier crash.
      try database.execute("PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF; PRAGMA page_size = 4096; BEGIN")
      self.database = database
    } else if !comparesOnly {
      // Another program committed in the meantime: start again.
      try database?.execute("ROLLBACK; BEGIN")
    }
    guard let database else { return }
    savepoint = try insertion("SAVEPOINT object", database)
    release = try insertion("RELEASE object", database)
    plans = [:]
    order = []
    indexes = []
    let names = SQLiteNames(tables)
    for (index, table) in tables.enumerated() { try makeTables(table, names, index, database) }
    try run("SAVEPOINT batch")
  }

  /// Runs statements that write, unless the sink only compares.
  private func run(_ sql: String) throws { if !comparesOnly { try database?.execute(sql) } }

  /// Prepares a statement that writes a row.
  private func insertion(_ sql: String, _ database: SQLiteDatabase) throws -> SQLiteStatement {
    let statement = try SQLiteStatement(database, sql)
    statement.isIdle = comparesOnly
    return statement
  }

  private func makeTables(
    _ table: Table,
    _ names: SQLiteNames,
    _ position: Int,
    _ database: SQLiteDatabase
  ) throws {
    let own = names.classes[position], name = own.table
    var columns = ["\"_key\" INTEGER PRIMARY KEY"]
    var children: [SQLiteStatement?] = [], tables = [quoted(name)]
    var count = 1
    for (column, property) in zip(table.columns, own.properties) {
      let reference =
        column.targetTable.flatMap { names.tables[$0] }.map { " REFERENCES \(quoted($0)) (\"_key\")" } ?? ""
      let value = column.type == .mixed ? "" : " " + column.type.sqliteAffinity
      guard let collection = column.collection else {
        let isKey = table.primaryKey?.key == column.key
        columns.append(quoted(property.name) + value + (isKey ? " UNIQUE" : "") + reference)
        if let index = property.index {
          indexes.append("CREATE INDEX \(quoted(index)) ON \(quoted(name)) (\(quoted(property.name)))")
        }
        children.append(nil)
        count += 1
        continue
      }
      let child = property.name
      let (place, type) = collection == .dictionary ? ("_name", "TEXT") : ("_index", "INTEGER")
      try run(
        """
        CREATE TABLE \(quoted(child)) ("_owner" INTEGER REFERENCES \(quoted(name)) ("_key"), "\(place)" \(type), \
        "value"\(value)\(reference), PRIMARY KEY ("_owner", "\(place)")) WITHOUT ROWID
        """
      )
      tables.append(quoted(child))
      children.append(try insertion("INSERT INTO \(quoted(child)) VALUES (?, ?, ?)", database))
    }
    try run("CREATE TABLE \(quoted(name)) (\(columns.joined(separator: ", ")))")
    let marks = Array(repeating: "?", count: count).joined(separator: ", ")
    let insert = try insertion("INSERT INTO \(quoted(name)) VALUES (\(marks))", database)
    plans[table.key] = Plan(insert, children, tables: tables, verifies: verifies)
    order.append((table.className ?? table.name, table.key))
  }

  func beginClass(_ table: Table, of snapshot: Snapshot) { plan = plans[table.key] }

  // MARK: objects

  func add(_ cursor: ObjectCursor, _ renderer: ObjectRenderer) throws {
    guard let plan else { return }
    count += 1
    // A single row needs no savepoint.
    let hasChildren = plan.tables.count > 1, digests = verifies ? plan.digests : []
    if hasChildren { try savepoint?.run() }
    do {
      try insert(cursor, plan, renderer)
    } catch {
      // Any other failure ends the export, and may have ended the transaction and its savepoints.
      guard error.damage != nil else { throw error }
      if hasChildren { try run("ROLLBACK TO object; RELEASE object") }
      plan.digests = digests
      throw error
    }
    if hasChildren { try release?.run() }
  }

  private func insert(_ cursor: ObjectCursor, _ plan: Plan, _ renderer: ObjectRenderer) throws {
    let columns = cursor.table.columns
    plan.insert.bind(1, cursor.key.value)
    // Texts rendered here must stay in place until the statement has run.
    scratch.reset()
    var texts: [(parameter: Int, end: Int)] = []
    var parameter = 1
    for (index, column) in columns.enumerated() where column.collection == nil {
      parameter += 1
      let value = try renderer.read(index, of: cursor)
      if try !bind(value, parameter, plan.insert, index, cursor, renderer) { texts.append((parameter, scratch.count)) }
    }
    var start = 0
    unsafe scratch.withUnsafeBytes { bytes in
      for text in texts {
        unsafe plan.insert.bind(text: bytes, in: start..<text.end, text.parameter)
        start = text.end
      }
    }
    try plan.insert.run()
    for (index, child) in plan.children.enumerated() {
      guard let child else { continue }
      let value = try cursor.value(index)
      switch value {
      case .list(var list), .set(var list):
        try renderer.enter(value)
        for position in 0..<list.count {
          let element = try list.value(at: position)
          // Links to objects that do not exist yet are hidden.
          if columns[index].type == .link, case .link(_, let key) = element, key.value < 0 { continue }
          child.bind(1, cursor.key.value)
          child.bind(2, Int64(position))
          try insert(element, index, cursor, child, renderer)
        }
      case .dictionary(var entries):
        try renderer.enter(value)
        for position in 0..<entries.count {
          let name = try entries.key(at: position)
          child.bind(1, cursor.key.value)
          child.bind(text: name, 2)
          let value = try entries.value(at: position)
          try insert(value, index, cursor, child, renderer)
        }
      default: break
      }
    }
  }

  private func insert(
    _ element: ValueView,
    _ property: Int,
    _ cursor: ObjectCursor,
    _ child: SQLiteStatement,
    _ renderer: ObjectRenderer
  ) throws {
    scratch.reset()
    if try !bind(element, 3, child, property, cursor, renderer) {
      unsafe scratch.withUnsafeBytes { unsafe child.bind(text: $0, in: 0..<$0.count, 3) }
    }
    try child.run()
  }

  /// Binds a value. Returns false if its text was appended to `scratch` instead; values without an SQL equivalent are
  /// JSON.
  private func bind(
    _ value: ValueView,
    _ parameter: Int,
    _ statement: SQLiteStatement,
    _ property: Int,
    _ cursor: ObjectCursor,
    _ renderer: ObjectRenderer
  ) throws -> Bool {
    func json() throws {
      try renderer.render(value, property: property, of: cursor, into: scratch)
    }
    let isMixed = cursor.table.columns[property].type == .mixed
    if isMixed, value.isJSONInMixed {
      try json()
      return false
    }
    switch value {
    case .null: statement.bindNull(parameter)
    case .int(let value): statement.bind(parameter, value)
    case .bool(let value): statement.bind(parameter, Int64(value ? 1 : 0))
    case .float(let value) where !value.isNaN: statement.bind(parameter, Double(value))
    case .double(let value) where !value.isNaN: statement.bind(parameter, value)
    case .float, .double:
      // SQLite would store NaN as null.
      scratch.append("NaN")
      return false
    case .string(let value): statement.bind(text: value, parameter)
    case .data(let value): statement.bind(blob: value, parameter)
    case .date(let value):
      if !scratch.append(date: value) { try json() }
      return false
    case .decimal128(let value):
      scratch.append(value)
      return false
    case .objectID(let value):
      scratch.append(value)
      return false
    case .uuid(let value):
      scratch.append(value)
      return false
    case .link(_, let key) where key.value < 0: statement.bindNull(parameter)
    case .link(_, let key) where cursor.table.columns[property].type == .link: statement.bind(parameter, key.value)
    case .link:
      try json()
      return false
    case .list, .set, .dictionary:
      try json()
      return false
    }
    return true
  }

  // MARK: batches

  var isBatchFull: Bool { count >= 2000 }

  func keepBatch() throws {
    count = 0
    plan?.keepDigests()
    try run("RELEASE batch; SAVEPOINT batch")
  }

  func dropBatch() throws {
    count = 0
    plan?.dropDigests()
    try run("ROLLBACK TO batch")
  }

  func finish() throws {
    for index in indexes { try run(index) }
    try run("COMMIT")
    let written = order.map {
      (name: $0.name, tables: plans[$0.key]?.tables ?? [], digests: plans[$0.key]?.digests ?? [])
    }
    let path = database?.path
    (plans, plan, savepoint, release, database) = ([:], nil, nil, nil, nil)
    guard verifies, let path else { return }
    let file = try SQLiteDatabase(path: path, isNew: false, isAnchored: true)
    var classes: [ClassVerification] = []
    for entry in written {
      var stored: [RowDigest] = []
      for (index, table) in entry.tables.enumerated() {
        stored.append(try file.digest(table, keyColumns: index == 0 ? 1 : 2))
      }
      classes.append(ClassVerification(entry.name, exported: entry.digests.compactMap(\.self), stored: stored))
    }
    verification = ExportVerification(classes: classes, danglingLinks: try file.danglingLinks())
  }
}

private func quoted(_ name: String) -> String { name.quotedForSQL }

extension ValueView {
  /// True if the value is JSON in a Mixed column, which has the SQL types only for integers, doubles, strings and
  /// binaries. A string that could be mistaken for JSON is JSON, too.
  fileprivate var isJSONInMixed: Bool {
    switch self {
    case .null, .int, .data, .link, .list, .set, .dictionary: false
    case .bool, .float, .date, .decimal128, .objectID, .uuid: true
    case .double(let value): !value.isFinite || value == 0 && value.sign == .minus
    case .string(let text): SQLiteNames.isJSON(text)
    }
  }
}
