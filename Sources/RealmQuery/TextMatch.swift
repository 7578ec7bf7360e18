// Compares strings by their bytes. Ignoring case applies to the letters of ASCII and Latin-1, as in Realm. Ignoring
// diacritics compares strings without their marks, as in Realm's SDK for Swift.

import Glibc
package import RealmPages
@_spi(_Unicode) import Swift

/// The differences to ignore when comparing strings.
package struct TextOptions: OptionSet, Sendable {
  package let rawValue: Int

  package init(rawValue: Int) { self.rawValue = rawValue }

  /// `[c]`
  package static let ignoresCase = TextOptions(rawValue: 1)
  /// `[d]`
  package static let ignoresDiacritics = TextOptions(rawValue: 2)

  /// The letters in the brackets.
  var letters: String { (contains(.ignoresCase) ? "c" : "") + (contains(.ignoresDiacritics) ? "d" : "") }
}

/// String comparisons.
enum TextMatch {
  typealias Bytes = UnsafeRawBufferPointer

  /// Compares two strings, or a string with a part or pattern.
  static func holds(_ comparison: Comparison, _ a: Bytes, _ b: Bytes, _ options: TextOptions) -> Bool {
    guard options.contains(.ignoresDiacritics), unsafe !isASCII(a) || !isASCII(b) else {
      return unsafe holds(comparison, a, b, ignoresCase: options.contains(.ignoresCase))
    }
    return unsafe withoutMarks(a, options).withUnsafeBytes { a in
      unsafe withoutMarks(b, options).withUnsafeBytes { b in unsafe holds(comparison, a, b, ignoresCase: false) }
    }
  }

  private static func holds(_ comparison: Comparison, _ a: Bytes, _ b: Bytes, ignoresCase: Bool) -> Bool {
    switch comparison {
    case .beginsWith: unsafe begins(a, b, ignoresCase: ignoresCase)
    case .endsWith: unsafe ends(a, b, ignoresCase: ignoresCase)
    case .contains: unsafe contains(a, b, ignoresCase: ignoresCase)
    case .like: unsafe like(a, b, ignoresCase: ignoresCase)
    default: unsafe equal(a, b, ignoresCase: ignoresCase)
    }
  }

  private static func isASCII(_ text: Bytes) -> Bool { unsafe text.allSatisfy { $0 < 0x80 } }

  /// The end of the scripts in which nonspacing marks are diacritics: Latin, Greek and Cyrillic. In other scripts they
  /// represent vowels.
  private static let diacriticLimit: UInt32 = 0x510

  /// Returns the string without diacritics, and in lower case if case is ignored. A precomposed `é` and an `e` with
  /// a combining mark give the same result.
  private static func withoutMarks(_ text: Bytes, _ options: TextOptions) -> [UInt8] {
    var bytes: [UInt8] = [], dropsMarks = false
    for scalar in unsafe String(decoding: text, as: UTF8.self)._nfd {
      if scalar.properties.generalCategory == .nonspacingMark {
        if dropsMarks { continue }
      } else {
        dropsMarks = scalar.value < diacriticLimit
      }
      if options.contains(.ignoresCase) {
        bytes.append(contentsOf: scalar.properties.lowercaseMapping.utf8)
      } else {
        bytes.append(contentsOf: String(scalar).utf8)
      }
    }
    return bytes
  }

  static func equal(_ a: Bytes, _ b: Bytes, ignoresCase: Bool) -> Bool {
    unsafe a.count == b.count && matches(a, b, at: 0, ignoresCase)
  }

  static func begins(_ text: Bytes, _ part: Bytes, ignoresCase: Bool) -> Bool {
    unsafe text.count >= part.count && matches(text, part, at: 0, ignoresCase)
  }

  static func ends(_ text: Bytes, _ part: Bytes, ignoresCase: Bool) -> Bool {
    unsafe text.count >= part.count && matches(text, part, at: text.count - part.count, ignoresCase)
  }

  static func contains(_ text: Bytes, _ part: Bytes, ignoresCase: Bool) -> Bool {
    if text.count < part.count { return false }
    guard !ignoresCase, let first = unsafe part.first, let base = text.baseAddress else {
      return unsafe place(of: part, in: text, ignoresCase: ignoresCase) != nil
    }
    // Search for each occurrence of the part's first byte.
    var start = 0
    while let found = unsafe memchr(base + start, Int32(first), text.count - part.count + 1 - start) {
      start = unsafe UnsafeRawPointer(found) - base
      if unsafe matches(text, part, at: start, false) { return true }
      start += 1
    }
    return false
  }

  /// Returns the index of the first occurrence of `part` in a text; nil if there is none.
  static func place(of part: Bytes, in text: Bytes, ignoresCase: Bool) -> Int? {
    if text.count < part.count { return nil }
    return (0...text.count - part.count).first { unsafe matches(text, part, at: $0, ignoresCase) }
  }

  private static func matches(_ text: Bytes, _ part: Bytes, at start: Int, _ ignoresCase: Bool) -> Bool {
    for index in 0..<part.count {
      let a = unsafe text[start + index], b = unsafe part[index]
      if a == b { continue }
      if unsafe !ignoresCase || lower(text, start + index) != lower(part, index) { return false }
    }
    return true
  }

  /// Returns the byte at `index` in lower case.
  private static func lower(_ text: Bytes, _ index: Int) -> UInt8 {
    let byte = unsafe text[index]
    if (0x41...0x5A).contains(byte) { return byte | 0x20 }
    // The second byte of U+00C0 to U+00DE, except the multiplication sign.
    if (0x80...0x9E).contains(byte), byte != 0x97, index > 0, unsafe text[index - 1] == 0xC3 { return byte | 0x20 }
    return byte
  }

  /// Returns true if a byte of a pattern is a wildcard.
  static func isWildcard(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "*") || byte == UInt8(ascii: "?") }

  /// Matches a pattern in which `*` matches any characters and `?` matches one.
  static func like(_ text: Bytes, _ pattern: Bytes, ignoresCase: Bool) -> Bool {
    var t = 0, p = 0
    var star: (pattern: Int, text: Int)?
    while t < text.count {
      if p < pattern.count, unsafe pattern[p] == UInt8(ascii: "*") {
        star = (p + 1, t)
        p += 1
      } else if p < pattern.count, unsafe pattern[p] == UInt8(ascii: "?") {
        p += 1
        t = unsafe next(text, t)
      } else if p < pattern.count, unsafe text[t] == pattern[p] || ignoresCase && lower(text, t) == lower(pattern, p) {
        p += 1
        t += 1
      } else if let last = star {
        // Extend the text matched by the star by one character.
        p = last.pattern
        t = unsafe next(text, last.text)
        star = (last.pattern, t)
      } else {
        return false
      }
    }
    while p < pattern.count, unsafe pattern[p] == UInt8(ascii: "*") { p += 1 }
    return p == pattern.count
  }

  /// Returns the index of the next character.
  private static func next(_ text: Bytes, _ index: Int) -> Int {
    var index = index + 1
    while index < text.count, unsafe text[index] & 0xC0 == 0x80 { index += 1 }
    return index
  }
}

/// A text to search for, ignoring case as `CONTAINS[c]` does.
package struct TextSearch: Sendable {
  private let part: [UInt8]

  package init(_ part: String) { self.part = Array(part.utf8) }

  /// Returns the range of the first occurrence; nil if there is none.
  package func first(in text: ByteView) -> Range<Int>? {
    unsafe part.withUnsafeBytes { part in
      guard let start = unsafe TextMatch.place(of: part, in: text.unsafeBytes, ignoresCase: true) else { return nil }
      return start..<start + part.count
    }
  }

  /// The maximum length of an excerpt in bytes, unless the match is longer.
  private static let excerptLimit = 80

  /// Returns the text around a match, not splitting characters.
  package static func excerpt(of text: ByteView, around place: Range<Int>) -> String {
    unsafe text.withUnsafeBytes { bytes in
      var start = max(0, place.lowerBound - excerptLimit / 2)
      var end = min(bytes.count, max(place.upperBound, start + excerptLimit))
      while start < place.lowerBound, unsafe bytes[start] & 0xC0 == 0x80 { start += 1 }
      while end > place.upperBound, end < bytes.count, unsafe bytes[end] & 0xC0 == 0x80 { end -= 1 }
      return unsafe (start > 0 ? "…" : "") + String(decoding: bytes[start..<end], as: UTF8.self)
        + (end < bytes.count ? "…" : "")
    }
  }
}
