// Verifies that a SQLite database contains what was exported. The rows written and the rows read back from the finished
// file are counted and hashed in the same way. The hash of a table is a sum over its cells, each hashed with its row's
// key and its column, so it does not depend on the order of rows.

import CLinux
import RealmPages

/// The number of rows in a table, and a hash of their values.
struct RowDigest: Equatable {
  private(set) var count = 0
  private(set) var hash: UInt64 = 0
  /// The number of leading columns that form the key of a row. They are added first.
  private let keyColumns: Int
  private var key: UInt64 = 0

  init(keyColumns: Int) { self.keyColumns = keyColumns }

  static func == (a: RowDigest, b: RowDigest) -> Bool { (a.count, a.hash) == (b.count, b.hash) }

  mutating func add(column: Int, null: Void) { add(column, 0, EmptyCollection()) }

  mutating func add(column: Int, _ value: Int64) { add(column, 1, Self.bytes(UInt64(bitPattern: value))) }

  /// SQLite stores -0.0 as 0.0.
  mutating func add(column: Int, _ value: Double) {
    add(column, 2, Self.bytes((value == 0 ? 0 : value).bitPattern))
  }

  mutating func add(column: Int, text: some Sequence<UInt8>) { add(column, 3, text) }

  mutating func add(column: Int, blob: some Sequence<UInt8>) { add(column, 4, blob) }

  private mutating func add(_ column: Int, _ type: UInt8, _ bytes: some Sequence<UInt8>) {
    if column <= keyColumns {
      key = Self.folded(column == 1 ? clinux_fnv_start() : key, type, bytes)
      if column < keyColumns { return }
      count += 1
      hash &+= Self.mixed(key)
    } else {
      hash &+= Self.mixed(Self.folded(key &+ UInt64(column), type, bytes))
    }
  }

  private static func bytes(_ word: UInt64) -> some Sequence<UInt8> {
    (0..<8).lazy.map { UInt8(truncatingIfNeeded: word >> (8 * $0)) }
  }

  private static func folded(_ hash: UInt64, _ type: UInt8, _ bytes: some Sequence<UInt8>) -> UInt64 {
    var hash = clinux_fnv_step(hash, UInt64(type)), length: UInt64 = 0
    for byte in bytes {
      hash = clinux_fnv_step(hash, UInt64(byte))
      length += 1
    }
    return clinux_fnv_step(hash, length)
  }

  /// The finalizer of SplitMix64, so that similar sums do not cancel each other out.
  private static func mixed(_ hash: UInt64) -> UInt64 {
    var hash = hash
    hash = (hash ^ hash >> 30) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ hash >> 27) &* 0x94D0_49BB_1331_11EB
    return hash ^ hash >> 31
  }
}

/// A row that differs between the two sides.
public struct RowDifference: Hashable, Sendable {
  /// The kind of difference.
  public enum Kind: String, Sendable {
    /// There is no row for the object.
    case missing
    /// There is no object for the row.
    case extra
    /// The values of the row and the object differ.
    case values
  }

  /// The key of the row, as the database prints it.
  public let key: String
  /// The kind of difference.
  public let kind: Kind

  package init(_ kind: Kind, _ key: String) { (self.kind, self.key) = (kind, key) }
}

/// One class, as exported and as stored.
public struct ClassVerification: Sendable {
  /// The name of the class.
  public let name: String
  /// The number of exported objects, the number of elements in their collections, and the hash of all.
  public let exported: (objects: Int, elements: Int, hash: UInt64)
  /// The corresponding numbers of the database.
  public let stored: (objects: Int, elements: Int, hash: UInt64)

  /// True if both sides are equal.
  public var isSame: Bool { exported == stored }

  /// The first rows that differ, if the database can identify them, and the number of all such rows.
  public package(set) var differences: [RowDifference] = [], differenceCount = 0

  init(_ name: String, exported: [RowDigest], stored: [RowDigest]) {
    self.name = name
    (self.exported, self.stored) = (Self.facts(exported), Self.facts(stored))
  }

  /// Creates the comparison from the counts and hashes of tables.
  package init(
    _ name: String,
    exported: [(count: Int, hash: UInt64)],
    stored: [(count: Int, hash: UInt64)]
  ) {
    self.name = name
    (self.exported, self.stored) = (Self.facts(exported), Self.facts(stored))
  }

  private static func facts(_ digests: [(count: Int, hash: UInt64)]) -> (Int, Int, UInt64) {
    let hash = digests.reduce(UInt64(0)) { ($0 << 7 | $0 >> 57) &+ $1.hash }
    return (digests.first?.count ?? 0, digests.dropFirst().reduce(0) { $0 + $1.count }, hash)
  }

  /// Combines the digests of the class's own table, which comes first, and those of its collections.
  private static func facts(_ digests: [RowDigest]) -> (Int, Int, UInt64) { facts(digests.map { ($0.count, $0.hash) }) }
}

/// A comparison of an export with the database.
public struct ExportVerification: Sendable {
  /// The comparison of each class.
  public let classes: [ClassVerification]
  /// The number of links to rows that do not exist, because their target was not exported.
  public let danglingLinks: Int

  /// True if the database contains all that was exported.
  public var isSame: Bool { classes.allSatisfy(\.isSame) }

  package init(classes: [ClassVerification], danglingLinks: Int) {
    (self.classes, self.danglingLinks) = (classes, danglingLinks)
  }
}

extension SQLiteDatabase {
  /// Returns the digest of a table's rows, read from the file.
  func digest(_ table: String, keyColumns: Int) throws -> RowDigest {
    var digest = RowDigest(keyColumns: keyColumns)
    try SQLiteStatement(self, "SELECT * FROM \(table)").forEachRow { row in row.add(to: &digest) }
    return digest
  }

  /// Returns the number of links to rows that do not exist; throws if the file is not intact.
  func danglingLinks() throws -> Int {
    var count = 0, problems: [String] = []
    try SQLiteStatement(self, "PRAGMA foreign_key_check").forEachRow { _ in count += 1 }
    try SQLiteStatement(self, "PRAGMA integrity_check").forEachRow { row in problems.append(row.text(0)) }
    if problems != ["ok"] { throw TransferError.unsuitable("\(path): SQLite: \(problems.joined(separator: "; "))") }
    return count
  }
}
