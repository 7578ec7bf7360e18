// Rows that are to be made. Those at the end of a table wait until there are enough of them, or until somebody wants to
// see them: what a leaf must be asked is then asked once for all of them.

/// The key of a new object and the values given for it; its other properties take their defaults.
struct NewRow {
  let key: ObjKey
  private let primaryKey: (column: ColKey, value: Value)?
  private let values: [(ColKey, Value)]

  /// A property is expected once; of two values the first counts.
  init(_ key: ObjKey, primaryKey: (column: ColKey, value: Value)? = nil, _ values: [(ColKey, Value)] = []) {
    self.key = key
    self.primaryKey = primaryKey
    self.values = values
  }

  /// The bytes of its strings and binaries.
  var byteCount: Int {
    var count = 0
    for (_, value) in values {
      switch value {
      case .string(let bytes), .data(let bytes): count += bytes.count
      default: break
      }
    }
    return count
  }

  /// Calls `body` with the value given for the column at `position`, nil if none was. `hint` is where it is looked for
  /// first, and where it was found.
  @inline(__always)
  func withView<R>(
    _ position: Int,
    _ hint: inout Int,
    _ body: (ValueView?) throws(FormatError) -> R
  ) throws(FormatError) -> R {
    if let primaryKey, primaryKey.column.leafPosition == position { return try primaryKey.value.withView(body) }
    if hint < values.count, values[hint].0.leafPosition == position { return try values[hint].1.withView(body) }
    for index in values.indices where values[index].0.leafPosition == position {
      hint = index
      return try values[index].1.withView(body)
    }
    return try body(nil)
  }
}

/// One column of new rows.
struct NewColumn {
  let rows: ArraySlice<NewRow>
  /// In the cluster.
  let position: Int
  /// What a row has for which no value was given.
  let defaultValue: ValueView

  var count: Int { rows.count }

  /// Calls `body` with each row's value.
  @inline(__always)
  func forEach(_ body: (ValueView) throws(FormatError) -> Void) throws(FormatError) {
    var hint = 0
    for row in rows {
      try row.withView(position, &hint) { (view) throws(FormatError) in try body(view ?? defaultValue) }
    }
  }
}
