// Renders objects as CSV records according to RFC 4180, but with LF line endings: a header with the names of the
// properties, then one record per object.

package import RealmJSON
package import RealmPages

/// Renders the objects of one class.
///
/// An empty field is null, `""` is the empty string. A typed column contains plain values: integers as digits, links as
/// the primary key of their target. Collections, embedded objects and Mixed values are JSON, as are the few values
/// without plain text: links to objects whose primary key is null, strings that are not UTF-8, and dates before the
/// year 1 or after 9999. `$key` is the object key, in a class without a primary key.
package final class CSVRenderer {
  private let table: Table
  private let dialect: CSVDialect
  private let showsKey: Bool
  private let scratch = OutputBuffer()

  package init(_ table: Table, _ dialect: CSVDialect = CSVDialect()) {
    (self.table, self.dialect, showsKey) = (table, dialect, table.primaryKey == nil)
  }

  /// Throws if a class has a property whose name is reserved in the header.
  package static func check(_ tables: [Table]) throws { try Member.check(tables) }

  /// Appends the header.
  package func appendHeader(to out: OutputBuffer) {
    if showsKey { out.append("$key") }
    for (index, column) in table.columns.enumerated() {
      if index > 0 || showsKey { out.append(dialect.delimiter) }
      out.append(columnName: column.name, separator: dialect.delimiter)
    }
    out.append("\n")
  }

  /// Appends the record of the object at `cursor`. Throws, and appends nothing, if the object is damaged.
  package func append(_ cursor: ObjectCursor, _ renderer: ObjectRenderer, to out: OutputBuffer) throws(RenderError) {
    let start = out.count
    do {
      if showsKey { out.append(decimal: cursor.key.value) }
      for (index, column) in table.columns.enumerated() {
        if index > 0 || showsKey { out.append(dialect.delimiter) }
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
    let value: ValueView, shown: ValueView
    do {
      value = try renderer.read(index, of: cursor)
      shown = column.isPlain ? try renderer.shown(value) : value
    } catch {
      throw renderer.error(error.reason, reading: column.name, of: cursor)
    }
    if column.isPlain {
      if case .string(let text) = shown {
        let isLink = column.type == .link
        return unsafe out.append(textField: text.unsafeBytes.bytes, separator: dialect.delimiter, isLink: isLink)
      }
      if append(plain: shown, to: out) { return }
    }
    scratch.reset()
    try renderer.render(value, property: index, of: cursor, into: scratch)
    let text = unsafe scratch.unsafeBytes
    if unsafe text.elementsEqual("null".utf8) { return }
    unsafe out.append(field: text.bytes, separator: dialect.delimiter)
  }

  /// Appends a value that has a plain form, except strings. Returns false and appends nothing for all other values.
  private func append(plain value: ValueView, to out: OutputBuffer) -> Bool {
    switch value {
    // The common types need no quotes in any dialect.
    case .null: return true
    case .int(let value): out.append(decimal: value)
    case .bool(let value): out.append(value ? "true" : "false")
    case .objectID(let id): out.append(id)
    case .uuid(let id): out.append(id)
    case .float, .double, .decimal128:
      if dialect.decimalMark != .comma { return out.append(plain: value) }
      scratch.reset()
      if !scratch.append(plain: value) { return false }
      let text = scratch.bytes.map { $0 == UInt8(ascii: ".") ? UInt8(ascii: ",") : $0 }
      unsafe out.append(field: text.span.bytes, separator: dialect.delimiter)
    case .date, .data:
      scratch.reset()
      if !scratch.append(plain: value) { return false }
      unsafe out.append(field: scratch.unsafeBytes.bytes, separator: dialect.delimiter)
    case .string, .link, .list, .set, .dictionary: return false
    }
    return true
  }
}
