// The interface to tables, sound or damaged, from which objects are copied one after another.

/// One object on its way to a new realm. Valid only during the call that passes it.
protocol SourceObject {
  /// The key; nil if it is unknown.
  var key: ObjKey? { get }
  /// Where the object was found; nil for the version that is copied.
  var provenance: Provenance? { get }
  /// The value of the property at `index` of the table's columns.
  func value(_ index: Int) throws(EngineError) -> ValueView
  /// Calls `body` with each readable element of a list, and `onDamage` for damage. Returns false if the list must be
  /// read through `value`. The work is charged to `effort`.
  func forEachElement(
    _ index: Int,
    _ effort: Effort,
    _ body: (ValueView) -> Void,
    onDamage: (EngineError) -> Void
  ) -> Bool
}

extension SourceObject {
  var provenance: Provenance? { nil }
}

/// A table from which objects are copied.
protocol SourceTable {
  var key: TableKey { get }
  var name: String { get }
  var kind: TableKind { get }
  var columns: [Column] { get }
  var primaryKeyIndex: Int? { get }
  /// The number of objects according to the table; nil if unknown.
  var claimedCount: Int? { get }
  /// The sequence number for the next object key.
  var nextSequence: Int64 { get }
  /// The number of properties whose names cannot be read and are generated.
  var madeUpNames: Int { get }
  /// The reason why the kind differs from the stored one; nil if it does not.
  var kindNote: String? { get }
  /// Calls `body` with each reachable object, known keys ascending, and `onDamage` for damage. The work is charged to
  /// `effort`.
  func forEachObject(
    _ effort: Effort,
    _ body: (any SourceObject) throws(EngineError) -> Void,
    onDamage: (EngineError) throws(EngineError) -> Void
  ) throws(EngineError)
}

extension SourceTable {
  var madeUpNames: Int { 0 }
  var kindNote: String? { nil }
}

/// A table of formats 2 to 9, row by row.
struct LegacySource: SourceTable {
  let table: Table

  var key: TableKey { table.key }
  var name: String { table.name }
  var kind: TableKind { table.kind }
  var columns: [Column] { table.columns }
  var primaryKeyIndex: Int? { table.primaryKeyIndex }
  var claimedCount: Int? { table.objectCount }
  var nextSequence: Int64 { Int64(table.objectCount) }

  private struct Row: SourceObject {
    let cursor: ObjectCursor
    var key: ObjKey? { cursor.key }
    func value(_ index: Int) throws(EngineError) -> ValueView { try cursor.value(index) }
    func forEachElement(
      _ index: Int,
      _ effort: Effort,
      _ body: (ValueView) -> Void,
      onDamage: (EngineError) -> Void
    ) -> Bool { false }
  }

  func forEachObject(
    _ effort: Effort,
    _ body: (any SourceObject) throws(EngineError) -> Void,
    onDamage: (EngineError) throws(EngineError) -> Void
  ) throws(EngineError) {
    let cursor = ObjectCursor(table), row = Row(cursor: cursor)
    var next: Int64 = 0
    while next < table.objectCount {
      do {
        // Each property has a leaf of up to 1000 rows.
        if next % 1000 == 0 { try effort.spend(Node.headerSize * table.columns.count, at: table.ref) }
        if try !cursor.seek(ObjKey(next)) { return }
      } catch { return try onDamage(error) }
      try body(row)
      next += 1
    }
  }
}

/// Returns the result of `body`, or nil if it throws: for callers that can use the rest of damaged data.
func ifReadable<R>(_ body: () throws(EngineError) -> R) -> R? {
  do { return try body() } catch { return nil }
}
