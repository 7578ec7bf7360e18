// The kinds of commits that crash and fault tests exercise: each has an initial realm and changes to commit.

package import RealmPages

/// A kind of commit.
package enum CommitShape: String, CaseIterable, Sendable, CustomStringConvertible {
  /// The first commit to a file that does not exist.
  case first
  /// One property of one object.
  case small
  /// Thousands of objects.
  case large
  /// The file grows to several times its size.
  case growing
  /// Most of the content is deleted.
  case deleting
  /// The free space at the end of the file is released.
  case shrinking
  /// Classes, properties and indexes are added and removed.
  case schema
  /// The first commit to a copy, which has another layout.
  case conversion
  /// Several grouped commits, followed by a full one.
  case grouped
  /// Several grouped commits, followed by a sync.
  case synced

  package var description: String { rawValue }

  /// True if the file does not exist beforehand.
  package var isFirst: Bool { self == .first }

  /// Creates the initial realm. Not for `first` and `conversion`.
  package func prepare(_ writer: RealmWriter) throws {
    let transaction = try writer.begin()
    let items = try transaction.addTable("class_Item")
    _ = try transaction.addColumn(items, ColumnSpec("name", .string))
    _ = try transaction.addColumn(items, ColumnSpec("count", .int, isNullable: true))
    _ = try transaction.addColumn(items, ColumnSpec("data", .data))
    _ = try transaction.addColumn(items, ColumnSpec("tags", .string, collection: .list))
    try Self.add(self == .deleting ? 2000 : 300, transaction, items)
    _ = try transaction.commit()
    // A second version leaves free space behind.
    let second = try writer.begin()
    for i in 0..<20 { try Self.change(i, second, to: -1) }
    _ = try second.commit()
    if self == .shrinking { try Self.freeTheEnd(writer) }
  }

  /// Grows the file, deletes the added content, and commits until the next commit shrinks the file.
  private static func freeTheEnd(_ writer: RealmWriter) throws {
    let growing = try writer.begin()
    let items = try items(growing), column = try column("data", growing, items)
    var keys: [ObjKey] = []
    for i in 0..<40 {
      keys.append(
        try growing.create(items, values: [(column, .data([UInt8](repeating: UInt8(i), count: 40_000)))])
      )
    }
    _ = try growing.commit()
    let deleting = try writer.begin()
    for key in keys { try deleting.delete(items, key) }
    _ = try deleting.commit()
    for i in 0..<commitsBeforeShrinking {
      let transaction = try writer.begin()
      try change(i, transaction, to: -2)
      _ = try transaction.commit()
    }
  }

  /// One commit finds the space reusable and begins; one moves the last nodes.
  private static let commitsBeforeShrinking = 2

  /// Makes the commits of this kind.
  package func act(_ writer: RealmWriter) throws {
    let transaction = try writer.begin()
    switch self {
    case .first:
      let table = try transaction.addTable("class_First")
      let column = try transaction.addColumn(table, ColumnSpec("text", .string))
      for i in 0..<40 {
        let object = try transaction.create(table)
        try transaction.set(table, object, column, .string(Array("text number \(i)".utf8)))
      }
    case .small: try Self.change(7, transaction, to: 1)
    case .shrinking:
      let before = try writer.realm.latest().logicalSize
      try Self.change(7, transaction, to: 1)
      _ = try transaction.commit()
      if try writer.realm.latest().logicalSize >= before { throw MissingPart(name: "a shorter file") }
      return
    case .large: try Self.add(2500, transaction, Self.items(transaction))
    case .growing:
      let items = try Self.items(transaction)
      let column = try Self.column("data", transaction, items)
      for i in 0..<60 {
        let object = try transaction.create(items)
        try transaction.set(items, object, column, .data([UInt8](repeating: UInt8(i), count: 40_000 + i)))
      }
    case .deleting:
      let items = try Self.items(transaction)
      let cursor = ObjectCursor(try transaction.table(items))
      var keys: [ObjKey] = []
      while try cursor.next() { keys.append(cursor.key) }
      for key in keys.prefix(1900) { try transaction.delete(items, key) }
    case .schema:
      let items = try Self.items(transaction)
      try transaction.removeColumn(items, Self.column("tags", transaction, items))
      try transaction.addIndex(items, Self.column("count", transaction, items))
      _ = try transaction.addColumn(items, ColumnSpec("next", .link, target: items))
      try transaction.renameTable(items, to: "class_Thing")
      _ = try transaction.addTable("class_New")
      try transaction.setSchemaVersion(5)
    case .conversion:
      let table = try transaction.addTable("class_New")
      let column = try transaction.addColumn(table, ColumnSpec("n", .int))
      try transaction.set(table, try transaction.create(table), column, .int(1))
    case .grouped, .synced:
      try Self.change(7, transaction, to: 2)
      _ = try transaction.commit(.grouped)
      for round in 0..<3 {
        let next = try writer.begin()
        for i in 0..<10 { try Self.change(i * 11, next, to: Int64(round + 3)) }
        if round == 1 { try Self.add(200, next, Self.items(next)) }
        _ = try next.commit(round == 2 && self == .grouped ? .full : .grouped)
      }
      if self == .synced { try writer.sync() }
      return
    }
    _ = try transaction.commit()
  }

  /// Makes a further commit that is valid for any realm, to check that work can continue.
  package static func more(_ writer: RealmWriter) throws {
    let transaction = try writer.begin()
    let table: TableKey
    if let known = try transaction.tableKey(named: "class_More") {
      table = known
    } else {
      table = try transaction.addTable("class_More")
      _ = try transaction.addColumn(table, ColumnSpec("text", .string))
    }
    let column = try column("text", transaction, table)
    for _ in 0..<5 {
      let object = try transaction.create(table)
      try transaction.set(table, object, column, .string(Array(String(repeating: "more ", count: 50).utf8)))
    }
    _ = try transaction.commit()
  }

  private static func items(_ transaction: borrowing WriteTransaction) throws -> TableKey {
    guard let table = try transaction.tableKey(named: "class_Item") else { throw MissingPart(name: "class_Item") }
    return table
  }

  private static func column(
    _ name: String,
    _ transaction: borrowing WriteTransaction,
    _ table: TableKey
  ) throws -> ColKey {
    guard let column = try transaction.columns(of: table).first(where: { $0.name == name }) else {
      throw MissingPart(name: name)
    }
    return column.key
  }

  private static func change(_ object: Int, _ transaction: borrowing WriteTransaction, to value: Int64) throws {
    let items = try items(transaction)
    try transaction.set(items, ObjKey(Int64(object)), column("count", transaction, items), .int(value))
  }

  private static func add(_ count: Int, _ transaction: borrowing WriteTransaction, _ items: TableKey) throws {
    let name = try column("name", transaction, items), number = try column("count", transaction, items)
    let tags = try column("tags", transaction, items)
    for i in 0..<count {
      let object = try transaction.create(items)
      try transaction.set(items, object, name, .string(Array("the name of item \(i)".utf8)))
      if i % 3 != 0 { try transaction.set(items, object, number, .int(Int64(i * i))) }
      if i % 10 == 0 { try transaction.insert(items, object, tags, at: 0, .string(Array("tag \(i % 7)".utf8))) }
    }
  }

  private struct MissingPart: Error { let name: String }
}

/// The contents of a version, as one number for each of its parts. Versions with equal contents have equal numbers.
package struct Contents: Hashable, Sendable, CustomStringConvertible {
  /// The version's number.
  package let version: UInt64
  private let digest: UInt64
  private let objects: Int
  private let tables: [String]

  /// Reads everything.
  package init(_ snapshot: Snapshot) throws {
    var walk = ObjectWalk()
    walk.run(snapshot)
    version = snapshot.version
    digest = walk.digest
    objects = walk.objects
    tables = try snapshot.tableKeys().compactMap { key in
      guard let table = try snapshot.table(key) else { return nil }
      return "\(table.name)(\(table.columns.map { "\($0.name) \($0.type)" }.joined(separator: ", ")))"
    }
    if walk.errors > 0 { throw Unreadable(count: walk.errors) }
  }

  private struct Unreadable: Error { let count: Int }

  package var description: String { "version \(version) with \(objects) objects in \(tables.count) tables" }
}
