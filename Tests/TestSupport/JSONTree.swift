// swift-format-ignore-file: AllPublicDeclarationsHaveDocumentation
// JSON as tests compare it: members in order, numbers as text, strings as bytes. It is independent of the code under
// test, and as simple as possible.

/// A JSON value.
public indirect enum JSONTree: Hashable, Sendable {
  case null
  case bool(Bool)
  /// The text of a number.
  case number(String)
  /// The bytes of a string, without escapes.
  case string([UInt8])
  case array([JSONTree])
  case object([Member])

  public struct Member: Hashable, Sendable {
    public let name: [UInt8]
    public var value: JSONTree

    public init(_ name: [UInt8], _ value: JSONTree) { (self.name, self.value) = (name, value) }
    public init(_ name: String, _ value: JSONTree) { self.init(Array(name.utf8), value) }
  }

  public static func text(_ text: String) -> JSONTree { .string(Array(text.utf8)) }

  /// An object of named values.
  public static func members(_ members: KeyValuePairs<String, JSONTree>) -> JSONTree {
    .object(members.map { Member($0.key, $0.value) })
  }

  /// Returns an integer as the tree shows it; one that a double cannot represent exactly is wrapped.
  public static func integer(_ value: Int64) -> JSONTree {
    value.magnitude > 1 << 53 ? .members(["$numberLong": .text(String(value))]) : .number(String(value))
  }

  /// The member with this name.
  public subscript(name: String) -> JSONTree? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name.elementsEqual(name.utf8) }?.value
  }

  public var members: [Member] { if case .object(let members) = self { members } else { [] } }
  public var elements: [JSONTree] { if case .array(let elements) = self { elements } else { [] } }
  /// A string as text.
  public var string: String? {
    if case .string(let bytes) = self { String(decoding: bytes, as: UTF8.self) } else { nil }
  }

  // MARK: printing

  /// Returns the text on one line, or as the tree shows it: indented by two spaces per level, with a final newline.
  public func printed(pretty: Bool) -> [UInt8] {
    var text: [UInt8] = []
    print(into: &text, indent: pretty ? [0x0a] : nil)
    if pretty { text.append(0x0a) }
    return text
  }

  private func print(into text: inout [UInt8], indent: [UInt8]?) {
    switch self {
    case .null: text += "null".utf8
    case .bool(let value): text += (value ? "true" : "false").utf8
    case .number(let number): text += number.utf8
    case .string(let bytes): Self.quote(bytes, into: &text)
    case .array(let elements):
      Self.print(elements, "[", "]", into: &text, indent) { $0.print(into: &$1, indent: $2) }
    case .object(let members):
      Self.print(members, "{", "}", into: &text, indent) { member, text, indent in
        Self.quote(member.name, into: &text)
        text += (indent == nil ? ":" : ": ").utf8
        member.value.print(into: &text, indent: indent)
      }
    }
  }

  private static func print<Item>(
    _ items: [Item],
    _ open: String,
    _ close: String,
    into text: inout [UInt8],
    _ indent: [UInt8]?,
    _ body: (Item, inout [UInt8], [UInt8]?) -> Void
  ) {
    text += open.utf8
    let inner = indent.map { $0 + "  ".utf8 }
    for (i, item) in items.enumerated() {
      if i > 0 { text += ",".utf8 }
      text += inner ?? []
      body(item, &text, inner)
    }
    if !items.isEmpty { text += indent ?? [] }
    text += close.utf8
  }

  private static func quote(_ bytes: [UInt8], into text: inout [UInt8]) {
    text += "\"".utf8
    for byte in bytes {
      switch byte {
      case 0x22: text += "\\\"".utf8
      case 0x5c: text += "\\\\".utf8
      case 0x0a: text += "\\n".utf8
      case 0x0d: text += "\\r".utf8
      case 0x09: text += "\\t".utf8
      case 0x08: text += "\\b".utf8
      case 0x0c: text += "\\f".utf8
      case 0..<0x20, 0x7f:
        let digits = String(byte, radix: 16)
        text += "\\u00\(byte < 16 ? "0" : "")\(digits)".utf8
      default: text.append(byte)
      }
    }
    text += "\"".utf8
  }

  // MARK: parsing

  public struct SyntaxError: Error, CustomStringConvertible {
    public let description: String
  }

  /// Parses a single value, which may be followed only by white space.
  public init(_ text: [UInt8]) throws {
    var parser = Parser(text: text)
    self = try parser.value(depth: 0)
    parser.skipSpace()
    if parser.at < text.count { throw parser.error("text after the end") }
  }

  private struct Parser {
    let text: [UInt8]
    var at = 0

    func error(_ problem: String) -> SyntaxError { SyntaxError(description: "offset \(at): \(problem)") }

    var next: UInt8 { at < text.count ? text[at] : 0 }

    mutating func skipSpace() { while [0x20, 0x0a, 0x0d, 0x09].contains(next) && at < text.count { at += 1 } }

    mutating func take(_ word: String) -> Bool {
      guard text[at...].starts(with: word.utf8) else { return false }
      at += word.utf8.count
      return true
    }

    mutating func value(depth: Int) throws -> JSONTree {
      skipSpace()
      if depth > 1000 { throw error("too deep") }
      if take("null") { return .null }
      if take("true") { return .bool(true) }
      if take("false") { return .bool(false) }
      if next == 0x22 { return .string(try string()) }
      if take("[") {
        return .array(try items("]") { (parser) throws in try parser.value(depth: depth + 1) })
      }
      if take("{") {
        return .object(
          try items("}") { (parser) throws in
            parser.skipSpace()
            let name = try parser.string()
            parser.skipSpace()
            if !parser.take(":") { throw parser.error("no colon") }
            return Member(name, try parser.value(depth: depth + 1))
          }
        )
      }
      let start = at
      while "+-.eE0123456789".utf8.contains(next) { at += 1 }
      if start == at { throw error("no value") }
      return .number(String(decoding: text[start..<at], as: UTF8.self))
    }

    private mutating func items<Item>(_ close: String, _ item: (inout Parser) throws -> Item) throws -> [Item] {
      var items: [Item] = []
      skipSpace()
      if take(close) { return [] }
      while true {
        items.append(try item(&self))
        skipSpace()
        if take(close) { return items }
        if !take(",") { throw error("no comma") }
      }
    }

    mutating func string() throws -> [UInt8] {
      if !take("\"") { throw error("no string") }
      var bytes: [UInt8] = []
      while at < text.count {
        let byte = text[at]
        at += 1
        if byte == 0x22 { return bytes }
        if byte != 0x5c {
          bytes.append(byte)
          continue
        }
        let escape = next
        at += 1
        switch escape {
        case UInt8(ascii: "n"): bytes.append(0x0a)
        case UInt8(ascii: "r"): bytes.append(0x0d)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0c)
        case UInt8(ascii: "u"):
          let digits = String(decoding: text[min(at, text.count)..<min(at + 4, text.count)], as: UTF8.self)
          at += 4
          // The tree writes all other characters unescaped.
          guard let code = UInt8(digits, radix: 16), code < 0x80 else { throw error("the escape \(digits)") }
          bytes.append(code)
        default: bytes.append(escape)
        }
      }
      throw error("a string without end")
    }
  }
}
