// `property=value`, as it is typed on a command line, and the JSON that it stands for.
//
// `null` clears the property. Where the type has a plain text (strings, dates, identifiers, decimals, binaries, links
// to objects that such a text names), the value is that text; one that begins with " is JSON, so that '"null"' is the
// text null. Everything else is JSON. The types themselves are checked by `ObjectPatcher`.

import RealmJSON
import RealmPages

/// A property and the value that it is to have.
public struct Assignment: Sendable {
  /// The name of the property.
  public let property: String
  /// The value as typed.
  public let value: String

  /// Reads `property=value`; nil without a name and `=`.
  public init?(_ text: String) {
    // By scalars: a value that begins with a combining mark is one character with the sign before it.
    let scalars = text.unicodeScalars
    guard let equals = scalars.firstIndex(of: "="), equals != text.startIndex else { return nil }
    property = String(scalars[..<equals])
    value = String(scalars[scalars.index(after: equals)...])
  }

  /// The text of an object with these properties of a class. `keyType` tells the type of the primary key of a class.
  static func text(
    _ assignments: [Assignment],
    _ columns: [Column],
    keyType: (TableKey) throws(TransferError) -> ValueType?
  ) throws(TransferError) -> [UInt8] {
    let out = OutputBuffer()
    out.append("{")
    for (index, assignment) in assignments.enumerated() {
      if index > 0 { out.append(",") }
      let column = columns.first(named: assignment.property, \.name)
      out.append(quoted: column?.name ?? assignment.property)
      out.append(":")
      // `ObjectPatcher` refuses properties that do not exist.
      if let column {
        let target = column.type == .link ? column.targetTable : nil
        var type = column.type
        if let target { type = try keyType(target) ?? .int }
        for byte in try assignment.json(of: column.type, isCollection: column.collection != nil, text: type) {
          out.append(byte)
        }
      } else {
        out.append("null")
      }
    }
    out.append("}")
    return out.bytes
  }

  /// The value as JSON, for a property of a type; `text` is the type that a text has to have: for a link that of the
  /// primary key that it leads to.
  func json(of type: ValueType, isCollection: Bool, text: ValueType) throws(TransferError) -> [UInt8] {
    var bytes = Array(value.utf8)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) && isCollection { bytes.removeFirst(3) }
    if value == "null" { return bytes }
    let first = bytes.first
    let hasText = !isCollection && Self.hasText(text)
    let isBraced = first == UInt8(ascii: "{") && !(type == .string && hasText)
    let mustBeJSON = first == UInt8(ascii: "\"") || isBraced || first == UInt8(ascii: "[") && !hasText
    if hasText && !mustBeJSON {
      // As people type it, and as CSV has it: a day, or a time without zone.
      if text == .date, let date = Timestamp(lenient: bytes) { return Self.quoted(date) ?? Self.quoted(bytes) }
      return Self.quoted(bytes)
    }
    if !isCollection, type == .float || type == .double, ["NaN", "Infinity", "-Infinity"].contains(value) {
      return Array("{\"$numberDouble\":\"\(value)\"}".utf8)
    }
    do throws(JSONInputError) {
      _ = try JSONText(bytes)
      return bytes
    } catch {
      if !isCollection && type == .mixed && !mustBeJSON {
        throw .unsuitable("\(property)=\(value): not JSON; a string is written \(property)='\"\(value)\"'")
      }
      if mustBeJSON {
        let hint = hasText ? "; a text that begins with \(value.prefix(1)) is written as a JSON string" : ""
        throw .unsuitable("\(property)=\(value): not JSON, at character \(error.column): \(error.problem)\(hint)")
      }
      // Not of the type, whatever it is; as a string it is refused in the words of the type.
      return Self.quoted(bytes)
    }
  }

  private static func hasText(_ type: ValueType) -> Bool {
    switch type {
    case .string, .data, .date, .decimal128, .objectID, .uuid: true
    case .int, .bool, .float, .double, .mixed, .link: false
    }
  }

  private static func quoted(_ date: Timestamp) -> [UInt8]? {
    let out = OutputBuffer()
    out.append("\"")
    guard out.append(date: date) else { return nil }
    out.append("\"")
    return out.bytes
  }

  private static func quoted(_ bytes: [UInt8]) -> [UInt8] {
    let out = OutputBuffer()
    out.append(string: bytes)
    return out.bytes
  }
}
