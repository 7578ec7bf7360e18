// How values look to Codable types where both sides have words of their own: dates as Foundation's `Date` codes itself,
// ObjectIds and UUIDs as text.

import RealmPages

extension Timestamp {
  /// The beginning of 2001, to which Foundation's `Date` refers, in seconds of Unix.
  private static let reference: Int64 = 978_307_200

  var secondsSinceReference: Double {
    Double(seconds &- Self.reference) + Double(nanoseconds) / 1_000_000_000
  }

  /// Nil for a time that cannot be stored.
  init?(secondsSinceReference time: Double) {
    let whole = time.rounded(.down)
    guard abs(whole) < 0x1p62, var seconds = Int64(exactly: whole) else { return nil }
    seconds += Self.reference
    var nanoseconds = min(Int32(((time - whole) * 1_000_000_000).rounded()), 999_999_999)
    // Both have the same sign.
    if seconds < 0, nanoseconds > 0 { (seconds, nanoseconds) = (seconds + 1, nanoseconds - 1_000_000_000) }
    self.init(seconds: seconds, nanoseconds: nanoseconds)
  }
}

extension Value {
  /// What decoding a String gives: a string, or the text of an ObjectId or UUID.
  var codedText: String? {
    switch self {
    case .objectID(let id): Self.hexadecimal(id.high, digits: 16) + Self.hexadecimal(UInt64(id.low), digits: 8)
    case .uuid(let id):
      [(id.high, 0, 8), (id.high, 8, 4), (id.high, 12, 4), (id.low, 0, 4), (id.low, 4, 12)]
        .map { String(Self.hexadecimal($0.0, digits: 16).dropFirst($0.1).prefix($0.2)) }.joined(separator: "-")
    default: asText
    }
  }

  private static func hexadecimal(_ number: UInt64, digits: Int) -> String {
    let text = String(number, radix: 16)
    return String(repeating: "0", count: digits - text.count) + text
  }
}

extension ObjectID {
  /// Nil if the text is not 24 hexadecimal digits.
  init?(text: String) {
    guard text.utf8.count == 24, let high = UInt64(text.prefix(16), radix: 16),
      let low = UInt32(text.suffix(8), radix: 16)
    else { return nil }
    self.init(high: high, low: low)
  }
}

extension UniqueID {
  /// Nil if the text is not 32 hexadecimal digits in the groups of a UUID.
  init?(text: String) {
    let groups = text.split(separator: "-", omittingEmptySubsequences: false), digits = groups.joined()
    guard groups.map(\.utf8.count) == [8, 4, 4, 4, 12], let high = UInt64(digits.prefix(16), radix: 16),
      let low = UInt64(digits.suffix(16), radix: 16)
    else { return nil }
    self.init(high: high, low: low)
  }
}
