// Values of a JSON text that is not an object of a realm, such as a message of a protocol. Values are read where they
// are in the text, so a large message needs no second tree.

package import RealmPages

/// A value in a JSON text.
package struct JSONNode: Sendable {
  private let text: JSONText
  private let node: Int

  /// Parses a text. Cost: that of a `JSONText`.
  package init(_ bytes: [UInt8]) throws(InputError) { self.init(try JSONText(bytes), JSONText.root) }

  private init(_ text: JSONText, _ node: Int) { (self.text, self.node) = (text, node) }

  /// True if the value is null.
  package var isNull: Bool { text.kind(node) == .null }

  /// True if the value is an object.
  package var isObject: Bool { text.kind(node) == .object }

  /// The value, if it is true or false.
  package var bool: Bool? {
    switch text.kind(node) {
    case .true: true
    case .false: false
    default: nil
    }
  }

  /// The value, if it is a string.
  package var string: String? { text.isString(node) ? String(decoding: text.content(node), as: UTF8.self) : nil }

  /// The value, if it is a whole number of at most 64 bits.
  package var integer: Int? {
    text.kind(node) == .number ? Int(String(decoding: text.content(node), as: UTF8.self)) : nil
  }

  /// The text of a string, number, boolean or null; nil for an array or object.
  package var scalar: String? {
    switch text.kind(node) {
    case .null: "null"
    case .true: "true"
    case .false: "false"
    case .number, .plainString, .decodedString: String(decoding: text.content(node), as: UTF8.self)
    case .array, .object: nil
    }
  }

  /// The elements, if the value is an array.
  package var elements: [JSONNode]? {
    text.kind(node) == .array ? text.elements(node).map { JSONNode(text, $0) } : nil
  }

  /// The names of the members of an object, in text order.
  package var names: [String] { text.members(node).map { String(decoding: text.content($0.name), as: UTF8.self) } }

  /// The member of an object with this name.
  package subscript(name: String) -> JSONNode? { text.member(name, of: node).map { JSONNode(text, $0) } }

  /// The bytes of an array or object. Cost: their number.
  package var bytes: [UInt8] {
    let start = Int(text.nodes[node].start)
    var depth = 0, isString = false, isEscaped = false
    for (offset, byte) in text.bytes[start...].enumerated() {
      if isString {
        if byte == UInt8(ascii: "\""), !isEscaped { isString = false }
        isEscaped = byte == UInt8(ascii: "\\") && !isEscaped
        continue
      }
      switch byte {
      case UInt8(ascii: "\""): isString = true
      case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
      case UInt8(ascii: "}"), UInt8(ascii: "]"):
        depth -= 1
        if depth == 0 { return Array(text.bytes[start...start + offset]) }
      default: break
      }
    }
    return []
  }
}
