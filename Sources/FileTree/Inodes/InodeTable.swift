// The inode numbers of objects whose keys are too large for a number. In old file formats, object keys are derived from
// a hash of the primary key, so all objects have such keys.
//
// Invariant: a number is in the table as long as the kernel remembers it (nlookup > 0), and refers to only one object.

import RealmPages
import Synchronization

/// Numbers and reference counts of objects with large keys.
final class InodeTable: Sendable {
  private struct Entry {
    let ordinal: TableOrdinal
    /// True if the search for another object's number passed over this entry, so that it must be kept.
    var isPassedOver = false
    let key: ObjKey
    var lookups: UInt64
  }

  private let entries = Mutex<[UInt64: Entry]>([:])

  /// The number of inodes in the table.
  var count: Int { entries.withLock { $0.count } }

  /// Returns the number of an object, without counting a reference.
  func number(of ordinal: TableOrdinal, _ key: ObjKey) -> InodeNumber {
    entries.withLock { Self.place(of: ordinal, key, in: &$0) }
  }

  /// Returns the number of an object, and counts `lookups` references that the kernel is about to receive.
  func retain(_ ordinal: TableOrdinal, _ key: ObjKey, lookups: UInt64 = 1) -> InodeNumber {
    entries.withLock { entries in
      let number = Self.place(of: ordinal, key, in: &entries)
      entries[number.value, default: Entry(ordinal: ordinal, key: key, lookups: 0)].lookups += lookups
      return number
    }
  }

  /// Releases `lookups` references.
  func forget(_ number: InodeNumber, lookups: UInt64) {
    entries.withLock { entries in
      guard var entry = entries[number.value] else { return }
      entry.lookups -= min(lookups, entry.lookups)
      entries[number.value] = entry.lookups == 0 && !entry.isPassedOver ? nil : entry
    }
  }

  /// Returns the object with a number; nil after the number was forgotten.
  func object(_ number: InodeNumber) -> (ordinal: TableOrdinal, key: ObjKey)? {
    entries.withLock { entries in entries[number.value].map { ($0.ordinal, $0.key) } }
  }

  /// Returns the number that an object has or would be assigned: its hash, or the next number that no other object
  /// uses.
  private static func place(
    of ordinal: TableOrdinal,
    _ key: ObjKey,
    in entries: inout [UInt64: Entry]
  ) -> InodeNumber {
    var number = InodeNumber(hash: hash(ordinal, key))
    while let entry = entries[number.value], entry.ordinal != ordinal || entry.key != key {
      entries[number.value]?.isPassedOver = true
      number = InodeNumber(hash: number.value &+ 1)
    }
    return number
  }

  /// Spreads both numbers over 64 bits (the finaliser of MurmurHash3, twice).
  private static func hash(_ ordinal: TableOrdinal, _ key: ObjKey) -> UInt64 {
    mix(mix(UInt64(bitPattern: key.value)) ^ UInt64(ordinal))
  }

  private static func mix(_ value: UInt64) -> UInt64 {
    var value = value
    value = (value ^ value >> 33) &* 0xff51_afd7_ed55_8ccd
    value = (value ^ value >> 33) &* 0xc4ce_b9fe_1a85_ec53
    return value ^ value >> 33
  }
}
