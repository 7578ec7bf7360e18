// Reads consecutive JSON values, each over any number of lines: `{..} {..}`, or the elements of an array. It only finds
// the end of each value; `JSONText` validates the content.

extension InputFile {
  /// The position of a reader relative to values.
  enum ValueContext: Hashable {
    /// Between values.
    case open
    /// After the opening bracket of an array: a value or the closing bracket follows.
    case arrayStart
    /// After a value in an array: a comma or the closing bracket follows.
    case element
    /// After a comma.
    case comma
  }

  /// A value and the number of its first line.
  typealias FoundValue = (bytes: [UInt8], line: Int)

  /// Reads the next value; returns nil at the end.
  func readValue(_ context: inout ValueContext) throws(TransferError) -> FoundValue? {
    while let byte = try peek() {
      switch (byte, context) {
      case (0x0A, _):
        skip(1)
        countLines(1)
      case (0x20, _), (0x09, _), (0x0D, _): skip(1)
      case (0xEF, .open) where offset == 0 && line == 0: skip(3)  // a byte order mark
      case (UInt8(ascii: "["), .open):
        skip(1)
        context = .arrayStart
      case (UInt8(ascii: "]"), .arrayStart), (UInt8(ascii: "]"), .element):
        skip(1)
        context = .open
      case (UInt8(ascii: ","), .element):
        skip(1)
        context = .comma
      case (_, .element): throw unexpected(byte, "a comma or ] after the object")
      case (UInt8(ascii: "{"), _):
        if context != .open { context = .element }
        return try object()
      default: throw unexpected(byte, "an object, in { and }")
      }
    }
    if context != .open { throw .unsuitable("\(name): line \(line + 1): the array has no end: ] is missing") }
    return nil
  }

  private func unexpected(_ byte: UInt8, _ expected: String) -> TransferError {
    let found = (0x21..<0x7F).contains(byte) ? "\(Character(Unicode.Scalar(byte)))" : "a byte \(byte)"
    return .unsuitable("\(name): line \(line + 1): expected \(expected), found \(found)")
  }

  /// Reads the object that begins at the current position.
  private func object() throws(TransferError) -> FoundValue {
    let first = line + 1
    var length = 0, depth = 0, lines = 0, isText = false, isEscaped = false
    while true {
      guard let byte = try peek(length) else {
        throw .unsuitable("\(name): line \(first): the object has no end: } is missing")
      }
      length += 1
      if byte == 0x0A { lines += 1 }
      if isEscaped {
        isEscaped = false
      } else if isText {
        if byte == UInt8(ascii: "\\") { isEscaped = true } else if byte == UInt8(ascii: "\"") { isText = false }
      } else {
        switch byte {
        case UInt8(ascii: "\""): isText = true
        case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        default: break
        }
      }
      if depth == 0 {
        countLines(lines)
        return (take(length), first)
      }
    }
  }
}
