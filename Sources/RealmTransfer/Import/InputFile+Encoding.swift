// Converts text in other encodings to UTF-8, in an unnamed temporary file, before it is read. The encoding is the one
// that the caller specifies or that a byte order mark indicates; otherwise it is UTF-8.

import CLinux
import Glibc

extension InputFile {
  /// Returns the encoding of the byte order mark at the start of a file; nil if there is none.
  static func encoding(of head: [UInt8]) -> String? {
    if head.starts(with: [0xEF, 0xBB, 0xBF]) { return "UTF-8" }
    if head.starts(with: [0xFF, 0xFE, 0, 0]) || head.starts(with: [0, 0, 0xFE, 0xFF]) { return "UTF-32" }
    if head.starts(with: [0xFF, 0xFE]) || head.starts(with: [0xFE, 0xFF]) { return "UTF-16" }
    return nil
  }

  /// Returns the encoding to convert from, for a file that begins with `head`; nil for UTF-8.
  ///
  /// - Throws: if the specified encoding contradicts the byte order mark.
  static func encoding(_ named: String?, _ head: [UInt8], _ name: String) throws -> String? {
    let marked = encoding(of: head)
    let short = named.map { $0.uppercased().filter { $0 != "-" && $0 != "_" } }
    if let marked, let named, let short, !short.hasPrefix(marked.filter { $0 != "-" }) {
      throw TransferError.unsuitable(
        "\(name) begins with the byte order mark of \(marked), not \(named): omit --encoding"
      )
    }
    if short == "UTF8" { return nil }
    return named ?? (marked == "UTF-8" ? nil : marked)
  }

  /// Returns an unnamed temporary file with the text of `source` in UTF-8.
  static func converted(_ source: Int32, from encoding: String, _ name: String) throws -> Int32 {
    let copy = try unnamed()
    var place = clinux_text_place()
    lseek(source, 0, SEEK_SET)
    let code = unsafe clinux_convert_text(source, copy, encoding, &place)
    if code == 0 { return copy }
    close(copy)
    switch code {
    case ENOTSUP: throw TransferError.unsuitable("unknown encoding \(encoding); 'iconv -l' lists the encodings")
    case EILSEQ:
      let byte = String(place.byte, radix: 16, uppercase: true)
      throw TransferError.unsuitable(
        "\(name): line \(place.line), column \(place.column): byte 0x\(byte) is not text in \(encoding): "
          + "add the encoding of the file with --encoding"
      )
    default: throw TransferError.file("\(name), in a temporary file", code)
    }
  }

  /// Returns a new unnamed temporary file.
  static func unnamed() throws -> Int32 {
    guard let file = unsafe tmpfile() else { throw TransferError.file("a temporary file", errno) }
    defer { unsafe fclose(file) }
    let copy = unsafe dup(fileno(file))
    if copy < 0 { throw TransferError.file("a temporary file", errno) }
    return copy
  }
}
