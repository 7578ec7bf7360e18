// Packed integers of every width against a reference that reads bit by bit.

import Testing
import TestSupport

@testable import RealmPages

@Suite("Packed bits")
struct PackedBitsTests {
  /// Element `index` of `width` bits, bit by bit from the least significant on.
  private static func reference(_ bytes: [UInt8], _ width: Int, _ index: Int) -> UInt64 {
    var value: UInt64 = 0
    for bit in 0..<width {
      let at = index * width + bit
      value |= UInt64(bytes[at / 8] >> UInt8(at % 8) & 1) << UInt64(bit)
    }
    return value
  }

  @Test("every width gives the same values as a bit-by-bit reader", arguments: [0, 1, 2, 4, 8, 16, 32, 64])
  func agreesWithReference(width: Int) {
    var random = SplitMix64(seed: UInt64(width))
    let bytes = (0..<512).map { _ in UInt8(truncatingIfNeeded: random.next()) }
    let count = width == 0 ? 1000 : bytes.count * 8 / width
    bytes.withUnsafeBytes { buffer in
      guard let base = buffer.baseAddress else { return }
      for index in 0..<count {
        let expected = Self.reference(bytes, width, index)
        #expect(PackedBits.unsigned(base, UInt8(width), index) == expected)
        // Widths of 8 bits or more are signed, smaller ones are not.
        let shift = width >= 8 ? UInt64(64 - width) : 0
        let signed = Int64(bitPattern: expected << shift) >> Int64(shift)
        #expect(PackedBits.signed(base, UInt8(width), index) == signed)
      }
    }
  }
}
