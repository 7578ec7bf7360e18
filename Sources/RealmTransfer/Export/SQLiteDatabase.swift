// A wrapper for the few functions of libsqlite3 that an export needs.

import CSQLite
import Glibc
import RealmPages

/// A database connection.
@safe final class SQLiteDatabase {
  // Safe: owns the connection, which libsqlite3 keeps open until its statements have also been finalized.
  let path: String
  fileprivate var handle: OpaquePointer?

  /// Creates a new file, or opens an existing one for reading. A file that is `anchored` is opened by `path` as it is:
  /// see `AnchoredFiles`.
  init(path: String, isNew: Bool, isAnchored: Bool) throws {
    self.path = path
    let flags = isNew ? SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE : SQLITE_OPEN_READONLY
    let files = isAnchored && AnchoredFiles.isRegistered ? AnchoredFiles.name : nil
    if unsafe sqlite3_open_v2(path, &handle, flags, files) != SQLITE_OK { throw failure() }
  }

  /// How a database of another program is opened.
  enum Access {
    /// With SQLite's locks, for reading.
    case locked
    /// For reading, without locks and without files beside it. The file must not change.
    case immutable
    /// As a private copy, which SQLite completes from its journal.
    case copy
  }

  /// Opens a database of another program. Its schema is not trusted: https://sqlite.org/security.html. `name` is its
  /// path in messages.
  init(reading path: String, name: String, _ access: Access) throws {
    self.path = name
    let flags = access == .copy ? SQLITE_OPEN_READWRITE : SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
    // A path that begins with `file:` is otherwise read as a URI.
    let uri = "file:" + path.utf8.map { Self.escaped($0) }.joined() + (access == .immutable ? "?immutable=1" : "")
    if unsafe sqlite3_open_v2(access == .copy ? path : uri, &handle, flags, nil) != SQLITE_OK { throw failure() }
    try execute("PRAGMA trusted_schema = OFF; PRAGMA cell_size_check = ON; PRAGMA mmap_size = 0")
  }

  private static func escaped(_ byte: UInt8) -> String {
    let isPlain = Character(UnicodeScalar(byte)).isLetter && byte < 0x80 || "/._-0123456789".utf8.contains(byte)
    let digits = String(byte, radix: 16, uppercase: true)
    return isPlain ? String(UnicodeScalar(byte)) : "%" + (digits.count < 2 ? "0" : "") + digits
  }

  deinit { unsafe sqlite3_close_v2(handle) }

  /// Runs statements without a result.
  func execute(_ sql: String) throws {
    if unsafe sqlite3_exec(handle, sql, nil, nil, nil) != SQLITE_OK { throw failure() }
  }

  /// Returns the error of the last call.
  func failure() -> TransferError {
    var code: Int32 = 0
    if unsafe sqlite3_errcode(handle) & 0xFF == SQLITE_IOERR {
      unsafe sqlite3_file_control(handle, "main", SQLITE_FCNTL_LAST_ERRNO, &code)
    }
    if unsafe sqlite3_errcode(handle) & 0xFF == SQLITE_FULL { code = ENOSPC }
    if code != 0 { return .file(path, code) }
    return .unsuitable(unsafe "\(path): SQLite: \(String(cString: sqlite3_errmsg(handle)))")
  }
}

/// A form of SQLite's default VFS (https://sqlite.org/vfs.html) that opens a path as it is. The default one replaces
/// each symbolic link in a path by its target and opens the result. Then a path that begins with an open directory,
/// such as `/proc/self/fd/7/x.db`, becomes the name that the directory has at that moment, and a user who renames the
/// directory before the file is opened chooses where the file is created.
private enum AnchoredFiles {
  static let name = "realmfs-anchored"

  /// Registers the VFS; false if SQLite has no default VFS.
  static let isRegistered: Bool = {
    guard let usual = unsafe sqlite3_vfs_find(nil) else { return false }
    // Both are used until the process ends.
    let vfs = UnsafeMutablePointer<sqlite3_vfs>.allocate(capacity: 1)
    unsafe vfs.initialize(to: usual.pointee)
    unsafe vfs.pointee.zName = UnsafePointer(strdup(name))
    unsafe vfs.pointee.xFullPathname = { _, path, size, result in
      // SQLite passes a path that ends with a zero byte, and room for `size` bytes.
      guard let path = unsafe path, let result = unsafe result, unsafe strlen(path) < Int(size) else {
        return SQLITE_CANTOPEN
      }
      unsafe strcpy(result, path)
      return SQLITE_OK
    }
    return unsafe sqlite3_vfs_register(vfs, 0) == SQLITE_OK
  }()
}

/// A prepared statement.
@safe final class SQLiteStatement {
  // Safe: owns the statement. Bound memory must stay valid, as the methods state.
  private let database: SQLiteDatabase
  private var handle: OpaquePointer?
  /// A digest to which bound values are added.
  var digest: RowDigest?
  /// True if the statement is only bound, never run.
  var isIdle = false

  /// Prepares a statement.
  init(_ database: SQLiteDatabase, _ sql: String) throws {
    self.database = database
    if unsafe sqlite3_prepare_v2(database.handle, sql, -1, &handle, nil) != SQLITE_OK { throw database.failure() }
  }

  deinit { unsafe sqlite3_finalize(handle) }

  func bind(_ index: Int, _ value: Int64) {
    digest?.add(column: index, value)
    unsafe sqlite3_bind_int64(handle, Int32(index), value)
  }

  func bind(_ index: Int, _ value: Double) {
    digest?.add(column: index, value)
    unsafe sqlite3_bind_double(handle, Int32(index), value)
  }

  func bindNull(_ index: Int) {
    digest?.add(column: index, null: ())
    unsafe sqlite3_bind_null(handle, Int32(index))
  }

  /// Binds text that must stay in place until `run()` returns.
  func bind(text view: ByteView, _ index: Int) { unsafe bind(text: view.unsafeBytes, in: 0..<view.count, index) }

  /// Binds a range of bytes that must stay in place until `run()` returns.
  func bind(text bytes: UnsafeRawBufferPointer, in range: Range<Int>, _ index: Int) {
    let part = unsafe UnsafeRawBufferPointer(rebasing: bytes[range])
    unsafe digest?.add(column: index, text: part)
    let base = unsafe part.baseAddress?.assumingMemoryBound(to: CChar.self)
    unsafe sqlite3_bind_text64(handle, Int32(index), base, UInt64(part.count), nil, UInt8(SQLITE_UTF8))
  }

  /// Binds bytes that must stay in place until `run()` returns.
  func bind(blob view: ByteView, _ index: Int) {
    unsafe digest?.add(column: index, blob: view.unsafeBytes)
    if view.count == 0 {
      unsafe sqlite3_bind_zeroblob(handle, Int32(index), 0)
    } else {
      unsafe sqlite3_bind_blob64(handle, Int32(index), view.unsafeBytes.baseAddress, UInt64(view.count), nil)
    }
  }

  /// Runs the statement with the bound values.
  func run() throws {
    if isIdle { return }
    let code = unsafe sqlite3_step(handle)
    unsafe sqlite3_reset(handle)
    switch code {
    case SQLITE_DONE, SQLITE_ROW: return
    // Two objects have the same primary key, which is possible only in a damaged realm.
    case SQLITE_CONSTRAINT:
      guard case .unsuitable(let text) = database.failure() else { return }
      throw TransferError.damaged(text)
    default: throw database.failure()
    }
  }

  /// Moves to the next row of the result; returns nil after the last one, or after an error.
  func next() throws -> [SQLiteValue]? {
    switch unsafe sqlite3_step(handle) {
    case SQLITE_ROW: return unsafe SQLiteRow(handle).values
    case SQLITE_DONE:
      reset()
      return nil
    default:
      let failure = database.failure()
      reset()
      throw failure
    }
  }

  /// Ends the result.
  func reset() { unsafe sqlite3_reset(handle) }

  /// Returns all rows of the result.
  func rows() throws -> [[SQLiteValue]] {
    var rows: [[SQLiteValue]] = []
    while let row = try next() { rows.append(row) }
    return rows
  }

  /// Runs the statement and calls `body` with each row of its result.
  func forEachRow(_ body: (SQLiteRow) -> Void) throws {
    defer { unsafe sqlite3_reset(handle) }
    while true {
      switch unsafe sqlite3_step(handle) {
      case SQLITE_ROW: unsafe body(SQLiteRow(handle))
      case SQLITE_DONE: return
      default: throw database.failure()
      }
    }
  }
}

/// A value in a database.
enum SQLiteValue {
  case null
  case integer(Int64)
  case real(Double)
  case text([UInt8])
  case blob([UInt8])

  /// The text; nil for other values.
  var string: String? { if case .text(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil } }

  /// The integer; nil for other values.
  var integer: Int64? { if case .integer(let value) = self { value } else { nil } }
}

/// The current row of a statement's result.
@safe struct SQLiteRow {
  // Safe: exists only during a call, while the statement is at the row.
  private let handle: OpaquePointer?

  fileprivate init(_ handle: OpaquePointer?) { unsafe self.handle = handle }

  /// The text of a column.
  func text(_ column: Int32) -> String { unsafe String(decoding: bytes(column), as: UTF8.self) }

  /// Returns the bytes of a blob, or of a text in UTF-8, which are valid until the next row.
  private func bytes(_ column: Int32) -> UnsafeRawBufferPointer {
    // The text of a database in UTF-16 is converted by `sqlite3_column_text` only. SQLite requires the pointer to be
    // fetched before the count.
    let start =
      unsafe sqlite3_column_type(handle, column) == SQLITE_BLOB
      ? sqlite3_column_blob(handle, column) : UnsafeRawPointer(sqlite3_column_text(handle, column))
    return unsafe UnsafeRawBufferPointer(
      start: start,
      count: start == nil ? 0 : Int(sqlite3_column_bytes(handle, column))
    )
  }

  /// A copy of all columns.
  fileprivate var values: [SQLiteValue] {
    let count = unsafe sqlite3_column_count(handle)
    return (0..<count).map { column in
      switch unsafe sqlite3_column_type(handle, column) {
      case SQLITE_INTEGER: unsafe .integer(sqlite3_column_int64(handle, column))
      case SQLITE_FLOAT: unsafe .real(sqlite3_column_double(handle, column))
      case SQLITE_TEXT: unsafe .text(Array(bytes(column)))
      case SQLITE_BLOB: unsafe .blob(Array(bytes(column)))
      default: .null
      }
    }
  }

  /// Adds all columns to a digest, numbered from 1.
  func add(to digest: inout RowDigest) {
    for column in unsafe 0..<sqlite3_column_count(handle) {
      let position = Int(column) + 1
      switch unsafe sqlite3_column_type(handle, column) {
      case SQLITE_INTEGER: unsafe digest.add(column: position, sqlite3_column_int64(handle, column))
      case SQLITE_FLOAT: unsafe digest.add(column: position, sqlite3_column_double(handle, column))
      case SQLITE_TEXT: unsafe digest.add(column: position, text: bytes(column))
      case SQLITE_BLOB: unsafe digest.add(column: position, blob: bytes(column))
      default: digest.add(column: position, null: ())
      }
    }
  }
}
