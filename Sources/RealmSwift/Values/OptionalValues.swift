// Optional values, and links to one object, which are always optional.

import RealmPages

extension Optional: _RealmSchemaDiscoverable where Wrapped: _RealmOptionalValue {
  /// What the wrapped type is, or null.
  public static var _rlmType: _PropertyType {
    var type = Wrapped._rlmType
    type.isOptional = true
    return type
  }
  /// The value, nil for null.
  public var _rlmAny: Any? { self }
}

extension Optional: _HasPersistedType where Wrapped: _RealmOptionalValue {
  /// What a value is stored as that is not null.
  public typealias PersistedType = Wrapped.PersistedType
}

extension Optional: RealmCollectionValue where Wrapped: _RealmOptionalValue {
  /// Null.
  public static func _rlmDefault() -> Wrapped? { nil }
  /// The value that was read, or null.
  public static func _rlmRead(_ stored: StoredValue) -> Wrapped?? { .some(Wrapped._rlmRead(stored)) }
  /// The value as the engine stores it.
  public func _rlmWrite(_ target: WriteTarget) -> EngineValue { self?._rlmWrite(target) ?? EngineValue(.null) }
  /// The value that another one stands for.
  public static func _rlmCast(_ value: Any?) -> Wrapped?? {
    guard let value, !Self.isNull(value) else { return .some(nil) }
    return Wrapped._rlmCast(value).map { .some($0) }
  }

  private static func isNull(_ value: Any) -> Bool {
    if let nested = value as? any OptionalProtocol { return nested.isNil }
    return ValueAssignment.isNull(value)
  }
}

extension Optional: _Persistable where Wrapped: _RealmOptionalValue {
  /// Whether the wrapped type is a scalar.
  public static var _rlmIsPlain: Bool { Wrapped.self is any _ScalarValue.Type }
  /// The value as the engine stores it.
  public func _rlmPlain() -> EngineValue {
    (self as? any _ScalarValue)?._rlmEngineValue ?? EngineValue(.null)
  }
  /// An object of the linked class that records in turn; null for other values.
  public static func _rlmTraced(_ place: PropertyPlace) -> Wrapped?? {
    guard let type = Wrapped.self as? ObjectBase.Type else { return nil }
    return .some(PropertyTracer.object(of: type, place.object.tracer) as? Wrapped)
  }
}

/// Any optional.
public protocol OptionalProtocol {
  /// The type of the values that are not nil.
  associatedtype Wrapped
  /// Whether it is nil.
  var isNil: Bool { get }
  /// What is not nil.
  var anyValue: Any? { get }
}
extension Optional: OptionalProtocol {
  /// Whether it is nil.
  public var isNil: Bool { self == nil }
  /// What is not nil.
  public var anyValue: Any? { map { $0 } }
}
