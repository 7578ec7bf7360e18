// Enumerations, which are stored as their raw values.

import RealmPages

/// An enumeration that can be the type of a property: `enum Size: String, PersistableEnum { case small, large }`.
public protocol PersistableEnum: _ScalarValue, RawRepresentable, CaseIterable
where RawValue: _ScalarValue, PersistedType == RawValue {}

extension PersistableEnum {
  /// What the raw value is.
  public static var _rlmType: _PropertyType { RawValue._rlmType }
  /// The first case.
  public static func _rlmDefault() -> Self {
    guard let first = allCases.first else { Misuse.stop("\(Self.self) has no cases") }
    return first
  }
  /// The case with the raw value that was read; nil if there is none.
  public static func _rlmRead(_ stored: StoredValue) -> Self? {
    RawValue._rlmRead(stored).flatMap { Self(rawValue: $0) }
  }
  /// The raw value as the engine has it.
  public var _rlmEngineValue: EngineValue { rawValue._rlmEngineValue }
  /// The case, or the one with a raw value.
  public static func _rlmCast(_ value: Any?) -> Self? {
    value as? Self ?? RawValue._rlmCast(value).flatMap { Self(rawValue: $0) }
  }
}
