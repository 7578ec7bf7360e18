// A class in one realm: maps its properties to the columns of the version being read.

import Glibc
import RealmPages

/// A class of an open realm. Used by one thread at a time, unless the realm is frozen.
@safe final class ManagedClass {
  // Safe: `cursor` is the object that `borrowedCursor` refers to, and the context outlives the class.
  // Fields used by each property read skip the run-time check for exclusive access, as in `RealmContext`.

  /// Nil for a class without a model, known only from its table.
  let schema: ClassSchema?
  let name: String
  let key: TableKey
  /// The column key of each property of the model; `ColKey(-1)` for properties that are not stored.
  @safe @exclusivity(unchecked) private(set) var columnKeys: [ColKey] = []
  @safe @exclusivity(unchecked) private(set) var columns: [Int] = []
  private(set) var table: Table
  @safe @exclusivity(unchecked) private(set) var cursor: ObjectCursor {
    didSet { unsafe borrowedCursor = Borrowed(cursor) }
  }
  @exclusivity(unchecked) private var borrowedCursor: Borrowed<ObjectCursor>
  /// True after the realm was invalidated.
  private(set) var isDead = false
  /// The generation of the context that `table` belongs to; -1 after the realm was invalidated.
  @safe @exclusivity(unchecked) private(set) var generation: Int
  /// The context, which retains this class.
  private let context: Borrowed<RealmContext>

  init(_ schema: ClassSchema?, _ context: RealmContext, _ table: Table, _ generation: Int) {
    self.schema = schema
    unsafe self.context = Borrowed(context)
    name = schema?.name ?? table.className ?? table.name
    key = table.key
    self.table = table
    self.generation = generation
    cursor = ObjectCursor(table)
    unsafe borrowedCursor = Borrowed(cursor)
    findColumns()
  }

  // Fast paths for the most frequent reads: nil if the cursor is not current on this thread.

  /// Returns an integer property of the object with `key`.
  func integer(_ property: Int, _ key: Int64) -> Int64? {
    if !isCurrent { return nil }
    return unsafe borrowedCursor.with { $0.integer(columns[property], of: ObjKey(key)) }
  }

  /// Returns a floating-point property of the object with `key`.
  func double(_ property: Int, _ key: Int64) -> Double? {
    if !isCurrent { return nil }
    return unsafe borrowedCursor.with { $0.double(columns[property], of: ObjKey(key)) }
  }

  /// Returns the bytes of a short string property of the object with `key`.
  func text(_ property: Int, _ key: Int64) -> ByteView? {
    if !isCurrent { return nil }
    return unsafe borrowedCursor.with { $0.text(columns[property], of: ObjKey(key)) }
  }

  /// True if the cursor reads the version that the realm reads now, and the caller is on the realm's thread.
  @inline(__always) private var isCurrent: Bool {
    unsafe context.with { $0.thread == pthread_self() && $0.generation == generation && !$0.isDirty }
  }

  /// Calls `body` with the context of the realm that the class belongs to.
  @inline(__always)
  func withContext<R>(_ body: (RealmContext) -> R) -> R { unsafe context.with(body) }

  /// Marks the class as dead: the realm was invalidated.
  func end() { (isDead, generation) = (true, -1) }

  func move(to table: Table, _ generation: Int) {
    self.generation = generation
    if table === self.table { return }
    self.table = table
    cursor = ObjectCursor(table)
    findColumns()
  }

  private func findColumns() {
    guard let schema else {
      columnKeys = table.columns.map(\.key)
      columns = Array(table.columns.indices)
      return
    }
    if columnKeys.count == schema.properties.count, columnKeys.indices.allSatisfy({ isColumn($0) }) { return }
    columns = schema.properties.map { property in
      property.isStored ? table.columns.firstIndex { $0.name.isExactly(property.storedName) } ?? -1 : -1
    }
    columnKeys = columns.map { $0 < 0 ? ColKey(-1) : table.columns[$0].key }
  }

  private func isColumn(_ property: Int) -> Bool {
    let column = columns[property]
    return column < 0 || column < table.columns.count && table.columns[column].key == columnKeys[property]
  }
}
