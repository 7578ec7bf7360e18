// CSV by RFC 4180, with line feeds: the names of the properties, then one record an object.
//
// Null is a field without anything, the empty string `""`. What has a plain text is that text; links are the primary
// key of their target; collections, embedded objects and Mixed values are JSON. `$key` is the object key of a class
// without primary key.

import Glibc
import RealmJSON
import RealmNames
import RealmPages

/// Writes CSV: one class as a stream, or a directory with a file for each class.
final class CSVSink: ExportSink {
  private let target: ExportTarget
  private let dialect: CSVDialect
  private let suffix: String
  private var output: FileOutput?
  private let buffer = OutputBuffer()
  private let scratch = OutputBuffer()
  private var tellsKey = false

  init(_ target: ExportTarget, _ dialect: CSVDialect, suffix: String) {
    (self.target, self.dialect, self.suffix) = (target, dialect, suffix)
  }

  func begin(_ tables: [Table], of snapshot: Snapshot) throws(TransferError) {
    try Member.check(tables)
    switch target {
    case .path(let path): try makeDirectory(path)
    case .file(let path):
      try checkOne(tables)
      output = try FileOutput(path: path)
    case .stream(let descriptor):
      try checkOne(tables)
      output = FileOutput(descriptor: descriptor, name: "standard output")
    }
  }

  private func checkOne(_ tables: [Table]) throws(TransferError) {
    if tables.count == 1 { return }
    let names = tables.isEmpty ? "none" : tables.compactMap(\.className).joined(separator: ", ")
    throw .unsuitable("a file of CSV has one class, here are \(names): choose one with --class, or name a directory")
  }

  func beginClass(_ table: Table) throws(TransferError) {
    if case .path(let path) = target {
      output = try FileOutput(path: "\(path)/\(NameEscaping.directory(of: table.className ?? table.name))\(suffix)")
    }
    tellsKey = table.primaryKey == nil
    var isFirst = true
    if tellsKey {
      buffer.append("$key")
      isFirst = false
    }
    for column in table.columns {
      if !isFirst { buffer.append(dialect.delimiter) }
      isFirst = false
      buffer.append(columnName: column.name, separator: dialect.delimiter)
    }
    buffer.append("\n")
    // Not a part of the first batch, which may be forgotten.
    try output?.write(buffer)
  }

  func add(_ cursor: ObjectCursor, _ renderer: ObjectRenderer) throws(TransferError) {
    let start = buffer.count
    do throws(TransferError) {
      if tellsKey { buffer.append(decimal: cursor.key.value) }
      for (index, column) in cursor.table.columns.enumerated() {
        if index > 0 || tellsKey { buffer.append(dialect.delimiter) }
        try field(index, column, cursor, renderer)
      }
      buffer.append("\n")
    } catch {
      buffer.truncate(to: start)
      throw error
    }
  }

  private func field(
    _ index: Int,
    _ column: Column,
    _ cursor: ObjectCursor,
    _ renderer: ObjectRenderer
  ) throws(TransferError) {
    if column.collection == nil, column.type == .string {
      do throws(FormatError) {
        guard case .string(let text) = try cursor.value(index) else { return }
        text.withUnsafeBytes { buffer.append(textField: $0.bytes, separator: dialect.delimiter) }
      } catch { throw .damaged(error.description) }
      return
    }
    scratch.reset()
    try renderer.sparing { () throws(RenderError) in try renderer.render(property: index, of: cursor, into: scratch) }
    if column.collection != nil || column.type == .mixed { return json() }
    var bytes = scratch.bytes
    if bytes.elementsEqual("null".utf8) { return }
    if dialect.decimalMark == .comma, [.float, .double, .decimal128].contains(column.type),
      bytes.first != UInt8(ascii: "{")
    {
      bytes = bytes.map { $0 == UInt8(ascii: ".") ? UInt8(ascii: ",") : $0 }
      let isText = bytes.first == UInt8(ascii: "\"")
      return field(bytes, isText ? 1..<bytes.count - 1 : 0..<bytes.count)
    }
    guard bytes.first == UInt8(ascii: "\""), bytes.last == UInt8(ascii: "\"") else { return json() }
    // A key that looks like JSON stays JSON, so that it is read back as what it is.
    let looksLikeJSON = bytes.count > 2 && (bytes[1] == UInt8(ascii: "{") || bytes[1] == UInt8(ascii: "\\"))
    if bytes.contains(UInt8(ascii: "\\")) || looksLikeJSON { return json() }
    field(bytes, 1..<bytes.count - 1)
  }

  /// The JSON in `scratch` as a field.
  private func json() {
    if scratch.bytes.elementsEqual("null".utf8) { return }
    scratch.withUnsafeBytes { buffer.append(field: $0.bytes, separator: dialect.delimiter) }
  }

  private func field(_ bytes: [UInt8], _ range: Range<Int>) {
    buffer.append(field: bytes.span.bytes.extracting(range), separator: dialect.delimiter)
  }

  var isBatchFull: Bool { buffer.count >= FileOutput.batchSize }

  func keepBatch() throws(TransferError) { try output?.write(buffer) }

  func dropBatch() { buffer.reset() }
}
