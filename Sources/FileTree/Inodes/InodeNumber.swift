// Inode numbers. The number of an object contains its table and key, so no table of numbers is needed.
//
// From the top: bit 63 is clear. Bit 62 is set for a number in the table of large keys, whose other bits are a hash.
// Otherwise, bits 61 to 44 hold the ordinal of a table plus 1, and bits 43 to 0 the key of an object in it. If bits 61
// to 44 are clear, it is a number in the node table: with bit 43 set, a hash of the identity of a node that exists only
// while the kernel knows it; otherwise counted from 1. The first 511 tables have numbers below 2^53, which programs can
// store in doubles without loss.

import RealmPages

/// Identifies a node of the tree for the lifetime of a mount.
public struct InodeNumber: Hashable, Sendable {
  /// The number that the kernel uses.
  public let value: UInt64

  /// Creates an inode number from its raw value.
  public init(_ value: UInt64) { self.value = value }

  /// The root directory.
  public static let root = InodeNumber(1)
}

/// The index of a table in the order in which a mount discovered the tables. Never reused for another table.
typealias TableOrdinal = UInt32

extension InodeNumber {
  private static let keyBits: UInt64 = 44
  private static let hashFlag: UInt64 = 1 << 62

  /// The highest ordinal that fits.
  static let maximumOrdinal = TableOrdinal(1 << 18 - 2)

  /// Creates the number of an object; nil if the key does not fit.
  @inline(__always)
  init?(object ordinal: TableOrdinal, _ key: ObjKey) {
    if UInt64(bitPattern: key.value) >> Self.keyBits != 0 { return nil }
    value = (UInt64(ordinal) + 1) << Self.keyBits | UInt64(bitPattern: key.value)
  }

  /// Creates a number in the table of large keys from a hash.
  init(hash: UInt64) { value = Self.hashFlag | hash & (Self.hashFlag - 1) }

  /// Creates a number in the node table from a hash.
  init(nodeHash hash: UInt64) {
    let flag: UInt64 = 1 << (Self.keyBits - 1)
    value = flag | hash & (flag - 1)
  }

  /// True if the number is in the table of large keys.
  var isHashed: Bool { value & Self.hashFlag != 0 }

  /// True if this is an object of the same table as `other`, after it in the order of listings by at most `distance`
  /// keys.
  public func follows(_ other: InodeNumber, atMost distance: Int64) -> Bool {
    guard let object = packedObject, let other = other.packedObject else { return false }
    return object.ordinal == other.ordinal && object.key > other.key && object.key.value - other.key.value <= distance
  }

  /// The object that the number encodes; nil if it encodes none.
  @inline(__always)
  var packedObject: (ordinal: TableOrdinal, key: ObjKey)? {
    if value >> 62 != 0 || value >> Self.keyBits == 0 { return nil }
    return (TableOrdinal(value >> Self.keyBits - 1), ObjKey(Int64(value & (1 << Self.keyBits - 1))))
  }
}
