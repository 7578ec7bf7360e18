// Maps: collections of values with string keys.

import Foundation
import RealmPages

/// The type of map keys. Only `String` conforms.
public protocol _MapKey: Hashable, Comparable {
  /// The key as a string.
  var _rlmKey: String { get }
  /// Creates a key from a string.
  init(_rlmKey: String)
}

extension String: _MapKey {
  /// The string itself.
  public var _rlmKey: String { self }
  /// Creates a copy of the string.
  public init(_rlmKey: String) { self = _rlmKey }
}

/// A collection of values with string keys, in a property of an object.
public final class Map<Key: _MapKey, Value: RealmCollectionValue> {
  var storage: CollectionStorage<[Key: Value]>

  /// Creates an empty unmanaged map.
  public init() { storage = .unmanaged([:]) }

  init(_ place: CollectionPlace) { storage = .managed(place) }

  /// The realm of the map's owner; nil for an unmanaged map.
  public var realm: Realm? { storage.realm }

  /// True if the owner of the map was deleted.
  public var isInvalidated: Bool { storage.isInvalidated }

  /// True if the map belongs to a frozen realm.
  public var isFrozen: Bool { storage.isFrozen }

  /// The number of entries.
  public var count: Int {
    switch storage {
    case .unmanaged(let entries): entries.count
    case .managed(let place): place.count
    }
  }

  /// The keys in ascending order.
  public var keys: [Key] { entries.map(\.key) }

  /// The values in the order of their keys.
  public var values: [Value] { entries.map(\.value) }

  private var entries: [SingleMapEntry<Key, Value>] {
    switch storage {
    case .unmanaged(let entries):
      return entries.map { SingleMapEntry(key: $0.key, value: $0.value) }.sorted { $0.key < $1.key }
    case .managed(let place):
      return place.entries().map { SingleMapEntry(key: Key(_rlmKey: $0.key), value: $0.value) }
    }
  }

  /// The value for a key; setting nil removes the entry.
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

  /// Returns the value for a key; nil if there is none.
  public func object(forKey key: Key) -> Value? { self[key] }

  /// Sets the value for a key.
  public func updateValue(_ value: Value, forKey key: Key) {
    switch storage {
    case .unmanaged: storage.edit([:]) { $0[key] = value }
    case .managed(let place): place.set(place.write(value), entry: key._rlmKey)
    }
  }

  /// Removes the entry for a key.
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

  /// Turns an unmanaged map into the stored map at `place`, which already contains its entries.
  func bind(to place: CollectionPlace) {
    guard case .unmanaged(let entries) = storage else { return }
    storage = .managed(place)
    guard let values = entries as? [Key: AnyRealmValue] else { return }
    for (key, value) in values { value.bind { self[key] as? AnyRealmValue } }
  }

  /// Replaces the entries with those of another map.
  func assign(_ other: Map) {
    let entries = Array(other)
    removeAll()
    for entry in entries { updateValue(entry.value, forKey: entry.key) }
  }

  /// Adds the entries of a dictionary or another sequence. `combine` merges the existing and the new value for a key.
  public func merge<S: Sequence>(
    _ sequence: S,
    uniquingKeysWith combine: (Value, Value) throws -> Value
  ) rethrows where S.Element == (key: Key, value: Value) {
    for entry in Array(sequence) {
      updateValue(try self[entry.key].map { try combine($0, entry.value) } ?? entry.value, forKey: entry.key)
    }
  }

  /// Adds the entries of another map. `combine` merges the existing and the new value for a key.
  public func merge(_ other: Map, uniquingKeysWith combine: (Value, Value) throws -> Value) rethrows {
    try merge(other.asKeyValueSequence(), uniquingKeysWith: combine)
  }
}

/// An entry of a map.
public struct SingleMapEntry<Key: _MapKey, Value: RealmCollectionValue>: Hashable {
  /// The key.
  public let key: Key
  /// The value.
  public let value: Value
}

extension Map: Sequence {
  /// Iterates over the entries in ascending order of their keys.
  public func makeIterator() -> IndexingIterator<[SingleMapEntry<Key, Value>]> { entries.makeIterator() }

  /// Returns the entries as pairs: `for (name, value) in map.asKeyValueSequence()`.
  public func asKeyValueSequence() -> [(key: Key, value: Value)] { entries.map { ($0.key, $0.value) } }
}

extension Map: Equatable {
  /// Returns true if the two are the same map or have equal entries.
  public static func == (a: Map, b: Map) -> Bool { a === b || a.entries == b.entries }
}

extension Map: _Persistable {
  /// The type of a map with values of `Value`.
  public static var _rlmType: _PropertyType {
    var type = Value._rlmType
    type.collection = .dictionary
    return type
  }
  /// Returns a map with one object that records reads, for key paths through the map.
  public static func _rlmTraced(_ place: PropertyPlace) -> Map? {
    guard let element: Value = PropertyTracer.element(place) else { return nil }
    let map = Map()
    map.storage = .unmanaged([Key(_rlmKey: ""): element])
    return map
  }
  /// True: a map is a collection.
  @inlinable public static var _rlmIsCollection: Bool { true }
  /// Replaces the entries of a map with those of another one.
  public static func _rlmFill(_ collection: Map, _ value: Map) {
    if collection !== value, !collection.storage.hasSamePlace(as: value.storage) { collection.assign(value) }
  }
  /// Returns an empty map.
  public static func _rlmDefault() -> Map { Map() }
  /// Binds an unmanaged map to a property of a managed object that already contains its entries.
  public static func _rlmBind(_ value: Map, to place: PropertyPlace) { value.bind(to: CollectionPlace(place)) }
  /// Returns the map of a managed object.
  public static func _rlmGet(_ place: PropertyPlace) -> Map { Map(CollectionPlace(place)) }
  /// Replaces the entries of a managed map with those of another map.
  public static func _rlmSet(_ place: PropertyPlace, _ value: Map) {
    _rlmFill(Map(CollectionPlace(place)), value)
  }
  /// Converts a dictionary or a map; returns nil if a value has the wrong type.
  public static func _rlmCast(_ value: Any?) -> Map? {
    if let same = value as? Map { return same }
    guard let value, !ValueAssignment.isNil(value) else { return Map() }
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
