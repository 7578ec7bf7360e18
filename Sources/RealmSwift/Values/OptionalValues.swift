// Optional values, including links to single objects, which are always optional.

import RealmPages

extension Optional: _RealmSchemaDiscoverable where Wrapped: _RealmOptionalValue {
  /// The wrapped type, made optional.
  public static var _rlmType: _PropertyType {
    var type = Wrapped._rlmType
    type.isOptional = true
    return type
  }
  /// The value; nil for null.
  public var _rlmAny: Any? { self }
}

extension Optional: _HasPersistedType where Wrapped: _RealmOptionalValue {
  /// The stored type of the wrapped type.
  public typealias PersistedType = Wrapped.PersistedType
}

extension Optional: RealmCollectionValue where Wrapped: _RealmOptionalValue {
  /// Returns nil.
  public static func _rlmDefault() -> Wrapped? { nil }
  /// Returns the stored value; nil for null.
  public static func _rlmRead(_ stored: StoredValue) -> Wrapped?? { .some(Wrapped._rlmRead(stored)) }
  /// Returns the value as the engine stores it.
  public func _rlmWrite(_ target: WriteTarget) -> EngineValue { self?._rlmWrite(target) ?? EngineValue(.null) }
  /// Converts a value; null becomes nil.
  public static func _rlmCast(_ value: Any?) -> Wrapped?? {
    guard let value, !ValueAssignment.isNil(value) else { return .some(nil) }
    return Wrapped._rlmCast(value).map { .some($0) }
  }
}

extension Optional: _Persistable where Wrapped: _RealmOptionalValue {
  /// True if the wrapped type is a scalar.
  public static var _rlmIsPlain: Bool { Wrapped.self is any _ScalarValue.Type }
  /// Returns the value as the engine stores it.
  public func _rlmPlain() -> EngineValue {
    (self as? any _ScalarValue)?._rlmEngineValue ?? EngineValue(.null)
  }
  /// Returns an object of the linked class that also records reads; nil if the wrapped type is not an object class.
  public static func _rlmTraced(_ place: PropertyPlace) -> Wrapped?? {
    guard let type = Wrapped.self as? ObjectBase.Type else { return nil }
    return .some(PropertyTracer.object(of: type, place.object.tracer) as? Wrapped)
  }
}

/// An optional of any type.
public protocol OptionalProtocol {
  /// The wrapped type.
  associatedtype Wrapped
  /// True if the optional is nil.
  var isNil: Bool { get }
  /// The wrapped value; nil if there is none.
  var anyValue: Any? { get }
}
extension Optional: OptionalProtocol {
  /// True if the optional is nil.
  public var isNil: Bool { self == nil }
  /// The wrapped value; nil if there is none.
  public var anyValue: Any? { map { $0 } }
}
