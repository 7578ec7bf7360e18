// Collections of values by name.

import Foundation
import RealmPages

/// A type that the keys of a map have: only strings.
public protocol _MapKey: Hashable, Comparable {
  /// The key as text.
  var _rlmKey: String { get }
  /// The key of a text.
  init(_rlmKey: String)
}

extension String: _MapKey {
  /// The text itself.
  public var _rlmKey: String { self }
  /// The text itself.
  public init(_rlmKey: String) { self = _rlmKey }
}

/// Values by name that a property holds.
public final class Map<Key: _MapKey, Value: RealmCollectionValue> {
  var storage: CollectionStorage<[Key: Value]>

  /// Makes an empty map, which belongs to no object yet.
  public init() { storage = .unmanaged([:]) }

  init(_ place: CollectionPlace) { storage = .managed(place) }

  /// The realm of the object that the map belongs to.
  public var realm: Realm? { storage.realm }

  /// Whether the object that the map belongs to was deleted.
  public var isInvalidated: Bool { storage.isInvalidated }

  /// Whether the map belongs to a frozen realm.
  public var isFrozen: Bool { storage.isFrozen }

  /// The number of entries.
  public var count: Int {
    switch storage {
    case .unmanaged(let entries): entries.count
    case .managed(let place): place.count
    }
  }

  /// The names in ascending order.
  public var keys: [Key] { entries.map(\.key) }

  /// The values in the order of their names.
  public var values: [Value] { entries.map(\.value) }

  private var entries: [SingleMapEntry<Key, Value>] {
    switch storage {
    case .unmanaged(let entries):
      return entries.map { SingleMapEntry(key: $0.key, value: $0.value) }.sorted { $0.key < $1.key }
    case .managed(let place):
      return place.entries().map { SingleMapEntry(key: Key(_rlmKey: $0.key), value: $0.value) }
    }
  }

  /// The value of a name; setting nil removes the entry.
  public subscript(key: Key) -> Value? {
    get {
      switch storage {
      case .unmanaged(let entries): entries[key]
      case .managed(let place): place.entry(key._rlmKey)
      }
    }
    set {
      guard let newValue else { return removeObject(for: key) }
      updateValue(newValue, forKey: key)
    }
  }

  /// The value of a name; nil if there is none.
  public func object(forKey key: Key) -> Value? { self[key] }

  /// Sets the value of a name.
  public func updateValue(_ value: Value, forKey key: Key) {
    switch storage {
    case .unmanaged: storage.edit([:]) { $0[key] = value }
    case .managed(let place): place.set(place.write(value), entry: key._rlmKey)
    }
  }

  /// Removes an entry.
  public func removeObject(for key: Key) {
    switch storage {
    case .unmanaged: storage.edit([:]) { $0[key] = nil }
    case .managed(let place): place.remove(entry: key._rlmKey)
    }
  }

  /// Removes all entries.
  public func removeAll() {
    switch storage {
    case .unmanaged: storage = .unmanaged([:])
    case .managed(let place): place.clear()
    }
  }

  /// Takes the entries of a dictionary or another sequence; `combine` makes one value of the present and the new one.
  public func merge<S: Sequence>(
    _ sequence: S,
    uniquingKeysWith combine: (Value, Value) throws -> Value
  ) rethrows where S.Element == (key: Key, value: Value) {
    for entry in Array(sequence) {
      updateValue(try self[entry.key].map { try combine($0, entry.value) } ?? entry.value, forKey: entry.key)
    }
  }

  /// Takes the entries of another map; `combine` makes one value of the present and the new one.
  public func merge(_ other: Map, uniquingKeysWith combine: (Value, Value) throws -> Value) rethrows {
    try merge(other.asKeyValueSequence(), uniquingKeysWith: combine)
  }
}

/// An entry of a map.
public struct SingleMapEntry<Key: _MapKey, Value: RealmCollectionValue>: Hashable {
  /// The name.
  public let key: Key
  /// The value.
  public let value: Value
}

extension Map: Sequence {
  /// The entries in ascending order of their names.
  public func makeIterator() -> IndexingIterator<[SingleMapEntry<Key, Value>]> { entries.makeIterator() }

  /// The entries as pairs: `for (name, value) in map.asKeyValueSequence()`.
  public func asKeyValueSequence() -> [(key: Key, value: Value)] { entries.map { ($0.key, $0.value) } }
}

extension Map: Equatable {
  /// Whether both are the same map of an object, or have equal entries.
  public static func == (a: Map, b: Map) -> Bool { a === b || a.entries == b.entries }
}

extension Map: _Persistable {
  /// A dictionary of the value's type.
  public static var _rlmType: _PropertyType {
    var type = Value._rlmType
    type.collection = .dictionary
    return type
  }
  /// A map with one object that records, under any name, for key paths through it.
  public static func _rlmTraced(_ place: PropertyPlace) -> Map? {
    guard let element: Value = PropertyTracer.element(place) else { return nil }
    let map = Map()
    map.storage = .unmanaged([Key(_rlmKey: ""): element])
    return map
  }
  /// An empty map.
  public static func _rlmDefault() -> Map { Map() }
  /// Makes an unmanaged map that of a managed object, which has its values already.
  public static func _rlmBind(_ value: Map, to place: PropertyPlace) {
    if case .unmanaged = value.storage { value.storage = .managed(CollectionPlace(place)) }
  }
  /// The map of a managed object.
  public static func _rlmGet(_ place: PropertyPlace) -> Map { Map(CollectionPlace(place)) }
  /// Takes the entries of another map.
  public static func _rlmSet(_ place: PropertyPlace, _ value: Map) {
    let entries = Array(value), map = Map(CollectionPlace(place))
    map.removeAll()
    for entry in entries { map.updateValue(entry.value, forKey: entry.key) }
  }
  /// The map of a dictionary.
  public static func _rlmCast(_ value: Any?) -> Map? {
    if let same = value as? Map { return same }
    if let value, ValueAssignment.isNull(value) { return Map() }
    if let other = value as? any RealmKeyedCollection { return map(of: other) }
    guard let entries = value as? [String: Any] else { return nil }
    return map(of: entries.map { ($0.key, $0.value) })
  }
  private static func map<Other: RealmKeyedCollection>(of other: Other) -> Map? {
    map(of: zip(other.keys, other.values).map { ($0._rlmKey, $1._rlmAny ?? NSNull()) })
  }
  private static func map(of entries: [(String, Any)]) -> Map? {
    let map = Map()
    for (key, value) in entries {
      guard let element = Value._rlmCast(value) else { return nil }
      map.updateValue(element, forKey: Key(_rlmKey: key))
    }
    return map
  }
  /// The map itself.
  public var _rlmAny: Any? { self }
}
