// What a type must be able to do to be the type of a property, of an element of a collection, of a primary key. Names
// with an underscore are not for programs to call or implement.

import RealmPages

/// A type that a schema can describe.
public protocol _RealmSchemaDiscoverable {
  /// How the schema describes the type.
  static var _rlmType: _PropertyType { get }
  /// The value, nil for null.
  var _rlmAny: Any? { get }
}

/// A type whose values are stored as those of another one, or as they are.
public protocol _HasPersistedType: _RealmSchemaDiscoverable {
  /// The type that is stored; of an optional, the one that is not null.
  associatedtype PersistedType = Self
  /// The default value, and what stands for a value that cannot be read.
  static func _rlmDefault() -> Self
  /// The value that another one stands for, such as an `Int` for an `Int8`; nil if it stands for none.
  static func _rlmCast(_ value: Any?) -> Self?
}

/// A type that `@Persisted` properties can have.
public protocol _Persistable: _HasPersistedType {
  /// Whether the values are scalars, which an object can be created with.
  static var _rlmIsPlain: Bool { get }
  /// The value in a managed object.
  static func _rlmGet(_ place: PropertyPlace) -> Self
  /// Sets the value in a managed object.
  static func _rlmSet(_ place: PropertyPlace, _ value: Self)
  /// Makes a collection that an unmanaged object had that of the managed object, so that a program which holds it uses
  /// the stored one. Does nothing for other values.
  static func _rlmBind(_ value: Self, to place: PropertyPlace)
  /// What a property of an object gives that only records which properties are read; nil for the default value.
  static func _rlmTraced(_ place: PropertyPlace) -> Self?
  /// The value as the engine stores it; only of scalars.
  func _rlmPlain() -> EngineValue
}

/// A type that elements of collections can have.
public protocol RealmCollectionValue: Hashable, _HasPersistedType {
  /// The value that was read.
  static func _rlmRead(_ stored: StoredValue) -> Self?
  /// The value as the engine stores it. A linked object that is unmanaged is added first.
  func _rlmWrite(_ target: WriteTarget) -> EngineValue
}

/// A type that is stored as one value, which can be optional.
public protocol _RealmOptionalValue: RealmCollectionValue {}

/// A type of one value that is stored as it is and needs no realm to be stored.
public protocol _ScalarValue: _RealmOptionalValue, _Persistable {
  /// The value as the engine has it.
  var _rlmEngineValue: EngineValue { get }
}

/// A type that a primary key can have.
public protocol _PrimaryKey {}
/// A type that can have a search index.
public protocol _Indexable {}
/// A type with a smallest and a greatest value.
public protocol MinMaxType {}
/// A type with a sum and an average.
public protocol AddableType {}
/// A type with an order.
public protocol SortableType {}

/// How the schema describes a type.
public struct _PropertyType: Sendable {
  var type: ValueType
  var isOptional = false
  var collection: CollectionKind?
  /// The class that links lead to.
  var linkedClass: ClassReference?
  /// Whether it is not stored but found by the links of others.
  var isLinkingObjects = false
}

/// A class by its metatype, which is the same for all threads.
struct ClassReference: @unchecked Sendable {
  // Unchecked: a metatype never changes.
  let type: ObjectBase.Type
}

/// A property of a managed object.
public struct PropertyPlace {
  @usableFromInline let object: ObjectBase
  @usableFromInline let index: Int

  @inlinable init(_ object: ObjectBase, _ index: Int) { (self.object, self.index) = (object, index) }
}

/// A value that was read, which lives until the next change.
public struct StoredValue {
  let view: ValueView
  let context: RealmContext
}

/// Where a value is about to be stored.
public struct WriteTarget {
  let context: RealmContext
  let policy: Realm.UpdatePolicy
}

/// A value on its way into the realm.
public struct EngineValue {
  enum Content {
    case value(Value)
    /// An object that becomes a part of the one that it is stored in.
    case embedded(EmbeddedObject)
  }

  let content: Content

  init(_ value: Value) { content = .value(value) }
  init(embedded: EmbeddedObject) { content = .embedded(embedded) }

  /// The value; null for an embedded object.
  var value: Value { if case .value(let value) = content { value } else { .null } }
}

extension _Persistable {
  /// Whether the values are scalars.
  public static var _rlmIsPlain: Bool { false }
  /// The value as the engine stores it.
  public func _rlmPlain() -> EngineValue { EngineValue(.null) }
  /// Nothing.
  public static func _rlmBind(_ value: Self, to place: PropertyPlace) {}
  /// Nothing.
  public static func _rlmTraced(_ place: PropertyPlace) -> Self? { nil }
}

extension _Persistable where Self: RealmCollectionValue {
  /// The value in a managed object.
  public static func _rlmGet(_ place: PropertyPlace) -> Self {
    place.read { _rlmRead($0) } ?? _rlmDefault()
  }

  /// Sets the value in a managed object.
  public static func _rlmSet(_ place: PropertyPlace, _ value: Self) {
    place.write { value._rlmWrite($0) }
  }
}

extension _ScalarValue {
  /// Scalars are plain.
  public static var _rlmIsPlain: Bool { true }
  /// The value as the engine stores it.
  public func _rlmPlain() -> EngineValue { _rlmEngineValue }
  /// The value as the engine stores it.
  public func _rlmWrite(_ target: WriteTarget) -> EngineValue { _rlmEngineValue }
  /// The value itself.
  public var _rlmAny: Any? { self }
  /// Only a value of the type itself.
  public static func _rlmCast(_ value: Any?) -> Self? { value as? Self }
}
