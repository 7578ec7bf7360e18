// Exports JSON Lines, one compact object per line, or an array of such lines. Members before the properties identify
// the object where the properties do not: `$class` if several classes share a file, `$key` if a class has no primary
// key.

import RealmJSON
import RealmNames
import RealmPages

/// Writes JSON Lines: a stream or file, or a directory with a file for each class; arrays only to a stream or file.
final class LineSink: ExportSink {
  private let target: ExportTarget
  private var output: FileOutput?
  private var sharesStream = false
  private let buffer = OutputBuffer()
  /// The start of each line: `{"$class":"Person",`, or only the brace.
  private let prefix = OutputBuffer()
  private let scratch = OutputBuffer()
  private var showsKey = false
  private let isArray: Bool
  /// The number of objects added, and of those kept.
  private var count = 0
  private var keptCount = 0

  init(_ target: ExportTarget, isArray: Bool = false) { (self.target, self.isArray) = (target, isArray) }

  func begin(_ tables: [Table], of snapshot: Snapshot) throws {
    sharesStream = tables.count > 1
    try Member.check(tables)
    switch target {
    case .stream(let descriptor): output = FileOutput(descriptor: descriptor, name: "standard output")
    case .file(let path): output = try FileOutput(path: path)
    case .path(let path): try makeDirectory(path)
    }
  }

  func beginClass(_ table: Table, of snapshot: Snapshot) throws {
    let name = table.className ?? table.name
    prefix.reset()
    prefix.append("{")
    if case .path(let path) = target {
      output = try FileOutput(path: "\(path)/\(NameEscaping.directory(of: name)).jsonl")
    } else if sharesStream {
      prefix.append("\"$class\":")
      prefix.append(quoted: name)
    }
    showsKey = table.primaryKey == nil
  }

  func add(_ cursor: ObjectCursor, _ renderer: ObjectRenderer) throws {
    guard isArray else { return try addLine(cursor, renderer) }
    let start = buffer.count
    buffer.append(count == 0 ? "[\n" : ",\n")
    do { try addLine(cursor, renderer) } catch {
      buffer.truncate(to: start)
      throw error
    }
    // Without the line break, which is written with the comma.
    buffer.truncate(to: buffer.count - 1)
    count += 1
  }

  private func addLine(_ cursor: ObjectCursor, _ renderer: ObjectRenderer) throws {
    if prefix.count == 1 && !showsKey { return try renderer.render(cursor, layout: .compact, into: buffer) }
    scratch.reset()
    try renderer.render(cursor, layout: .compact, into: scratch)
    buffer.append(prefix, in: 0..<prefix.count)
    if showsKey {
      if prefix.count > 1 { buffer.append(",") }
      buffer.append("\"$key\":")
      buffer.append(decimal: cursor.key.value)
    }
    // An object without properties is `{}` and a line break.
    if scratch.count > 3 { buffer.append(",") }
    buffer.append(scratch, in: 1..<scratch.count)
  }

  var isBatchFull: Bool { buffer.count >= FileOutput.batchSize }

  func keepBatch() throws {
    keptCount = count
    try output?.write(buffer)
  }

  func dropBatch() {
    count = keptCount
    buffer.reset()
  }

  func finish() throws {
    if !isArray { return }
    buffer.append(count == 0 ? "[]\n" : "\n]\n")
    try output?.write(buffer)
  }
}

/// Members of a line that are not properties.
enum Member {
  static let `class` = "$class"
  static let key = "$key"

  /// Throws if a class has a property with such a name, because its values would be misread.
  static func check(_ tables: [Table]) throws {
    for table in tables {
      for column in table.columns where column.name == Self.class || column.name == key {
        throw TransferError.unsuitable(
          "\(table.className ?? table.name) has a property \"\(column.name)\", a reserved name in this"
            + " format; export it with --format json"
        )
      }
    }
  }
}
