// Parses `property=value`, as typed on a command line, and converts the value to JSON. `ObjectPatcher` checks the
// types.

import RealmJSON
import RealmPages

/// A property and its new value.
///
/// `null` clears the property. For types with a plain-text format (strings, dates, identifiers, decimals, binaries, and
/// links to objects whose key has such a type), the value is that text; a value that begins with " is JSON, so '"null"'
/// is the string null. For all other types the value is JSON.
public struct Assignment: Sendable {
  /// The name of the property.
  public let property: String
  /// The value as typed.
  public let value: String

  /// Parses `property=value`; nil if the name or `=` is missing.
  public init?(_ text: String) {
    // Compare scalars: a combining mark at the start of the value forms one character with the equals sign.
    let scalars = text.unicodeScalars
    guard let equals = scalars.firstIndex(of: "="), equals != text.startIndex else { return nil }
    property = String(scalars[..<equals])
    value = String(scalars[scalars.index(after: equals)...])
  }

  /// Returns the JSON of an object with these properties of a class. `keyType` returns the type of a class's primary
  /// key.
  static func text(
    _ assignments: [Assignment],
    _ columns: [Column],
    keyType: (TableKey) throws -> ValueType?
  ) throws -> [UInt8] {
    let out = OutputBuffer()
    out.append("{")
    for (index, assignment) in assignments.enumerated() {
      if index > 0 { out.append(",") }
      let column = columns.first(named: assignment.property, \.name)
      out.append(quoted: column?.name ?? assignment.property)
      out.append(":")
      // `ObjectPatcher` rejects unknown properties.
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

  /// Returns the value as JSON, for a property of `type`. `text` is the type that plain text is parsed as: for a link,
  /// the type of its target's primary key.
  func json(of type: ValueType, isCollection: Bool, text: ValueType) throws -> [UInt8] {
    var bytes = Array(value.utf8)
    if bytes.starts(with: [0xEF, 0xBB, 0xBF]) && isCollection { bytes.removeFirst(3) }
    if value == "null" { return bytes }
    let first = bytes.first
    let hasText = !isCollection && Self.hasText(text)
    let isBraced = first == UInt8(ascii: "{") && !(type == .string && hasText)
    let mustBeJSON = first == UInt8(ascii: "\"") || isBraced || first == UInt8(ascii: "[") && !hasText
    if hasText && !mustBeJSON {
      // Also accept dates as typed by hand or found in CSV: a day, or a time without a zone.
      if text == .date, let date = Timestamp(lenient: bytes) { return Self.quoted(date) ?? Self.quoted(bytes) }
      return Self.quoted(bytes)
    }
    if !isCollection, type == .float || type == .double, ["NaN", "Infinity", "-Infinity"].contains(value) {
      return Array("{\"$numberDouble\":\"\(value)\"}".utf8)
    }
    do {
      _ = try JSONText(bytes)
      return bytes
    } catch {
      if !isCollection && type == .mixed && !mustBeJSON {
        throw TransferError.unsuitable("\(property)=\(value): not JSON; a string is written \(property)='\"\(value)\"'")
      }
      if mustBeJSON {
        let hint = hasText ? "; a text that begins with \(value.prefix(1)) is written as a JSON string" : ""
        throw TransferError.unsuitable(
          "\(property)=\(value): not JSON, at character \(error.column): \(error.problem)\(hint)"
        )
      }
      // Not JSON of the property's type. Passed as a string, it is rejected with an error that states the type.
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
