// A class in one realm: where its properties are in the table of the version that is being read.

import RealmPages

/// A class of an open realm. One thread at a time, unless the realm is frozen.
final class ManagedClass {
  /// Nil for a class that is only known by its table.
  let schema: ClassSchema?
  let name: String
  let key: TableKey
  /// Whether several threads use it.
  let isShared: Bool
  /// By position in the properties of the model: the columns. `ColKey(-1)` for what is not stored.
  private(set) var columnKeys: [ColKey] = []
  private(set) var columns: [Int] = []
  private(set) var table: Table
  private(set) var cursor: ObjectCursor
  /// Whether the realm was invalidated since.
  var isDead = false
  /// The generation of the context that `table` belongs to.
  private(set) var generation: Int

  init(_ schema: ClassSchema?, _ table: Table, _ generation: Int, isShared: Bool = false) {
    self.schema = schema
    self.isShared = isShared
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

  // MARK: key paths

  /// The positions of properties by the key paths of their storage, which the compiler makes once: looking a key path
  /// up takes less time than applying it. They are kept, so that no other one gets the address.
  private var positions: [ObjectIdentifier: (path: AnyKeyPath, index: Int)] = [:]

  @inline(__always)
  func index(of storage: AnyKeyPath) -> Int? { isShared ? nil : positions[ObjectIdentifier(storage)]?.index }

  func note(_ storage: AnyKeyPath, _ index: Int) {
    // Key paths of generic code are made anew each time.
    if isShared || positions.count > 4 * columnKeys.count { return }
    positions[ObjectIdentifier(storage)] = (storage, index)
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
