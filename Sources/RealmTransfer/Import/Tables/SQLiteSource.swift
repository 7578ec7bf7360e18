// The tables of a SQLite database as a source of an import. The database is never changed: it is opened for reading, or
// copied first if SQLite would have to complete it from a journal.

import Glibc
import RealmJSON
import RealmPages

/// A database: one that `realmfs export` wrote, or any other.
final class SQLiteSource: TableSource {
  /// The path in messages.
  private let path: String
  /// The path without symbolic links. SQLite keeps the journals beside this file.
  private let file: String
  private let database: SQLiteDatabase
  /// The state of the file, which must not change while it is read; nil if a copy is read.
  private var before: FileState?
  private var mapped: SQLiteMapping?
  private var records: SQLiteRecords?
  private(set) var notes: [String] = []

  let isCSV = false

  init(_ path: String) throws {
    self.path = path
    guard let file = RealmLinks.real(path) else { throw TransferError.file(path, errno) }
    self.file = file
    before = try FileState(file)
    let journals = ["-wal", "-journal"].filter { FileState.size(file + $0) > 0 }
    if journals.isEmpty {
      database = try SQLiteDatabase(reading: file, name: path, try Self.usesWAL(file) ? .immutable : .locked)
      // A lock held until the end keeps other programs from changing the database while it is read.
      try database.execute("BEGIN; SELECT count(*) FROM sqlite_master")
      return
    }
    let copy = try PrivateCopy(of: file, journals, name: path)
    // SQLite keeps the files open, so the names are not needed after the first statement.
    defer { copy.remove() }
    database = try SQLiteDatabase(reading: copy.path, name: path, .copy)
    try database.execute("BEGIN; SELECT count(*) FROM sqlite_master")
    try checkUnchanged()
    before = nil
    notes.append("\(path): read with the changes in \(journals.map { path + $0 }.joined(separator: " and "))")
  }

  /// The size and time of a file, by which a change is noticed.
  private struct FileState: Equatable {
    private let device: UInt, inode: UInt, size: Int, seconds: Int, nanoseconds: Int

    init(_ path: String) throws {
      var status = stat()
      if unsafe stat(path, &status) != 0 { throw TransferError.file(path, errno) }
      (device, inode, size) = (UInt(status.st_dev), UInt(status.st_ino), Int(status.st_size))
      (seconds, nanoseconds) = (status.st_mtim.tv_sec, status.st_mtim.tv_nsec)
    }

    static func size(_ path: String) -> Int {
      var status = stat()
      return unsafe stat(path, &status) == 0 ? Int(status.st_size) : 0
    }
  }

  private func checkUnchanged() throws {
    if let before, try FileState(file) != before {
      throw TransferError.unsuitable(
        "\(path) was changed while it was read; close the program that writes it, and import again"
      )
    }
  }

  /// True if the header says that the database uses a write-ahead log: https://sqlite.org/fileformat2.html 1.3.3.
  private static func usesWAL(_ path: String) throws -> Bool {
    let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
    if file < 0 { throw TransferError.file(path, errno) }
    defer { close(file) }
    var head = [UInt8](repeating: 0, count: 20)
    return unsafe pread(file, &head, head.count, 0) == head.count && head[18] == 2
  }

  // MARK: tables

  var tables: [(name: String, className: String?)] {
    mapped?.tables.map { ("\(path): table \($0.table.name)", $0.className) } ?? []
  }

  var newClasses: [ClassDescription] { mapped?.newClasses ?? [] }

  var mapping: [String] { mapped?.lines ?? [] }

  func use(_ schema: SchemaDescription, className: String?) throws {
    let content = try SQLiteSchema(database)
    let mapping = try SQLiteMapping(content, schema, className: className, database)
    mapped = mapping
    notes += mapping.notes.map { "\(path): \($0)" }
    records = SQLiteRecords(database, content, mapping.schema)
  }

  func text(_ index: Int) throws -> InputFile {
    guard let mapping = mapped, let records else { throw TransferError.unsuitable("\(path): no tables") }
    let file = try records.convert(mapping.tables[index], name: tables[index].name)
    try checkUnchanged()
    return file
  }
}
