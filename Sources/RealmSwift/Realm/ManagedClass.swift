// A class in one realm: where its properties are in the table of the version that is being read.

import Glibc
import RealmPages

/// A class of an open realm. One thread at a time, unless the realm is frozen.
@safe final class ManagedClass {
  // Safe: `cursor` keeps what `borrowedCursor` refers to, and the context keeps the class for as long as it lives.
  // What each read of a property looks at is not checked for exclusive access at run time, as in `RealmContext`.

  /// Nil for a class that is only known by its table.
  let schema: ClassSchema?
  let name: String
  let key: TableKey
  /// By position in the properties of the model: the columns. `ColKey(-1)` for what is not stored.
  @safe @exclusivity(unchecked) private(set) var columnKeys: [ColKey] = []
  @safe @exclusivity(unchecked) private(set) var columns: [Int] = []
  private(set) var table: Table
  @safe @exclusivity(unchecked) private(set) var cursor: ObjectCursor {
    didSet { unsafe borrowedCursor = Borrowed(cursor) }
  }
  @exclusivity(unchecked) private var borrowedCursor: Borrowed<ObjectCursor>
  /// Whether the realm was invalidated since.
  private(set) var isDead = false
  /// The generation of the context that `table` belongs to; -1 if the realm was invalidated since.
  @safe @exclusivity(unchecked) private(set) var generation: Int
  /// The context, which keeps the class.
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

  // What is read most, if the cursor stands for what is read now, on this thread; nil else.

  /// An integer property of the object with a key.
  func integer(_ property: Int, _ key: Int64) -> Int64? {
    if !isCurrent { return nil }
    return unsafe borrowedCursor.with { $0.integer(columns[property], of: ObjKey(key)) }
  }

  /// A property of floating point.
  func double(_ property: Int, _ key: Int64) -> Double? {
    if !isCurrent { return nil }
    return unsafe borrowedCursor.with { $0.double(columns[property], of: ObjKey(key)) }
  }

  /// The bytes of a short text.
  func text(_ property: Int, _ key: Int64) -> ByteView? {
    if !isCurrent { return nil }
    return unsafe borrowedCursor.with { $0.text(columns[property], of: ObjKey(key)) }
  }

  /// Whether the cursor stands for what is read now, on this thread.
  @inline(__always) private var isCurrent: Bool {
    unsafe context.with { $0.thread == pthread_self() && $0.generation == generation && !$0.isDirty }
  }

  /// Calls `body` with the realm of the class.
  @inline(__always)
  func withContext<R>(_ body: (RealmContext) -> R) -> R { unsafe context.with(body) }

  /// Ends what was read: the realm was invalidated.
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
