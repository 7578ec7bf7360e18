// A private copy of a SQLite database and its journals, which SQLite completes without changing the original. The copy
// is removed as soon as SQLite has it open, also when an error or a signal ends the import.

import Glibc
import Synchronization

/// A copy of a database and its journals in a new temporary directory.
final class PrivateCopy {
  private let folder: String
  /// The path of the database in messages.
  private let name: String

  /// The directories that exist; nil once the process is ending.
  private static let folders = Mutex<Set<String>?>([])

  /// The path of the copied database.
  var path: String { folder + "/db" }

  /// Copies the database at `path` and its `journals`, given by suffix. `name` is its path in messages.
  ///
  /// Throws if the journal belongs to a transaction over several databases: to complete it, SQLite would delete the
  /// file that the journal names, which can be any file if the journal is hostile.
  init(of path: String, _ journals: [String], name: String) throws {
    self.name = name
    let parent = unsafe getenv("TMPDIR").map { unsafe String(cString: $0) } ?? "/tmp"
    folder = try Self.folders.withLock { folders in
      if folders == nil { throw TransferError.file("a temporary directory in \(parent)", EINTR) }
      var template = Array("\(parent)/realmfs-import.XXXXXX".utf8CString)
      if unsafe mkdtemp(&template) == nil { throw TransferError.file("a temporary directory in \(parent)", errno) }
      let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
      folders?.insert(folder)
      return folder
    }
    do {
      for suffix in [""] + journals { try copy(path, suffix) }
    } catch {
      remove()
      throw error
    }
  }

  private func copy(_ path: String, _ suffix: String) throws {
    let input = unsafe open(path + suffix, O_RDONLY | O_CLOEXEC)
    if input < 0 { throw TransferError.file(name + suffix, errno) }
    defer { close(input) }
    let output = try create("db" + suffix)
    defer { close(output) }
    var chunk = [UInt8](repeating: 0, count: 1 << 18)
    while true {
      let count = unsafe read(input, &chunk, chunk.count)
      if count < 0 { throw TransferError.file(name + suffix, errno) }
      if count == 0 { break }
      try TemporaryText.write(chunk[..<count], to: output)
    }
    if suffix == "-journal", Self.namesSuperJournal(output) {
      throw TransferError.unsuitable(
        "\(name)-journal belongs to a transaction over several databases; open the database with SQLite first"
      )
    }
  }

  /// Creates a file in the directory, unless the directory was removed meanwhile.
  private func create(_ name: String) throws -> Int32 {
    try Self.folders.withLock { folders in
      if folders == nil { throw TransferError.file("a temporary file", EINTR) }
      let file = unsafe open("\(folder)/\(name)", O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
      if file < 0 { throw TransferError.file("a temporary file", errno) }
      return file
    }
  }

  /// True if a journal ends with the name of a super-journal, after which it has these bytes:
  /// https://sqlite.org/fileformat2.html 3. SQLite ignores a journal that begins with a zero byte.
  private static func namesSuperJournal(_ journal: Int32) -> Bool {
    let magic: [UInt8] = [0xD9, 0xD5, 0x05, 0xF9, 0x20, 0xA1, 0x63, 0xD7]
    let end = lseek(journal, 0, SEEK_END)
    var first: UInt8 = 0, last = [UInt8](repeating: 0, count: magic.count)
    if unsafe end < last.count || pread(journal, &first, 1, 0) != 1 || first == 0 { return false }
    return unsafe pread(journal, &last, last.count, end - last.count) == last.count && last == magic
  }

  /// Removes the copy. SQLite can continue to read it.
  func remove() {
    Self.folders.withLock { folders in
      if folders?.remove(folder) != nil { Self.remove(folder) }
    }
  }

  /// Removes the copies of this process, and prevents further ones. Called when a signal ends the process.
  static func removeAll() {
    folders.withLock { folders in
      for folder in folders ?? [] { remove(folder) }
      folders = nil
    }
  }

  private static func remove(_ folder: String) {
    for name in ["db", "db-shm", "db-wal", "db-journal"] { unsafe unlink("\(folder)/\(name)") }
    unsafe rmdir(folder)
  }
}
