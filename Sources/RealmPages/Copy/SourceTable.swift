// Tables as something to take objects out of, one after another, whole or damaged.

/// One object on its way into a new realm. Valid during the call that it is handed to.
protocol SourceObject {
  /// The key; nil if it cannot be known.
  var key: ObjKey? { get }
  /// The value of the property at `index` of the table's columns.
  func value(_ index: Int) throws(EngineError) -> ValueView
  /// Calls `body` with each readable element of a list, and `onDamage` where some are not; false if the list must be
  /// read through `value`. Paid for with `effort`.
  func forEachElement(
    _ index: Int,
    _ effort: Effort,
    _ body: (ValueView) -> Void,
    onDamage: (EngineError) -> Void
  ) -> Bool
}

/// A table that objects are taken out of.
protocol SourceTable {
  var key: TableKey { get }
  var name: String { get }
  var kind: TableKind { get }
  var columns: [Column] { get }
  var primaryKeyIndex: Int? { get }
  /// The number of objects that the table says it has; nil if it does not.
  var claimedCount: Int? { get }
  /// The sequence number for the next object key.
  var nextSequence: Int64 { get }
  /// Calls `body` with each object that can be reached, known keys ascending, and `onDamage` where some cannot. Paid
  /// for with `effort`.
  func forEachObject(
    _ effort: Effort,
    _ body: (any SourceObject) throws(EngineError) -> Void,
    onDamage: (EngineError) throws(EngineError) -> Void
  ) throws(EngineError)
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
      do throws(EngineError) {
        // Each property has a leaf of a thousand rows at most.
        if next % 1000 == 0 { try effort.spend(Node.headerSize * table.columns.count, at: table.ref) }
        if try !cursor.seek(ObjKey(next)) { return }
      } catch { return try onDamage(error) }
      try body(row)
      next += 1
    }
  }
}

/// What `body` reads; nil where it is damaged, for those to whom the rest is still of use.
func ifReadable<R>(_ body: () throws(EngineError) -> R) -> R? {
  do throws(EngineError) { return try body() } catch { return nil }
}
