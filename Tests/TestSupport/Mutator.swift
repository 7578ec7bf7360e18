// Damages the bytes of a realm file in ways that occur in practice, and in ways that are most dangerous for a reader.

/// Creates damaged copies of a file. The same seed gives the same copy.
public struct Mutator: Sendable {
  private let original: [UInt8]
  /// Offsets of probable node headers and of the slots of the file header.
  private let anchors: [Int]

  /// Creates a mutator for copies of `bytes`.
  public init(_ bytes: [UInt8]) {
    original = bytes
    var anchors = [0, 8, 16, max(0, bytes.count - 16)]
    for at in stride(from: 24, to: max(24, bytes.count - 8), by: 8) where bytes[at..<at + 4].allSatisfy({ $0 == 0x41 })
    {
      anchors.append(at)
    }
    self.anchors = anchors
  }

  /// Returns a damaged copy.
  public func mutant(seed: UInt64) -> [UInt8] {
    var random = SplitMix64(seed: seed), bytes = original
    for _ in 0...random.below(3) where bytes.count > 64 { damage(&bytes, &random) }
    return bytes
  }

  private static let extremes: [Int64] = [
    0, 1, 2, 3, -1, -2, .min, .max, .min + 1, .max - 1, 1 << 31, -1 << 31, 1 << 32, 24, 0x7FFF_FFFF, 0xFFFF_FFFF,
    1 << 62,
  ]

  private func damage(_ bytes: inout [UInt8], _ random: inout SplitMix64) {
    let place = place(in: bytes, &random)
    switch random.below(12) {
    case 0:  // single bits anywhere
      for _ in 0...random.below(16) { bytes[random.below(bytes.count)] ^= 1 << UInt8(random.below(8)) }
    case 1, 2:  // single bits near a node header
      for _ in 0...random.below(4) {
        bytes[min(bytes.count - 1, place + random.below(24))] ^= 1 << UInt8(random.below(8))
      }
    case 3:  // cut short
      bytes.removeLast(random.below(4) == 0 ? random.below(bytes.count) : min(bytes.count, 8 * random.below(256)))
    case 4:  // a piece of another place of the file
      let count = min(bytes.count, 8 << random.below(10))
      let source = random.below(bytes.count - count + 1) & ~7, target = random.below(bytes.count - count + 1) & ~7
      bytes.replaceSubrange(target..<target + count, with: Array(bytes[source..<source + count]))
    case 5:  // whole pages in the wrong place
      let pages = bytes.count / 4096
      guard pages > 1 else { break }
      let source = 4096 * random.below(pages), target = 4096 * random.below(pages)
      bytes.replaceSubrange(target..<target + 4096, with: Array(bytes[source..<source + 4096]))
    case 6:  // zeros, as from a lost write
      let count = min(bytes.count - place, 1 + random.below(512))
      for at in place..<place + count { bytes[at] = 0 }
    case 7:  // another header: flags, width, count
      guard place + 8 <= bytes.count else { break }
      for at in place + 4..<place + 8 where random.below(2) == 0 { bytes[at] = UInt8(random.below(256)) }
    case 8:  // an integer at one of its limits
      let width = 1 << random.below(4), at = place + 8 + width * random.below(8)
      guard at + width <= bytes.count else { break }
      let value = Self.extremes[random.below(Self.extremes.count)]
      for i in 0..<width { bytes[at + i] = UInt8(truncatingIfNeeded: value >> Int64(8 * i)) }
    case 9, 10:  // a ref or a number that belongs elsewhere: cycles, nodes with two parents, lists of another type
      let width = 1 << random.below(4), source = self.place(in: bytes, &random) + 8 + width * random.below(8)
      let target = place + 8 + width * random.below(8)
      guard source + width <= bytes.count, target + width <= bytes.count else { break }
      for i in 0..<width { bytes[target + i] = bytes[source + i] }
    default:  // noise
      let count = min(bytes.count - place, 1 + random.below(64))
      for at in place..<place + count { bytes[at] = UInt8(random.below(256)) }
    }
  }

  /// Returns the offset of a node header, or any offset.
  private func place(in bytes: [UInt8], _ random: inout SplitMix64) -> Int {
    let place = random.below(8) == 0 ? random.below(bytes.count) : anchors[random.below(anchors.count)]
    return min(place, bytes.count - 1)
  }
}
