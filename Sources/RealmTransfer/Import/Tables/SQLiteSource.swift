// The tables of a SQLite database as a source of an import. The database is never changed: it is opened for reading, or
// copied first if SQLite would have to complete it from a journal.

import Glibc
import RealmJSON
import RealmPages

/// A database: one that `realmfs export` wrote, or any other.
final class SQLiteSource: TableSource {
  private let path: String
  private let database: SQLiteDatabase
  private let before: FileState
  private var mapped: SQLiteMapping?
  private var records: SQLiteRecords?
  private(set) var notes: [String] = []

  let isCSV = false

  init(_ path: String) throws {
    self.path = path
    before = try FileState(path)
    let journals = ["-wal", "-journal"].filter { FileState.size(path + $0) > 0 }
    if journals.isEmpty {
      database = try SQLiteDatabase(reading: path, name: path, try Self.usesWAL(path) ? .immutable : .locked)
      // A lock held until the end keeps other programs from changing the database while it is read.
      try database.execute("BEGIN; SELECT count(*) FROM sqlite_master")
      return
    }
    let copy = try PrivateCopy(of: path, journals)
    database = try SQLiteDatabase(reading: copy.path, name: path, .copy)
    try database.execute("BEGIN; SELECT count(*) FROM sqlite_master")
    // SQLite has the files open.
    copy.remove()
    try checkUnchanged()
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
    if try FileState(path) != before {
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
    records = SQLiteRecords(database, mapping.schema)
  }

  func text(_ index: Int) throws -> InputFile {
    guard let mapping = mapped, let records else { throw TransferError.unsuitable("\(path): no tables") }
    let file = try records.convert(mapping.tables[index], name: tables[index].name)
    try checkUnchanged()
    return file
  }
}

/// A copy of a database and its journals in a directory of its own.
private final class PrivateCopy {
  private let folder: String
  private var names = ["db"]

  var path: String { folder + "/db" }

  init(of path: String, _ journals: [String]) throws {
    let parent = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
    var template = Array("\(parent)/realmfs-import.XXXXXX".utf8CString)
    if unsafe mkdtemp(&template) == nil { throw TransferError.file("a temporary directory in \(parent)", errno) }
    folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    do {
      try copy(path, "db")
      for journal in journals {
        names.append("db" + journal)
        try copy(path + journal, "db" + journal)
      }
    } catch {
      remove()
      throw error
    }
  }

  private func copy(_ source: String, _ name: String) throws {
    let input = unsafe open(source, O_RDONLY | O_CLOEXEC)
    if input < 0 { throw TransferError.file(source, errno) }
    defer { close(input) }
    let output = unsafe open("\(folder)/\(name)", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    if output < 0 { throw TransferError.file("a temporary file", errno) }
    defer { close(output) }
    var chunk = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = unsafe read(input, &chunk, chunk.count)
      if count < 0 { throw TransferError.file(source, errno) }
      if count == 0 { return }
      try TemporaryText.write(chunk[..<count], to: output)
    }
  }

  func remove() {
    for name in names + ["db-shm", "db-wal", "db-journal"] { unsafe unlink("\(folder)/\(name)") }
    unsafe rmdir(folder)
  }
}
