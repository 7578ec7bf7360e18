// Objects as records of CSV by RFC 4180, with line feeds: the names of the properties, then one record an object.
//
// Null is a field without anything, the empty string `""`. What has a plain text is that text; links are the primary
// key of their target; collections, embedded objects and Mixed values are JSON. `$key` is the object key of a class
// without primary key.

package import RealmJSON
package import RealmPages

/// Renders the objects of one class.
package final class CSVRenderer {
  private let table: Table
  private let dialect: CSVDialect
  private let tellsKey: Bool
  private let scratch = OutputBuffer()

  package init(_ table: Table, _ dialect: CSVDialect = CSVDialect()) {
    (self.table, self.dialect, tellsKey) = (table, dialect, table.primaryKey == nil)
  }

  /// Throws if a class has a property whose name the header needs for something else.
  package static func check(_ tables: [Table]) throws(TransferError) { try Member.check(tables) }

  /// Appends the line of the names.
  package func appendHeader(to out: OutputBuffer) {
    if tellsKey { out.append("$key") }
    for (index, column) in table.columns.enumerated() {
      if index > 0 || tellsKey { out.append(dialect.delimiter) }
      out.append(columnName: column.name, separator: dialect.delimiter)
    }
    out.append("\n")
  }

  /// Appends the record of the object that the cursor stands on; nothing if it is damaged.
  package func append(_ cursor: ObjectCursor, _ renderer: ObjectRenderer, to out: OutputBuffer) throws(RenderError) {
    let start = out.count
    do throws(RenderError) {
      if tellsKey { out.append(decimal: cursor.key.value) }
      for (index, column) in table.columns.enumerated() {
        if index > 0 || tellsKey { out.append(dialect.delimiter) }
        try field(index, column, cursor, renderer, out)
      }
      out.append("\n")
    } catch {
      out.truncate(to: start)
      throw error
    }
  }

  private func field(
    _ index: Int,
    _ column: Column,
    _ cursor: ObjectCursor,
    _ renderer: ObjectRenderer,
    _ out: OutputBuffer
  ) throws(RenderError) {
    let value: ValueView
    do throws(RenderError) { value = try renderer.read(index, of: cursor) } catch {
      throw renderer.error(error.reason, reading: column.name, of: cursor)
    }
    if column.collection == nil, column.type != .mixed {
      if case .string(let text) = value {
        return unsafe out.append(textField: text.unsafeBytes.bytes, separator: dialect.delimiter)
      }
      if renderer.style == .plain, append(plain: value, to: out) { return }
    }
    scratch.reset()
    try renderer.render(value, property: index, of: cursor, into: scratch)
    let text = unsafe scratch.unsafeBytes
    if unsafe text.elementsEqual("null".utf8) { return }
    var range = 0..<text.count
    if column.collection == nil, column.type != .mixed, unsafe isPlainString(text) { range = 1..<text.count - 1 }
    if dialect.decimalMark == .comma, column.collection == nil, [.float, .double, .decimal128].contains(column.type),
      unsafe text.first != UInt8(ascii: "{")
    {
      let bytes = unsafe text[range].map { $0 == UInt8(ascii: ".") ? UInt8(ascii: ",") : $0 }
      return unsafe out.append(field: bytes.span.bytes, separator: dialect.delimiter)
    }
    unsafe out.append(field: text.bytes.extracting(range), separator: dialect.delimiter)
  }

  /// Appends a value whose text needs no quotes in any dialect; false, and nothing is appended, for others.
  private func append(plain value: ValueView, to out: OutputBuffer) -> Bool {
    switch value {
    case .null: return true
    case .bool(let value): out.append(value ? "true" : "false")
    case .int(let value):
      guard ObjectRenderer.plainIntegers.contains(value) else { return false }
      out.append(decimal: value)
    case .float(let value):
      guard value.isFinite, dialect.decimalMark != .comma else { return false }
      out.append(real: value)
    case .double(let value):
      guard value.isFinite, dialect.decimalMark != .comma else { return false }
      out.append(real: value)
    case .date(let date): return dialect.delimiter != UInt8(ascii: ":") && out.append(date: date)
    case .objectID(let id): out.append(id)
    case .uuid(let id): out.append(id)
    case .string, .data, .decimal128, .link, .list, .set, .dictionary: return false
    }
    return true
  }

  /// Whether JSON is a string that is the same without its quotes. A key that looks like JSON stays JSON, so that it is
  /// read back as what it is.
  private func isPlainString(_ text: UnsafeRawBufferPointer) -> Bool {
    guard text.count > 1, unsafe text[0] == UInt8(ascii: "\""), unsafe text[text.count - 1] == UInt8(ascii: "\"") else {
      return false
    }
    return unsafe text[1] != UInt8(ascii: "{") && !text.contains(UInt8(ascii: "\\"))
  }
}
