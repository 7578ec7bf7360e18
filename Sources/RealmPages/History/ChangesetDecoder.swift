// Decodes a changeset strictly, as programs that share the file do when they learn of a commit. Source:
// docs/format/6-history.md 6.4, 6.5.

/// The changes that one changeset describes. `Changeset.Code` lists the instructions that local realms use.
package struct ChangesetDecoder: Sendable {
  /// A property of an object.
  package struct Place: Hashable, Sendable {
    package let table: Int64
    package let object: Int64
    package let column: Int64

    package init(table: Int64, object: Int64, column: Int64) {
      (self.table, self.object, self.column) = (table, object, column)
    }
  }

  /// Tables that were added, removed, renamed.
  package private(set) var tables: (added: Set<Int64>, removed: Set<Int64>, renamed: Set<Int64>) = ([], [], [])
  /// Columns by table: added, removed, renamed.
  package private(set) var columns: (added: Set<[Int64]>, removed: Set<[Int64]>, renamed: Set<[Int64]>) = ([], [], [])
  /// Objects by table and key.
  package private(set) var created: Set<[Int64]> = []
  package private(set) var removed: Set<[Int64]> = []
  /// Properties that were set or whose collection was changed.
  package private(set) var touched: Set<Place> = []
  /// Tables that were selected.
  package private(set) var selected: Set<Int64> = []

  private let bytes: [UInt8]
  private var offset = 0
  private var table: Int64?
  private var collection: Place?

  /// Decodes all of `bytes`.
  package init(_ bytes: [UInt8]) throws(EngineError) {
    self.bytes = bytes
    while offset < bytes.count {
      let code = bytes[offset]
      offset += 1
      guard let known = Changeset.Code(rawValue: code) else { throw .damaged("unknown instruction \(code)") }
      try read(known)
    }
  }

  private mutating func read(_ code: Changeset.Code) throws(EngineError) {
    switch code {
    case .insertTable, .eraseTable, .renameTable:
      let key = try index("table key")
      if code == .insertTable { tables.added.insert(key) }
      if code == .eraseTable { tables.removed.insert(key) }
      if code == .renameTable { tables.renamed.insert(key) }
      (table, collection) = (nil, nil)
    case .selectTable:
      if try operand("levels") != 0 { throw .damaged("nonzero levels") }
      let key = try index("table key")
      (table, collection) = (key, nil)
      selected.insert(key)
    case .createObject: created.insert([try here(), try index("object key")])
    case .removeObject: removed.insert([try here(), try operand("object key")])
    case .set:
      let column = try index("column key")
      touched.insert(Place(table: try here(), object: try operand("object key"), column: column))
    case .insertColumn: columns.added.insert([try here(), try index("column key")])
    case .eraseColumn: columns.removed.insert([try here(), try index("column key")])
    case .renameColumn: columns.renamed.insert([try here(), try index("column key")])
    case .selectCollection, .selectByPath:
      let column = try index("column key"), object = try operand("object key")
      let place = Place(table: try here(), object: object, column: column)
      touched.insert(place)
      collection = place
      if code == .selectByPath { try readSteps() }
    case .collectionInsert, .collectionSet, .collectionErase, .collectionClear, .collectionMove:
      guard collection != nil else { throw .damaged("no collection is selected") }
      let first = try index("position")
      if code == .collectionMove, try index("position") == first { throw .damaged("a move to the same position") }
    case .typedLinkChange:
      _ = (try here(), try index("column key"), try index("table key"))
    }
  }

  private mutating func readSteps() throws(EngineError) {
    let steps = try index("steps")
    if steps == 0 { throw .damaged("a path without steps") }
    for _ in 0..<steps {
      let key = try operand("step")
      if key == 0 || key != Int64(Int32(truncatingIfNeeded: key)) { throw .damaged("invalid path step \(key)") }
    }
  }

  private func here() throws(EngineError) -> Int64 {
    guard let table else { throw .damaged("no table is selected") }
    return table
  }

  private mutating func index(_ what: String) throws(EngineError) -> Int64 {
    let value = try operand(what)
    if value < 0 { throw .damaged("negative \(what): \(value)") }
    return value
  }

  private mutating func operand(_ what: String) throws(EngineError) -> Int64 {
    do { return try ChangesetInteger.read(bytes, at: &offset) } catch {
      throw .damaged("\(what): \(error.rawValue)")
    }
  }
}
