// Defines well-formed UTF-8 in one place, because object texts and file names must use the same definition.
//
// Strict, as in the Unicode standard, table 3-7: no overlong forms, no surrogates, nothing above U+10FFFF.

/// Validates UTF-8, sequence by sequence.
public enum UTF8Sequence {
  /// Returns the length in bytes (1 to 4) of the well-formed sequence that starts at `index`; 0 if none starts there.
  public static func length(in text: RawSpan, at index: Int) -> Int {
    let lead = byte(text, index)
    switch lead {
    case 0x00...0x7F: return 1
    case 0xC2...0xDF: return isContinuation(text, index + 1) ? 2 : 0
    case 0xE0...0xEF:
      let low: UInt8 = lead == 0xE0 ? 0xA0 : 0x80
      let high: UInt8 = lead == 0xED ? 0x9F : 0xBF
      return isContinuation(text, index + 1, low, high) && isContinuation(text, index + 2) ? 3 : 0
    case 0xF0...0xF4:
      let low: UInt8 = lead == 0xF0 ? 0x90 : 0x80
      let high: UInt8 = lead == 0xF4 ? 0x8F : 0xBF
      let second = isContinuation(text, index + 1, low, high)
      return second && isContinuation(text, index + 2) && isContinuation(text, index + 3) ? 4 : 0
    default: return 0
    }
  }

  /// True if all of `text` is well-formed.
  public static func isValid(_ text: RawSpan) -> Bool {
    var index = 0
    while index < text.byteCount {
      // Eight bytes of ASCII at a time.
      if text.byteCount - index >= 8,
        unsafe text.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
      {
        index += 8
        continue
      }
      let length = length(in: text, at: index)
      if length == 0 { return false }
      index += length
    }
    return true
  }

  private static func isContinuation(
    _ text: RawSpan,
    _ index: Int,
    _ low: UInt8 = 0x80,
    _ high: UInt8 = 0xBF
  ) -> Bool {
    guard index < text.byteCount else { return false }
    let value = byte(text, index)
    return value >= low && value <= high
  }

  private static func byte(_ text: RawSpan, _ index: Int) -> UInt8 {
    unsafe text.unsafeLoad(fromByteOffset: index, as: UInt8.self)
  }
}
