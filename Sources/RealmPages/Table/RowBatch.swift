// Many new objects of one class, column by column. A thread without a transaction can build a batch from its input; the
// transaction then adds all objects at once. A batch holds single values and links by primary key, which is all that
// most objects have. Other objects are created one at a time.

/// The part of a class's objects that a batch can hold.
package final class RowForm: Sendable {
  /// The representation of a property in a batch.
  package enum Kind: Sendable {
    /// A value of the property's type.
    case value
    /// The primary key of a link's target.
    case link
    /// An empty collection; a dictionary if not `isArray`.
    case collection(isArray: Bool)
    /// Null: an embedded object, a Mixed, or a link to a class without primary key.
    case null
  }

  /// One property.
  package struct Field: Sendable {
    package let name: [UInt8]
    package let kind: Kind
    /// The type of the values in the batch.
    package let type: ValueType
    package let isNullable: Bool
    let column: Column
    /// The position among the columns of a batch; -1 for a collection.
    let place: Int
    let element: ElementType
  }

  /// The class.
  package let table: TableKey
  /// The properties in schema order.
  package let fields: [Field]
  /// The position of the primary key in `fields`.
  package let primaryKey: Int?
  /// For each column of a batch, its position in `fields` and whether it is required.
  let placed: [(field: Int, isRequired: Bool)]

  /// `keyType` returns the type of the primary key of a class that is the target of single links; nil if it has none.
  init(
    _ table: TableEditor,
    keyType: (TableKey) throws(EngineError) -> ValueType?
  ) throws(EngineError) {
    self.table = table.key
    primaryKey = table.primaryKeyIndex
    var fields: [Field] = [], places = 0
    for column in table.columns {
      var kind = Kind.value, element = column.element
      if let collection = column.collection {
        kind = .collection(isArray: collection != .dictionary)
      } else if column.type == .mixed {
        kind = .null
      } else if column.type == .link {
        kind = .null
        if let target = column.targetTable, let type = try keyType(target) {
          kind = .link
          element = ElementType(type, isNullable: true)
        }
      }
      let isSingle = column.collection == nil
      fields.append(
        Field(
          name: Array(column.name.utf8),
          kind: kind,
          type: element.type,
          isNullable: column.isNullable,
          column: column,
          place: isSingle ? places : -1,
          element: element
        )
      )
      if isSingle { places += 1 }
    }
    self.fields = fields
    placed = fields.enumerated().filter { $0.element.place >= 0 }.map { (index, field) in
      if case .value = field.kind { (index, !field.isNullable) } else { (index, false) }
    }
  }

  /// Returns true if a class still has these properties.
  func fits(_ columns: [Column]) -> Bool {
    columns.count == fields.count
      && zip(columns, fields).allSatisfy { (column, field) in
        column.key == field.column.key && column.type == field.column.type && column.name.isExactly(field.column.name)
          && column.isNullable == field.column.isNullable && column.collection == field.column.collection
          && column.targetTable == field.column.targetTable
      }
  }
}

/// New objects of a class, as far as its form can represent them.
package struct RowBatch: Sendable {
  package let form: RowForm
  private var columns: [NewColumn]
  /// The number of objects.
  package private(set) var count = 0
  /// The required fields without a value in an object, in object order.
  private var defaulted: [(row: Int, field: Int)] = []

  /// An empty batch with room for `capacity` objects.
  package init(_ form: RowForm, capacity: Int) {
    self.form = form
    columns = form.fields.filter { $0.place >= 0 }.map { NewColumn($0.element) }
    for i in columns.indices { columns[i].reserve(capacity) }
  }

  // MARK: the object being added

  /// Returns true if the object being added has a value for this field, given by its position in the form.
  package func has(_ field: Int) -> Bool {
    let place = form.fields[field].place
    return place >= 0 && columns[place].count > count
  }

  /// Sets a field to an integer, a boolean as 1 or 0, or the bit pattern of a floating-point number.
  package mutating func append(bits: Int64, _ field: Int) { columns[form.fields[field].place].append(bits: bits) }

  /// Sets a field to a UTF-8 string or a binary, of at most `longestText` bytes.
  package mutating func append(text: ArraySlice<UInt8>, _ field: Int) {
    columns[form.fields[field].place].append(text: text)
  }

  /// Sets a field to a value of its type, or to null if the field is nullable.
  package mutating func append(_ value: Value, _ field: Int) { _ = columns[form.fields[field].place].append(value) }

  /// The maximum size of a string or binary in a batch.
  package static let longestText = 1 << 20

  /// Adds the object. Fields without a value get their defaults.
  package mutating func endRow() {
    count += 1
    for place in columns.indices where columns[place].count < count {
      columns[place].appendDefault()
      let (field, isRequired) = form.placed[place]
      if isRequired { defaulted.append((count - 1, field)) }
    }
  }

  /// Returns, for each required property, the number of the given rows that got its default.
  package func defaulted(in rows: Range<Int>) -> [ColKey: Int] {
    var counts: [ColKey: Int] = [:]
    for (row, field) in defaulted where rows.contains(row) { counts[form.fields[field].column.key, default: 0] += 1 }
    return counts
  }

  /// Discards the values of the object being added.
  package mutating func dropRow() { for i in columns.indices { columns[i].truncate(to: count) } }

  // MARK: for the transaction

  /// Calls `body` with the value of a field; for a link, the primary key of its target.
  func withView<R>(
    _ row: Int,
    _ field: Int,
    _ body: (ValueView) throws(EngineError) -> R
  ) throws(EngineError) -> R {
    try columns[form.fields[field].place].withView(row, body)
  }

  /// Returns the objects from `first` on as rows, without their links.
  func rows(_ layout: RowLayout, first: Int) -> NewRows {
    let batch = form.fields.filter { $0.place >= 0 }.map { (field) -> (position: Int, column: NewColumn) in
      guard case .link = field.kind else { return (field.column.key.leafPosition, columns[field.place]) }
      var links = NewColumn(field.column.element)
      links.reserve(count)
      for _ in 0..<first { links.append(link: nil) }
      return (field.column.key.leafPosition, links)
    }
    return NewRows(layout, batch, first: first)
  }
}
