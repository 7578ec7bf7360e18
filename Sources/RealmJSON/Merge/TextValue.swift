// A JSON value as a tree that can be compared and changed, in contrast to `JSONText`, which refers to a text.

package import RealmPages

/// A JSON value. Numbers and strings are compared byte by byte.
package indirect enum TextValue: Hashable, Sendable {
  /// A member of an object.
  package struct Member: Hashable, Sendable {
    package let name: [UInt8]
    package var value: TextValue
  }

  /// Null, true, false, or a number, as text.
  case scalar([UInt8])
  /// The bytes of a string, without escapes.
  case string([UInt8])
  case array([TextValue])
  /// The members in the order of their names.
  case object([Member])

  package static let null = TextValue.scalar(Array("null".utf8))

  /// Parses a text.
  package init(_ text: [UInt8]) throws(InputError) {
    let text = try JSONText(text)
    self.init(text, JSONText.root)
  }

  private init(_ text: JSONText, _ node: Int) {
    self =
      switch text.kind(node) {
      case .null: .null
      case .true: .scalar(Array("true".utf8))
      case .false: .scalar(Array("false".utf8))
      case .number: .scalar(Array(text.content(node)))
      case .plainString, .decodedString: .string(Array(text.content(node)))
      case .array: .array(text.elements(node).map { TextValue(text, $0) })
      case .object:
        TextValue(
          members: text.members(node).map { member in
            Member(name: Array(text.content(member.name)), value: TextValue(text, member.value))
          }
        )
      }
  }

  /// Creates an object.
  package init(members: [Member]) {
    self = .object(members.sorted { $0.name.lexicographicallyPrecedes($1.name) })
  }

  /// The text, on one line.
  package var bytes: [UInt8] {
    let out = OutputBuffer()
    write(to: out)
    return out.bytes
  }

  private func write(to out: OutputBuffer) {
    switch self {
    case .scalar(let text): out.append(text)
    case .string(let text): out.append(string: text)
    case .array(let elements):
      out.append("[")
      for (index, element) in elements.enumerated() {
        if index > 0 { out.append(",") }
        element.write(to: out)
      }
      out.append("]")
    case .object(let members):
      out.append("{")
      for (index, member) in members.enumerated() {
        if index > 0 { out.append(",") }
        out.append(string: member.name)
        out.append(":")
        member.value.write(to: out)
      }
      out.append("}")
    }
  }

  /// The member of an object with this name; nil if there is none.
  package subscript(name: String) -> TextValue? {
    guard case .object(let members) = self else { return nil }
    return members.first { $0.name.elementsEqual(name.utf8) }?.value
  }

  /// The elements of an array; nil for other values.
  var elements: [TextValue]? { if case .array(let elements) = self { elements } else { nil } }

  /// The distinct values in the order of their texts, as the elements of a set.
  static func set(of values: some Sequence<TextValue>) -> [TextValue] {
    Set(values).map { (text: $0.bytes, value: $0) }
      .sorted { $0.text.lexicographicallyPrecedes($1.text) }
      .map(\.value)
  }
}
