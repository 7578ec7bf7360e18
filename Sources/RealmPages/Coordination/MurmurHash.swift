// The hash that Realm's SDKs use to name a realm's pipe in another directory: std::hash<std::string> of libstdc++ on
// 64-bit machines, which is MurmurHash64A with a different seed.

/// A hash with the same result in every program.
enum MurmurHash {
  private static let multiplier: UInt64 = 0xc6a4_a793_5bd1_e995
  private static let seed: UInt64 = 0xc70f_6907

  static func hash(_ bytes: [UInt8]) -> UInt64 {
    var hash = seed ^ (UInt64(bytes.count) &* multiplier)
    let end = bytes.count & ~7
    for start in stride(from: 0, to: end, by: 8) {
      hash = (hash ^ (mixed(word(bytes[start..<start + 8]) &* multiplier) &* multiplier)) &* multiplier
    }
    if end < bytes.count { hash = (hash ^ word(bytes[end...])) &* multiplier }
    return mixed(mixed(hash) &* multiplier)
  }

  private static func mixed(_ value: UInt64) -> UInt64 { value ^ (value >> 47) }

  /// Combines up to eight bytes, the first as the lowest.
  private static func word(_ bytes: ArraySlice<UInt8>) -> UInt64 {
    bytes.reversed().reduce(0) { $0 << 8 | UInt64($1) }
  }
}
