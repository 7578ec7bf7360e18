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
    case .objectID(let id): id.description
    case .uuid(let id): id.description
    default: asText
    }
  }
}
