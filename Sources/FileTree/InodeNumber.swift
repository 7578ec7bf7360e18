// Inode numbers: what a number stands for is written in the number itself, so nothing has to be remembered.
//
// From the top: bit 63 clear; bit 62 set for a number of the inode table, whose other bits are a hash; else bits 61
// to 44 hold the ordinal of a table plus 1, and bits 43 to 0 the key of an object in it. With bits 61 to 44 clear,
// bits 43 to 40 tell the kind and the low bits a table's ordinal: 0 the fixed nodes, 1 the directory of a table, 2
// its schema file, 3 a file in memory by its own number, 4 a directory of refused texts.
// The first 511 tables have numbers below 2^53, which survive programs that keep them in doubles.

import RealmPages

/// Names a node of the tree for the life of a mount.
public struct InodeNumber: Hashable, Sendable {
  /// The number that the kernel knows.
  public let value: UInt64

  /// Wraps a raw number.
  public init(_ value: UInt64) { self.value = value }

  /// The root directory.
  public static let root = InodeNumber(TreeNode.Fixed.root.rawValue)
}

/// A table's place in the order in which a mount met tables. Never given to another table.
typealias TableOrdinal = UInt32

/// What an inode stands for.
enum TreeNode: Hashable, Sendable {
  /// The nodes that every tree has; raw values are their inode numbers.
  enum Fixed: UInt64, Sendable {
    case root = 1
    case control, readme, version, info, stats, schema, schemaDirectory, tablesDirectory, errors, rejected, compact
  }

  case fixed(Fixed)
  /// The directory of a class, or of a table under `.realm/tables`.
  case table(TableOrdinal)
  /// A file under `.realm/schema`.
  case schemaFile(TableOrdinal)
  case object(TableOrdinal, ObjKey)
  /// A file in memory, by its number.
  case memory(UInt64)
  /// The directory under `.realm/rejected` for a class.
  case rejectedDirectory(TableOrdinal)
}

extension InodeNumber {
  private static let keyBits: UInt64 = 44
  private static let kindShift: UInt64 = 40
  private static let tableKind: UInt64 = 1, schemaKind: UInt64 = 2, memoryKind: UInt64 = 3, rejectedKind: UInt64 = 4
  private static let hashFlag: UInt64 = 1 << 62

  /// The highest ordinal that fits.
  static let maximumOrdinal = TableOrdinal(1 << 18 - 2)

  /// The number that spells `node`; nil for an object whose key does not fit.
  @inline(__always)
  init?(spelling node: TreeNode) {
    switch node {
    case .fixed(let fixed): value = fixed.rawValue
    case .table(let ordinal): value = Self.tableKind << Self.kindShift | UInt64(ordinal)
    case .schemaFile(let ordinal): value = Self.schemaKind << Self.kindShift | UInt64(ordinal)
    case .object(let ordinal, let key):
      if UInt64(bitPattern: key.value) >> Self.keyBits != 0 { return nil }
      value = (UInt64(ordinal) + 1) << Self.keyBits | UInt64(bitPattern: key.value)
    case .memory(let number):
      if number >> Self.kindShift != 0 { return nil }
      value = Self.memoryKind << Self.kindShift | number
    case .rejectedDirectory(let ordinal): value = Self.rejectedKind << Self.kindShift | UInt64(ordinal)
    }
  }

  /// A number of the inode table with this hash.
  init(hash: UInt64) { value = Self.hashFlag | hash & (Self.hashFlag - 1) }

  /// Whether the inode table knows what the number stands for.
  var isHashed: Bool { value & Self.hashFlag != 0 }

  /// What the number spells; nil if it spells nothing, or is hashed.
  var spelledNode: TreeNode? {
    if value >> 62 != 0 { return nil }
    if value >> Self.keyBits != 0 {
      let key = value & (1 << Self.keyBits - 1)
      return .object(TableOrdinal(value >> Self.keyBits - 1), ObjKey(Int64(key)))
    }
    let low = value & (1 << Self.kindShift - 1)
    switch value >> Self.kindShift {
    case 0: return TreeNode.Fixed(rawValue: low).map(TreeNode.fixed)
    case Self.tableKind: return TableOrdinal(exactly: low).map(TreeNode.table)
    case Self.schemaKind: return TableOrdinal(exactly: low).map(TreeNode.schemaFile)
    case Self.memoryKind: return .memory(low)
    case Self.rejectedKind: return TableOrdinal(exactly: low).map(TreeNode.rejectedDirectory)
    default: return nil
    }
  }
}
