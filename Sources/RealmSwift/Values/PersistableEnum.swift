// Enumerations that are stored as their raw values.

import RealmPages

/// An enumeration that can be the type of a property: `enum Size: String, PersistableEnum { case small, large }`.
public protocol PersistableEnum: _ScalarValue, RawRepresentable, CaseIterable
where RawValue: _ScalarValue, PersistedType == RawValue {}

extension PersistableEnum {
  /// The type of the raw value.
  public static var _rlmType: _PropertyType { RawValue._rlmType }
  /// Returns the first case.
  public static func _rlmDefault() -> Self {
    guard let first = allCases.first else { Misuse.stop("\(Self.self) has no cases") }
    return first
  }
  /// Returns the case with the stored raw value; nil if there is none.
  public static func _rlmRead(_ stored: StoredValue) -> Self? {
    RawValue._rlmRead(stored).flatMap { Self(rawValue: $0) }
  }
  /// The raw value as the engine stores it.
  public var _rlmEngineValue: EngineValue { rawValue._rlmEngineValue }
  /// Converts a case or a raw value; nil if that is not possible.
  public static func _rlmCast(_ value: Any?) -> Self? {
    value as? Self ?? RawValue._rlmCast(value).flatMap { Self(rawValue: $0) }
  }
}
