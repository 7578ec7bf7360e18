// Exports CSV or TSV: a stream or file with one class, or a directory with a file for each class.

import Glibc
import RealmJSON
import RealmNames
import RealmPages

/// Writes CSV records.
final class CSVSink: ExportSink {
  private let target: ExportTarget
  private let dialect: CSVDialect
  private let suffix: String
  private var output: FileOutput?
  private let buffer = OutputBuffer()
  private var record: CSVRenderer?

  init(_ target: ExportTarget, _ dialect: CSVDialect, suffix: String) {
    (self.target, self.dialect, self.suffix) = (target, dialect, suffix)
  }

  func begin(_ tables: [Table], of snapshot: Snapshot) throws {
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

  private func checkOne(_ tables: [Table]) throws {
    if tables.count == 1 { return }
    let names = tables.isEmpty ? "none" : tables.compactMap(\.className).joined(separator: ", ")
    throw TransferError.unsuitable("CSV holds one class (found \(names)): choose one with --class, or name a directory")
  }

  var hasOneClass: Bool { if case .path = target { false } else { true } }

  func beginClass(_ table: Table, of snapshot: Snapshot) throws {
    if case .path(let path) = target {
      output = try FileOutput(path: "\(path)/\(NameEscaping.directory(of: table.className ?? table.name))\(suffix)")
    }
    let record = CSVRenderer(table, dialect)
    record.appendHeader(to: buffer)
    self.record = record
    // The header is not part of the first batch, which may be discarded.
    try output?.write(buffer)
  }

  func add(_ cursor: ObjectCursor, _ renderer: ObjectRenderer) throws {
    try record?.append(cursor, renderer, to: buffer)
  }

  var isBatchFull: Bool { buffer.count >= FileOutput.batchSize }

  func keepBatch() throws { try output?.write(buffer) }

  func dropBatch() { buffer.reset() }
}
