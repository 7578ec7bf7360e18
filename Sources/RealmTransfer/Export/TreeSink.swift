// Exports the files of a mounted tree, byte for byte: a directory for each class, a file for each object.

import Glibc
import RealmJSON
import RealmNames
import RealmPages

/// Writes a tree of JSON files.
final class TreeSink: ExportSink {
  private let target: ExportTarget
  private var root = ""
  private var directory = ""
  private let texts = OutputBuffer()
  private let name = OutputBuffer()
  private var files: [(name: String, end: Int)] = []

  init(_ target: ExportTarget) { self.target = target }

  func begin(_ tables: [Table], of snapshot: Snapshot) throws {
    guard case .path(let path) = target else {
      throw TransferError.unsuitable("a tree of files needs an output directory")
    }
    root = path
    try makeDirectory(root)
  }

  func beginClass(_ table: Table, of snapshot: Snapshot) throws {
    directory = root + "/" + NameEscaping.directory(of: table.className ?? table.name)
    try makeDirectory(directory)
  }

  func add(_ cursor: ObjectCursor, _ renderer: ObjectRenderer) throws {
    let start = texts.count
    try renderer.render(cursor, layout: .pretty, into: texts)
    do { files.append((try fileName(of: cursor), texts.count)) } catch {
      texts.truncate(to: start)
      throw error
    }
  }

  private func fileName(of cursor: ObjectCursor) throws(EngineError) -> String {
    name.reset()
    try NameEscaping.append(fileOf: cursor, column: cursor.table.primaryKeyIndex, to: name)
    return name.string
  }

  var isBatchFull: Bool { texts.count >= FileOutput.batchSize }

  func keepBatch() throws {
    var start = 0
    for file in files {
      try FileOutput(path: directory + "/" + file.name).write(texts, in: start..<file.end)
      start = file.end
    }
    dropBatch()
  }

  func dropBatch() {
    texts.reset()
    files.removeAll(keepingCapacity: true)
  }
}

/// Creates a directory with the usual mode.
func makeDirectory(_ path: String) throws {
  if unsafe mkdir(path, 0o777) != 0 { throw TransferError.file(path, errno) }
}
