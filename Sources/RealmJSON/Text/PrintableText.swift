// Escapes text for terminals, logs and messages. Characters that control a terminal, end a line or reorder text are
// written as `\u001b`; names in a file from an untrusted source can contain all of them.
//
// The escapes are those of JSON, so JSON that contains such characters only inside strings keeps its meaning.

import RealmPages

extension String {
  /// The text on one line, with control characters escaped.
  package var printable: String {
    if utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) { return self }
    let out = OutputBuffer()
    out.append(printable: self, keepingLines: false)
    return out.string
  }

  /// The text with control characters escaped, except line feeds and tabs.
  package var printableLines: String {
    let out = OutputBuffer()
    out.append(printable: self, keepingLines: true)
    return out.string
  }
}

extension OutputBuffer {
  /// Appends `text` with control characters escaped; `keepingLines` leaves line feeds and tabs unchanged.
  package func append(printable text: String, keepingLines: Bool) {
    unsafe append(printable: Array(text.utf8).span.bytes, keepingLines: keepingLines)
  }

  /// Appends `text`, which need not be UTF-8, with control characters escaped; `keepingLines` leaves line feeds and
  /// tabs unchanged.
  package func append(printable text: RawSpan, keepingLines: Bool) {
    var runStart = 0, index = 0
    while index < text.byteCount {
      let length = UTF8Sequence.length(in: text, at: index)
      let value = Self.value(text, index, length)
      index += max(1, length)
      let isKept = keepingLines && (value == 0x0A || value == 0x09)
      if length > 0 && (isKept || !Self.isControl(value)) { continue }
      append(text, in: runStart..<index - max(1, length))
      append("\\u")
      append(hex: UInt8(truncatingIfNeeded: value >> 8))
      append(hex: UInt8(truncatingIfNeeded: value))
      runStart = index
    }
    append(text, in: runStart..<text.byteCount)
  }

  /// Returns the character of up to three bytes, 0x10000 for longer ones, and the byte itself if no character begins
  /// there.
  private static func value(_ text: RawSpan, _ index: Int, _ length: Int) -> UInt32 {
    func byte(_ offset: Int) -> UInt32 {
      unsafe UInt32(text.unsafeLoad(fromByteOffset: index + offset, as: UInt8.self))
    }
    switch length {
    case 0, 1: return byte(0)
    case 2: return (byte(0) & 0x1F) << 6 | byte(1) & 0x3F
    case 3: return (byte(0) & 0x0F) << 12 | (byte(1) & 0x3F) << 6 | byte(2) & 0x3F
    default: return 0x10000
    }
  }

  /// True if a character is a control character, a line separator, or controls the direction of text.
  package static func isControl(_ value: UInt32) -> Bool {
    switch value {
    case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
