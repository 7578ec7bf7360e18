// Inode numbers. What an object's number stands for is written in the number itself, so nothing has to be remembered.
//
// From the top: bit 63 clear; bit 62 set for a number of the table of large keys, whose other bits are a hash; else
// bits 61 to 44 hold the ordinal of a table plus 1, and bits 43 to 0 the key of an object in it. With bits 61 to 44
// clear, it is a number of the node table: with bit 43 a hash of what the node is, for nodes that come and go, else
// counted from 1.
// The first 511 tables have numbers below 2^53, which survive programs that keep them in doubles.

import RealmPages

/// Names a node of the tree for the life of a mount.
public struct InodeNumber: Hashable, Sendable {
  /// The number that the kernel knows.
  public let value: UInt64

  /// Wraps a raw number.
  public init(_ value: UInt64) { self.value = value }

  /// The root directory.
  public static let root = InodeNumber(1)
}

/// A table's place in the order in which a mount met tables. Never given to another table.
typealias TableOrdinal = UInt32

extension InodeNumber {
  private static let keyBits: UInt64 = 44
  private static let hashFlag: UInt64 = 1 << 62

  /// The highest ordinal that fits.
  static let maximumOrdinal = TableOrdinal(1 << 18 - 2)

  /// The number of an object; nil for one whose key does not fit.
  @inline(__always)
  init?(object ordinal: TableOrdinal, _ key: ObjKey) {
    if UInt64(bitPattern: key.value) >> Self.keyBits != 0 { return nil }
    value = (UInt64(ordinal) + 1) << Self.keyBits | UInt64(bitPattern: key.value)
  }

  /// A number of the table of large keys with this hash.
  init(hash: UInt64) { value = Self.hashFlag | hash & (Self.hashFlag - 1) }

  /// A number of the node table with this hash.
  init(nodeHash hash: UInt64) {
    let flag: UInt64 = 1 << (Self.keyBits - 1)
    value = flag | hash & (flag - 1)
  }

  /// Whether the table of large keys knows what the number stands for.
  var isHashed: Bool { value & Self.hashFlag != 0 }

  /// Whether this is an object of the same table, behind another in the order of listings and not far from it.
  public func isBehind(_ other: InodeNumber, atMost distance: Int64) -> Bool {
    guard let object = packedObject, let other = other.packedObject else { return false }
    return object.ordinal == other.ordinal && object.key > other.key && object.key.value - other.key.value <= distance
  }

  /// The object that the number holds; nil if it holds none.
  @inline(__always)
  var packedObject: (ordinal: TableOrdinal, key: ObjKey)? {
    if value >> 62 != 0 || value >> Self.keyBits == 0 { return nil }
    return (TableOrdinal(value >> Self.keyBits - 1), ObjKey(Int64(value & (1 << Self.keyBits - 1))))
  }
}
