// What a transaction must know of the columns of a table to change its objects, in the form in which it asks.

/// What listing an object must know of a column with an index.
struct IndexedColumn {
  /// In the columns of the table.
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

/// The columns of a table as a transaction uses them.
struct EditedColumns: Sendable {
  /// What the values of each column are, and whether it holds one value.
  let elements: [ElementType]
  let isSingle: [Bool]
  let columnKeys: [ColKey]
  /// The columns that have an index.
  let indexes: [IndexedColumn]
  /// By leaf position: the position among the columns, or -1.
  let columnsByLeaf: [Int]
  let layout: RowLayout

  /// From the spec of the table `name`, whose top array is at `ref`.
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
