// Whether a SQLite database holds what was exported: the rows that were written, and those that are read back from the
// finished file, are counted and hashed in the same way. The hash of a table is a sum over its cells, each hashed with
// its row's key and its column, so it does not depend on the order of rows.

import RealmPages

/// The rows of a table: how many, and a hash of what is in them.
struct RowDigest: Equatable {
  private(set) var count = 0
  private(set) var hash: UInt64 = 0
  /// So many of the first columns are the key of a row. They come first.
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
      key = Self.folded(column == 1 ? Self.start : key, type, bytes)
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

  /// FNV-1a.
  private static let start: UInt64 = 0xCBF2_9CE4_8422_2325

  private static func folded(_ hash: UInt64, _ type: UInt8, _ bytes: some Sequence<UInt8>) -> UInt64 {
    var hash = (hash ^ UInt64(type)) &* 0x100_0000_01B3, length: UInt64 = 0
    for byte in bytes {
      hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
      length += 1
    }
    return (hash ^ length) &* 0x100_0000_01B3
  }

  /// The finalizer of SplitMix64: similar sums do not cancel each other out.
  private static func mixed(_ hash: UInt64) -> UInt64 {
    var hash = hash
    hash = (hash ^ hash >> 30) &* 0xBF58_476D_1CE4_E5B9
    hash = (hash ^ hash >> 27) &* 0x94D0_49BB_1331_11EB
    return hash ^ hash >> 31
  }
}

/// A row that is not the same on both sides.
public struct RowDifference: Hashable, Sendable {
  /// How it differs.
  public enum Kind: String, Sendable {
    /// The object has no row.
    case missing
    /// The row has no object.
    case extra
    /// The row has other values than its object.
    case values
  }

  /// The key of the row, as the database prints it.
  public let key: String
  /// How it differs.
  public let kind: Kind

  package init(_ kind: Kind, _ key: String) { (self.kind, self.key) = (kind, key) }
}

/// One class on both sides of an export.
public struct ClassVerification: Sendable {
  /// The class.
  public let name: String
  /// The objects that were exported, and the elements of their collections.
  public let exported: (objects: Int, elements: Int, hash: UInt64)
  /// What the database has.
  public let stored: (objects: Int, elements: Int, hash: UInt64)

  /// Whether both sides are the same.
  public var isSame: Bool { exported == stored }

  /// The first rows that differ, where the database can tell them, and how many there are.
  public package(set) var differences: [RowDifference] = [], differenceCount = 0

  init(_ name: String, exported: [RowDigest], stored: [RowDigest]) {
    self.name = name
    (self.exported, self.stored) = (Self.facts(exported), Self.facts(stored))
  }

  /// The same from the counts and hashes of tables.
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

  /// The class's own table comes first, then those of its collections.
  private static func facts(_ digests: [RowDigest]) -> (Int, Int, UInt64) { facts(digests.map { ($0.count, $0.hash) }) }
}

/// An export on both sides.
public struct ExportVerification: Sendable {
  /// Class by class.
  public let classes: [ClassVerification]
  /// Links that lead to no row, because their object was not exported.
  public let danglingLinks: Int

  /// Whether the database has all that was exported.
  public var isSame: Bool { classes.allSatisfy(\.isSame) }

  package init(classes: [ClassVerification], danglingLinks: Int) {
    (self.classes, self.danglingLinks) = (classes, danglingLinks)
  }
}

extension SQLiteDatabase {
  /// The rows of a table as they are in the file.
  func digest(_ table: String, keyColumns: Int) throws(TransferError) -> RowDigest {
    var digest = RowDigest(keyColumns: keyColumns)
    try SQLiteStatement(self, "SELECT * FROM \(table)").forEachRow { row in row.add(to: &digest) }
    return digest
  }

  /// The links that lead to no row; throws if the file is not sound.
  func danglingLinks() throws(TransferError) -> Int {
    var count = 0, problems: [String] = []
    try SQLiteStatement(self, "PRAGMA foreign_key_check").forEachRow { _ in count += 1 }
    try SQLiteStatement(self, "PRAGMA integrity_check").forEachRow { row in problems.append(row.text(0)) }
    if problems != ["ok"] { throw .unsuitable("\(path): SQLite: \(problems.joined(separator: "; "))") }
    return count
  }
}
