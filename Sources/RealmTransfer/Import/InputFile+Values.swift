// Reads consecutive JSON values, each over any number of lines: `{..} {..}`, the elements of an array, or those of the
// arrays in an object that names classes: `{"Person": [..], "Dog": [..]}`. It only finds the end of each value;
// `JSONText` validates the content.
import RealmJSON
import RealmPages

extension InputFile {
  /// The position of a reader relative to values.
  enum ValueContext: Hashable {
    /// Between values.
    case open
    /// After the opening bracket of an array: a value or the closing bracket follows. `ofClass` is the number of its
    /// class in `ClassArrays.found`, from 1; 0 if the array is not in an object that names classes.
    case arrayStart(ofClass: Int)
    /// After a value in an array: a comma or the closing bracket follows.
    case element(ofClass: Int)
    /// After a comma in an array.
    case comma(ofClass: Int)
    /// After an array in an object that names classes: a comma or the closing brace follows.
    case arrayEnd
    /// After a comma in such an object.
    case className
  }

  /// The classes of the arrays in a JSON object.
  struct ClassArrays {
    /// The classes of the realm; empty if objects cannot name classes.
    var known: [String] = []
    /// The classes found.
    private var found: [String] = []

    func isKnown(_ name: String) -> Bool { known.contains { $0.isExactly(name) } }

    /// Returns the number of a class in `found`, from 1.
    mutating func number(of name: String) -> Int {
      if let index = found.firstIndex(where: { $0.isExactly(name) }) { return index + 1 }
      found.append(name)
      return found.count
    }

    /// Returns the class of the value that was read before `context`.
    func name(in context: ValueContext) -> String? {
      guard case .element(let number) = context, number > 0 else { return nil }
      return found[number - 1]
    }
  }

  /// A value and the number of its first line.
  typealias FoundValue = (bytes: [UInt8], line: Int)

  /// Reads the next value; returns nil at the end.
  func readValue(_ context: inout ValueContext, _ arrays: inout ClassArrays) throws -> FoundValue? {
    while let byte = try peek() {
      switch (byte, context) {
      case (0x0A, _):
        skip(1)
        countLines(1)
      case (0x20, _), (0x09, _), (0x0D, _): skip(1)
      case (0xEF, .open) where offset == 0 && line == 0: skip(3)  // a byte order mark
      case (UInt8(ascii: "["), .open):
        skip(1)
        context = .arrayStart(ofClass: 0)
      case (UInt8(ascii: "]"), .arrayStart(let number)), (UInt8(ascii: "]"), .element(let number)):
        skip(1)
        context = number == 0 ? .open : .arrayEnd
      case (UInt8(ascii: ","), .element(let number)):
        skip(1)
        context = .comma(ofClass: number)
      case (UInt8(ascii: ","), .arrayEnd):
        skip(1)
        context = .className
      case (UInt8(ascii: "}"), .arrayEnd):
        skip(1)
        context = .open
      case (_, .element): throw unexpected(byte, "a comma or ] after the object")
      case (_, .arrayEnd): throw unexpected(byte, "a comma or } after the array")
      case (_, .className):
        guard let start = try arrayStart(at: 0) else {
          throw unexpected(byte, "a class and an array, as in \"Dog\": []")
        }
        guard arrays.isKnown(start.name) else {
          throw TransferError.unsuitable(
            "\(name): line \(line + 1): no class \(start.name); \(KnownNames(arrays.known).hint(for: start.name))"
          )
        }
        enter(start, &context, &arrays)
      case (UInt8(ascii: "{"), .open):
        guard !arrays.known.isEmpty, let start = try arrayStart(at: 1), arrays.isKnown(start.name) else {
          return try object()
        }
        enter(start, &context, &arrays)
      case (UInt8(ascii: "{"), .arrayStart(let number)), (UInt8(ascii: "{"), .comma(let number)):
        context = .element(ofClass: number)
        return try object()
      default: throw unexpected(byte, "an object, in { and }")
      }
    }
    switch context {
    case .open: return nil
    case .arrayEnd, .className:
      throw TransferError.unsuitable("\(name): line \(line + 1): the object has no end: } is missing")
    default: throw TransferError.unsuitable("\(name): line \(line + 1): the array has no end: ] is missing")
    }
  }

  /// The name of an array in an object, and the numbers of bytes and of lines up to its first element.
  private typealias ArrayStart = (name: String, length: Int, lines: Int)

  private func enter(_ start: ArrayStart, _ context: inout ValueContext, _ arrays: inout ClassArrays) {
    skip(start.length)
    countLines(start.lines)
    context = .arrayStart(ofClass: arrays.number(of: start.name))
  }

  /// Returns the name before an array that begins at `distance`, such as `"Dog": [`; nil for anything else.
  private func arrayStart(at distance: Int) throws -> ArrayStart? {
    var length = distance, lines = 0
    func skipBlanks() throws {
      while let byte = try peek(length), [0x20, 0x09, 0x0D, 0x0A].contains(byte) {
        if byte == 0x0A { lines += 1 }
        length += 1
      }
    }
    func takes(_ character: Unicode.Scalar) throws -> Bool {
      guard try peek(length) == UInt8(ascii: character) else { return false }
      length += 1
      return true
    }
    try skipBlanks()
    guard try takes("\"") else { return nil }
    var quoted = [UInt8(ascii: "\"")]
    while quoted.count == 1 || quoted.last != UInt8(ascii: "\"") {
      // Class names are shorter.
      guard quoted.count < 1000, let byte = try peek(length) else { return nil }
      quoted.append(byte)
      length += 1
      // Class names that need an escape are not recognized.
      if byte == UInt8(ascii: "\\") { return nil }
    }
    try skipBlanks()
    guard try takes(":") else { return nil }
    try skipBlanks()
    guard try takes("[") else { return nil }
    // A name that is not JSON is reported with the object.
    guard let name = (try? JSONText(Array("{\"name\":".utf8) + quoted + [UInt8(ascii: "}")]))?.string(ofMember: "name")
    else { return nil }
    return (name, length, lines)
  }

  private func unexpected(_ byte: UInt8, _ expected: String) -> TransferError {
    let found = (0x21..<0x7F).contains(byte) ? "\(Character(Unicode.Scalar(byte)))" : "a byte \(byte)"
    return .unsuitable("\(name): line \(line + 1): expected \(expected), found \(found)")
  }

  /// Reads the object that begins at the current position.
  private func object() throws -> FoundValue {
    let first = line + 1
    var length = 0, depth = 0, lines = 0, isText = false, isEscaped = false
    while true {
      guard let byte = try peek(length) else {
        throw TransferError.unsuitable("\(name): line \(first): the object has no end: } is missing")
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
