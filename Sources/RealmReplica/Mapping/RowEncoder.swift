// Encodes objects as rows: all fields of a row in PostgreSQL's binary format, in sequence. COPY, statements and hashes
// use these fields, so there is only one way to convert an object to a row.

import RealmJSON
import RealmPages
import RealmTransfer

/// The reason that an object has no row.
enum RowFailure: Error {
  /// Values of these properties do not fit, and the table does not have their companion columns yet.
  case needsExact(properties: [Int])
  /// The object is damaged.
  case damaged(String)
}

/// Encodes the rows of one class, from one version.
final class RowEncoder {
  let table: ReplicaTable
  let source: Table
  let cursor: ObjectCursor
  private let snapshot: Snapshot
  private let renderer: ObjectRenderer
  /// The fields of the current row, without `realm`.
  let row = FieldBuffer()
  /// The offset of each field.
  private(set) var offsets: [Int] = []
  /// For each links table, the targets of the current object.
  private(set) var targets: [(fields: FieldBuffer, count: Int)]
  /// Properties with values that do not fit and no companion column.
  private var missing: [Int] = []
  private let scratch = OutputBuffer()
  let image = FieldBuffer()
  private var targetCursors: [TableKey: Target] = [:]
  /// Indexed like the properties.
  private let fields: [Field]

  /// A slot of the table without its strings, because it is read for each field of each row.
  private struct Field {
    enum Kind { case key, scalar, array, json, link, links }
    let kind: Kind
    /// The type of a scalar or of the elements.
    let scalar: ScalarForm
    /// True if the column cannot hold all values; true if it has a companion column.
    let canHoldOtherValues, hasExact: Bool
    /// For links: the index of their table.
    let links: Int

    init(_ slot: ReplicaTable.Slot, isKey: Bool) {
      switch slot {
      case .links(let position):
        (kind, scalar, canHoldOtherValues, hasExact, links) = (.links, ScalarForm(type: .int), false, false, position)
      case .value(let form, let hasExact):
        switch form {
        case .scalar(let scalar): (kind, self.scalar) = (isKey ? .key : .scalar, scalar)
        case .array(let scalar): (kind, self.scalar) = (.array, scalar)
        case .link(let target), .links(let target): (kind, scalar) = (.link, target.scalar)
        case .json: (kind, scalar) = (.json, ScalarForm(type: .mixed))
        }
        (canHoldOtherValues, self.hasExact, links) = (form.exact != nil, hasExact, 0)
      }
    }
  }

  private struct Target {
    let table: Table
    let cursor: ObjectCursor
    /// The index of the key property; nil for the object key.
    let key: Int?
  }

  init(_ table: ReplicaTable, _ source: Table, _ snapshot: Snapshot, _ renderer: ObjectRenderer, _ cursor: ObjectCursor)
  {
    (self.table, self.source, self.snapshot) = (table, source, snapshot)
    (self.renderer, self.cursor) = (renderer, cursor)
    targets = table.links.map { _ in (FieldBuffer(), 0) }
    fields = table.slots.enumerated().map { Field($1, isKey: $0 == table.keyProperty) }
  }

  // MARK: rows

  /// Encodes the row of the object at the cursor.
  func encode() throws(RowFailure) {
    row.reset()
    offsets.removeAll(keepingCapacity: true)
    if table.keyProperty == nil {
      unsafe offsets.append(row.count)
      row.append(Int32(8))
      row.append(cursor.key.value)
    }
    missing.removeAll(keepingCapacity: true)
    for index in fields.indices {
      if fields[index].kind == .links {
        try links(index, fields[index].links)
      } else {
        unsafe offsets.append(row.count)
        if !fastValue(index) { try value(index) }
      }
    }
    if !missing.isEmpty { throw .needsExact(properties: missing) }
  }

  /// A fast path: appends a value of a common type; returns false for all others.
  @inline(__always)
  private func fastValue(_ index: Int) -> Bool {
    let field = fields[index]
    guard field.kind == .scalar || field.kind == .key else { return false }
    switch field.scalar.type {
    case .int:
      guard let value = cursor.integer(index, of: cursor.key) else { return false }
      row.append(Int32(8))
      row.append(value)
    case .double:
      guard let value = cursor.double(index, of: cursor.key) else { return false }
      row.append(Int32(8))
      row.append(value.isNaN ? Double.nan.bitPattern : value.bitPattern)
    case .string where field.kind == .scalar:
      guard let text = cursor.text(index, of: cursor.key), unsafe text.unsafeBytes.isPostgresText else { return false }
      row.append(Int32(truncatingIfNeeded: text.count))
      unsafe row.append(text.unsafeBytes)
      if field.hasExact { appendNullCompanion() }
    default: return false
    }
    return true
  }

  private func appendNullCompanion() {
    unsafe offsets.append(row.count)
    row.appendNull()
  }

  private func value(_ index: Int) throws(RowFailure) {
    let field = fields[index]
    let value = try read { () throws(EngineError) in try cursor.value(index) }
    var fit = Fit.whole
    switch (field.kind, value) {
    case (_, .null): row.appendNull()
    case (.key, _): fit = row.append(key: value)
    case (.scalar, _): fit = row.append(value)
    case (.link, .link(let target, let key)): try link(to: target, key, into: row)
    case (.array, .list(let list)), (.array, .set(let list)):
      try enter(value)
      fit = try array(list, field.scalar)
    case (.json, .link(_, let key)) where key.value < 0: row.appendNull()
    case (.json, _): fit = try json(index, value)
    default: throw .damaged("\(source.name) object \(cursor.key): the type of the value is not that of the property")
    }
    guard field.canHoldOtherValues else { return }
    if case .whole = fit {
      if field.hasExact { appendNullCompanion() }
      return
    }
    if !field.hasExact { return missing.append(index) }
    unsafe offsets.append(row.count)
    try exact(index, value)
  }

  /// Appends the exact value to a companion column.
  private func exact(_ index: Int, _ value: ValueView) throws(RowFailure) {
    scratch.reset()
    switch value {
    case .string(let text) where fields[index].kind != .json: return row.append(field: text.bytes)
    case .decimal128(let decimal) where fields[index].kind != .json: scratch.append(decimal)
    case .date(let date) where fields[index].kind != .json: if !scratch.append(date: date) { fallthrough }
    default: try render(index)
    }
    let start = row.beginField()
    unsafe row.append(scratch.unsafeBytes)
    row.endField(start)
  }

  private func render(_ index: Int) throws(RowFailure) {
    do { try renderer.render(property: index, of: cursor, into: scratch) } catch {
      throw .damaged(error.description)
    }
  }

  private func json(_ index: Int, _ value: ValueView) throws(RowFailure) -> Fit {
    scratch.reset()
    try render(index)
    let start = row.beginField()
    row.append(byte: 1)
    let fit = unsafe JSONBText.append(scratch.unsafeBytes, to: row)
    if case .unfit = fit {
      row.truncate(to: start - 4)
      row.appendNull()
    } else {
      row.endField(start)
    }
    return fit
  }

  private func enter(_ value: ValueView) throws(RowFailure) {
    do { try renderer.enter(value) } catch { throw .damaged(error.description) }
  }

  private func array(_ list: ListView, _ form: ScalarForm) throws(RowFailure) -> Fit {
    var list = list, fit = Fit.whole
    let start = row.beginField()
    arrayHeader(list.count, hasNull: false, form.postgres.oid, row)
    var hasNull = false
    for index in 0..<list.count {
      let element = try read { () throws(EngineError) in try list.value(at: index) }
      if case .null = element {
        row.appendNull()
        hasNull = true
      } else {
        fit = .worse(fit, row.append(element))
      }
      if case .unfit = fit { break }
    }
    if case .unfit = fit {
      row.truncate(to: start - 4)
      row.appendNull()
      return fit
    }
    row.endField(start)
    if hasNull { row.store(Int32(1), at: start + 4) }
    return fit
  }

  func arrayHeader(_ count: Int, hasNull: Bool, _ oid: UInt32, _ out: FieldBuffer) {
    out.append(Int32(count == 0 ? 0 : 1))
    out.append(Int32(hasNull ? 1 : 0))
    out.append(oid)
    if count == 0 { return }
    out.append(Int32(truncatingIfNeeded: count))
    out.append(Int32(1))
  }

  // MARK: links

  private func links(_ index: Int, _ position: Int) throws(RowFailure) {
    let fields = targets[position].fields
    fields.reset()
    targets[position].count = 0
    let value = try read { () throws(EngineError) in try cursor.value(index) }
    guard case .list(var list) = value.asList else { return }
    try enter(value)
    for index in 0..<list.count {
      let element = try read { () throws(EngineError) in try list.value(at: index) }
      // As in the mounted tree, links to objects that do not exist yet are hidden.
      guard case .link(let target, let key) = element, key.value >= 0 else { continue }
      let before = unsafe fields.count
      try link(to: target, key, into: fields)
      if unsafe fields.field(at: before) == nil { fields.truncate(to: before) } else { targets[position].count += 1 }
    }
  }

  private func link(to tableKey: TableKey, _ key: ObjKey, into out: FieldBuffer) throws(RowFailure) {
    if key.value < 0 { return out.appendNull() }
    let target: Target
    if let known = targetCursors[tableKey] {
      target = known
    } else {
      guard let table = try read({ () throws(EngineError) in try snapshot.table(tableKey) }) else {
        throw .damaged("\(source.name) object \(cursor.key): links to a table that does not exist")
      }
      var index: Int?
      if case .property = RowKeyForm(table) { index = table.primaryKeyIndex }
      target = Target(table: table, cursor: ObjectCursor(table), key: index)
      targetCursors[tableKey] = target
    }
    let isThere = try read { () throws(EngineError) in
      target.cursor.key == key ? true : try target.cursor.seek(key)
    }
    guard isThere else {
      throw .damaged("\(source.name) object \(cursor.key): links to \(target.table.name)/\(key), which does not exist")
    }
    guard let index = target.key else {
      out.append(Int32(8))
      return out.append(key.value)
    }
    let value = try read { () throws(EngineError) in try target.cursor.value(index) }
    if case .null = value { throw .damaged("\(target.table.name)/\(key): the primary key is null") }
    _ = out.append(key: value)
  }

  private func read<R>(_ body: () throws(EngineError) -> R) throws(RowFailure) -> R {
    do { return try body() } catch { throw .damaged(error.description) }
  }

  // MARK: keys

  /// Returns the key field of the object at a cursor, without its length.
  static func key(of cursor: ObjectCursor, _ keyProperty: Int?) throws(EngineError) -> [UInt8] {
    guard let keyProperty else { return PostgresParameter.integer(cursor.key.value).bytes ?? [] }
    let buffer = FieldBuffer()
    _ = buffer.append(key: try cursor.value(keyProperty))
    return unsafe buffer.copy(4..<max(4, buffer.count))
  }

  /// The key field of the current row; nil for null.
  var keyField: UnsafeRawBufferPointer? {
    guard let position = table.columns.firstIndex(of: table.keyColumn) else { return nil }
    return unsafe row.field(at: offsets[position])
  }
}

extension ValueView {
  /// The value, with a set converted to a list of its elements.
  fileprivate var asList: ValueView { if case .set(let list) = self { .list(list) } else { self } }
}
