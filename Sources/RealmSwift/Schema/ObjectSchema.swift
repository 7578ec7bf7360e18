// The public description of a realm's schema.

import RealmPages

/// The type of a property, or of the elements of a collection.
public enum PropertyType: Sendable {
  case int, bool, float, double, UUID, string, data, any, date, object, linkingObjects, objectId, decimal128

  init(_ type: _PropertyType) {
    switch type.type {
    case .int: self = .int
    case .bool: self = .bool
    case .float: self = .float
    case .double: self = .double
    case .uuid: self = .UUID
    case .string: self = .string
    case .data: self = .data
    case .mixed: self = .any
    case .date: self = .date
    case .link: self = type.isLinkingObjects ? .linkingObjects : .object
    case .objectID: self = .objectId
    case .decimal128: self = .decimal128
    }
  }
}

/// A property of a class.
public struct Property: Sendable, CustomStringConvertible {
  private let property: ModelProperty

  init(_ property: ModelProperty) { self.property = property }

  /// The name in the class.
  public var name: String { property.name }
  /// The name in the realm.
  public var columnName: String { property.storedName }
  /// The type of the value, or of the elements.
  public var type: PropertyType { PropertyType(property.type) }
  /// True if the property is a list.
  public var isArray: Bool { property.type.collection == .list }
  /// True if the property is a set.
  public var isSet: Bool { property.type.collection == .set }
  /// True if the property is a map.
  public var isMap: Bool { property.type.collection == .dictionary }
  /// True if the property has a search index.
  public var isIndexed: Bool { property.isIndexed || property.isPrimaryKey }
  /// True if the value, or an element, can be null.
  public var isOptional: Bool { property.type.isOptional }
  /// The name of the class that links refer to; nil for other types.
  public var objectClassName: String? { property.linkedName }
  /// The name and the type.
  public var description: String { "\(name): \(type)\(isOptional ? "?" : "")" }
}

/// The schema of a class.
public struct ObjectSchema: Sendable, CustomStringConvertible {
  let schema: ClassSchema

  init(_ schema: ClassSchema) { self.schema = schema }

  /// The name of the class.
  public var className: String { schema.name }
  /// The stored properties, in declaration order.
  public var properties: [Property] { schema.properties.filter(\.isStored).map { Property($0) } }
  /// The properties that are linking objects.
  public var computedProperties: [Property] { schema.properties.filter { !$0.isStored }.map { Property($0) } }
  /// The primary key; nil if the class does not have one.
  public var primaryKeyProperty: Property? { schema.primaryKey.map { Property($0) } }
  /// True if objects of the class are embedded in other objects.
  public var isEmbedded: Bool { schema.isEmbedded }
  /// True if objects of the class are write-only and are uploaded.
  public var isAsymmetric: Bool { schema.kind == .asymmetric }
  /// The property with this name; nil if it does not exist.
  public subscript(propertyName: String) -> Property? {
    schema.index(of: propertyName).map { Property(schema.properties[$0]) }
  }
  /// The name and the properties.
  public var description: String {
    "\(className) {\n\(properties.map { "\t\($0.description)\n" }.joined())}"
  }
}

/// The schema of a realm.
public struct Schema: Sendable, CustomStringConvertible {
  /// The classes that the realm was opened with, by name.
  public let objectSchema: [ObjectSchema]
  /// The class with this name; nil if it does not exist.
  public subscript(className: String) -> ObjectSchema? { objectSchema.first { $0.className == className } }
  /// The classes.
  public var description: String { objectSchema.map(\.description).joined(separator: "\n") }
}

extension Property: Equatable {
  /// Returns true if the two have the same name and the same stored type.
  public static func == (a: Property, b: Property) -> Bool {
    a.name == b.name && a.columnName == b.columnName && a.isIndexed == b.isIndexed
      && a.property.hasSameColumn(as: b.property)
  }
}

extension ObjectSchema: Equatable {
  /// Returns true if the two have the same name and equal properties.
  public static func == (a: ObjectSchema, b: ObjectSchema) -> Bool {
    a.className == b.className && a.schema.kind == b.schema.kind && a.properties == b.properties
  }
}

extension Schema: Equatable {}
