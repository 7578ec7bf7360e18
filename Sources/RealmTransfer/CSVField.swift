// Fields of CSV and TSV, by RFC 4180.

package import RealmJSON

extension OutputBuffer {
  /// Appends a field that is not null, in quotes where it needs them.
  package func append(field text: some Collection<UInt8>, separator: UInt8 = UInt8(ascii: ",")) {
    let needsQuotes =
      text.isEmpty || text.first == 0x20
      || text.contains { $0 == separator || $0 == UInt8(ascii: "\"") || $0 == 0x0A || $0 == 0x0D }
    if needsQuotes { append(quotedField: text) } else { text.forEach { append($0) } }
  }

  /// Appends a name of the first line; also in quotes where a reader that detects the separator could take a part of
  /// the name for one, or the name for something else.
  package func append(columnName name: String, separator: UInt8 = UInt8(ascii: ",")) {
    let bytes = Array(name.utf8)
    let isClear =
      !bytes.contains(where: CSVDialect.separators.contains) && !bytes.starts(with: CSVDialect.declaration)
      && bytes.first != 0xEF
    if isClear { append(field: bytes, separator: separator) } else { append(quotedField: bytes) }
  }

  private func append(quotedField text: some Collection<UInt8>) {
    append("\"")
    for byte in text {
      if byte == UInt8(ascii: "\"") { append("\"") }
      append(byte)
    }
    append("\"")
  }
}
