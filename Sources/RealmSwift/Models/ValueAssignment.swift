// Assigns untyped values to objects, as `create(_:value:)` accepts them: dictionaries, arrays and objects.

import Foundation

enum ValueAssignment {
  /// Returns true if the value is `NSNull`.
  static func isNull(_ value: Any) -> Bool { value is NSNull }

  /// Returns true if the value is nil, also in an optional, or `NSNull`.
  static func isNil(_ value: Any) -> Bool {
    guard let optional = value as? any OptionalProtocol else { return isNull(value) }
    return optional.anyValue.map { isNil($0) } ?? true
  }

  /// Returns the value without surrounding optionals. Nil remains nil, which can be cast to any optional type.
  static func unwrapped(_ value: Any?) -> Any {
    guard let value, !isNull(value) else { return Any?.none as Any }
    guard let optional = value as? any OptionalProtocol else { return value }
    return unwrapped(optional.anyValue)
  }

  /// Returns true if the value can be converted to an object.
  static func isObjectLike(_ value: Any) -> Bool { value is [String: Any] || value is [Any] || value is ObjectBase }

  /// Sets a property of an object; ends the process if the value has the wrong type.
  static func set(_ name: String, to value: Any?, of object: ObjectBase) {
    let schema = object.schema
    guard let index = schema.index(of: name) else { Misuse.stop("'\(schema.name)' has no property '\(name)'.") }
    let property = schema.properties[index]
    if !property.storage.setAny(value, of: object, index) {
      Misuse.stop("The value '\(value ?? "nil")' does not fit the property '\(schema.name).\(name)'.")
    }
  }

  /// Sets the properties that `value` names.
  static func assign(_ value: Any, to object: ObjectBase) {
    for (name, value) in entries(of: value, for: object.schema) { set(name, to: value, of: object) }
  }

  /// Returns the values in `value`, with their property names.
  static func entries(of value: Any, for schema: ClassSchema) -> [(String, Any?)] {
    switch value {
    case let entries as [String: Any]:
      // Dictionaries often come from other sources and may contain keys that the class does not have.
      return entries.filter { schema.index(of: $0.key) != nil }.map { ($0.key, $0.value) }
    case let values as [Any]:
      let properties = schema.properties.filter(\.isStored)
      if values.count > properties.count {
        Misuse.stop("There are \(values.count) values for the \(properties.count) properties of '\(schema.name)'.")
      }
      return zip(properties, values).map { ($0.name, $1) }
    case let other as ObjectBase:
      let theirs = other.schema
      var entries: [(String, Any?)] = []
      for property in schema.properties where property.isStored {
        guard let index = theirs.index(of: property.name) else { continue }
        entries.append((property.name, theirs.properties[index].storage.anyValue(of: other, index)))
      }
      return entries
    default: Misuse.stop("An object of '\(schema.name)' cannot be made of a value of type \(type(of: value)).")
    }
  }
}
