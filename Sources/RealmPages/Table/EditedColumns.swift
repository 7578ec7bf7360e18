// The columns of a table in the form that a transaction needs to change objects.

/// The properties of an indexed column that are needed to add objects to its index.
struct IndexedColumn {
  /// The position among the table's columns.
  let index: Int
  let key: ColKey
  let element: ElementType
  let isFullText: Bool
  let isSingle: Bool

  init(_ index: Int, _ column: Column) {
    self.index = index
    key = column.key
    element = column.element
    isFullText = column.index == .fullText
    isSingle = column.collection == nil
  }
}

/// The columns of a table, as used by a transaction.
struct EditedColumns: Sendable {
  /// The element type of each column, and whether the column holds a single value.
  let elements: [ElementType]
  let isSingle: [Bool]
  let columnKeys: [ColKey]
  /// The columns with an index.
  let indexes: [IndexedColumn]
  /// For each leaf position, the position among the columns, or -1.
  let columnsByLeaf: [Int]
  let layout: RowLayout

  /// Derives the columns from the spec of the table `name`, whose top array is at `ref`.
  init(_ spec: Spec, at ref: Int, _ name: String) throws(EngineError) {
    let columns = spec.columns
    elements = columns.map(\.element)
    columnKeys = columns.map(\.key)
    isSingle = columns.map { $0.collection == nil }
    indexes = columns.indices.filter { columns[$0].indexRef != 0 }.map { IndexedColumn($0, columns[$0]) }
    var byLeaf = Array(repeating: -1, count: (columns.map(\.key.leafPosition).max() ?? -1) + 1)
    for (i, column) in columns.enumerated() { byLeaf[column.key.leafPosition] = i }
    columnsByLeaf = byLeaf
    var positions: Set<Int> = []
    for key in columns.map(\.key) + spec.backlinks.map(\.key) where !positions.insert(key.leafPosition).inserted {
      throw .damaged("table \(name): two columns at position \(key.leafPosition)", ref: ref)
    }
    layout = RowLayout(
      columns.map { column in
        ClusterColumn(
          position: column.key.leafPosition,
          kind: column.collection == nil ? .scalar(column.element, enumRef: column.enumRef) : .collection
        )
      } + spec.backlinks.map { ClusterColumn(position: $0.key.leafPosition, kind: .backlink) }
    )
  }
}
