// Types of a program that are stored as another type.

import RealmPages

/// A type that is stored as another one, its `PersistedType`, from which it cannot always be made: a scalar or an
/// embedded object.
public protocol FailableCustomPersistable: _RealmOptionalValue, _Persistable where PersistedType: _RealmOptionalValue {
  /// The value of a stored one; nil if there is none.
  init?(persistedValue: PersistedType)
  /// The value to store.
  var persistableValue: PersistedType { get }
}

/// A type that is stored as another one: `struct URL: CustomPersistable { typealias PersistedType = String ... }`.
public protocol CustomPersistable: FailableCustomPersistable {
  /// The value of a stored one.
  init(persistedValue: PersistedType)
}

extension FailableCustomPersistable {
  /// What is stored.
  public static var _rlmType: _PropertyType { PersistedType._rlmType }
  /// The value of the default of what is stored.
  public static func _rlmDefault() -> Self {
    guard let value = Self(persistedValue: PersistedType._rlmDefault()) else {
      Misuse.stop("\(Self.self) has no value for \(PersistedType._rlmDefault()): give the property a default value.")
    }
    return value
  }
  /// The value of what was read.
  public static func _rlmRead(_ stored: StoredValue) -> Self? {
    guard let value = PersistedType._rlmRead(stored) else { return nil }
    return Self(persistedValue: value)
  }
  /// What is stored.
  public func _rlmWrite(_ target: WriteTarget) -> EngineValue { persistableValue._rlmWrite(target) }
  /// Whether a scalar is stored.
  public static var _rlmIsPlain: Bool { PersistedType.self is any _ScalarValue.Type }
  /// The scalar that is stored.
  public func _rlmPlain() -> EngineValue {
    (persistableValue as? any _ScalarValue)?._rlmEngineValue ?? EngineValue(.null)
  }
  /// The value itself.
  public var _rlmAny: Any? { self }
  /// The value, or that of one as it is stored.
  public static func _rlmCast(_ value: Any?) -> Self? {
    // A property of an embedded object that is not optional stands for one of default values.
    if let value, ValueAssignment.isNull(value), PersistedType.self is EmbeddedObject.Type { return _rlmDefault() }
    return value as? Self ?? PersistedType._rlmCast(value).flatMap { Self(persistedValue: $0) }
  }
}
