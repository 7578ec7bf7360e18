// Collections in which no value comes twice.

import RealmPages

/// A set that a property holds, in the order of its values.
public final class MutableSet<Element: RealmCollectionValue> {
  var storage: CollectionStorage<Set<Element>>

  /// Makes an empty set, which belongs to no object yet.
  public init() { storage = .unmanaged([]) }

  init(_ place: CollectionPlace) { storage = .managed(place) }

  /// The realm of the object that the set belongs to.
  public var realm: Realm? { storage.realm }

  /// Whether the object that the set belongs to was deleted.
  public var isInvalidated: Bool { storage.isInvalidated }

  /// Whether the set belongs to a frozen realm.
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

  /// Takes a value out.
  public func remove(_ object: Element) {
    switch storage {
    case .unmanaged: storage.edit([]) { $0.remove(object) }
    case .managed(let place): place.discard(place.write(object))
    }
  }

  /// Takes all values out.
  public func removeAll() {
    switch storage {
    case .unmanaged: storage = .unmanaged([])
    case .managed(let place): place.clear()
    }
  }

  /// Whether the value is in the set.
  public func contains(_ object: Element) -> Bool { values.contains(object) }

  /// Whether all values are in the other set too.
  public func isSubset(of other: MutableSet) -> Bool { values.isSubset(of: other.values) }

  /// Whether both have a value in common.
  public func intersects(_ other: MutableSet) -> Bool { !values.isDisjoint(with: other.values) }

  /// Keeps the values that are in the other set too.
  public func formIntersection(_ other: MutableSet) { for value in values.subtracting(other.values) { remove(value) } }

  /// Adds the values of the other set.
  public func formUnion(_ other: MutableSet) { insert(objectsIn: other.values) }

  /// Takes out the values of the other set.
  public func subtract(_ other: MutableSet) { for value in values.intersection(other.values) { remove(value) } }
}

extension MutableSet: RandomAccessCollection {
  /// The position of the first value.
  public var startIndex: Int { 0 }
  /// The position after the last value.
  public var endIndex: Int { count }
  /// The number of values.
  public var count: Int {
    switch storage {
    case .unmanaged(let values): values.count
    case .managed(let place): place.count
    }
  }
  /// The value at a position; the order of an unmanaged set has no meaning.
  public subscript(position: Int) -> Element {
    switch storage {
    case .unmanaged(let values): values[values.index(values.startIndex, offsetBy: position)]
    case .managed(let place): place.element(at: position)
    }
  }
}

extension MutableSet: Equatable {
  /// Whether both are the same set of an object, or have equal values.
  public static func == (a: MutableSet, b: MutableSet) -> Bool { a === b || a.values == b.values }
}

extension MutableSet: _Persistable {
  /// A set of the element's type.
  public static var _rlmType: _PropertyType {
    var type = Element._rlmType
    type.collection = .set
    return type
  }
  /// A set with one object that records, for key paths through it.
  public static func _rlmTraced(_ place: PropertyPlace) -> MutableSet? {
    guard let element: Element = PropertyTracer.element(place) else { return nil }
    let set = MutableSet()
    set.storage = .unmanaged([element])
    return set
  }
  /// An empty set.
  public static func _rlmDefault() -> MutableSet { MutableSet() }
  /// Makes an unmanaged set that of a managed object, which has its values already.
  public static func _rlmBind(_ value: MutableSet, to place: PropertyPlace) {
    if case .unmanaged = value.storage { value.storage = .managed(CollectionPlace(place)) }
  }
  /// The set of a managed object.
  public static func _rlmGet(_ place: PropertyPlace) -> MutableSet { MutableSet(CollectionPlace(place)) }
  /// Takes the values of another set.
  public static func _rlmSet(_ place: PropertyPlace, _ value: MutableSet) {
    let values = Array(value), set = MutableSet(CollectionPlace(place))
    set.removeAll()
    set.insert(objectsIn: values)
  }
  /// The set of a sequence.
  public static func _rlmCast(_ value: Any?) -> MutableSet? {
    if let same = value as? MutableSet { return same }
    if let value, ValueAssignment.isNull(value) { return MutableSet() }
    guard let value, let values = value as? any Sequence else { return nil }
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
