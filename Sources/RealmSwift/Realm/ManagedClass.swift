// A class in one realm: where its properties are in the table of the version that is being read.

import RealmPages

/// A class of an open realm. One thread at a time, unless the realm is frozen.
final class ManagedClass {
  /// Nil for a class that is only known by its table.
  let schema: ClassSchema?
  let name: String
  let key: TableKey
  /// By position in the properties of the model: the columns. `ColKey(-1)` for what is not stored.
  private(set) var columnKeys: [ColKey] = []
  private(set) var columns: [Int] = []
  private(set) var table: Table
  private(set) var cursor: ObjectCursor
  /// Whether the realm was invalidated since.
  var isDead = false
  /// The generation of the context that `table` belongs to.
  private(set) var generation: Int

  init(_ schema: ClassSchema?, _ table: Table, _ generation: Int) {
    self.schema = schema
    name = schema?.name ?? table.className ?? table.name
    key = table.key
    self.table = table
    self.generation = generation
    cursor = ObjectCursor(table)
    findColumns()
  }

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
      property.isStored ? table.columns.firstIndex { $0.name == property.storedName } ?? -1 : -1
    }
    columnKeys = columns.map { $0 < 0 ? ColKey(-1) : table.columns[$0].key }
  }

  private func isColumn(_ property: Int) -> Bool {
    let column = columns[property]
    return column < 0 || column < table.columns.count && table.columns[column].key == columnKeys[property]
  }
}
