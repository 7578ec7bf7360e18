// The requirements for types of properties, collection elements and primary keys. Programs must not call or implement
// members whose names begin with an underscore.

import RealmPages

/// A type that a schema can describe.
public protocol _RealmSchemaDiscoverable {
  /// The description of the type in the schema.
  static var _rlmType: _PropertyType { get }
  /// The value; nil for null.
  var _rlmAny: Any? { get }
}

/// A type whose values are stored either directly or as values of another type.
public protocol _HasPersistedType: _RealmSchemaDiscoverable {
  /// The stored type; for an optional, the stored type of the wrapped type.
  associatedtype PersistedType = Self
  /// Returns the default value, which also replaces a stored value that cannot be read.
  static func _rlmDefault() -> Self
  /// Converts a value, such as an `Int` to an `Int8`; nil if that is not possible.
  static func _rlmCast(_ value: Any?) -> Self?
}

/// A type that a `@Persisted` property can have.
public protocol _Persistable: _HasPersistedType {
  /// True if the values are scalars, which can be passed to the creation of an object.
  static var _rlmIsPlain: Bool { get }
  /// True if the values are lists, sets or maps, which keep their identity when a property is set.
  static var _rlmIsCollection: Bool { get }
  /// Replaces the contents of a collection with those of another one. Does nothing for other values.
  static func _rlmFill(_ collection: Self, _ value: Self)
  /// Returns the value in a managed object.
  static func _rlmGet(_ place: PropertyPlace) -> Self
  /// Sets the value in a managed object.
  static func _rlmSet(_ place: PropertyPlace, _ value: Self)
  /// Turns a collection of an unmanaged object into the stored collection of the object that has become managed, so
  /// that references to it stay valid. Does nothing for other values.
  static func _rlmBind(_ value: Self, to place: PropertyPlace)
  /// Returns the value of a property in an object that records which properties are read; nil to use the default value.
  static func _rlmTraced(_ place: PropertyPlace) -> Self?
  /// Returns the value as the engine stores it. Only valid for scalars.
  func _rlmPlain() -> EngineValue
}

/// A type that collection elements can have.
public protocol RealmCollectionValue: Hashable, _HasPersistedType {
  /// Returns the stored value.
  static func _rlmRead(_ stored: StoredValue) -> Self?
  /// Returns the value as the engine stores it. An unmanaged linked object is added first.
  func _rlmWrite(_ target: WriteTarget) -> EngineValue
}

/// A type that is stored as a single value and can be optional.
public protocol _RealmOptionalValue: RealmCollectionValue {}

/// A type of single values that are stored directly, without a realm.
public protocol _ScalarValue: _RealmOptionalValue, _Persistable {
  /// The value as the engine stores it.
  var _rlmEngineValue: EngineValue { get }
}

/// A type that a primary key can have.
public protocol _PrimaryKey {}
/// A type that can have a search index.
public protocol _Indexable {}
/// A type whose values have a minimum and a maximum.
public protocol MinMaxType {}
/// A type whose values have a sum and an average.
public protocol AddableType {}
/// A type whose values can be sorted.
public protocol SortableType {}

/// The description of a type in the schema.
public struct _PropertyType: Sendable {
  var type: ValueType
  var isOptional = false
  var collection: CollectionKind?
  /// The target class of a link.
  var linkedClass: ClassReference?
  /// True for linking objects, which are not stored but computed from the links of other objects.
  var isLinkingObjects = false
}

/// A class, referenced by its metatype. May be used by all threads.
struct ClassReference: @unchecked Sendable {
  // Unchecked: a metatype is immutable.
  let type: ObjectBase.Type
}

/// A property of a managed object.
public struct PropertyPlace {
  @usableFromInline let object: ObjectBase
  @usableFromInline let index: Int

  @inlinable init(_ object: ObjectBase, _ index: Int) { (self.object, self.index) = (object, index) }
}

/// A value read from a realm. Valid until the next change.
public struct StoredValue {
  let view: ValueView
  let context: RealmContext
}

/// The realm and the policy for storing a value.
public struct WriteTarget {
  let context: RealmContext
  let policy: Realm.UpdatePolicy
}

/// A value that is about to be stored.
public struct EngineValue {
  enum Content {
    case value(Value)
    /// An object that becomes part of the object it is stored in.
    case embedded(EmbeddedObject)
  }

  let content: Content

  init(_ value: Value) { content = .value(value) }
  init(embedded: EmbeddedObject) { content = .embedded(embedded) }

  /// The value; null for an embedded object.
  var value: Value { if case .value(let value) = content { value } else { .null } }
}

extension _Persistable {
  /// True if the values are scalars.
  public static var _rlmIsPlain: Bool { false }
  /// False: only lists, sets and maps are collections.
  @inlinable public static var _rlmIsCollection: Bool { false }
  /// Does nothing.
  public static func _rlmFill(_ collection: Self, _ value: Self) {}
  /// Returns the value as the engine stores it.
  public func _rlmPlain() -> EngineValue { EngineValue(.null) }
  /// Does nothing.
  public static func _rlmBind(_ value: Self, to place: PropertyPlace) {}
  /// Returns nil.
  public static func _rlmTraced(_ place: PropertyPlace) -> Self? { nil }
}

extension _Persistable where Self: RealmCollectionValue {
  /// Returns the value in a managed object.
  public static func _rlmGet(_ place: PropertyPlace) -> Self {
    place.read { _rlmRead($0) } ?? _rlmDefault()
  }

  /// Sets the value in a managed object.
  public static func _rlmSet(_ place: PropertyPlace, _ value: Self) {
    place.write { value._rlmWrite($0) }
  }
}

extension _ScalarValue {
  /// Returns true: scalars are plain.
  public static var _rlmIsPlain: Bool { true }
  /// Returns the value as the engine stores it.
  public func _rlmPlain() -> EngineValue { _rlmEngineValue }
  /// Returns the value as the engine stores it.
  public func _rlmWrite(_ target: WriteTarget) -> EngineValue { _rlmEngineValue }
  /// The value itself.
  public var _rlmAny: Any? { self }
  /// Returns the value if it is of this type; nil otherwise.
  public static func _rlmCast(_ value: Any?) -> Self? { value as? Self }
}
