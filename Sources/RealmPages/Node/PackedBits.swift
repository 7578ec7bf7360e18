// Elements of 0 to 64 bits packed into bytes: the hottest code of the engine. Source: docs/format/1-storage.md S5.
// Callers have checked that `index` is within the node and its payload within the snapshot.

/// Access to packed elements.
enum PackedBits {
  /// Returns element `index` of width `width`: unsigned if the width is below 8 bits, signed otherwise.
  @inline(__always)
  static func signed(_ base: UnsafeRawPointer, _ width: UInt8, _ index: Int) -> Int64 {
    switch width {
    case 0: return 0
    case 1: return unsafe Int64(byte(base, index >> 3) >> UInt8(index & 7) & 1)
    case 2: return unsafe Int64(byte(base, index >> 2) >> UInt8((index & 3) << 1) & 3)
    case 4: return unsafe Int64(byte(base, index >> 1) >> UInt8((index & 1) << 2) & 15)
    case 8: return unsafe Int64(Int8(bitPattern: byte(base, index)))
    case 16: return unsafe Int64(Int16(littleEndian: base.loadUnaligned(fromByteOffset: index << 1, as: Int16.self)))
    case 32: return unsafe Int64(Int32(littleEndian: base.loadUnaligned(fromByteOffset: index << 2, as: Int32.self)))
    default: return unsafe Int64(littleEndian: base.loadUnaligned(fromByteOffset: index << 3, as: Int64.self))
    }
  }

  /// The largest element of a width, which represents null in nullable integers, except at 64 bits.
  static func largest(_ width: UInt8) -> Int64 {
    switch width {
    case 0: 0
    case 1: 1
    case 2: 3
    case 4: 15
    default: .max >> Int64(64 - width)
    }
  }

  /// Returns element `index` of a key or offset array, where all widths are unsigned.
  @inline(__always)
  static func unsigned(_ base: UnsafeRawPointer, _ width: UInt8, _ index: Int) -> UInt64 {
    switch width {
    case 8: return unsafe UInt64(byte(base, index))
    case 16: return unsafe UInt64(UInt16(littleEndian: base.loadUnaligned(fromByteOffset: index << 1, as: UInt16.self)))
    case 32: return unsafe UInt64(UInt32(littleEndian: base.loadUnaligned(fromByteOffset: index << 2, as: UInt32.self)))
    default: return unsafe UInt64(bitPattern: signed(base, width, index))
    }
  }

  @inline(__always)
  private static func byte(_ base: UnsafeRawPointer, _ offset: Int) -> UInt8 {
    unsafe base.load(fromByteOffset: offset, as: UInt8.self)
  }
}
