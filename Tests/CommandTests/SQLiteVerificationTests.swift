// Reading a database back detects every difference.

import Foundation
import RealmPages
import TestSupport
import Testing

@testable import RealmTransfer

@Suite("Verification of databases")
struct SQLiteVerificationTests {
  /// Two rows with a key, an integer, a text and null.
  private func digest(_ rows: [(Int64, Int64, String)], swapped: Bool = false) -> RowDigest {
    var digest = RowDigest(keyColumns: 1)
    for row in rows {
      digest.add(column: 1, row.0)
      digest.add(column: swapped ? 3 : 2, row.1)
      digest.add(column: swapped ? 2 : 3, text: Array(row.2.utf8))
      digest.add(column: 4, null: ())
    }
    return digest
  }

  @Test("the order of rows is ignored, any other difference is not")
  func digestsTellRowsApart() {
    let rows: [(Int64, Int64, String)] = [(1, 7, "a"), (2, 8, "b")]
    let base = digest(rows)
    #expect(base.count == 2 && digest(rows.reversed()) == base)
    let others: [[(Int64, Int64, String)]] = [
      [(1, 8, "a"), (2, 7, "b")], [(1, 7, "b"), (2, 8, "a")], [(2, 7, "a"), (1, 8, "b")], [(1, 7, "a")],
      [(1, 7, "a"), (2, 8, "b\0")], [(1, 7, "a"), (2, 8, "")], [(1, 7, "a"), (2, 8, "b"), (2, 8, "b")], [],
    ]
    for other in others { #expect(digest(other) != base, "\(other)") }
    #expect(digest(rows, swapped: true) != base)
    var types: Set<UInt64> = []
    for type in 0..<5 {
      var digest = RowDigest(keyColumns: 1)
      digest.add(column: 1, 1 as Int64)
      switch type {
      case 0: digest.add(column: 2, null: ())
      case 1: digest.add(column: 2, 0 as Int64)
      case 2: digest.add(column: 2, -0.0)
      case 3: digest.add(column: 2, text: [])
      default: digest.add(column: 2, blob: [])
      }
      types.insert(digest.hash)
    }
    #expect(types.count == 5)
  }

  @Test("every changed value, row and key of a database is noticed")
  func changedDatabases() throws {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    func database(_ changes: String, _ name: String) throws -> RowDigest {
      let database = try SQLiteDatabase(path: folder.path + "/" + name, isNew: true, isAnchored: false)
      try database.execute(
        "CREATE TABLE t (k INTEGER PRIMARY KEY, i INTEGER, r REAL, s TEXT, b BLOB);"
          + "INSERT INTO t VALUES (1, 5, 1.5, 'x', x'00ff'), (2, null, 2, '', x''), (3, -1, -0.0, 'é', null);"
          + changes
      )
      return try SQLiteDatabase(path: folder.path + "/" + name, isNew: false, isAnchored: false)
        .digest("t", keyColumns: 1)
    }
    let base = try database("", "base")
    #expect(base.count == 3)
    #expect(try database("UPDATE t SET r = 0.0 WHERE k = 3", "zero") == base)
    let changes = [
      "UPDATE t SET i = 6 WHERE k = 1", "UPDATE t SET r = 1.25 WHERE k = 1", "UPDATE t SET s = 'X' WHERE k = 1",
      "UPDATE t SET b = x'00fe' WHERE k = 1", "UPDATE t SET i = 0 WHERE k = 2", "UPDATE t SET s = null WHERE k = 2",
      "UPDATE t SET b = null WHERE k = 2", "DELETE FROM t WHERE k = 2", "UPDATE t SET k = 4 WHERE k = 3",
      "INSERT INTO t VALUES (4, null, null, null, null)",
    ]
    for (index, change) in changes.enumerated() { #expect(try database(change, "\(index)") != base, "\(change)") }
  }

  @Test("a database is created in the open folder that its path begins with, whatever leads to that folder by name")
  func anchoredDatabases() throws {
    // The path of the innermost folder is longer than any that the kernel resolves.
    let name = String(repeating: "d", count: 250)
    let top = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
    try FileManager.default.createDirectory(atPath: top, withIntermediateDirectories: true)
    var folders = [open(top, O_RDONLY | O_DIRECTORY)]
    for _ in 0..<20 {
      let last = try #require(folders.last)
      #expect(mkdirat(last, name, 0o700) == 0)
      folders.append(openat(last, name, O_RDONLY | O_DIRECTORY))
    }
    let folder = try #require(folders.last)
    defer {
      unlinkat(folder, "x.db", 0)
      for folder in folders.reversed() {
        unlinkat(folder, name, AT_REMOVEDIR)
        close(folder)
      }
      rmdir(top)
    }
    let path = "/proc/self/fd/\(folder)/x.db"
    try SQLiteDatabase(path: path, isNew: true, isAnchored: true)
      .execute("PRAGMA journal_mode = MEMORY; CREATE TABLE t (k INTEGER PRIMARY KEY); INSERT INTO t VALUES (1), (2)")
    #expect(faccessat(folder, "x.db", F_OK, 0) == 0)
    #expect(try SQLiteDatabase(path: path, isNew: false, isAnchored: true).digest("t", keyColumns: 1).count == 2)
  }
}
