// Encrypted pages whose metadata slots are overwritten, read as far as possible. The initialization vector changes
// only the first 16 bytes of a page, and only its counter is unknown, so at most four bytes are lost.
// Source: docs/format/4-encryption.md 4.1, 4.2.

/// The pages of a damaged encrypted file that were read although their metadata slots are lost.
public struct LostSlots: Sendable, Hashable {
  /// The number of these pages.
  public let count: Int
  /// The number of those that nothing verifies.
  public let unverified: Int
  /// The number of those whose first four bytes are lost.
  public let withoutStart: Int
}

/// A page with a damaged metadata slot, decrypted with the counter 0, so that its first four bytes are not known.
struct LostSlot {
  /// How much of a page is known without its slot.
  struct Finding: Equatable {
    /// True if what is left of the slot proves that the page is the one that was written.
    let isAuthentic: Bool
    /// The first four bytes of the page; nil if they cannot be had.
    let start: UInt32?
  }

  /// The first four bytes of each node. Source: docs/format/1-storage.md S4.
  static let nodeMark: UInt32 = 0x4141_4141
  /// The number of equal bytes, of the 28 of a MAC, that prove a page: chance matches that many in one of 10^21 pages.
  private static let enoughOfMAC = 12
  /// The largest counter that is believed without any other sign of it: chance makes a counter this small in one of
  /// 65,536 pages.
  private static let largestLikelyCounter: UInt32 = 0xFFFF

  private let slot: [UInt8]
  private let counters: [UInt32]

  /// `slot` has 64 bytes.
  init(_ slot: [UInt8]) {
    self.slot = slot
    counters = [0, 32].map { half in
      (0..<4).reduce(0) { $0 | UInt32(slot[half + $1]) << (8 * UInt32($1)) }
    }
  }

  /// True if no writer leaves such counters: the second is the first, or the one before it.
  var isDamaged: Bool { counters[0] == 0 || counters[0] &- counters[1] > 1 }

  /// Nil if the slot is in order, so that the page itself is damaged. `mac` is the MAC of the page, `start` its first
  /// eight bytes as decrypted with the counter 0, and `size` the logical size of the file.
  func finding(mac: [UInt8], page: Int, start: UInt64, size: Int) -> Finding? {
    let half = [4, 36].firstIndex { zip(mac, slot[$0...]).count { $0 == $1 } >= Self.enoughOfMAC }
    let low = UInt32(truncatingIfNeeded: start), high = UInt32(truncatingIfNeeded: start >> 32)
    if !isDamaged { return half.map { Finding(isAuthentic: true, start: low ^ counters[$0]) } }
    let isAuthentic = half != nil
    // The counter of the page is its second counter plus one, or equal to it.
    let likely = [counters[1] &+ 1, counters[1], counters[0]]
    func isLikely(_ counter: UInt32) -> Bool {
      likely.contains(counter) || 1...Self.largestLikelyCounter ~= counter
    }
    var known: UInt32?
    if page == 0 {
      // The header begins with a top ref, or with the mark of a file in streaming form.
      let refs = likely.map { low ^ $0 }.filter { $0 % 8 == 0 && UInt64(high) << 32 | UInt64($0) < UInt64(size) }
      known = high == .max && isLikely(low ^ .max) ? .max : isAuthentic ? refs.first : nil
    } else if isLikely(low ^ Self.nodeMark) {
      known = Self.nodeMark
    }
    return Finding(isAuthentic: isAuthentic, start: known)
  }
}
