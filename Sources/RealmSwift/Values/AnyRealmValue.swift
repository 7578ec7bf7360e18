// The type of Mixed properties, whose values can have any type.

public import Foundation
import RealmPages

/// A value of any type that a realm can store, for Mixed properties. Includes lists and dictionaries of such values.
///
/// ```swift
/// note.extra = .fromDictionary(["tags": .fromArray([.string("a"), .int(1)]), "draft": .bool(true)])
/// note.extra.dictionaryValue?["tags"]?.listValue?.append(.none)
/// ```
public enum AnyRealmValue {
  case none
  case int(Int)
  case bool(Bool)
  case float(Float)
  case double(Double)
  case string(String)
  case data(Data)
  case date(Date)
  case object(Object)
  case objectId(ObjectId)
  case decimal128(Decimal128)
  case uuid(UUID)
  case dictionary(Map<String, AnyRealmValue>)
  case list(List<AnyRealmValue>)

  /// Creates `none`.
  public init() { self = .none }

  /// Creates a list of values.
  public static func fromArray(_ array: [AnyRealmValue]) -> AnyRealmValue {
    let list = List<AnyRealmValue>()
    list.append(objectsIn: array)
    return .list(list)
  }

  /// Creates a dictionary of values.
  public static func fromDictionary(_ dictionary: [String: AnyRealmValue]) -> AnyRealmValue {
    let map = Map<String, AnyRealmValue>()
    for (name, value) in dictionary { map.updateValue(value, forKey: name) }
    return .dictionary(map)
  }

  /// The integer; nil for another value.
  public var intValue: Int? { if case .int(let value) = self { value } else { nil } }
  /// The Boolean value; nil for another value.
  public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
  /// The 32-bit floating-point number; nil for another value.
  public var floatValue: Float? { if case .float(let value) = self { value } else { nil } }
  /// The 64-bit floating-point number; nil for another value.
  public var doubleValue: Double? { if case .double(let value) = self { value } else { nil } }
  /// The string; nil for another value.
  public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
  /// The bytes; nil for another value.
  public var dataValue: Data? { if case .data(let value) = self { value } else { nil } }
  /// The date; nil for another value.
  public var dateValue: Date? { if case .date(let value) = self { value } else { nil } }
  /// The ObjectId; nil for another value.
  public var objectIdValue: ObjectId? { if case .objectId(let value) = self { value } else { nil } }
  /// The decimal; nil for another value.
  public var decimal128Value: Decimal128? { if case .decimal128(let value) = self { value } else { nil } }
  /// The UUID; nil for another value.
  public var uuidValue: UUID? { if case .uuid(let value) = self { value } else { nil } }
  /// Returns the object, if it is of the given class; nil for another value.
  public func object<T: Object>(_ type: T.Type) -> T? { if case .object(let value) = self { value as? T } else { nil } }

  /// The live dictionary: changes to it change this value. Nil for another value.
  public var dictionaryValue: Map<String, AnyRealmValue>? {
    if case .dictionary(let value) = self { value } else { nil }
  }
  /// The live list: changes to it change this value. Nil for another value.
  public var listValue: List<AnyRealmValue>? { if case .list(let value) = self { value } else { nil } }

  /// Creates a collection in a managed object.
  init(_ place: CollectionPlace) {
    self = place.nested?.kind == .dictionary ? .dictionary(Map(place)) : .list(List(place))
  }

  /// Creates the value of a Mixed property or element; nil for a collection.
  init?(_ view: ValueView, in context: RealmContext) {
    switch view {
    case .null: self = .none
    case .int(let value): self = .int(Int(value))
    case .bool(let value): self = .bool(value)
    case .float(let value): self = .float(value)
    case .double(let value): self = .double(value)
    case .string(let bytes): self = .string(bytes.string)
    case .data(let bytes): self = unsafe .data(Data(bytes.unsafeBytes))
    case .date(let time): self = .date(Date(time))
    case .objectID(let id): self = .objectId(ObjectId(id))
    case .decimal128(let value): self = .decimal128(Decimal128(value))
    case .uuid(let id): self = .uuid(UUID(id))
    case .link(let table, let key):
      guard !key.isUnresolved, let object = context.object(table, key.value) as? Object else {
        self = .none
        return
      }
      self = .object(object)
    case .list, .set, .dictionary: return nil
    }
  }
}

extension AnyRealmValue: RealmCollectionValue, _Persistable, _Indexable, MinMaxType, AddableType, SortableType {
  /// The Mixed type.
  public static var _rlmType: _PropertyType { _PropertyType(type: .mixed, isOptional: true) }
  /// Returns `none`.
  public static func _rlmDefault() -> AnyRealmValue { .none }
  /// Returns a stored value; nil for a collection, which needs its place.
  public static func _rlmRead(_ stored: StoredValue) -> AnyRealmValue? {
    AnyRealmValue(stored.view, in: stored.context)
  }
  /// Returns the value in a managed object.
  public static func _rlmGet(_ place: PropertyPlace) -> AnyRealmValue {
    let (value, kind) = place.read { stored -> (AnyRealmValue?, CollectionKind) in
      let kind: CollectionKind = if case .dictionary = stored.view { .dictionary } else { .list }
      return (AnyRealmValue(stored.view, in: stored.context), kind)
    }
    return value ?? AnyRealmValue(CollectionPlace(place, NestedPlace(steps: [], kind: kind)))
  }
  /// Binds the collections of an unmanaged value to the property of a managed object that already contains them.
  public static func _rlmBind(_ value: AnyRealmValue, to place: PropertyPlace) { value.bind { _rlmGet(place) } }

  /// Turns an unmanaged list or map into the stored one that `stored` returns, which already contains its values.
  func bind(to stored: () -> AnyRealmValue?) {
    switch self {
    case .list(let list):
      if case .list(let target) = stored(), let place = target.storage.place { list.bind(to: place) }
    case .dictionary(let map):
      if case .dictionary(let target) = stored(), let place = target.storage.place { map.bind(to: place) }
    default: break
    }
  }

  /// Returns the value as the engine stores it.
  public func _rlmWrite(_ target: WriteTarget) -> EngineValue {
    switch self {
    case .none: EngineValue(.null)
    case .int(let value): value._rlmEngineValue
    case .bool(let value): value._rlmEngineValue
    case .float(let value): value._rlmEngineValue
    case .double(let value): value._rlmEngineValue
    case .string(let value): value._rlmEngineValue
    case .data(let value): value._rlmEngineValue
    case .date(let value): value._rlmEngineValue
    case .objectId(let value): value._rlmEngineValue
    case .decimal128(let value): value._rlmEngineValue
    case .uuid(let value): value._rlmEngineValue
    case .object(let value): value._rlmWrite(target)
    case .list(let values): EngineValue(.list(values.map { $0._rlmWrite(target).value }))
    case .dictionary(let entries):
      EngineValue(
        .dictionary(entries.map { Value.Entry(key: Array($0.key.utf8), value: $0.value._rlmWrite(target).value) })
      )
    }
  }
  /// The contained value.
  public var _rlmAny: Any? {
    switch self {
    case .none: nil
    case .int(let value): value
    case .bool(let value): value
    case .float(let value): value
    case .double(let value): value
    case .string(let value): value
    case .data(let value): value
    case .date(let value): value
    case .objectId(let value): value
    case .decimal128(let value): value
    case .uuid(let value): value
    case .object(let value): value
    case .list(let value): value
    case .dictionary(let value): value
    }
  }
  /// Converts a value; nil if a realm cannot store it.
  public static func _rlmCast(_ value: Any?) -> AnyRealmValue? {
    guard let value, !ValueAssignment.isNil(value) else {
      return AnyRealmValue.none
    }
    switch value {
    case let same as AnyRealmValue: return same
    case let value as Bool: return .bool(value)
    case let value as any BinaryInteger: return Int(exactly: value).map { .int($0) }
    case let value as Float: return .float(value)
    case let value as Double: return .double(value)
    case let value as String: return .string(value)
    case let value as Data: return .data(value)
    case let value as Date: return .date(value)
    case let value as ObjectId: return .objectId(value)
    case let value as Decimal128: return .decimal128(value)
    case let value as UUID: return .uuid(value)
    case let value as Object: return .object(value)
    case let value as List<AnyRealmValue>: return .list(value)
    case let value as Map<String, AnyRealmValue>: return .dictionary(value)
    case is [Any]: return List<AnyRealmValue>._rlmCast(value).map { .list($0) }
    case is [String: Any]: return Map<String, AnyRealmValue>._rlmCast(value).map { .dictionary($0) }
    default: return nil
    }
  }
}

extension AnyRealmValue: Hashable {
  /// Returns true if the two have the same type and value. Collections are equal if they are the same managed
  /// collection, or are unmanaged and have equal elements.
  public static func == (a: AnyRealmValue, b: AnyRealmValue) -> Bool {
    switch (a, b) {
    case (.none, .none): true
    case (.int(let a), .int(let b)): a == b
    case (.bool(let a), .bool(let b)): a == b
    case (.float(let a), .float(let b)): a == b
    case (.double(let a), .double(let b)): a == b
    case (.string(let a), .string(let b)): a == b
    case (.data(let a), .data(let b)): a == b
    case (.date(let a), .date(let b)): a == b
    case (.object(let a), .object(let b)): a == b
    case (.objectId(let a), .objectId(let b)): a == b
    case (.decimal128(let a), .decimal128(let b)): a == b
    case (.uuid(let a), .uuid(let b)): a == b
    case (.list(let a), .list(let b)): a === b || a.storage == b.storage
    case (.dictionary(let a), .dictionary(let b)): a === b || a.storage == b.storage
    default: false
    }
  }

  /// Hashes the value; for a collection, only its kind.
  public func hash(into hasher: inout Hasher) {
    switch self {
    case .none: hasher.combine(0)
    case .int(let value): hasher.combine(value)
    case .bool(let value): hasher.combine(value)
    case .float(let value): hasher.combine(value)
    case .double(let value): hasher.combine(value)
    case .string(let value): hasher.combine(value)
    case .data(let value): hasher.combine(value)
    case .date(let value): hasher.combine(value)
    case .object(let value): hasher.combine(value)
    case .objectId(let value): hasher.combine(value)
    case .decimal128(let value): hasher.combine(value)
    case .uuid(let value): hasher.combine(value)
    case .list: hasher.combine(1)
    case .dictionary: hasher.combine(2)
    }
  }
}
