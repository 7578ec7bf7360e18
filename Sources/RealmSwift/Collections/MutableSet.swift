// Sets: collections without duplicate values.

import RealmPages

/// A set in a property of an object. A managed set is sorted by value.
public final class MutableSet<Element: RealmCollectionValue> {
  var storage: CollectionStorage<Set<Element>>

  /// Creates an empty unmanaged set.
  public init() { storage = .unmanaged([]) }

  init(_ place: CollectionPlace) { storage = .managed(place) }

  /// The realm of the set's owner; nil for an unmanaged set.
  public var realm: Realm? { storage.realm }

  /// True if the owner of the set was deleted.
  public var isInvalidated: Bool { storage.isInvalidated }

  /// True if the set belongs to a frozen realm.
  public var isFrozen: Bool { storage.isFrozen }

  private var values: Set<Element> {
    switch storage {
    case .unmanaged(let values): values
    case .managed(let place): Set(place.elements())
    }
  }

  /// Adds a value.
  public func insert(_ object: Element) {
    switch storage {
    case .unmanaged: storage.edit([]) { $0.insert(object) }
    case .managed(let place): place.add(place.write(object))
    }
  }

  /// Adds values.
  public func insert<S: Sequence>(objectsIn objects: S) where S.Element == Element {
    for object in Array(objects) { insert(object) }
  }

  /// Removes a value.
  public func remove(_ object: Element) {
    switch storage {
    case .unmanaged: storage.edit([]) { $0.remove(object) }
    case .managed(let place): place.discard(place.write(object))
    }
  }

  /// Removes all values.
  public func removeAll() {
    switch storage {
    case .unmanaged: storage = .unmanaged([])
    case .managed(let place): place.clear()
    }
  }

  /// Turns an unmanaged set into the stored set at `place`, which already contains its values.
  func bind(to place: CollectionPlace) { if case .unmanaged = storage { storage = .managed(place) } }

  /// Replaces the values with those of another set.
  func assign(_ other: MutableSet) {
    let values = Array(other)
    removeAll()
    insert(objectsIn: values)
  }

  /// Returns true if the set contains a value.
  public func contains(_ object: Element) -> Bool { values.contains(object) }

  /// Returns true if the other set contains all values of this set.
  public func isSubset(of other: MutableSet) -> Bool { values.isSubset(of: other.values) }

  /// Returns true if the sets have at least one value in common.
  public func intersects(_ other: MutableSet) -> Bool { !values.isDisjoint(with: other.values) }

  /// Removes the values that the other set does not contain.
  public func formIntersection(_ other: MutableSet) { for value in values.subtracting(other.values) { remove(value) } }

  /// Adds the values of another set.
  public func formUnion(_ other: MutableSet) { insert(objectsIn: other.values) }

  /// Removes the values of another set.
  public func subtract(_ other: MutableSet) { for value in values.intersection(other.values) { remove(value) } }
}

extension MutableSet: RandomAccessCollection {
  /// The index of the first value.
  public var startIndex: Int { 0 }
  /// The index after the last value.
  public var endIndex: Int { count }
  /// The number of values.
  public var count: Int {
    switch storage {
    case .unmanaged(let values): values.count
    case .managed(let place): place.count
    }
  }
  /// The value at an index. The order of an unmanaged set is unspecified.
  public subscript(position: Int) -> Element {
    switch storage {
    case .unmanaged(let values): values[values.index(values.startIndex, offsetBy: position)]
    case .managed(let place): place.element(at: position)
    }
  }
}

extension MutableSet: Equatable {
  /// Returns true if the two are the same set or have equal values.
  public static func == (a: MutableSet, b: MutableSet) -> Bool { a === b || a.values == b.values }
}

extension MutableSet: _Persistable {
  /// The type of a set of `Element`.
  public static var _rlmType: _PropertyType {
    var type = Element._rlmType
    type.collection = .set
    return type
  }
  /// Returns a set with one object that records reads, for key paths through the set.
  public static func _rlmTraced(_ place: PropertyPlace) -> MutableSet? {
    guard let element: Element = PropertyTracer.element(place) else { return nil }
    let set = MutableSet()
    set.storage = .unmanaged([element])
    return set
  }
  /// True: a set is a collection.
  @inlinable public static var _rlmIsCollection: Bool { true }
  /// Replaces the values of a set with those of another one.
  public static func _rlmFill(_ collection: MutableSet, _ value: MutableSet) {
    if collection !== value, !collection.storage.hasSamePlace(as: value.storage) { collection.assign(value) }
  }
  /// Returns an empty set.
  public static func _rlmDefault() -> MutableSet { MutableSet() }
  /// Binds an unmanaged set to a property of a managed object that already contains its values.
  public static func _rlmBind(_ value: MutableSet, to place: PropertyPlace) { value.bind(to: CollectionPlace(place)) }
  /// Returns the set of a managed object.
  public static func _rlmGet(_ place: PropertyPlace) -> MutableSet { MutableSet(CollectionPlace(place)) }
  /// Replaces the values of a managed set with those of another set.
  public static func _rlmSet(_ place: PropertyPlace, _ value: MutableSet) {
    _rlmFill(MutableSet(CollectionPlace(place)), value)
  }
  /// Converts a sequence; returns nil if an element has the wrong type.
  public static func _rlmCast(_ value: Any?) -> MutableSet? {
    if let same = value as? MutableSet { return same }
    guard let value, !ValueAssignment.isNil(value) else { return MutableSet() }
    guard let values = value as? any Sequence else { return nil }
    let set = MutableSet()
    for value in values {
      guard let element = Element._rlmCast(value) else { return nil }
      set.insert(element)
    }
    return set
  }
  /// The set itself.
  public var _rlmAny: Any? { self }
}
