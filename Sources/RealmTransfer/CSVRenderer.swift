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
    if column.collection == nil, column.type == .string {
      do throws(EngineError) {
        guard case .string(let text) = try cursor.value(index) else { return }
        unsafe text.withUnsafeBytes { unsafe out.append(textField: $0.bytes, separator: dialect.delimiter) }
      } catch { throw renderer.error(.damaged(error), reading: column.name, of: cursor) }
      return
    }
    scratch.reset()
    try renderer.render(property: index, of: cursor, into: scratch)
    if column.collection != nil || column.type == .mixed { return json(out) }
    var bytes = scratch.bytes
    if bytes.elementsEqual("null".utf8) { return }
    if dialect.decimalMark == .comma, [.float, .double, .decimal128].contains(column.type),
      bytes.first != UInt8(ascii: "{")
    {
      bytes = bytes.map { $0 == UInt8(ascii: ".") ? UInt8(ascii: ",") : $0 }
      let isText = bytes.first == UInt8(ascii: "\"")
      return field(bytes, isText ? 1..<bytes.count - 1 : 0..<bytes.count, out)
    }
    guard bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return json(out) }
    // A key that looks like JSON stays JSON, so that it is read back as what it is.
    let looksLikeJSON = bytes.count > 2 && (bytes[1] == UInt8(ascii: "{") || bytes[1] == UInt8(ascii: "\\"))
    if bytes.contains(UInt8(ascii: "\\")) || looksLikeJSON { return json(out) }
    field(bytes, 1..<bytes.count - 1, out)
  }

  /// The JSON in `scratch` as a field.
  private func json(_ out: OutputBuffer) {
    if scratch.bytes.elementsEqual("null".utf8) { return }
    unsafe scratch.withUnsafeBytes { unsafe out.append(field: $0.bytes, separator: dialect.delimiter) }
  }

  private func field(_ bytes: [UInt8], _ range: Range<Int>, _ out: OutputBuffer) {
    unsafe out.append(field: bytes.span.bytes.extracting(range), separator: dialect.delimiter)
  }
}
