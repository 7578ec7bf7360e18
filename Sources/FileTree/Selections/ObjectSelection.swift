// Selections: the objects of a class that meet the conditions in a directory's path, `.where/QUERY` and
// `.by/PROPERTY/VALUE`. A selection holds names only; they are resolved in each version.

import RealmJSON
import RealmNames
import RealmPages
import RealmQuery

/// The objects of a table that meet all conditions.
struct ObjectSelection: Hashable, Sendable {
  /// A condition, as named in the tree.
  enum Condition: Hashable, Sendable {
    /// `.where/QUERY`
    case query([UInt8])
    /// `.by/PROPERTY/VALUE`
    case value(property: [UInt8], [UInt8])
  }

  let ordinal: TableOrdinal
  /// The query that limits the class in this mount, in the form of a condition; nil if the mount shows the complete
  /// class.
  private let shown: [UInt8]?
  /// The conditions of the path.
  private(set) var conditions: [Condition] = []

  fileprivate init(_ ordinal: TableOrdinal, shown: [UInt8]? = nil) { (self.ordinal, self.shown) = (ordinal, shown) }

  /// All conditions, including that of the mount.
  private var all: [Condition] { (shown.map { [.query($0)] } ?? []) + conditions }
  /// True if the selection contains all objects of the class.
  var isWhole: Bool { shown == nil && conditions.isEmpty }

  /// Returns the objects of this selection that also meet `condition`.
  func adding(_ condition: Condition) -> ObjectSelection {
    var selection = self
    selection.conditions.append(condition)
    return selection
  }

  /// The path relative to the directory of the class, unique for each selection.
  var path: [UInt8] {
    var path: [UInt8] = []
    for condition in conditions {
      switch condition {
      case .query(let name): path += Array("/.where/".utf8) + name
      case .value(let property, let name): path += Array("/.by/".utf8) + property + [UInt8(ascii: "/")] + name
      }
    }
    return path
  }

  /// Returns the identity of a node of type `kind` for this selection, or for `name` in it.
  func identity(of kind: any Node.Type, _ name: [UInt8] = []) -> NodeIdentity {
    NodeIdentity(kind, UInt64(ordinal), path + [0] + name)
  }

  // MARK: looking up

  /// Returns the query of all conditions in one version.
  func query(_ table: Table, _ snapshot: Snapshot, _ className: String) throws(FileTreeError) -> ObjectQuery {
    var parts: [QueryCondition] = []
    let all = all
    for condition in all {
      switch condition {
      case .query(let name): parts.append(.query(String(decoding: Self.text(of: name), as: UTF8.self)))
      case .value(let property, let name): parts.append(try Self.condition(property, name, table, snapshot))
      }
    }
    do { return try ObjectQuery(parts, of: table, in: snapshot) } catch {
      var place = className + "/.where"
      if case .query(let name)? = all.indices.contains(error.condition) ? all[error.condition] : nil {
        place += "/" + String(decoding: name, as: UTF8.self)
      }
      throw .refused(.invalid, "\(place): \(error)")
    }
  }

  /// Decodes the name of a query: `%2F` represents `/`, `%25` represents `%`, and likewise for any byte.
  static func text(of name: [UInt8]) -> [UInt8] {
    var text: [UInt8] = [], index = 0
    while index < name.count {
      if name[index] == UInt8(ascii: "%"), index + 2 < name.count,
        let byte = UInt8(String(decoding: name[index + 1...index + 2], as: UTF8.self), radix: 16),
        name[index + 1] != UInt8(ascii: "+"), name[index + 1] != UInt8(ascii: "-")
      {
        text.append(byte)
        index += 3
      } else {
        text.append(name[index])
        index += 1
      }
    }
    return text
  }

  /// Returns the property with this name in `.by`.
  ///
  /// - Throws: `notFound` if there is none, or if its values have no names.
  static func property(_ name: [UInt8], _ table: Table, _ snapshot: Snapshot) throws(FileTreeError) -> Column {
    guard let text = NameEscaping.className(ofDirectory: name),
      let property = table.columns.first(where: { $0.name.isExactly(text) }), ValueNaming.hasNames(property)
    else { throw .notFound }
    if property.type == .link {
      guard let target = try target(property, snapshot), target.kind != .embedded else { throw .notFound }
    }
    return property
  }

  private static func target(_ property: Column, _ snapshot: Snapshot) throws(FileTreeError) -> Table? {
    do {
      return try property.targetTable.flatMap { (key) throws(EngineError) in try snapshot.table(key) }
    } catch { throw .damaged(property.name, error) }
  }

  private static func condition(
    _ property: [UInt8],
    _ name: [UInt8],
    _ table: Table,
    _ snapshot: Snapshot
  ) throws(FileTreeError) -> QueryCondition {
    let column = try Self.property(property, table, snapshot)
    switch ValueNaming.parse(name, type: column.type) {
    case nil: throw .notFound
    case .value(let value): return .equal(property: column.name, value)
    case .shortened:
      guard let value = try PropertyValues(column, table, snapshot).value(named: name) else { throw .notFound }
      return .equal(property: column.name, value)
    case .object(let name):
      guard let target = try target(column, snapshot) else { throw .notFound }
      let key: ObjKey?
      do { key = try target.objectKey(ofFile: name + Array(NameEscaping.suffix.utf8)) } catch {
        throw .damaged(column.name, error)
      }
      guard let key else { throw .notFound }
      return .link(property: column.name, key)
    }
  }

  // MARK: finding

  /// Returns the keys of the objects in the newest version, in the order of the query, or ascending for the complete
  /// class.
  func keys(_ tree: TreeContext) throws(FileTreeError) -> [ObjKey] {
    try tree.selections.holding(ordinal) { snapshot, table, name throws(FileTreeError) in
      if let found = try keys(table, snapshot, name, tree.options) { return found }
      return try table.allKeys(name)
    }
  }

  /// Returns the keys of the objects in one version, in the order of the query; nil for the complete class.
  func keys(
    _ table: Table,
    _ snapshot: Snapshot,
    _ className: String,
    _ options: TreeOptions
  ) throws(FileTreeError) -> [ObjKey]? {
    if isWhole { return nil }
    let query = try query(table, snapshot, className)
    do { return try query.keys(until: options.queryDeadline) } catch {
      throw FileTreeError(error, place: className, options)
    }
  }

  /// True if the selection contains an object in the newest version.
  func contains(
    _ key: ObjKey,
    _ directory: TableDirectory,
    _ view: VersionView,
    _ tree: TreeContext
  ) throws(FileTreeError) -> Bool {
    if isWhole { return true }
    let query = try query(directory.table, view.snapshot, directory.shownName)
    do throws(QueryFailure) {
      if query.isDecidedByObject {
        let cursor = ObjectCursor(directory.table)
        do { guard try cursor.seek(key) else { return false } } catch { throw .damaged(error) }
        return try query.matches(cursor)
      }
      // The results of DISTINCT and LIMIT depend on other objects.
      return try view.selections.contains(key, of: self) { () throws(QueryFailure) in
        try query.keys(until: tree.options.queryDeadline)
      }
    } catch { throw FileTreeError(error, place: directory.shownName, tree.options) }
  }
}

extension FileTreeError {
  init(_ failure: QueryFailure, place: String, _ options: TreeOptions) {
    switch failure {
    case .damaged(let error): self = .damaged(place, error)
    case .refused(let error): self = .refused(.invalid, "\(place): \(error)")
    case .timedOut:
      self = .refused(.timedOut, "\(place): the query took more than \(options.queryTimeout); see -o query_timeout")
    }
  }
}

extension Table {
  /// Returns the keys of all objects.
  fileprivate func allKeys(_ place: String) throws(FileTreeError) -> [ObjKey] {
    var keys: [ObjKey] = []
    let cursor = ObjectCursor(self)
    do { while try cursor.next() { keys.append(cursor.key) } } catch {
      throw .damaged(place, error)
    }
    return keys
  }

  /// Returns the object with a file name in the directory of the class. Cost: a scan of the table for a shortened name.
  func objectKey(ofFile name: [UInt8]) throws(EngineError) -> ObjKey? {
    switch NameEscaping.parse(file: name, primaryKey: primaryKeyIndex.map { columns[$0].type }) {
    case nil: return nil
    case .objectKey(let key): return try contains(key) ? key : nil
    case .key(let primaryKey): return try objectKey(primaryKey: primaryKey)
    case .hashed:
      let cursor = ObjectCursor(self), out = OutputBuffer()
      while try cursor.next() {
        out.reset()
        try NameEscaping.append(fileOf: cursor, column: primaryKeyIndex, to: out)
        if out.equals(name) { return cursor.key }
      }
      return nil
    }
  }
}

/// The selections of a tree, for one request.
struct Selections: TreePart {
  let tree: TreeContext

  /// Returns the objects that the directory of a class lists.
  func selection(of ordinal: TableOrdinal) -> ObjectSelection {
    if options.queries.isEmpty { return ObjectSelection(ordinal) }
    guard let text = options.queries[tree.namespace.shownName(of: ordinal)] else { return ObjectSelection(ordinal) }
    let name = text.utf8.flatMap { $0 == UInt8(ascii: "%") ? Array("%25".utf8) : [$0] }
    return ObjectSelection(ordinal, shown: name)
  }

  /// Runs `body` on the newest version, which remains readable while `body` runs. Repeats this if the version could not
  /// be held and was overwritten.
  func holding<T>(
    _ ordinal: TableOrdinal,
    _ body: (Snapshot, Table, String) throws(FileTreeError) -> T
  ) throws(FileTreeError) -> T {
    for _ in 0..<10 {
      let (hold, table, name) = try held(ordinal)
      let outcome = Result { () throws(FileTreeError) in try body(hold.snapshot, table, name) }
      if realm.isCurrent(hold.snapshot) { return try outcome.get() }
    }
    throw .busy
  }

  /// Holds the newest version, even while other programs commit.
  func holdNewest() throws(FileTreeError) -> VersionHold {
    do {
      let hold = try realm.hold()
      if hold.isKnownToWriters { return hold }
    } catch { throw .unavailable(error) }
    // A file to which nothing was committed, such as a copy, has no list of versions in use.
    try tree.drafts.saver?.convertPristineCopy()
    do { return try realm.hold() } catch { throw .unavailable(error) }
  }

  /// Holds the newest version, or returns the held version that the tree shows, with the table of `ordinal` in it and
  /// the name of the table.
  func held(_ ordinal: TableOrdinal) throws(FileTreeError) -> (VersionHold, Table, String) {
    let (key, name) = try read { view throws(FileTreeError) in
      let directory = try view.existing(ordinal)
      return (directory.table.key, directory.shownName)
    }
    let hold: VersionHold
    do {
      if let held = views.held { hold = held } else { hold = try realm.hold() }
    } catch { throw .unavailable(error) }
    let table: Table?
    do { table = try hold.snapshot.table(key) } catch { throw .damaged(name, error) }
    guard let table else { throw .stale }
    return (hold, table, name)
  }
}
