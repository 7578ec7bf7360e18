// Objects as values of properties and collections.

import RealmPages

extension ObjectBase: _RealmOptionalValue {
  /// The type of a link to an object of this class.
  public static var _rlmType: _PropertyType {
    _PropertyType(type: .link, linkedClass: ClassReference(type: self))
  }

  /// Returns a new unmanaged object.
  public static func _rlmDefault() -> Self { Self() }

  /// Returns the object that a stored link refers to.
  public static func _rlmRead(_ stored: StoredValue) -> Self? {
    guard case .link(let table, let key) = stored.view, !key.isUnresolved else { return nil }
    return stored.context.object(of: Self.self, table, key.value)
  }

  /// Returns a link to the object. An unmanaged object is added first; an embedded object becomes part of the object
  /// that contains the property.
  public func _rlmWrite(_ target: WriteTarget) -> EngineValue {
    if let embedded = self as? EmbeddedObject { return EngineValue(embedded: embedded) }
    return EngineValue(target.context.link(to: self, target.policy))
  }

  /// The object itself.
  public var _rlmAny: Any? { self }

  /// Returns the object, or a new object with the values of a dictionary, an array or another object.
  public static func _rlmCast(_ value: Any?) -> Self? {
    if let same = value as? Self { return same }
    if let dynamic = value as? DynamicObject, let type = dynamic.managedClass, type.schema?.type == Self.self {
      return dynamic.context?.object(type, dynamic.objectKey) as? Self
    }
    guard let value, ValueAssignment.isObjectLike(value) else { return nil }
    let object = Self(), entries = ValueAssignment.entries(of: value, for: object.schema)
    for (name, value) in entries { ValueAssignment.set(name, to: value, of: object) }
    // The objects in the values of another object are not copies yet.
    if !(value is ObjectBase) { object.role = .values(Set(entries.compactMap { object.schema.index(of: $0.0) })) }
    return object
  }
}
