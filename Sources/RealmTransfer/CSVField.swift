// One field of CSV or TSV, by RFC 4180.

package import RealmJSON

extension OutputBuffer {
  /// Appends a field that is not null, in quotes where it needs them.
  package func append(field text: some Collection<UInt8>, separator: UInt8 = UInt8(ascii: ",")) {
    let needsQuotes =
      text.isEmpty || text.first == 0x20
      || text.contains { $0 == separator || $0 == UInt8(ascii: "\"") || $0 == 0x0A || $0 == 0x0D }
    if !needsQuotes { return text.forEach { append($0) } }
    append("\"")
    for byte in text {
      if byte == UInt8(ascii: "\"") { append("\"") }
      append(byte)
    }
    append("\"")
  }
}
