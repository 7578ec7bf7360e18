// The peer of `insert`: the same program inserts the same rows into SQLite, with one index, in one synced transaction.

import CSQLite
import Glibc

/// Inserts `count` rows into a new database. Returns the seconds taken, including the commit.
func insertIntoSQLite(_ path: String, _ count: Int) throws -> Double {
  for suffix in ["", "-journal", "-wal", "-shm"] { unlink(path + suffix) }
  var database: OpaquePointer?
  // Only one thread uses the connection, so it needs no mutexes.
  let flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX
  guard sqlite3_open_v2(path, &database, flags, nil) == SQLITE_OK else { throw Usage() }
  defer { sqlite3_close(database) }
  func run(_ sql: String) throws {
    if sqlite3_exec(database, sql, nil, nil, nil) != SQLITE_OK { throw Usage() }
  }
  try run("PRAGMA synchronous = FULL")
  // The primary key of a realm is an indexed column in addition to the object's own key.
  try run("CREATE TABLE Item (_id INTEGER UNIQUE, name TEXT, score REAL, active INTEGER, created INTEGER, blob BLOB)")
  var statement: OpaquePointer?
  let sql = "INSERT INTO Item VALUES (?, ?, ?, ?, ?, ?)"
  guard sqlite3_prepare_v2(database, sql, -1, &statement, nil) == SQLITE_OK else { throw Usage() }
  let begin = seconds()
  try run("BEGIN")
  for i in 0..<count {
    let row = Row(i)
    let isDone = row.name.withUnsafeBytes { name in
      row.blob.withUnsafeBytes { blob in
        sqlite3_bind_int64(statement, 1, Int64(i))
        sqlite3_bind_text(statement, 2, name.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(name.count), nil)
        sqlite3_bind_double(statement, 3, row.score)
        sqlite3_bind_int(statement, 4, row.active ? 1 : 0)
        sqlite3_bind_int64(statement, 5, row.created)
        sqlite3_bind_blob(statement, 6, blob.baseAddress, Int32(blob.count), nil)
        defer { sqlite3_reset(statement) }
        return sqlite3_step(statement) == SQLITE_DONE
      }
    }
    if !isDone { throw Usage() }
  }
  sqlite3_finalize(statement)
  try run("COMMIT")
  return seconds() - begin
}
