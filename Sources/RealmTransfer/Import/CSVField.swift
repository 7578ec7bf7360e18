// Formats fields of CSV and TSV, by RFC 4180.

package import RealmJSON

extension OutputBuffer {
  /// Appends a field that is not null, quoted if necessary.
  package func append(field text: RawSpan, separator: UInt8 = UInt8(ascii: ",")) {
    if Self.needsQuotes(text, separator) { append(quotedField: text) } else { append(text, in: 0..<text.byteCount) }
  }

  /// Appends a column name. Also quotes names that could mislead a reader that detects the separator: names that
  /// contain another separator, and names that resemble a `sep=` line or a byte order mark.
  package func append(columnName name: String, separator: UInt8 = UInt8(ascii: ",")) {
    let bytes = Array(name.utf8)
    let isClear =
      !bytes.contains(where: CSVDialect.separators.contains) && !bytes.starts(with: CSVDialect.declaration)
      && bytes.first != 0xEF
    if isClear {
      unsafe append(field: bytes.span.bytes, separator: separator)
    } else {
      unsafe append(quotedField: bytes.span.bytes)
    }
  }

  /// Appends a string, or, with `isLink`, the key shown for a link. The field is the text itself, or JSON if the text
  /// is not UTF-8 or could be mistaken for JSON.
  package func append(textField text: RawSpan, separator: UInt8 = UInt8(ascii: ","), isLink: Bool = false) {
    let isMarked = isLink ? Self.isExtendedJSON(text) : Self.isMarked(text)
    if UTF8Sequence.isValid(text), !isMarked { return append(field: text, separator: separator) }
    let json = OutputBuffer()
    json.append(invalidString: text)
    unsafe json.withUnsafeBytes { unsafe append(field: $0.bytes, separator: separator) }
  }

  /// Appends a string as JSON, with its bytes in base64.
  package func append(invalidString text: RawSpan) {
    append(Self.invalidString)
    append("{\"base64\":\"")
    append(base64: text)
    append("\"}}")
  }

  /// The beginning of the JSON of a string that is not UTF-8.
  static let invalidString = Array("{\"$invalidString\":".utf8)

  /// True if the field of a link is Extended JSON and not the text of a key: an object whose first member begins with
  /// `$`.
  package static func isExtendedJSON(_ text: RawSpan) -> Bool {
    guard text.byteCount > 0, byte(text, 0) == UInt8(ascii: "{") else { return false }
    var index = 1
    while index < text.byteCount, [0x20, 0x09, 0x0A, 0x0D].contains(byte(text, index)) { index += 1 }
    return index + 1 < text.byteCount && byte(text, index) == UInt8(ascii: "\"")
      && byte(text, index + 1) == UInt8(ascii: "$")
  }

  private static func isMarked(_ text: RawSpan) -> Bool {
    guard text.byteCount >= invalidString.count, byte(text, 0) == invalidString[0] else { return false }
    return invalidString.indices.allSatisfy { byte(text, $0) == invalidString[$0] }
  }

  private static func needsQuotes(_ text: RawSpan, _ separator: UInt8) -> Bool {
    if text.byteCount == 0 || byte(text, 0) == 0x20 { return true }
    var start = 0
    while text.byteCount - start >= 8 {
      let word = unsafe text.unsafeLoadUnaligned(fromByteOffset: start, as: UInt64.self)
      if has(separator, word) || has(UInt8(ascii: "\""), word) || has(0x0A, word) || has(0x0D, word) { return true }
      start += 8
    }
    for index in start..<text.byteCount {
      let byte = byte(text, index)
      if byte == separator || byte == UInt8(ascii: "\"") || byte == 0x0A || byte == 0x0D { return true }
    }
    return false
  }

  /// True if one of the eight bytes of a word equals `byte`.
  @inline(__always)
  private static func has(_ byte: UInt8, _ word: UInt64) -> Bool {
    let difference = word ^ UInt64(byte) &* 0x0101_0101_0101_0101
    return (difference &- 0x0101_0101_0101_0101) & ~difference & 0x8080_8080_8080_8080 != 0
  }

  private func append(quotedField text: RawSpan) {
    append(UInt8(ascii: "\""))
    var start = 0
    for index in 0..<text.byteCount where Self.byte(text, index) == UInt8(ascii: "\"") {
      // The quote is written twice: at the end of this run and at the beginning of the next.
      append(text, in: start..<index + 1)
      start = index
    }
    append(text, in: start..<text.byteCount)
    append(UInt8(ascii: "\""))
  }

  @inline(__always)
  private static func byte(_ text: RawSpan, _ index: Int) -> UInt8 {
    unsafe text.unsafeLoad(fromByteOffset: index, as: UInt8.self)
  }
}
