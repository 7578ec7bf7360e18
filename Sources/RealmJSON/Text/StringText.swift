// Renders strings as JSON text: adds quotes, escapes like jq, and validates UTF-8, in one pass.
//
// Plain bytes are found eight at a time and copied in runs.

import RealmPages

extension OutputBuffer {
  /// Appends `text` as a JSON string.
  ///
  /// Returns false and appends nothing if the text is not UTF-8.
  package func append(quoted text: RawSpan) -> Bool {
    let mark = count
    append(UInt8(ascii: "\""))
    let end = text.byteCount
    var runStart = 0
    var index = 0
    while index < end {
      index = Self.skipPlain(text, from: index)
      guard index < end else { break }
      let byte = unsafe text.unsafeLoad(fromByteOffset: index, as: UInt8.self)
      if byte >= 0x80 {
        let length = UTF8Sequence.length(in: text, at: index)
        guard length > 0 else {
          truncate(to: mark)
          return false
        }
        index += length
      } else {
        append(text, in: runStart..<index)
        append(escapeOf: byte)
        index += 1
        runStart = index
      }
    }
    append(text, in: runStart..<end)
    append(UInt8(ascii: "\""))
    return true
  }

  /// Appends `text` as a JSON string. A `String` is always UTF-8.
  public func append(quoted text: String) {
    var text = text
    text.withUTF8 { _ = unsafe append(quoted: UnsafeRawBufferPointer($0).bytes) }
  }

  /// Appends the bytes of a string value: as a JSON string, or in base64 if they are not UTF-8.
  public func append(string bytes: [UInt8]) {
    if unsafe append(quoted: bytes.span.bytes) { return }
    append("{\"$invalidString\":{\"base64\":\"")
    unsafe append(base64: bytes.span.bytes)
    append("\"}}")
  }

  /// Returns the first index from `start` on whose byte is not plain: a quote, backslash, control, DEL or non-ASCII
  /// byte.
  private static func skipPlain(_ text: RawSpan, from start: Int) -> Int {
    var index = start
    let end = text.byteCount
    while end - index >= 8 {
      let found = unsafe special(in: text.unsafeLoadUnaligned(fromByteOffset: index, as: UInt64.self).littleEndian)
      if found != 0 { return index + found.trailingZeroBitCount / 8 }
      index += 8
    }
    while index < end {
      let byte = unsafe text.unsafeLoad(fromByteOffset: index, as: UInt8.self)
      if byte < 0x20 || byte >= 0x7F || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") { break }
      index += 1
    }
    return index
  }

  /// Returns a word with bit 7 set in each byte that is special; bytes above the lowest special one may be flagged
  /// incorrectly.
  @inline(__always)
  private static func special(in word: UInt64) -> UInt64 {
    let ones: UInt64 = 0x0101_0101_0101_0101
    let quote = word ^ (ones &* 0x22)
    let backslash = word ^ (ones &* 0x5C)
    let delete = word ^ (ones &* 0x7F)
    let zeroes = ((quote &- ones) & ~quote) | ((backslash &- ones) & ~backslash) | ((delete &- ones) & ~delete)
    let controls = (word &- ones &* 0x20) & ~word
    return (zeroes | controls | word) & (ones &* 0x80)
  }

  private func append(escapeOf byte: UInt8) {
    switch byte {
    case UInt8(ascii: "\""): append("\\\"")
    case UInt8(ascii: "\\"): append("\\\\")
    case UInt8(ascii: "\n"): append("\\n")
    case UInt8(ascii: "\r"): append("\\r")
    case UInt8(ascii: "\t"): append("\\t")
    case 0x08: append("\\b")
    case 0x0C: append("\\f")
    default:
      append("\\u00")
      append(hex: byte)
    }
  }
}
