// Types of a program that are stored as another type.

import RealmPages

/// A type that is stored as its `PersistedType`, a scalar or an embedded object, from which it cannot always be
/// created.
public protocol FailableCustomPersistable: _RealmOptionalValue, _Persistable where PersistedType: _RealmOptionalValue {
  /// Creates a value from a stored one; nil if there is no corresponding value.
  init?(persistedValue: PersistedType)
  /// The value to store.
  var persistableValue: PersistedType { get }
}

/// A type that is stored as another type: `struct URL: CustomPersistable { typealias PersistedType = String ... }`.
public protocol CustomPersistable: FailableCustomPersistable {
  /// Creates a value from a stored one.
  init(persistedValue: PersistedType)
}

extension FailableCustomPersistable {
  /// The type of the stored value.
  public static var _rlmType: _PropertyType { PersistedType._rlmType }
  /// Returns the value for the default of `PersistedType`.
  public static func _rlmDefault() -> Self {
    guard let value = Self(persistedValue: PersistedType._rlmDefault()) else {
      Misuse.stop("\(Self.self) has no value for \(PersistedType._rlmDefault()): give the property a default value.")
    }
    return value
  }
  /// Returns the value for a stored one.
  public static func _rlmRead(_ stored: StoredValue) -> Self? {
    guard let value = PersistedType._rlmRead(stored) else { return nil }
    return Self(persistedValue: value)
  }
  /// Returns the stored value.
  public func _rlmWrite(_ target: WriteTarget) -> EngineValue { persistableValue._rlmWrite(target) }
  /// True if the stored value is a scalar.
  public static var _rlmIsPlain: Bool { PersistedType.self is any _ScalarValue.Type }
  /// Returns the stored scalar.
  public func _rlmPlain() -> EngineValue {
    (persistableValue as? any _ScalarValue)?._rlmEngineValue ?? EngineValue(.null)
  }
  /// The value itself.
  public var _rlmAny: Any? { self }
  /// Converts a value, which may be of this type or of `PersistedType`; nil if that is not possible.
  public static func _rlmCast(_ value: Any?) -> Self? {
    // Null, assigned to a required property stored as an embedded object, becomes the default value.
    if let value, ValueAssignment.isNull(value), PersistedType.self is EmbeddedObject.Type { return _rlmDefault() }
    return value as? Self ?? PersistedType._rlmCast(value).flatMap { Self(persistedValue: $0) }
  }
}
