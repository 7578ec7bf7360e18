// Renders objects and collections as text. Links may be cyclic, so linked objects are rendered to a maximum depth.

enum Description {
  private static let maximumDepth = 5

  /// Returns the text of an object.
  static func text(of object: ObjectBase, depth: Int) -> String {
    if object.isInvalidated { return "[invalid object]" }
    let schema = object.schema
    let lines = schema.properties.enumerated().filter { $1.isStored }.map { index, property in
      "\t\(property.name) = \(text(ofValue: property.storage.anyValue(of: object, index), depth: depth + 1));\n"
    }
    return "\(schema.name) {\n\(lines.joined())}"
  }

  /// Returns the text of a collection: its elements with their indexes or keys.
  static func text(_ name: String, _ address: UInt, _ elements: [(String, Any?)], depth: Int = 0) -> String {
    let lines = elements.map { "\t[\($0.0)] \(text(ofValue: $0.1, depth: depth + 1))" }
    return "\(name) <0x\(String(address, radix: 16))> (\n\(lines.joined(separator: ",\n"))\n)"
  }

  private static func text(ofValue value: Any?, depth: Int) -> String {
    guard let value, (value as? any OptionalProtocol)?.isNil != true else { return "(null)" }
    let isNested = value is ObjectBase || value is any DescribedCollection
    if isNested, depth >= maximumDepth { return "<Maximum depth exceeded>" }
    let text =
      switch value {
      case let object as ObjectBase: text(of: object, depth: depth)
      case let collection as any DescribedCollection: collection.text(depth: depth)
      default: "\(value)"
      }
    return isNested ? text.split(separator: "\n", omittingEmptySubsequences: false).joined(separator: "\n\t") : text
  }
}

/// A collection whose description lists its elements.
protocol DescribedCollection: CustomStringConvertible {
  func text(depth: Int) -> String
}

extension DescribedCollection {
  /// The type and the elements.
  public var description: String { text(depth: 0) }
}

extension DescribedCollection where Self: RealmCollection {
  fileprivate func text(_ name: String, _ address: UInt, _ depth: Int) -> String {
    let elements = enumerated().map { ("\($0)", $1._rlmAny) }
    return Description.text("\(name)<\(Element.self)>", address, elements, depth: depth)
  }
}

private func address(_ object: AnyObject) -> UInt { UInt(bitPattern: ObjectIdentifier(object)) }

extension List: DescribedCollection {
  func text(depth: Int) -> String { text("List", address(self), depth) }
}
extension MutableSet: DescribedCollection {
  func text(depth: Int) -> String { text("MutableSet", address(self), depth) }
}
extension Results: DescribedCollection {
  func text(depth: Int) -> String { text("Results", address(source), depth) }
}
extension LinkingObjects: DescribedCollection {
  func text(depth: Int) -> String { text("LinkingObjects", results.map { address($0.source) } ?? 0, depth) }
}
extension AnyRealmCollection: DescribedCollection {
  func text(depth: Int) -> String { text("AnyRealmCollection", realm.map { address($0.context) } ?? 0, depth) }
}
extension Map: DescribedCollection {
  func text(depth: Int) -> String {
    let elements = map { ($0.key._rlmKey, $0.value._rlmAny) }
    return Description.text("Map<\(Key.self), \(Value.self)>", address(self), elements, depth: depth)
  }
}
