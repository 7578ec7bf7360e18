// Many new objects of one class, column by column. A thread that has no transaction can make them from what it reads;
// the transaction then takes all at once. A batch holds what most objects consist of: single values, and links by the
// primary keys of their targets. Any other object is made by itself.

/// What a batch can hold of the objects of a class.
package final class RowForm: Sendable {
  /// What a property holds in a batch.
  package enum Kind: Sendable {
    /// A value of the property's type.
    case value
    /// The primary key of the object that a link leads to.
    case link
    /// A collection, which is empty; a dictionary if not `isArray`.
    case collection(isArray: Bool)
    /// Null: an embedded object, a Mixed, a link to a class without primary key.
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
    /// Where the column is among those of a batch; -1 for a collection.
    let place: Int
    let element: ElementType
  }

  /// The class.
  package let table: TableKey
  /// The properties in the order of the class.
  package let fields: [Field]
  /// The position of the primary key in `fields`.
  package let primaryKey: Int?
  /// The position in `fields` of each column of a batch, and whether the property is required.
  let placed: [(field: Int, isRequired: Bool)]

  /// `keyType` tells the type of the primary key of a class that single objects of this one link to; nil if it has
  /// none.
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

  /// Whether a class has these properties still.
  func fits(_ columns: [Column]) -> Bool {
    columns.count == fields.count
      && zip(columns, fields).allSatisfy { (column, field) in
        column.key == field.column.key && column.type == field.column.type && column.name.isExactly(field.column.name)
          && column.isNullable == field.column.isNullable && column.collection == field.column.collection
          && column.targetTable == field.column.targetTable
      }
  }
}

/// New objects of a class, as far as its form can hold them.
package struct RowBatch: Sendable {
  package let form: RowForm
  private var columns: [NewColumn]
  /// The number of objects.
  package private(set) var count = 0
  /// The required fields that objects were not given, in the order of the objects.
  private var defaulted: [(row: Int, field: Int)] = []

  /// No objects yet; there is room for `capacity`.
  package init(_ form: RowForm, capacity: Int) {
    self.form = form
    columns = form.fields.filter { $0.place >= 0 }.map { NewColumn($0.element) }
    for i in columns.indices { columns[i].reserve(capacity) }
  }

  // MARK: the object that is being added

  /// Whether it has a value for this field, by its position in the form.
  package func has(_ field: Int) -> Bool {
    let place = form.fields[field].place
    return place >= 0 && columns[place].count > count
  }

  /// Gives it a whole number, true or false as 1 or 0, or the bits of a floating-point number.
  package mutating func append(bits: Int64, _ field: Int) { columns[form.fields[field].place].append(bits: bits) }

  /// Gives it a string in UTF-8 or a binary, of at most `longestText` bytes.
  package mutating func append(text: ArraySlice<UInt8>, _ field: Int) {
    columns[form.fields[field].place].append(text: text)
  }

  /// Gives it a value of the field's type, or null where the field can be null.
  package mutating func append(_ value: Value, _ field: Int) { _ = columns[form.fields[field].place].append(value) }

  /// The bytes of the longest text of a batch.
  package static let longestText = 1 << 20

  /// Adds the object; what it was not given takes its default.
  package mutating func endRow() {
    count += 1
    for place in columns.indices where columns[place].count < count {
      columns[place].appendDefault()
      let (field, isRequired) = form.placed[place]
      if isRequired { defaulted.append((count - 1, field)) }
    }
  }

  /// How many of some rows took the default of a required property, by the property.
  package func defaulted(in rows: Range<Int>) -> [ColKey: Int] {
    var counts: [ColKey: Int] = [:]
    for (row, field) in defaulted where rows.contains(row) { counts[form.fields[field].column.key, default: 0] += 1 }
    return counts
  }

  /// Forgets what the object was given.
  package mutating func dropRow() { for i in columns.indices { columns[i].truncate(to: count) } }

  // MARK: the transaction's

  /// Calls `body` with what a field holds: of a link the primary key of its target.
  func withView<R>(
    _ row: Int,
    _ field: Int,
    _ body: (ValueView) throws(EngineError) -> R
  ) throws(EngineError) -> R {
    try columns[form.fields[field].place].withView(row, body)
  }

  /// The objects from `first` on as rows, but for their links.
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
